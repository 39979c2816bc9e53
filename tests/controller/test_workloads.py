# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which PodGroups workloads call for: the minimum of what can exist together, and what follows."""

from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import WORKLOADS
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.wire.auto_groups import group_name

CPU = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]}
TEMPLATE = {"spec": CPU}
GPU = {"resources": {"limits": {"nvidia.com/gpu": 8}}}
GPUS = {"spec": {"containers": [GPU]}}
LOG = {"name": "log", "resources": {"requests": {"cpu": "2"}}}
IN_EXECUTOR = {
    "name": "spark-kubernetes-executor",
    "resources": {"limits": {"nvidia.com/gpu": "1"}},
}


def job(parallelism: int, completions: int | None = None) -> dict[str, Any]:
    return {"parallelism": parallelism, "completions": completions, "template": TEMPLATE}


def replicated(name: str, replicas: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "template": {"spec": job(2, 2)}, **more}


def after(name: str, status: str) -> dict[str, Any]:
    return {"dependsOn": [{"name": name, "status": status}]}


def replicas(**counts: int) -> dict[str, Any]:
    return {role: {"replicas": count, "template": TEMPLATE} for role, count in counts.items()}


def roles(**floors: int) -> list[dict[str, Any]]:
    return [{"name": name, "minMember": floor} for name, floor in floors.items()]


def called_for(
    kind: str, spec: dict[str, Any], annotations: dict[str, str] | None = None
) -> tuple[Derived, ...]:
    """The PodGroups of a workload."""
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    metadata = {"name": "w", "namespace": "n", "uid": "u", "annotations": annotations}
    found = source.derive(msgspec.convert({"metadata": metadata, "spec": spec}, source.shape))
    made = (found,) if isinstance(found, Derived) else found
    assert isinstance(made, tuple)
    return made


