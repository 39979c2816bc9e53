# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the scheduler would see of manifests: the PodGroups and claims that come with the pods."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from enbloc.controller.sources.at_once import KINDS
from enbloc.controller.submission import Submission, SubmissionContext, submission
from enbloc.devices.facts import ResourceClaim
from enbloc.engine.events import FactSeen, GroupGone, GroupSeen, TopologySeen
from enbloc.errors import UsageError
from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import Owner, Pod, PodKey, PodUID
from enbloc.model.selectors import Labels
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.workloads import Admission, Manifest, expand, manifests
from tests import recorded
from tests.controller.test_recorded import WORKLOAD_GROUPS
from tests.world.builders import spec

ALL: Labels = (("enbloc.dev/auto-group", "all"),)
NOTHING = SubmissionContext(("enbloc",), (), {}, {}, {"default": ()}, Admission(), now=1e9)
SWITCHED_ON = replace(NOTHING, namespaces={"default": ALL})
POD = "{spec: {schedulerName: enbloc, containers: [{name: c, image: i}]}}"


def made(given: Sequence[Manifest], known: SubmissionContext = NOTHING) -> Submission:
    return submission(expand(given, KINDS, "default"), known)


def of_text(text: str, known: SubmissionContext = NOTHING) -> Submission:
    return made(manifests("file", dedent(text).replace("POD", POD).encode()), known)


def groups(found: Submission) -> dict[str, Group]:
    """The PodGroups that are seen, by name."""
    return {each.group.key.name: each.group for each in found.first if isinstance(each, GroupSeen)}


def members(found: Submission) -> dict[str, Counter[str]]:
    """How many pods of each role each group has; "" = no group."""
    counts: dict[str, Counter[str]] = {}
    for each in found.pods:
        name = each.pod.group.name if each.pod.group is not None else ""
        counts.setdefault(name, Counter())[each.pod.role] += 1
    return counts


def given(name: str) -> list[Manifest]:
    """What a user has written of a recorded job."""
    return [
        Manifest(name, each)
        for each in recorded.objects(name)
        if not each["metadata"].get("ownerReferences")
    ]


@pytest.mark.parametrize(("name", "expected"), WORKLOAD_GROUPS.items())
def test_workloads_get_the_groups_that_the_controller_makes(
    name: str, expected: Sequence[Mapping[str, int]]
) -> None:
    found = made(given(name), SWITCHED_ON)
    counts = members(found)
    assert sorted(map(dict, counts.values()), key=repr) == sorted(expected, key=repr)
    assert counts.keys() == groups(found).keys()
    assert found.notes == ()


@pytest.mark.parametrize("name", WORKLOAD_GROUPS)
def test_without_the_label_of_the_namespace_there_are_none(name: str) -> None:
    found = made(given(name))
    assert members(found).keys() == {""}
    assert groups(found) == {}


def test_pods_of_another_scheduler_get_no_group() -> None:
    text = "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {}}}}"
    assert groups(of_text(text, SWITCHED_ON)) == {}


def test_a_job_of_volcano_has_the_group_that_volcano_makes() -> None:
    found = made(given("volcano-job"), replace(NOTHING, schedulers=("enbloc", "volcano")))
    [group] = groups(found).values()
    assert (group.min_member, {role.name: role.min_member for role in group.roles}) == (
        3,
        {"master": 1, "worker": 2},
    )
    assert members(found) == {group.key.name: Counter(master=1, worker=2)}


FOREIGN = """
    apiVersion: scheduling.x-k8s.io/v1alpha1
    kind: PodGroup
    metadata: {name: g}
    spec: {minMember: 2}
    ---
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec:
      parallelism: 2
      template:
        metadata: {labels: {scheduling.x-k8s.io/pod-group: g}}
        spec: {schedulerName: enbloc, containers: []}
    """


def test_pod_groups_of_other_projects_are_read_as_the_controller_does() -> None:
    found = of_text(FOREIGN)
    assert groups(found)["g"].min_member == 2
    assert members(found) == {"g": Counter({"": 2})}


def test_of_a_pod_group_that_cannot_be_made_is_said_why() -> None:
    found = of_text(FOREIGN.replace("minMember: 2", "minMember: -1"))
    assert groups(found) == {}
    [note] = found.notes
    assert note.startswith("PodGroup default/g: spec.minMember: ")


def test_an_object_of_another_project_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError, match="PodGroup default/g: Expected `int"):
        of_text(FOREIGN.replace("minMember: 2", "minMember: many"))


