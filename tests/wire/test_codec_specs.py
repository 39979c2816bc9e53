# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A pod's class as the codec reads it: requests, constraints, images, ports and claims."""

import tracemalloc
from typing import Any

import msgspec
import pytest

from enbloc.model.pods import (
    HostPort,
    NodeSelectorTerm,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodVolume,
)
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect, Toleration, TolerationOperator
from enbloc.wire.codec import PodObject, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read(spec: dict[str, Any] | None, status: dict[str, Any] | None = None, **more: Any) -> Pod:
    metadata = {"name": "p", "namespace": "n", "uid": "u", **more}
    return pod(msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, PodObject))


def container(name: str = "main", **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def requests_of(made: Pod) -> dict[str, int]:
    assert made.problem == ""
    return dict(made.spec.requests)


def test_requests_become_exact_integers_in_name_order() -> None:
    made = read({"containers": [{**container(cpu="100m", memory="1Gi"), "image": "x"}]})

    assert made.spec.requests == (("cpu", 100), ("memory", 2**30), ("pods", 1))
    assert made.spec.nonzero_cpu == 100


def test_a_sidecar_an_init_container_overhead_and_the_pod_level_all_count() -> None:
    made = read(
        {
            "containers": [container(cpu="1")],
            "initContainers": [
                {**container("side", cpu="2"), "restartPolicy": "Always"},
                container("init", cpu="5", memory="1Ki"),
            ],
            "overhead": {"cpu": "250m"},
            "resources": {"requests": {"memory": "2Ki"}},
        }
    )

    assert requests_of(made) == {"cpu": 7250, "memory": 2048, "pods": 1}


def test_alike_pods_share_one_class() -> None:
    spec = {"containers": [container(cpu="1")], "nodeSelector": {"b": "1", "a": "2"}}
    alike = {"containers": [container("other", cpu="1000m")], "nodeSelector": {"a": "2", "b": "1"}}

    first = read(spec)
    assert read(spec | {"nodeName": "x", "priority": 7}, uid="2").spec is first.spec
    assert read(alike, uid="3").spec is first.spec
    assert read(spec | {"nodeSelector": {"a": "3"}}, uid="4").spec != first.spec


def test_of_classes_as_large_as_an_object_may_be_few_are_kept() -> None:
    tracemalloc.start()
    for index in range(40):
        values = [f"{index}-{n:06d}" for n in range(10_000)]
        terms = [{"matchExpressions": [{"key": "k", "operator": "In", "values": values}]}]
        affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
        assert read({"containers": [], "affinity": affinity}).spec.size > 10_000
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 10 * 2**20


def test_a_bound_pod_has_the_class_it_had_before() -> None:
    spec = {"containers": [container(cpu="1")]}
    statuses = [{"name": "main", "resources": {"requests": {"cpu": "1"}},
                 "allocatedResources": {"cpu": "1"}}]  # fmt: skip

    bound = read(spec | {"nodeName": "x"}, {"containerStatuses": statuses})

    assert bound.spec is read(spec).spec
    assert bound.spec.node_name == ""


@pytest.mark.parametrize(
    ("spec_cpu", "given", "allocated", "infeasible", "node", "cpu"),
    [
        pytest.param("1", "2", "1", False, "x", 2000, id="shrinking, not yet done by the kubelet"),
        pytest.param("3", "1", "2", False, "x", 3000, id="growing, deferred"),
        pytest.param("3", "1", "2", True, "x", 2000, id="growing, infeasible: the spec counts not"),
        pytest.param("3", "9", "9", False, "", 3000, id="a pod that is not bound: spec only"),
    ],
)
def test_a_resize_in_place_counts_what_is_really_taken(
    spec_cpu: str, given: str, allocated: str, infeasible: bool, node: str, cpu: int
) -> None:
    reason = "Infeasible" if infeasible else "Deferred"
    status = {
        "containerStatuses": [
            {"name": "main", "resources": {"requests": {"cpu": given}},
             "allocatedResources": {"cpu": allocated}},
            {"name": "gone", "resources": {"requests": {"cpu": "77"}}},
        ],
        "initContainerStatuses": [{"name": "init", "resources": {"requests": {"cpu": "99"}}},
                                  {"name": "unreported"}],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
    }  # fmt: skip
    spec = {
        "containers": [container(cpu=spec_cpu)],
        "initContainers": [container("init", cpu="1m")],
        "nodeName": node,
    }

    assert requests_of(read(spec, status))["cpu"] == cpu


def test_a_sidecar_s_resize_counts_too() -> None:
    side = {**container("side", cpu="1"), "restartPolicy": "Always"}
    status = {"initContainerStatuses": [{"name": "side", "resources": {"requests": {"cpu": "4"}}}]}

    made = read({"containers": [container()], "initContainers": [side], "nodeName": "x"}, status)

    assert requests_of(made)["cpu"] == 4000


@pytest.mark.parametrize(
    ("reason", "node", "status", "cpu"),
    [
        pytest.param("Deferred", "x", {"resources": {"requests": {"cpu": "2"}}}, 2000, id="given"),
        pytest.param(
            "Deferred",
            "x",
            {"resources": {"requests": {}}, "allocatedResources": {"cpu": "3", "memory": "9Gi"}},
            3000,
            id="allocated, for what the pod level names",
        ),
        pytest.param(
            "Infeasible",
            "x",
            {"resources": {"requests": {"cpu": "500m"}}, "allocatedResources": {"cpu": "250m"}},
            500,
            id="infeasible: the spec counts not",
        ),
        pytest.param("Infeasible", "x", {"resources": {}}, 0, id="infeasible, and nothing given"),
        pytest.param(
            "Deferred", "x", {"allocatedResources": {"cpu": "3"}}, 1000, id="no status of the pod"
        ),
        pytest.param(
            "Deferred", "", {"resources": {"requests": {"cpu": "2"}}}, 1000, id="not bound"
        ),
    ],
)
def test_a_resize_of_the_pod_level_counts_for_what_it_names(
    reason: str, node: str, status: dict[str, Any], cpu: int
) -> None:
    condition = {"type": "PodResizePending", "status": "True", "reason": reason}
    spec = {
        "containers": [container()], "resources": {"requests": {"cpu": "1"}}, "nodeName": node,
    }  # fmt: skip

    found = requests_of(read(spec, {**status, "conditions": [condition, {"type": "Ready"}]}))

    assert found == {"pods": 1} | ({"cpu": cpu} if cpu else {})


def test_a_status_without_resources_changes_nothing() -> None:
    statuses = [{"name": "main", "allocatedResources": {"cpu": "9"}}, {"name": "gone"}]
    spec = {"containers": [container(cpu="1")], "nodeName": "x"}

    assert requests_of(read(spec, {"containerStatuses": statuses}))["cpu"] == 1000


def test_devices_and_huge_pages_are_counted_in_whole_units() -> None:
    asked = {"nvidia.com/gpu": "8", "hugepages-2Mi": "4Mi", "ephemeral-storage": "1500m"}

    assert requests_of(read({"containers": [container(**asked)]})) == {
        "nvidia.com/gpu": 8, "hugepages-2Mi": 4 * 2**20, "ephemeral-storage": 2, "pods": 1,
    }  # fmt: skip


def test_an_explicit_zero_is_not_a_missing_request() -> None:
    zero = read({"containers": [container(cpu="0")]}).spec
    missing = read({"containers": [container()]}).spec

    assert zero.requests == missing.requests == (("pods", 1),)
    assert (zero.nonzero_cpu, missing.nonzero_cpu) == (0, 100)


def test_fit_scores_a_pod_by_its_containers_where_the_pod_level_says_otherwise() -> None:
    pod_level = {"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}
    spec = {"containers": [container(cpu="1", memory="1Mi")]}

    assert read(spec).spec.fit_scored is None
    assert read(spec | pod_level).spec.fit_scored == (("cpu", 1000), ("memory", 2**20))


def test_required_node_affinity_keeps_its_shape() -> None:
    expressions = [
        {"key": "zone", "operator": "In", "values": ["a", "b"]},
        {"key": "gpu", "operator": "Exists", "values": None},
    ]
    fields = [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]
    terms = [{"matchExpressions": expressions, "matchFields": fields}, {"matchFields": None}]

    made = read({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}})

    assert made.spec.node_affinity == (
        NodeSelectorTerm(
            (Requirement("zone", Operator.IN, ("a", "b")), Requirement("gpu", Operator.EXISTS)),
            (Requirement("metadata.name", Operator.NOT_IN, ("x",)),),
        ),
        NodeSelectorTerm(),
    )


@pytest.mark.parametrize(
    ("affinity", "terms"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({"nodeAffinity": None}, None, id="empty"),
        pytest.param({"nodeAffinity": {}}, None, id="only preferred"),
        pytest.param({"nodeAffinity": {REQUIRED: {}}}, (), id="no terms match no node"),
    ],
)
def test_absent_affinity_constrains_nothing(
    affinity: dict[str, Any] | None, terms: tuple[()] | None
) -> None:
    assert read({"affinity": affinity}).spec.node_affinity == terms


def test_tolerations_are_read_with_their_defaults() -> None:
    made = read(
        {
            "tolerations": [
                {"key": "a", "value": "1", "effect": "NoSchedule"},
                {"operator": "Exists", "tolerationSeconds": 300, "effect": ""},
                {"key": "b", "operator": "Gt", "value": None, "effect": None},
            ]
        }
    )

    assert made.spec.tolerations == (
        Toleration("a", TolerationOperator.EQUAL, "1", Effect.NO_SCHEDULE),
        Toleration("", TolerationOperator.EXISTS),
        Toleration("b", TolerationOperator.GREATER_THAN),
    )


def test_host_ports_of_what_keeps_running_are_read_with_their_defaults() -> None:
    made = read(
        {
            "containers": [
                {"name": "a", "ports": [{"containerPort": 80}, {"hostPort": 80}]},
                {"name": "b", "ports": [{"hostPort": 0}, {"hostPort": 53, "protocol": "UDP"}]},
                {"name": "c", "ports": [{"hostPort": 9, "hostIP": "::", "protocol": None}]},
            ],
            "initContainers": [
                {"name": "i", "ports": [{"hostPort": 1}]},
                {
                    "name": "s",
                    "ports": [{"hostPort": 2, "hostIP": "10.0.0.1", "protocol": "SCTP"}],
                    "restartPolicy": "Always",
                },
            ],
        }
    )

    assert made.problem == ""
    assert made.spec.host_ports == (
        HostPort("10.0.0.1", "SCTP", 2),
        HostPort("0.0.0.0", "TCP", 80),
        HostPort("0.0.0.0", "UDP", 53),
        HostPort("::", "TCP", 9),
    )


def test_claims_on_volumes_and_devices_are_named() -> None:
    made = read(
        {
            "volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "b", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
                {"name": "d", "ephemeral": {}},
            ],
            "resourceClaims": [
                {"name": "gpu", "resourceClaimName": "x"},
                {"name": "nic", "resourceClaimTemplateName": "nics"},
            ],
        }
    )

    assert made.spec.volumes == (
        PodVolume("b", "claim", read_only=True),
        PodVolume("d", "ephemeral"),
    )
    assert made.claims == ("c", f"{made.key.name}-d")
    assert made.spec.resource_claims == (PodResourceClaim("gpu"), PodResourceClaim("nic", "nics"))
    assert made.resource_claims == ("x", "")