def derived(
    kind: str, spec: dict[str, Any], annotations: dict[str, str] | None = None
) -> dict[str, Any]:
    """The spec of each PodGroup by its part, "" = of the whole, "1" = of its second group."""
    made = called_for(kind, spec, annotations)
    parts = ("", "driver", "workers", "0", "1", "2")
    names = {group_name(kind, "w", uid, part): part for part in parts for uid in ("", "u")}
    return {names[each.name]: dict(each.spec) for each in made}


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Job", job(4, 4), {"minMember": 4}),
        ("Job", job(8, 3), {"minMember": 3}),
        ("Job", job(5), {"minMember": 5}),
        ("Job", {}, {"minMember": 1}),
        ("Job", job(0, 4), {"minMember": 1}),
        (
            "StatefulSet",
            {"replicas": 3, "template": TEMPLATE},
            {"minMember": 1, "minResources": {"cpu": "6", "memory": "3Gi"}},
        ),
        ("StatefulSet", {"replicas": 3, "podManagementPolicy": "Parallel"}, {"minMember": 3}),
        (
            "RayCluster",
            {
                "headGroupSpec": {},
                "workerGroupSpecs": [
                    {"groupName": "gpu", "replicas": 2, "minReplicas": 1, "numOfHosts": 2},
                    {"groupName": "cpu", "replicas": 9, "maxReplicas": 3},
                    {"groupName": "off", "replicas": 9, "suspend": True},
                ],
            },
            {"minMember": 8, "roles": roles(headgroup=1, gpu=4, cpu=3, off=0)},
        ),
        (
            "RayCluster",
            {
                "enableInTreeAutoscaling": True,
                "workerGroupSpecs": [{"groupName": "gpu", "replicas": 5, "minReplicas": 1}],
            },
            {"minMember": 2, "roles": roles(headgroup=1, gpu=1)},
        ),
        ("RayCluster", {}, {"minMember": 1, "roles": roles(headgroup=1)}),
        (
            "RayCluster",
            {"workerGroupSpecs": [{"groupName": "not a role", "replicas": 2}]},
            {"minMember": 3},
        ),
        (
            "PyTorchJob",
            {"pytorchReplicaSpecs": replicas(Master=1, Worker=3)},
            {"minMember": 4, "roles": roles(master=1, worker=3)},
        ),
        (
            "PyTorchJob",
            {"pytorchReplicaSpecs": replicas(Worker=8), "elasticPolicy": {"minReplicas": 2}},
            {"minMember": 2, "roles": roles(worker=2)},
        ),
        (
            "TFJob",
            {
                "tfReplicaSpecs": replicas(PS=2, Worker=4),
                "runPolicy": {"schedulingPolicy": {"minAvailable": 5}},
            },
            {"minMember": 5, "roles": roles(ps=0, worker=0)},
        ),
        (
            "MPIJob",
            {"mpiReplicaSpecs": replicas(Launcher=1, Worker=2)},
            {"minMember": 3, "roles": roles(launcher=1, worker=2)},
        ),
        (
            "MPIJob",
            {
                "mpiReplicaSpecs": replicas(Launcher=1, Worker=2),
                "launcherCreationPolicy": "WaitForWorkersReady",
            },
            {
                "minMember": 2,
                "roles": roles(launcher=0, worker=2),
                "minResources": {"cpu": "6", "memory": "3Gi"},
            },
        ),
        (
            "SparkApplication",
            {
                "type": "Scala",
                "driver": {"cores": 1, "coreRequest": "500m", "memory": "1g"},
                "executor": {"cores": 2, "instances": 3, "memory": "4096m"},
            },
            {
                "minMember": 1,
                "roles": roles(driver=1, executor=0),
                "minResources": {"cpu": "6500m", "memory": "14926Mi"},
            },
        ),
        (
            "SparkApplication",
            {
                "type": "Python",
                "driver": {"memory": "1g", "memoryOverhead": "1g", "coreRequest": "?"},
                "executor": {"instances": 9, "memory": "1g", "gpu": {"name": "x.y/g"}},
                "dynamicAllocation": {"enabled": True, "minExecutors": 1},
                "memoryOverheadFactor": "1.0",
            },
            {
                "minMember": 1,
                "roles": roles(driver=1, executor=0),
                "minResources": {"cpu": "10", "memory": "20Gi"},
            },
        ),
        (
            "SparkApplication",
            {
                "driver": {"memory": "1g", "sidecars": [CPU["containers"][0]]},
                "executor": {
                    "instances": 4,
                    "memory": "1g",
                    "template": {"spec": {"containers": [LOG, IN_EXECUTOR]}},
                    "initContainers": [
                        {"name": "fetch", "resources": {"limits": {"cpu": "3500m"}}}
                    ],
                },
            },
            {
                "minMember": 1,
                "roles": roles(driver=1, executor=0),
                # Of the driver 1 + 2 CPUs, of each executor 3.5, more than 1 + 2.
                "minResources": {"cpu": "17", "memory": "8064Mi", "nvidia.com/gpu": "4"},
            },
        ),
    ],
    ids=str,
)
def test_the_podgroup_of_a_workload(
    kind: str, spec: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert derived(kind, spec) == {"": expected}


def only_limits(kind: str) -> dict[str, Any]:
    """The spec of a workload of which each of three pods has only a limit, of eight GPUs."""
    role = {"replicas": 1, "template": GPUS}
    workers = {"replicas": 2, "template": GPUS}
    in_job = {"spec": {"parallelism": 2, "template": GPUS}}
    specs: dict[str, dict[str, Any]] = {
        "StatefulSet": {"replicas": 3, "template": GPUS},
        "LeaderWorkerSet": {
            "startupPolicy": "LeaderReady",
            "leaderWorkerTemplate": {"size": 3, "workerTemplate": GPUS},
        },
        "MPIJob": {
            "launcherCreationPolicy": "WaitForWorkersReady",
            "mpiReplicaSpecs": {"Launcher": role, "Worker": workers},
        },
        "JobSet": {
            "replicatedJobs": [
                {"name": "driver", "template": {"spec": {"template": GPUS}}},
                {"name": "workers", "template": in_job, **after("driver", "Ready")},
            ]
        },
    }
    return specs[kind]


@pytest.mark.parametrize("kind", ["StatefulSet", "LeaderWorkerSet", "MPIJob", "JobSet"])
def test_limits_are_reserved_for_where_a_template_has_no_requests(kind: str) -> None:
    """Semantics §5.2: the API server sets requests to limits in pods, not in templates."""
    first = called_for(kind, only_limits(kind))[0]
    assert first.spec["minResources"] == {"nvidia.com/gpu": "24"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}}]},
            {"cpu": "1"},
        ),
        (
            {"containers": [GPU], "initContainers": [{"resources": {"limits": {"cpu": "2"}}}]},
            {"cpu": "2", "nvidia.com/gpu": "8"},
        ),
        (
            {"containers": [GPU], "initContainers": [{**GPU, "restartPolicy": "Always"}]},
            {"nvidia.com/gpu": "16"},
        ),
        ({"containers": [{}], "resources": {"limits": {"cpu": "4"}}}, {"cpu": "4"}),
        (
            {"containers": CPU["containers"], "resources": {"limits": {"cpu": "4"}}},
            {"cpu": "2", "memory": "1Gi"},
        ),
        ({"containers": [GPU], "overhead": {"cpu": "1"}}, {"cpu": "1", "nvidia.com/gpu": "8"}),
        (
            {"containers": [GPU, {"resources": {"limits": {"cpu": "two"}}}]},
            {"nvidia.com/gpu": "8"},
        ),
        ({"containers": None, "resources": {"limits": None, "requests": None}}, None),
    ],
    ids=str,
)
def test_limits_of_a_template_count_as_in_its_pods(
    spec: dict[str, Any], expected: dict[str, str] | None
) -> None:
    """Semantics §5.2."""
    made = derived("StatefulSet", {"replicas": 1, "template": {"spec": spec}})[""]
    assert made.get("minResources") == expected