TREE = """
    apiVersion: scheduling.k8s.io/v1alpha3
    kind: CompositePodGroup
    metadata: {name: root}
    spec: {schedulingPolicy: {gang: {minGroupCount: 2}}}
    ---
    apiVersion: scheduling.k8s.io/v1alpha3
    kind: PodGroup
    metadata: {name: a}
    spec: {parentCompositePodGroupName: root, schedulingPolicy: {gang: {minCount: 1}}}
    ---
    apiVersion: scheduling.k8s.io/v1alpha3
    kind: PodGroup
    metadata: {name: b}
    spec: {parentCompositePodGroupName: root, schedulingPolicy: {gang: {minCount: 1}}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec: {schedulerName: enbloc, containers: [], schedulingGroup: {podGroupName: a}}
    """


def test_a_tree_of_groups_of_kubernetes_is_one_group() -> None:
    found = of_text(TREE)
    [group] = groups(found).values()
    assert [(role.name, role.min_member) for role in group.roles] == [("a", 1), ("b", 1)]
    assert members(found) == {group.key.name: Counter(a=1)}
    incomplete = of_text(TREE.replace("minGroupCount: 2", "minGroupCount: 3"))
    assert groups(incomplete) == {}
    assert "3 children are needed, and 2 exist" in incomplete.notes[0]


DECLARED = """
    apiVersion: batch/v1
    kind: Job
    metadata: {name: job}
    spec:
      parallelism: 2
      template:
        metadata: {annotations: {enbloc.dev/pod-group: g, enbloc.dev/min-member: "2"}}
        spec: {schedulerName: enbloc, containers: []}
    """


def test_pods_may_declare_their_group() -> None:
    assert groups(of_text(DECLARED))["g"].min_member == 2


def member(owner: str) -> Pod:
    """A pod of group g that a Job of this name has made."""
    key = GroupKey("default", "g")
    uid = PodUID(f"{owner}-uid")
    made_by = Owner("Job", owner, f"{owner}-job", "batch/v1")
    return Pod(
        PodKey("default", f"{owner}-0"), uid, spec(cpu=1), "enbloc", "n1", group=key, owner=made_by
    )


@pytest.mark.parametrize(
    ("owner", "minimum", "uid", "gone"),
    [
        pytest.param("other", 3, "known", 0, id="it keeps a member, and its run"),
        pytest.param("job", 2, "what-if-default/g", 1, id="all its members are replaced"),
    ],
)
def test_a_group_that_was_declared_before_goes_on_while_it_keeps_members(
    owner: str, minimum: int, uid: str, gone: int
) -> None:
    key = GroupKey("default", "g")
    known = Group(key, uid="known", min_member=3, generation=1, derived=True)
    found = of_text(DECLARED, replace(NOTHING, pods=(member(owner),), groups={key: known}))
    group = groups(found)["g"]
    assert (group.min_member, group.uid) == (minimum, uid)
    assert sum(isinstance(each, GroupGone) for each in found.first) == gone
    assert len(found.replaced) == gone


# ── objects that exist ───────────────────────────────────────────────────────────────────────


JOB_SET = """
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: j}
    spec: {replicatedJobs: [{name: w, replicas: 2, template: {spec: {template: POD}}}]}
    """
SERVING = """
    apiVersion: leaderworkerset.x-k8s.io/v1
    kind: LeaderWorkerSet
    metadata: {name: l}
    spec: {replicas: 1, leaderWorkerTemplate: {size: 2, workerTemplate: POD}}
    """
SPARK = "{driver: {}, executor: {}}"


def ray(kind: str, field: str) -> str:
    spec = f"{{{field}: {{headGroupSpec: {{template: POD}}}}}}"
    return f"{{apiVersion: ray.io/v1, kind: {kind}, metadata: {{name: r}}, spec: {spec}}}"


def of_kind(group: str, kind: str, spec: str) -> str:
    return f"{{apiVersion: {group}, kind: {kind}, metadata: {{name: x}}, spec: {spec}}}"


def left(owner: Owner, labels: Labels = (), namespace: str = "default") -> Pod:
    """A pod of an object that exists, with a name that no new pod has."""
    uid = PodUID(f"{namespace}/{owner.name}-uid")
    key = PodKey(namespace, f"{owner.name}-old")
    return Pod(key, uid, spec(cpu=1), "enbloc", "n1", owner=owner, labels=labels)


JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
APP_NAME = "sparkoperator.k8s.io/app-name"


@pytest.mark.parametrize(
    ("text", "owner", "labels", "maker"),
    [
        pytest.param(
            JOB_SET, Owner("Job", "j-w-3", "u"), ((JOBSET_NAME, "j"),), "JobSet default/j", id="job"
        ),
        pytest.param(
            SERVING,
            Owner("StatefulSet", "l-3", "u"),
            ((LWS_NAME, "l"),),
            "LeaderWorkerSet default/l",
            id="group of workers",
        ),
        pytest.param(
            ray("RayJob", "rayClusterSpec"),
            Owner("RayCluster", "r-x2b9z", "u"),
            (),
            "RayJob default/r",
            id="cluster of a RayJob",
        ),
        pytest.param(
            ray("RayJob", "rayClusterSpec"),
            Owner("Job", "r", "u"),
            (),
            "RayJob default/r",
            id="submitter of a RayJob",
        ),
        pytest.param(
            ray("RayJob", "rayClusterSpec"),
            Owner("RayCluster", "r-raycluster-x2b9z", "u"),
            (),
            "RayJob default/r",
            id="cluster of a RayJob, made by KubeRay before 1.4",
        ),
        pytest.param(
            ray("RayService", "rayClusterConfig"),
            Owner("RayCluster", "r-x2b9z", "u"),
            (),
            "RayService default/r",
            id="cluster of a RayService",
        ),
        pytest.param(
            of_kind("batch/v1", "CronJob", "{jobTemplate: {spec: {template: POD}}}"),
            Owner("Job", "x-29840400", "u"),
            (),
            "CronJob default/x",
            id="run of a CronJob",
        ),
        pytest.param(
            of_kind("sparkoperator.k8s.io/v1beta2", "SparkApplication", SPARK),
            Owner("Pod", "named", "u"),
            ((APP_NAME, "x"),),
            "SparkApplication default/x",
            id="executor of a driver with another name",
        ),
        pytest.param(
            of_kind(
                "sparkoperator.k8s.io/v1beta2",
                "ScheduledSparkApplication",
                f"{{template: {SPARK}}}",
            ),
            Owner("Pod", "x-1796078400000000000-driver", "u"),
            ((APP_NAME, "x-1796078400000000000"),),
            "ScheduledSparkApplication default/x",
            id="executor of a run",
        ),
        pytest.param(
            of_kind("apps/v1", "StatefulSet", "{replicas: 0, template: POD}"),
            Owner("StatefulSet", "x", "u"),
            (),
            "StatefulSet default/x",
            id="replica of an object that makes no pods now",
        ),
        pytest.param(
            of_kind("apps/v1", "Deployment", "{replicas: 0, template: POD}"),
            Owner("ReplicaSet", "x-5d4f", "u"),
            (("pod-template-hash", "5d4f"),),
            "Deployment default/x",
            id="replica of a Deployment that makes no pods now",
        ),
    ],
)
def test_all_pods_of_an_object_that_exists_go_even_those_that_are_not_made_again(
    text: str, owner: Owner, labels: Labels, maker: str
) -> None:
    old = left(owner, labels)
    elsewhere = left(owner, labels, "other")
    found = of_text(text, replace(NOTHING, pods=(old, elsewhere)))
    assert found.replaced == [old]
    note = f"{maker} exists (1 pod, 1 with a node); it is taken to be deleted first"
    assert note in found.notes


@pytest.mark.parametrize(
    ("text", "owner", "labels"),
    [
        (JOB_SET, Owner("Job", "j-w-3", "u"), ((JOBSET_NAME, "k"),)),
        (JOB_SET, Owner("Job", "j", "u"), ()),
        (ray("RayJob", "rayClusterSpec"), Owner("RayCluster", "r-train", "u"), ()),
        (ray("RayJob", "rayClusterSpec"), Owner("RayCluster", "rr-x2b9z", "u"), ()),
        (
            of_kind("batch/v1", "CronJob", "{jobTemplate: {spec: {template: POD}}}"),
            Owner("Job", "x-1", "u"),
            (),
        ),
    ],
)
def test_pods_of_objects_with_other_names_stay(text: str, owner: Owner, labels: Labels) -> None:
    found = of_text(text, replace(NOTHING, pods=(left(owner, labels),)))
    assert found.replaced == []