@pytest.mark.parametrize(
    ("statuses", "names"),
    [
        pytest.param([], ("",), id="not made yet"),
        pytest.param([{"name": "nic", "resourceClaimName": "p-nic-7"}], ("p-nic-7",), id="made"),
        pytest.param([{"name": "nic"}], (None,), id="none is needed"),
        pytest.param([{"name": "gpu", "resourceClaimName": "x"}], ("",), id="of another claim"),
    ],
)
def test_a_claim_from_a_template_is_known_by_the_status(
    statuses: list[Any], names: tuple[str | None, ...]
) -> None:
    made = read(
        {"resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "nics"}]},
        {"resourceClaimStatuses": statuses},
    )

    assert made.resource_claims == names


def test_pods_of_a_stateful_set_are_of_one_class_though_their_claims_differ() -> None:
    first, second = (
        read({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]})
        for name in ("data-web-0", "data-web-1")
    )

    assert first.spec is second.spec
    assert first.claims != second.claims


@pytest.mark.parametrize(
    ("volume", "made"),
    [
        pytest.param(
            {"gcePersistentDisk": {"pdName": "disk", "readOnly": True, "partition": 1}},
            PodVolume(
                "v",
                "gcePersistentDisk",
                read_only=True,
                disk=(("partition", "1"), ("pdName", "disk"), ("readOnly", "true")),
            ),
            id="a disk of GCE",
        ),
        pytest.param(
            {"rbd": {"monitors": ["a:1", "b:2"], "image": "i", "secretRef": {"name": "s"}}},
            PodVolume("v", "rbd", disk=(("image", "i"), ("monitors", "a:1,b:2"))),
            id="an image of Ceph",
        ),
    ],
)
def test_an_inline_disk_is_part_of_the_class(volume: dict[str, Any], made: PodVolume) -> None:
    assert read({"volumes": [{"name": "v", **volume}]}).spec.volumes == (made,)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.27", "nginx:1.27"),
        ("example.com:5000/nginx", "example.com:5000/nginx:latest"),
        ("example.com:5000/nginx:1", "example.com:5000/nginx:1"),
        ("nginx@sha256:ab", "nginx@sha256:ab"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image: str, name: str) -> None:
    assert read({"containers": [{"name": "a", "image": image}]}).spec.images == (name,)