def test_a_template_of_spark_s_that_cannot_be_read_adds_nothing() -> None:
    """Semantics §5.2: the API server stores it unchecked."""
    executor = {"template": {"spec": {"containers": [{"resources": {"limits": ["cpu"]}}, "?"]}}}
    spec = {"driver": {"memory": "1g"}, "executor": executor}
    expected = {"cpu": "3", "memory": "4224Mi"}
    assert derived("SparkApplication", spec)[""]["minResources"] == expected


def test_an_index_of_a_job_that_failed_for_good_is_not_waited_for() -> None:
    """Semantics §5.2: after a suspension the Job has no pod for it."""
    [source] = [each for each in WORKLOADS if each.resources[0].kind == "Job"]
    status = {"failedIndexes": "1,3"}
    body = {"metadata": {"name": "w", "uid": "u"}, "spec": job(4, 4), "status": status}
    found = source.derive(msgspec.json.decode(msgspec.json.encode(body), type=source.shape))
    assert isinstance(found, Derived)
    assert found.spec == {"minMember": 2}


def test_each_group_of_a_leaderworkerset_is_a_gang_those_of_a_surge_too() -> None:
    rollout = {"rollingUpdateConfiguration": {"maxSurge": "40%"}}
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 4}, "rolloutStrategy": rollout}
    expected = {"minMember": 4, "roles": roles(leader=1, worker=3)}
    assert derived("LeaderWorkerSet", spec) == dict.fromkeys(("0", "1", "2"), expected)


def test_workers_that_wait_for_their_leader_are_reserved_for() -> None:
    group = {"size": 3, "workerTemplate": TEMPLATE}
    spec = {"replicas": 1, "startupPolicy": "LeaderReady", "leaderWorkerTemplate": group}
    assert derived("LeaderWorkerSet", spec) == {
        "0": {
            "minMember": 1,
            "roles": roles(leader=1, worker=0),
            "minResources": {"cpu": "6", "memory": "3Gi"},
        }
    }


