# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the sandbox's nodes look like: default shapes, and node lists of real clusters."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from enbloc.errors import ConfigError
from enbloc.model.pins import HOSTNAME
from enbloc.model.quantity import render

GPU: Final = "nvidia.com/gpu"
PODS_PER_NODE: Final = 110
_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


@dataclass(frozen=True, slots=True)
class Shape:
    """One node's name and size.

    Attributes:
        cpu: in milli.
        memory: in bytes.
        gpus: devices of `nvidia.com/gpu`.
        model: the GPU's product name, "" if not known.
        pods: how many pods the node runs at most.
        labels: more labels on the node.
    """

    name: str
    cpu: int
    memory: int
    gpus: int = 0
    model: str = ""
    pods: int = PODS_PER_NODE
    labels: tuple[tuple[str, str], ...] = ()

    def resources(self) -> dict[str, str]:
        """Capacity and allocatable: nothing is kept back for the system here."""
        amounts = {
            "cpu": self.cpu,
            "memory": self.memory,
            "ephemeral-storage": 2**40,
            "pods": self.pods,
        }
        if self.gpus:
            amounts[GPU] = self.gpus
        return {name: render(name, amount) for name, amount in amounts.items()}

    def manifest(self) -> dict[str, Any]:
        """The Node as a kubelet registers it."""
        labels = {
            HOSTNAME: self.name,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
            **({f"{GPU}.count": str(self.gpus)} if self.gpus else {}),
            **({f"{GPU}.product": self.model} if self.model else {}),
            **dict(self.labels),
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {},
        }


def default_shapes(count: int) -> list[Shape]:
    """Nodes of the commonest large GPU shape: 8 GPUs, 96 CPUs, 768 GiB."""
    return [
        Shape(f"node-{i}", 96_000, 768 * 2**30, 8, "Tesla-V100-SXM2-32GB") for i in range(count)
    ]


def read_trace(path: Path) -> list[Shape]:
    """The nodes of a CSV with columns sn, cpu_milli, memory_mib, gpu and, if it has it, model.

    Raises:
        ConfigError: naming the file, the line, the column and the fix.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file, strict=True)
            _check_header(path, rows.fieldnames or ())
            shapes: dict[str, Shape] = {}
            for row in rows:
                where = f"{path}:{rows.line_num}"
                shape = _shape(where, row)
                if shape.name in shapes:
                    raise ConfigError(f'{where}: column sn: "{shape.name}" is there twice')
                shapes[shape.name] = shape
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read as a CSV file of nodes: {error}") from error
    if not shapes:
        raise ConfigError(f"{path}:2: no nodes; write one line for each below the header")
    return list(shapes.values())


def _check_header(path: Path, found: Sequence[str]) -> None:
    missing = [column for column in _COLUMNS if column not in found]
    if missing:
        raise ConfigError(
            f"{path}:1: no column {', '.join(missing)}; the first line must name "
            f"{', '.join(_COLUMNS)} (model is optional), it names {', '.join(found) or 'nothing'}"
        )


def _shape(where: str, row: Mapping[str, Any]) -> Shape:
    name, model = str(row["sn"] or ""), str(row.get("model") or "")
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f'{where}: column sn: "{name}" is no node name; use a-z, 0-9, "-" and "."'
        )
    if not _LABEL.fullmatch(model):
        raise ConfigError(
            f'{where}: column model: "{model}" is no label value; use A-Z, a-z, 0-9, "-", "_", '
            '"." (63 at most)'
        )
    return Shape(
        name,
        _number(where, row, "cpu_milli", least=1),
        _number(where, row, "memory_mib", least=1) * 2**20,
        _number(where, row, "gpu", least=0),
        model,
    )


def _number(where: str, row: Mapping[str, Any], column: str, *, least: int) -> int:
    text = str(row[column] or "")
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) < least:
        raise ConfigError(
            f'{where}: column {column}: "{text}" is no whole number of {least} or more'
        )
    return int(text)
