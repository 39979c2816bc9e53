# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What one pod may state, and the pending members of one group (semantics §9.8)."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from enbloc.model import limits
from enbloc.model.limits import MOST_EFFORT, beyond_effort, effort
from enbloc.model.pods import Pod, PodSpec
from enbloc.wire.codec import NodeObject, PodObject
from enbloc.wire.codec import node as read_node
from enbloc.wire.codec import pod as read_pod
from tests.world.builders import pod, spec

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read(**spec: Any) -> Pod:
    given = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec}
    return read_pod(msgspec.convert(given, PodObject))


def apart(count: int, **term: Any) -> dict[str, Any]:
    terms = [{"topologyKey": f"k{n}", **term} for n in range(count)]
    return {"affinity": {"podAntiAffinity": {REQUIRED: terms}}}


def near(count: int) -> dict[str, Any]:
    terms = [{"weight": 1, "podAffinityTerm": {"topologyKey": f"k{n}"}} for n in range(count)]
    return {"affinity": {"podAffinity": {PREFERRED: terms}}}


def spread(count: int) -> dict[str, Any]:
    one = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    return {"topologySpreadConstraints": [{**one, "topologyKey": f"k{n}"} for n in range(count)]}


def selecting(requirements: int, values: int = 1) -> dict[str, Any]:
    named = [str(n) for n in range(values)]
    said = [{"key": f"k{n}", "operator": "In", "values": named} for n in range(requirements)]
    return apart(1, labelSelector={"matchExpressions": said})