def test_workers_that_wait_for_the_node_of_their_leader_are_reserved_for() -> None:
    """Semantics §5.2."""
    spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": TEMPLATE}}
    exclusive = {"leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"}
    assert derived("LeaderWorkerSet", spec, exclusive) == {
        "0": {
            "minMember": 1,
            "roles": roles(leader=1, worker=0),
            "minResources": {"cpu": "6", "memory": "3Gi"},
        }
    }


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("LeaderWorkerSet", {"replicas": 2**31 - 1}, "spec.replicas: with the surge"),
        (
            "JobSet",
            {
                "startupPolicy": {"startupPolicyOrder": "InOrder"},
                "replicatedJobs": [replicated(f"job-{index}", 1) for index in range(1025)],
            },
            "spec.replicatedJobs: 1024 are created after others",
        ),
    ],
)
def test_a_workload_that_would_need_too_many_podgroups_is_refused(
    kind: str, spec: dict[str, Any], field: str
) -> None:
    """Anybody may ask for billions in a few bytes."""
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    metadata = {"name": "w", "namespace": "n", "uid": "u"}
    found = source.derive(msgspec.convert({"metadata": metadata, "spec": spec}, source.shape))
    assert isinstance(found, RefusedGroup)
    assert found.problem.startswith(field)


@pytest.mark.parametrize("source", WORKLOADS, ids=lambda source: source.name)
def test_a_workload_without_a_spec_calls_for_the_least(source: Any) -> None:
    found = source.derive(source.shape())
    made = (found,) if isinstance(found, Derived) else found
    assert {each.spec["minMember"] for each in made} == {1}


def test_of_a_workload_its_templates_are_not_kept() -> None:
    [source] = [each for each in WORKLOADS if each.resources[0].kind == "Job"]
    found = msgspec.convert({"metadata": {"name": "w"}, "spec": job(2)}, source.shape)
    assert source.kept(found).metadata.name == "w"
    assert not hasattr(source.kept(found), "spec")


def test_amounts_and_counts_beyond_all_bounds_are_held_at_what_a_podgroup_takes() -> None:
    jobs = [replicated("workers", 2**31 - 1)]
    assert derived("JobSet", {"replicatedJobs": jobs})[""]["minMember"] == 100_000


@pytest.mark.parametrize(
    ("kind", "spec", "idle"),
    [
        ("StatefulSet", {"replicas": 0}, True),
        ("StatefulSet", {"replicas": 0, "podManagementPolicy": "Parallel"}, True),
        ("StatefulSet", {"replicas": 1}, False),
        ("Job", {"parallelism": 0}, True),
        ("Job", {"parallelism": 0, "completions": 4}, True),
        ("Job", {"parallelism": 2, "suspend": True}, False),
        ("JobSet", {"replicatedJobs": [{"name": "a", "replicas": 0}]}, True),
        ("RayCluster", {"workerGroupSpecs": [{"groupName": "a", "replicas": 0}]}, False),
        ("PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"replicas": 0}}}, True),
        ("MPIJob", {"mpiReplicaSpecs": {"Worker": {"replicas": 0}}}, True),
        (
            "MPIJob",
            {
                "mpiReplicaSpecs": {"Launcher": {"replicas": 1}},
                "launcherCreationPolicy": "WaitForWorkersReady",
            },
            False,
        ),
        (
            "PyTorchJob",
            {
                "pytorchReplicaSpecs": {"Worker": {"replicas": 4}},
                "elasticPolicy": {"minReplicas": 0},
            },
            False,
        ),
    ],
)
def test_who_wants_no_pods_now_is_idle(kind: str, spec: dict[str, Any], idle: bool) -> None:
    """Semantics §2.5: a PodGroup that was made for it stays as it is."""
    assert [each.idle for each in called_for(kind, spec)] == [idle]


# ── topology, as pod templates say it ────────────────────────────────────────────────────────

REQUIRED, PREFERRED = "enbloc.dev/topology-required", "enbloc.dev/topology-preferred"


def near(**said: str) -> dict[str, Any]:
    """A pod template that says so much of a topology, by the fields of `spec.topology`."""
    keys = {"name": "enbloc.dev/topology", "required": REQUIRED, "preferred": PREFERRED}
    annotations = {keys[field]: value for field, value in said.items()}
    return {**TEMPLATE, "metadata": {"annotations": annotations}}


def in_racks(kind: str) -> dict[str, Any]:
    """The spec of a workload of which one template asks for a rack."""
    rack = near(required="rack")
    worker = {"template": rack}
    specs: dict[str, dict[str, Any]] = {
        "Job": {"parallelism": 2, **worker},
        "StatefulSet": {"replicas": 2, **worker},
        "JobSet": {"replicatedJobs": [{"name": "workers", "template": {"spec": worker}}]},
        "LeaderWorkerSet": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": rack}},
        "RayCluster": {"headGroupSpec": {}, "workerGroupSpecs": [{"groupName": "gpu", **worker}]},
        "SparkApplication": {"executor": rack["metadata"]},
        "MPIJob": {"mpiReplicaSpecs": {**replicas(Launcher=1), "Worker": worker}},
        "PyTorchJob": {"pytorchReplicaSpecs": {"Worker": worker}},
    }
    return specs[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "Job",
        "StatefulSet",
        "JobSet",
        "LeaderWorkerSet",
        "RayCluster",
        "SparkApplication",
        "MPIJob",
        "PyTorchJob",
    ],
)
def test_a_pod_template_gives_the_podgroup_of_its_workload_a_topology(kind: str) -> None:
    [made] = called_for(kind, in_racks(kind))

    assert made.spec["topology"] == {"required": "rack"}


