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


def test_a_jobset_is_one_gang() -> None:
    jobs = [replicated("driver", 1), replicated("workers", 2)]
    expected = {"minMember": 6, "roles": roles(driver=2, workers=4)}
    assert derived("JobSet", {"replicatedJobs": jobs}) == {"": expected}


@pytest.mark.parametrize(
    ("waits", "reserved"),
    [
        ({"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {"cpu": "12", "memory": "6Gi"}),
        (after("driver", "Ready"), {"cpu": "12", "memory": "6Gi"}),
        (after("driver", "Complete"), {"cpu": "8", "memory": "4Gi"}),
    ],
    ids=["InOrder", "Ready", "Complete"],
)
def test_a_jobset_in_order_reserves_for_all_and_has_a_podgroup_for_what_comes_later(
    waits: dict[str, Any], reserved: dict[str, str]
) -> None:
    depends = {"dependsOn": waits.pop("dependsOn")} if "dependsOn" in waits else {}
    jobs = [replicated("driver", 1), replicated("workers", 2, **depends)]
    assert derived("JobSet", {"replicatedJobs": jobs, **waits}) == {
        "": {"minMember": 2, "roles": roles(driver=2), "minResources": reserved},
        "workers": {"minMember": 4, "roles": roles(workers=4)},
    }


def test_a_jobset_in_three_waves_reserves_for_the_largest() -> None:
    """Semantics §5.2."""
    jobs = [
        replicated("driver", 1),
        replicated("workers", 3, **after("driver", "Complete")),
        replicated("helper", 1, **after("workers", "Ready")),
        replicated("check", 1, **after("workers", "Complete")),
    ]
    first = called_for("JobSet", {"replicatedJobs": jobs})[0]
    assert first.spec["minResources"] == {"cpu": "16", "memory": "8Gi"}


def test_a_job_that_no_other_waits_for_counts_beside_all_later_ones() -> None:
    """Semantics §5.2."""
    jobs = [
        replicated("server", 2),
        replicated("prepare", 1),
        replicated("train", 3, **after("prepare", "Complete")),
    ]
    first = called_for("JobSet", {"replicatedJobs": jobs})[0]
    assert first.spec["minResources"] == {"cpu": "20", "memory": "10Gi"}


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


EXCLUSIVE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
BY_SELECTOR = {"alpha.jobset.sigs.k8s.io/node-selector": "true"}


def test_of_a_jobset_with_exclusive_placement_one_pod_of_each_job_is_needed() -> None:
    """Semantics §5.2."""
    jobs = [replicated("workers", 2)]
    reserved = {"cpu": "8", "memory": "4Gi"}
    led = {"minMember": 2, "roles": roles(workers=2), "minResources": reserved}
    assert derived("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE) == {"": led}
    whole = {"minMember": 4, "roles": roles(workers=4)}
    assert derived("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE | BY_SELECTOR) == {"": whole}


def test_pods_may_have_exclusive_placement_of_their_own() -> None:
    """Semantics §5.2."""
    # The webhook of JobSet reads only the annotations of pods.
    jobs = [replicated("workers", 2)]
    jobs[0]["template"]["spec"]["template"] = TEMPLATE | {"metadata": {"annotations": EXCLUSIVE}}
    assert derived("JobSet", {"replicatedJobs": jobs})[""]["minMember"] == 2
    jobs[0]["template"]["spec"]["template"] = TEMPLATE | {"metadata": {"annotations": BY_SELECTOR}}
    assert derived("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE)[""]["minMember"] == 4


def test_a_replicated_job_may_have_exclusive_placement_of_its_own() -> None:
    """Semantics §5.2."""
    jobs = [replicated("driver", 1), replicated("workers", 2), replicated("single", 3)]
    jobs[1]["template"]["metadata"] = {"annotations": EXCLUSIVE}
    jobs[2]["template"] = {"metadata": {"annotations": EXCLUSIVE}, "spec": job(1, 1)}
    assert derived("JobSet", {"replicatedJobs": jobs}, BY_SELECTOR) == {
        "": {
            "minMember": 7,
            "roles": roles(driver=2, workers=2, single=3),
            "minResources": {"cpu": "18", "memory": "9Gi"},
        }
    }
    later = [jobs[0], jobs[1] | after("driver", "Ready")]
    assert derived("JobSet", {"replicatedJobs": later}) == {
        "": {
            "minMember": 2,
            "roles": roles(driver=2),
            "minResources": {"cpu": "12", "memory": "6Gi"},
        },
        "workers": {"minMember": 2, "roles": roles(workers=2)},
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


def test_each_part_of_a_jobset_that_is_created_later_has_the_topology_of_its_own_template() -> None:
    def part(name: str, template: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": name, "template": {"spec": {"template": template}}, **more}

    rack = near(required="rack")
    jobs = [part("driver", TEMPLATE), part("workers", rack, **after("driver", "Ready"))]

    first, later = called_for("JobSet", {"replicatedJobs": jobs})

    assert "topology" not in first.spec
    assert later.spec["topology"] == {"required": "rack"}


def in_rack(name: str, **more: Any) -> dict[str, Any]:
    """A replicatedJob with one pod, which requires a rack."""
    template = near(required="rack", name="default")
    return {"name": name, "template": {"spec": {"template": template}}, **more}


def test_the_first_part_of_a_jobset_requires_a_domain_for_its_own_pods_alone() -> None:
    """Semantics §6.6: capacity for the later ones need not be in that domain."""
    jobs = [in_rack("driver"), in_rack("workers", **after("driver", "Ready"))]

    first, later = called_for("JobSet", {"replicatedJobs": jobs})

    assert first.spec["topology"] == {"name": "default"}
    assert first.spec["roles"] == [
        {"name": "driver", "minMember": 1, "topology": {"required": "rack"}}
    ]
    assert first.spec["minResources"] == {"cpu": "4", "memory": "2Gi"}
    assert later.spec["topology"] == {"name": "default", "required": "rack"}


def test_jobs_that_a_jobset_creates_at_once_stay_in_one_domain_if_others_follow() -> None:
    """Semantics §6.6."""
    jobs = [in_rack("together"), in_rack("b"), in_rack("c", **after("b", "Ready"))]

    first = called_for("JobSet", {"replicatedJobs": jobs})[0]

    assert first.spec["topology"] == {"name": "default"}
    [part] = first.spec["subGroups"]
    assert part["topology"] == {"required": "rack"}
    assert part["name"] not in {"together", "b"}
    assert {role["name"]: role["parent"] for role in first.spec["roles"]} == {
        "together": part["name"],
        "b": part["name"],
    }


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
