# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from enbloc.errors import ConfigError
from enbloc_sandbox.nodes.shapes import Shape, default_shapes, read_trace

HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"


def test_a_trace_gives_one_node_for_each_line(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(HEADER + "n-0,64000,262144,2,P100\nn-1,1500,1024,0,\n")
    assert read_trace(path) == [
        Shape("n-0", 64_000, 256 * 2**30, 2, "P100"),
        Shape("n-1", 1_500, 2**30, 0, ""),
    ]


def test_the_column_model_may_be_missing_and_the_order_is_free(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("gpu,sn,memory_mib,cpu_milli\n8,n,1024,2000\n")
    assert read_trace(path) == [Shape("n", 2_000, 2**30, 8)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", ":1: no column sn, cpu_milli, memory_mib, gpu", id="an empty file"),
        pytest.param("sn,cpu\n", ":1: no column cpu_milli, memory_mib, gpu", id="other columns"),
        pytest.param(HEADER, ":2: no nodes", id="no rows"),
        pytest.param(HEADER + "n,1,x,1,\n", ':2: column memory_mib: "x"', id="no number"),
        pytest.param(HEADER + "n,0,1,1,\n", ':2: column cpu_milli: "0"', id="no CPU"),
        pytest.param(HEADER + "n,1\n", ':2: column memory_mib: ""', id="a short row"),
        pytest.param(HEADER + "N_1,1,1,1,\n", ':2: column sn: "N_1"', id="a bad name"),
        pytest.param(HEADER + "n,1,1,1,a b\n", ':2: column model: "a b"', id="a bad model"),
        pytest.param(HEADER + "n,1,1,1,\nn,1,1,1,\n", ':3: column sn: "n" is', id="twice"),
    ],
)
def test_a_wrong_trace_is_named_with_file_line_and_column(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        read_trace(path)
    assert f"{path}{message}" in str(raised.value)


def test_a_missing_or_binary_trace_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.csv: cannot be read"):
        read_trace(tmp_path / "none.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.csv: cannot be read"):
        read_trace(tmp_path / "binary.csv")


def test_a_node_is_registered_with_its_size_and_the_usual_labels() -> None:
    shape = Shape("n", 1_500, 3 * 2**30, 8, "T4", labels=(("zone", "z1"),))
    assert shape.resources() == {
        "cpu": "1500m",
        "memory": "3Gi",
        "ephemeral-storage": "1Ti",
        "pods": "110",
        "nvidia.com/gpu": "8",
    }
    assert shape.manifest()["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.product": "T4",
        "zone": "z1",
    }


def test_a_node_without_gpus_has_no_such_resource_and_label() -> None:
    shape = Shape("n", 1_000, 2**30)
    assert "nvidia.com/gpu" not in shape.resources()
    assert not [key for key in shape.manifest()["metadata"]["labels"] if "nvidia" in key]


def test_the_default_nodes_have_eight_gpus_each() -> None:
    assert [(shape.name, shape.gpus) for shape in default_shapes(3)] == [
        ("node-0", 8),
        ("node-1", 8),
        ("node-2", 8),
    ]