def test_the_head_of_ray_and_the_template_of_spark_s_driver_give_it_too() -> None:
    rack = near(required="rack", preferred="host", name="default")
    for kind, spec in (
        ("RayCluster", {"headGroupSpec": {"template": rack}}),
        ("SparkApplication", {"driver": {"template": rack}}),
    ):
        [made] = called_for(kind, spec)
        assert made.spec["topology"] == {
            "name": "default",
            "required": "rack",
            "preferred": "host",
        }


def test_a_label_of_the_template_gives_it_where_there_is_no_annotation() -> None:
    template = {**TEMPLATE, "metadata": {"labels": {REQUIRED: "rack"}, "annotations": None}}
    [made] = called_for("Job", {"template": template})

    assert made.spec["topology"] == {"required": "rack"}


def refused(kind: str, spec: dict[str, Any]) -> RefusedGroup:
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    metadata = {"name": "w", "namespace": "n", "uid": "u"}
    found = source.derive(msgspec.convert({"metadata": metadata, "spec": spec}, source.shape))
    assert isinstance(found, RefusedGroup)
    return found


def test_templates_that_say_different_topologies_are_refused() -> None:
    worker = {"replicas": 1, "template": near(required="rack")}
    launcher = {"replicas": 1, "template": near(required="zone", preferred="rack")}

    found = refused("MPIJob", {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}})

    assert found.problem == (
        f"pod templates: one has {REQUIRED}=zone, {PREFERRED}=rack, another one {REQUIRED}=rack; "
        "write the same in both, or remove it from one"
    )
    assert found.name == group_name("MPIJob", "w")


@pytest.mark.parametrize("kind", ["Job", "JobSet", "LeaderWorkerSet"])
def test_a_topology_that_none_can_have_is_refused_with_the_key(kind: str) -> None:
    template = near(required="a rack")
    specs: dict[str, dict[str, Any]] = {
        "Job": {"template": template},
        "JobSet": {
            "replicatedJobs": [{"name": "driver", "template": {"spec": {"template": template}}}]
        },
        "LeaderWorkerSet": {"replicas": 2, "leaderWorkerTemplate": {"leaderTemplate": template}},
    }

    found = refused(kind, specs[kind])

    assert found.problem.startswith(f"pod template: annotation {REQUIRED}: must be a name such as")