def test_images_of_init_containers_containers_and_volumes_are_known() -> None:
    made = read(
        {
            "initContainers": [{"name": "i", "image": "init"}],
            "containers": [
                {"name": "a", "image": "main:1"},
                {"name": "b", "image": "main:1"},
                {"name": "c", "image": None},
            ],
            "volumes": [
                {"name": "v", "image": {"reference": "data"}},
                {"name": "w", "image": {"pullPolicy": "Always"}},
            ],
        }
    )

    assert made.spec.images == ("init:latest", "main:1", "main:1")
    assert made.spec.image_volumes == ("data:latest",)


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        pytest.param({"hostNetwork": True, "hostUsers": True}, (), id="users of the host"),
        pytest.param({"hostNetwork": True}, (), id="users of the host, by default"),
        pytest.param({"hostUsers": False}, (), id="no network of the host"),
        pytest.param(
            {"hostNetwork": True, "hostUsers": False},
            ("UserNamespacesHostNetworkSupport",),
            id="own users in the network of the host",
        ),
        pytest.param(
            {
                "containers": [
                    {"restartPolicyRules": [{"action": "Restart", "exitCodes": {}}]},
                ]
            },
            (),
            id="a rule that restarts one container",
        ),
        pytest.param(
            {
                "hostNetwork": True,
                "hostUsers": False,
                "initContainers": [
                    {"restartPolicyRules": [{}, {"action": "RestartAllContainers"}]}
                ],
            },
            ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"),
            id="a rule that restarts all of them",
        ),
    ],
)
def test_a_pod_needs_what_its_node_must_declare(
    spec: dict[str, Any], features: tuple[str, ...]
) -> None:
    assert read(spec).spec.features == features


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(None, "spec: missing", id="no spec"),
        pytest.param(
            {"containers": [container(), container("b", cpu="many")]},
            'spec.containers[1].resources.requests[cpu]: "many" is not a quantity; write digits',
            id="a request that is no quantity",
        ),
        pytest.param(
            {"initContainers": [container(memory="-1Gi")]},
            'spec.initContainers[0].resources.requests[memory]: "-1Gi" is negative; memory must',
            id="a negative request",
        ),
        pytest.param(
            {"overhead": {"cpu": "?"}}, "spec.overhead[cpu]:", id="overhead that is no quantity"
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "?"}}},
            "spec.resources.requests[cpu]:",
            id="a pod-level request that is no quantity",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        REQUIRED: {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "a", "operator": "Near"}]}
                            ]
                        }
                    }
                }
            },
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
            '.operator: unknown "Near"; use one of In, NotIn, Exists, DoesNotExist, Gt, Lt',
            id="an operator that nobody knows",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Equal"}, {"effect": "Never"}]},
            "spec.tolerations[1]: 'Never' is not a valid Effect; operators are Equal, Exists, Lt,",
            id="an effect that nobody knows",
        ),
    ],
)
def test_what_cannot_be_read_is_named_with_its_field(
    spec: dict[str, Any] | None, problem: str
) -> None:
    assert read(spec).problem.startswith(problem)


def test_several_problems_are_told_at_once() -> None:
    made = read({"containers": [container(cpu="x", memory="y")]})

    assert made.problem.count("is not a quantity") == 2
    assert made.spec == PodSpec()
