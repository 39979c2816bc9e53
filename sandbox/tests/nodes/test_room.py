# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from collections.abc import Collection
from typing import Any

import pytest

from enbloc_sandbox.nodes.room import refusal, requests_of

ALLOCATABLE = {"cpu": 4000, "memory": 2**30, "pods": 2, "nvidia.com/gpu": 2, "vendor.com/gone": 0}


def container(restart: str | None = None, **requests: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "c", "resources": {"requests": requests}}
    return found if restart is None else {**found, "restartPolicy": restart}


def refused(
    spec: dict[str, Any],
    *,
    used: dict[str, int] | None = None,
    labels: dict[str, str] | None = None,
    taints: tuple[dict[str, str], ...] = (),
    served: Collection[tuple[str, str]] = (),
) -> str | None:
    why = refusal(
        spec,
        labels=labels or {},
        name="n1",
        taints=taints,
        allocatable=ALLOCATABLE,
        used=used or {},
        served=served,
    )
    return None if why is None else why.reason


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param({"containers": [container(cpu="1"), container(cpu="500m")]}, 1500, id="sum"),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="3")]},
            3000,
            id="a large init container",
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "initContainers": [container("Always", cpu="1"), container(cpu="3")],
            },
            4000,
            id="an init container beside a sidecar",
        ),
        pytest.param(
            {
                "containers": [container(cpu="2")],
                "initContainers": [container(cpu="2"), container("Always", cpu="1")],
            },
            3000,
            id="a sidecar runs on beside the containers",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead"
        ),
        pytest.param(
            {
                "containers": [container(cpu="1")],
                "resources": {"requests": {"cpu": "3"}},
            },
            3000,
            id="pod-level requests",
        ),
        pytest.param(
            {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2"}}}]},
            2000,
            id="a limit stands in for the request",
        ),
    ],
)
def test_a_pod_takes_what_its_containers_need_at_their_worst(
    spec: dict[str, Any], wanted: int
) -> None:
    assert requests_of(spec)["cpu"] == wanted
    assert requests_of(spec)["pods"] == 1


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"containers": [], "affinity": {"nodeAffinity": required}}


def expression(operator: str, *values: str, key: str = "tier") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("spec", "used", "reason"),
    [
        pytest.param({"containers": [container(cpu="4")]}, {}, None, id="all of it fits"),
        pytest.param({"containers": [container(cpu="4")]}, {"cpu": 1}, "OutOfcpu", id="cpu"),
        pytest.param({"containers": [container(memory="2Gi")]}, {}, "OutOfmemory", id="memory"),
        pytest.param({"containers": []}, {"pods": 2}, "OutOfpods", id="pods"),
        pytest.param(
            {"containers": [container(**{"nvidia.com/gpu": "2"})]},
            {"nvidia.com/gpu": 1},
            "OutOfnvidia.com/gpu",
            id="gpus",
        ),
        pytest.param(
            {"containers": [container(**{"vendor.com/gone": "1"})]},
            {},
            "OutOfvendor.com/gone",
            id="an extended resource of which the node has 0",
        ),
        pytest.param({"containers": []}, {"cpu": 9000}, None, id="no request fits a full node"),
    ],
)
def test_a_pod_is_refused_by_the_resource_that_is_short(
    spec: dict[str, Any], used: dict[str, int], reason: str | None
) -> None:
    assert refused(spec, used=used) == reason


@pytest.mark.parametrize(
    ("resource", "reason"),
    [
        pytest.param("vendor.com/none", None, id="extended"),
        pytest.param("hugepages-2Mi", "OutOfhugepages-2Mi", id="no domain"),
        pytest.param("kubernetes.io/none", "OutOfkubernetes.io/none", id="Kubernetes' own"),
        pytest.param("a.kubernetes.io/none", "OutOfa.kubernetes.io/none", id="in its domain"),
        pytest.param("requests.a.com/none", "OutOfrequests.a.com/none", id="a quota's name"),
    ],
)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_an_extended_resource_that_the_node_does_not_list_is_not_checked(
    resource: str, reason: str | None, kind: str
) -> None:
    """Resources of the whole cluster are unknown to nodes."""
    assert refused({kind: [container(**{resource: "1"})]}) == reason


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "deviceclass.resource.kubernetes.io/gpu"])
def test_what_devices_serve_is_not_taken_from_the_node(resource: str) -> None:
    spec = {"containers": [container(**{resource: "3"})]}
    assert refused(spec) == f"OutOf{resource}"
    assert refused(spec, served={("other", resource)}) == f"OutOf{resource}"
    assert refused(spec, served={("c", resource)}) is None


@pytest.mark.parametrize(
    ("spec", "admitted"),
    [
        pytest.param({"nodeSelector": {"tier": "3"}}, True, id="selector"),
        pytest.param({"nodeSelector": {"tier": "4"}}, False, id="another value"),
        pytest.param(affinity(expression("In", "3", "4")), True, id="In"),
        pytest.param(affinity(expression("NotIn", "3")), False, id="NotIn"),
        pytest.param(affinity(expression("Exists")), True, id="Exists"),
        pytest.param(affinity(expression("DoesNotExist")), False, id="DoesNotExist"),
        pytest.param(affinity(expression("Gt", "2")), True, id="Gt"),
        pytest.param(affinity(expression("Lt", "2")), False, id="Lt"),
        pytest.param(affinity(expression("Gt", "2", key="none")), False, id="Gt of no label"),
        pytest.param(affinity(expression("Exists", key="x"), expression("Exists")), True, id="or"),
        pytest.param(affinity({}), False, id="an empty term matches nothing"),
        pytest.param(
            affinity(
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
            ),
            True,
            id="the node's name",
        ),
    ],
)
def test_selector_and_affinity_are_checked_against_the_node_as_it_is(
    spec: dict[str, Any], *, admitted: bool
) -> None:
    reason = refused(spec, labels={"tier": "3"})
    assert reason == (None if admitted else "NodeAffinity")


@pytest.mark.parametrize(
    ("toleration", "admitted"),
    [
        pytest.param({"key": "k", "value": "v", "effect": "NoExecute"}, True, id="equal"),
        pytest.param({"key": "k", "value": "w"}, False, id="another value"),
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "k", "operator": "Exists"}, True, id="the key"),
        pytest.param({"key": "k", "value": "v", "effect": "NoSchedule"}, False, id="effect"),
    ],
)
def test_only_a_noexecute_taint_makes_a_kubelet_refuse(
    toleration: dict[str, str], *, admitted: bool
) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoExecute"}
    reason = refused({"tolerations": [toleration]}, taints=(taint,))
    assert reason == (None if admitted else "TaintToleration")
    assert refused({}, taints=({**taint, "effect": "NoSchedule"},)) is None
