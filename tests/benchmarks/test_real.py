# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the comparison with a bare client is made of; the servers are not needed."""

import json
import math
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.real import cases, measures, requests
from benchmarks.real.client import complete, encoded
from benchmarks.real.findings import Findings, Load, Raw, Start, figures
from benchmarks.real.measures import Memory
from benchmarks.real.watcher import Times, note
from tests.controlplane import API_SERVER

# ── the bare client ──────────────────────────────────────────────────────────────────────────


def test_a_request_says_how_long_its_body_is_in_bytes() -> None:
    request = requests.Request("POST", "/api/v1/nodes", '{"name":"ö"}')
    head, _, body = encoded(request, "host:1").partition(b"\r\n\r\n")
    assert head.startswith(b"POST /api/v1/nodes HTTP/1.1\r\nHost: host:1\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body == '{"name":"ö"}'.encode()


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (b"HTTP/1.1 201 Created\r\nContent-Le", False),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nab", False),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nabcd", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", True),
    ],
)
def test_an_answer_ends_where_its_head_says(answer: bytes, whole: bool) -> None:
    assert complete(answer) is whole


def test_churn_leaves_nothing_behind() -> None:
    for unit in requests.churn(3, "x", nodes=10):
        made = {json.loads(each.body)["metadata"]["name"] for each in unit if each.method == "POST"}
        gone = {each.path.rpartition("/")[2] for each in unit if each.method == "DELETE"}
        assert made == gone


# ── the watcher ──────────────────────────────────────────────────────────────────────────────


def event(kind: str, name: str, spec: str) -> bytes:
    meta = f'"metadata":{{"name":"{name}","namespace":"b","managedFields":[{{"f:nodeName":{{}}}}]}}'
    return f'{{"type":"{kind}","object":{{"kind":"Pod",{meta},"spec":{spec}}}}}'.encode()


def test_a_pod_is_noted_when_it_is_seen_first_and_when_it_has_a_node_first() -> None:
    times = Times()
    note(times, event("ADDED", "p0", "{}"), 1.0)
    note(times, event("MODIFIED", "p0", "{}"), 2.0)
    note(times, event("MODIFIED", "p0", '{"nodeName":"n1"}'), 3.0)
    note(times, event("MODIFIED", "p0", '{"nodeName":"n1"}'), 4.0)
    note(times, event("DELETED", "p1", '{"nodeName":"n1"}'), 5.0)
    assert times.created == {"p0": 1.0}
    assert times.bound == {"p0": 3.0}


# ── what follows ─────────────────────────────────────────────────────────────────────────────


def test_a_pod_of_a_gang_waits_from_the_creation_of_the_last_member() -> None:
    times = Times(
        created={"p0": 1.0, "p1": 2.0, "lone": 1.0}, bound={"p0": 2.5, "p1": 2.6, "lone": 1.5}
    )
    waited = measures.delays(times, {"p0": "g", "p1": "g", "lone": "lone"})
    assert waited == pytest.approx([0.5, 0.6, 0.5])


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0), (0.001, 1.0)]
)
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    assert measures.percentile(map(float, range(1, 101)), share) == value


def test_there_is_no_rate_of_fewer_than_two_pods() -> None:
    assert math.isnan(measures.rate(Times(bound={"p0": 1.0})))
    assert measures.rate(Times(bound={"p0": 1.0, "p1": 1.5, "p2": 2.0})) == 2.0


def test_a_counter_is_summed_over_its_labels() -> None:
    text = '# HELP c x\nc{a="1"} 2.0\nc{a="2"} 3.0\nc_other 9.0\n'
    assert measures.counter(text, "c") == 5.0
    assert measures.counter(text, "missing") == 0.0


def test_figures_tell_what_is_beyond_the_bare_client_and_the_start() -> None:
    def raw(rate: float) -> Raw:
        return Raw(1000, rate, 0.1, {"etcd": 0.3, API_SERVER: 1.2})

    times = Times(bound={f"p{index}": index / 100 for index in range(101)})
    found = Findings(
        case=cases.uniform("x", nodes=1, pods=102),
        before=raw(180.0),
        after=raw(220.0),
        start=Start(0.5, 0.4, {"etcd": 0.0, API_SERVER: 0.0101}),
        load=Load(
            times,
            cpu=0.5,
            used={"etcd": 0.0303, API_SERVER: 0.2121},
            memory=Memory(90.0, 80.0),
            writes=Counter({"POST events": 202}),
            dropped=0.0,
        ),
        pace=50.0,
        steady=[0.004, 0.002],
        bare=[0.001, 0.002],
    )
    told = dict(figures(found))
    assert told["ceiling"] == 200.0
    assert told["of-ceiling"] == pytest.approx(50.0)
    assert told["left-unbound"] == 1
    assert told["cpu-without-start"] == pytest.approx(1000 * 0.1 / 101)
    assert told[f"{API_SERVER}-beyond-bare"] == pytest.approx(0.9)
    assert told[f"{API_SERVER}-beyond-bare-without-start"] == pytest.approx(0.8)
    assert told["wait-p50-of-bare"] == pytest.approx(2.0)
    assert told["writes-post-events"] == 2.0


def test_part_of_a_case_has_whole_gangs() -> None:
    case = cases.uniform("x", nodes=10, pods=80, gang=8)
    assert len(case.scaled(0.33).pods) == 24
    assert len(case.scaled(0.001).pods) == 16
    assert case.scaled(1.0) == case


def test_a_trace_that_is_not_there_is_no_case(tmp_path: Path) -> None:
    assert cases.openb(tmp_path / "missing") is None


def test_pods_of_the_trace_ask_for_thousandths_of_gpus(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_all_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn,32000,1024,2,T4\nm,32000,1024,0,\n"
    )
    (tmp_path / "openb_pod_list_default.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,6000,512,1,460\nq,100,64,2,1000\n"
    )
    case = cases.openb(tmp_path)
    assert case is not None
    assert [room[cases.GPU] for room in case.nodes] == ["2000", "0"]
    assert [asked[cases.GPU] for asked in case.pods] == ["460", "2000"]