def on_nodes(count: int, values: int = 1) -> dict[str, Any]:
    named = [str(n) for n in range(values)]
    said = [{"key": f"k{n}", "operator": "In", "values": named} for n in range(count - 1)]
    terms = [{"matchExpressions": said}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def tolerating(count: int) -> dict[str, Any]:
    return {"tolerations": [{"key": f"k{n}", "operator": "Exists"} for n in range(count)]}


def listening(count: int) -> dict[str, Any]:
    return {"containers": [{"name": "a", "ports": [{"hostPort": n + 1} for n in range(count)]}]}


def requesting(count: int) -> dict[str, Any]:
    requests = {f"example.com/r{n}": "1" for n in range(count - 1)}  # and it counts as one pod
    return {"containers": [{"name": "a", "resources": {"requests": requests}}]}


def running(count: int) -> dict[str, Any]:
    return {"containers": [{"name": f"c{n}", "image": f"i{n}"} for n in range(count)]}


@pytest.mark.parametrize(
    ("made", "most", "field", "counted"),
    [
        pytest.param(apart, limits.MOST_POD_TERMS, "spec.affinity", "terms", id="anti-affinity"),
        pytest.param(near, limits.MOST_POD_TERMS, "spec.affinity", "terms", id="preferred"),
        pytest.param(
            spread, limits.MOST_POD_TERMS, "spec.topologySpreadConstraints", "terms", id="spread"
        ),
        pytest.param(
            selecting, limits.MOST_POD_REQUIREMENTS, "spec.affinity", "requirements", id="labels"
        ),
        pytest.param(
            lambda count: selecting(1, count),
            limits.MOST_POD_VALUES, "spec.affinity", "values", id="values",
        ),
        pytest.param(
            on_nodes, limits.MOST_NODE_REQUIREMENTS, "spec.affinity.nodeAffinity",
            "requirements on nodes", id="node affinity",
        ),
        pytest.param(
            lambda count: {"nodeSelector": {f"k{n}": "" for n in range(count)}},
            limits.MOST_NODE_REQUIREMENTS, "spec.nodeSelector", "requirements", id="nodeSelector",
        ),
        pytest.param(
            lambda count: on_nodes(2, count),
            limits.MOST_NODE_VALUES, "spec.affinity.nodeAffinity", "values", id="node values",
        ),
        pytest.param(
            tolerating, limits.MOST_TOLERATIONS, "spec.tolerations", "tolerations", id="tolerations"
        ),
        pytest.param(
            listening, limits.MOST_HOST_PORTS, "spec.containers", "host ports", id="host ports"
        ),
        pytest.param(
            requesting, limits.MOST_RESOURCES, "spec.containers", "resources", id="resources"
        ),
        pytest.param(running, limits.MOST_IMAGES, "spec.containers", "images", id="images"),
    ],
)  # fmt: skip
def test_what_a_pod_states_beyond_a_limit_is_a_problem_that_names_field_and_limit(
    made: Any, most: int, field: str, counted: str
) -> None:
    """Semantics §9.8."""
    assert read(**made(most)).problem == ""
    beyond = read(**made(most + 1))
    assert field in beyond.problem
    assert counted in beyond.problem
    assert f"{most + 1} " in beyond.problem
    assert f"use at most {most}" in beyond.problem


def test_of_a_pod_that_runs_all_the_same_nothing_beyond_the_limits_is_looked_at() -> None:
    """Semantics §9.8: what it requests is taken, and the ports that it holds, so far as listed."""
    large = {
        **apart(5000),
        **spread(5000),
        **tolerating(5000),
        "nodeSelector": {f"k{n}": "" for n in range(5000)},
    }
    made = read(**large, **listening(5000), nodeName="n1").spec
    assert not made.pod_anti_affinity
    assert not made.spread
    assert not made.tolerations
    assert not made.node_selector
    assert len(made.host_ports) == limits.MOST_HOST_PORTS
    assert len(read(**requesting(5000), nodeName="n1").spec.requests) == 5000


def members(*specs: PodSpec) -> list[Pod]:
    return [pod(each, f"p{n}") for n, each in enumerate(specs)]


def test_members_of_one_template_are_never_too_many() -> None:
    """Semantics §9.8."""
    assert beyond_effort(members(*[spec(cpu=1)] * 20_000)) == ""
    assert beyond_effort(members(*(spec(cpu=1) for _ in range(1000)))) == "", "equal, not the same"


def test_members_of_many_templates_are_refused_with_what_they_count_for() -> None:
    """Semantics §9.8."""
    assert effort(spec(cpu=1)) == 16
    assert beyond_effort(members(*(spec(cpu=n + 1) for n in range(227)))) == ""
    assert beyond_effort(members(*(spec(cpu=n + 1) for n in range(342))))
    refused = beyond_effort(members(*(spec(cpu=n + 1) for n in range(1000))))
    assert refused.startswith("pending members have too many different pod templates")
    assert f"more than {MOST_EFFORT}" in refused
    assert "use fewer templates" in refused


def test_many_members_of_many_templates_count_for_more_than_the_templates() -> None:
    """Semantics §9.8: each is looked at anew when one of another template was placed."""
    some = [spec(cpu=n + 1) for n in range(100)]
    assert beyond_effort(members(*some * 10)) == ""
    assert beyond_effort(members(*some * 30))
    assert beyond_effort(members(*some[:16] * 300)) == "", "sixteen roles are as many as may be"


def test_the_more_a_template_states_the_fewer_others_there_may_be() -> None:
    """Semantics §9.8."""
    plain = spec(cpu=1)
    for large in (near(40), spread(40), apart(40), on_nodes(400), tolerating(400), listening(900)):
        assert effort(read(**large).spec) > 1.5 * effort(plain)
    wide = read(**apart(60)).spec
    assert beyond_effort(members(*(replace(wide, nonzero_cpu=n) for n in range(5)))) == ""
    assert beyond_effort(members(*(replace(wide, nonzero_cpu=n) for n in range(200))))


def test_terms_count_for_each_member_beyond_the_first_few() -> None:
    """Semantics §9.8: each of them is asked again when another member was placed."""
    assert beyond_effort(members(*[read(**spread(4)).spec] * 5000)) == ""
    assert beyond_effort(members(*[read(**spread(60)).spec] * 50)) == ""
    assert beyond_effort(members(*[read(**spread(60)).spec] * 500))


def test_of_a_node_with_too_many_resources_those_count_that_every_node_has() -> None:
    """Semantics §9.8: each name has a column in the table of nodes."""
    names = [f"example.com/r{n:05}" for n in range(1000)]
    quantities = dict.fromkeys([*names, "cpu", "memory", "pods"], "1")
    given = {"metadata": {"name": "n1"}, "status": {"allocatable": quantities}}
    made = read_node(msgspec.convert(given, NodeObject))
    assert len(made.allocatable) == limits.MOST_OFFERED
    assert {"cpu", "memory", "pods", names[0]} <= dict(made.allocatable).keys()
    assert made.problem.startswith("status.allocatable: 1003 resources")