def test_the_jobs_of_a_jobset_that_exists_are_said_to_go_in_one_line() -> None:
    old = tuple(left(Owner("Job", f"j-w-{at}", "u"), ((JOBSET_NAME, "j"),)) for at in range(4))
    found = of_text(JOB_SET, replace(NOTHING, pods=old))
    assert found.replaced == [*old]
    assert found.notes == (
        "JobSet default/j exists (4 pods, 4 with a node); it is taken to be deleted first",
    )


EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[2] / "manifests" / "examples").rglob("*.yaml")
    if "plugins" not in path.parts
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_asked_about(path: Path) -> None:
    found = made(manifests(path.name, path.read_bytes()), SWITCHED_ON)
    assert found.pods
    assert not [each.pod.key for each in found.pods if each.pod.problem]


# ── claims ───────────────────────────────────────────────────────────────────────────────────

SET = """
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: web}
    spec:
      replicas: 2
      template: POD
      volumeClaimTemplates:
      - metadata: {name: data}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
    """


def test_claims_come_with_the_pods_of_a_stateful_set_unless_they_exist() -> None:
    there = PersistentVolumeClaim("default", "data-web-0", volume="pv", bind_completed=True)
    known = replace(
        NOTHING,
        facts={(there.kind, there.key): there},
        admission=Admission(storage_class="fast"),
    )
    found = of_text(SET, known)
    seen = [each.fact for each in found.first if isinstance(each, FactSeen)]
    [claim] = [each for each in seen if isinstance(each, PersistentVolumeClaim)]
    assert (claim.name, claim.storage_class) == ("data-web-1", "fast")
    assert [each.pod.claims for each in found.pods] == [("data-web-0",), ("data-web-1",)]


DEVICES = """
    apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec:
      schedulerName: enbloc
      containers: [{name: c, image: i}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
    """
TEMPLATE = """
    ---
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: gpus}
    spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
    """


def test_claims_are_made_of_the_templates_of_the_files() -> None:
    found = of_text(DEVICES + TEMPLATE)
    [claim] = [each.fact for each in found.first if isinstance(each, FactSeen)]
    assert isinstance(claim, ResourceClaim)
    assert claim.spec.asks[0].device_class == "gpu"
    [created] = found.pods
    assert created.pod.resource_claims == (claim.name,)
    assert claim.owner == created.pod.uid


def test_a_template_that_is_not_in_the_files_is_asked_for() -> None:
    assert of_text(DEVICES).notes == (
        (
            "Pod default/a: ResourceClaimTemplate default/gpus is not in the files; add it, or the "
            "pods wait for their claims"
        ),
    )


def test_classes_and_topologies_of_the_files_are_seen_before_the_pods() -> None:
    text = """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata:
          name: local
          annotations: {storageclass.kubernetes.io/is-default-class: "true"}
        provisioner: example.com/disk
        volumeBindingMode: WaitForFirstConsumer
        ---
        apiVersion: resource.k8s.io/v1
        kind: DeviceClass
        metadata: {name: gpu}
        ---
        apiVersion: enbloc.dev/v1alpha1
        kind: Topology
        metadata: {name: default}
        spec: {levels: [{name: rack, nodeLabel: example.com/rack}]}
        ---
        """
    found = of_text(dedent(text) + dedent(SET).replace("POD", POD))
    facts = [each.fact for each in found.first if isinstance(each, FactSeen)]
    assert [each.kind for each in facts][:2] == ["StorageClass", "DeviceClass"]
    claims = [each for each in facts if isinstance(each, PersistentVolumeClaim)]
    assert {each.storage_class for each in claims} == {"local"}
    [seen] = [each.topology for each in found.first if isinstance(each, TopologySeen)]
    assert [level.name for level in seen.levels] == ["rack"]


# ── what the cluster fills in ────────────────────────────────────────────────────────────────


def test_where_the_namespace_says_so_pods_that_name_no_scheduler_are_ours() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}"
    labels: Labels = (("enbloc.dev/inject-scheduler-name", "true"),)
    found = of_text(text, replace(NOTHING, namespaces={"default": labels}))
    assert found.pods[0].pod.scheduler == "enbloc"
    [note] = found.notes
    assert note.startswith("namespace default has the label enbloc.dev/inject-scheduler-name: ")


def test_a_pod_of_which_the_api_server_would_take_no_field_is_refused_with_its_path() -> None:
    text = """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: job}
        spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: [1]}}}]}}}
        """
    with pytest.raises(UsageError) as raised:
        of_text(text)
    assert str(raised.value).startswith("Job default/job: spec.template: spec.containers[0].")
