# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster with a change, compared with the same without it."""

import pytest

from enbloc.errors import UsageError
from enbloc.model.groups import GroupKey
from enbloc.model.names import AUTO_GROUP_KEY
from enbloc.model.pods import Owner, PodKey
from enbloc.simulation import SimulatedCluster, answer, more_nodes, resized, without_nodes
from enbloc.wire.auto_groups import group_name
from tests.simulation.asking import NAMESPACE, OWNER, asking, job, names, present, submitted, told
from tests.world.builders import spec
from tests.world.cluster import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Two nodes of eight CPUs."""
    found = Cluster()
    found.nodes("n1 n2", cpu=8)
    return found


def sitting(cluster: Cluster, name: str, nodes: str, cpu: int = 1, priority: int = 0) -> None:
    """A gang that runs, with a member on each of these nodes."""
    cluster.group(name, len(nodes.split()))
    for index, node in enumerate(nodes.split()):
        cluster.pod(
            f"{name}-{index}",
            name,
            node=node,
            spec=spec(cpu=cpu),
            owner=OWNER,
            priority=priority,
        )


# ── pods that are created ────────────────────────────────────────────────────────────────────


def test_a_gang_that_fits_starts_and_nobody_is_worse_off(cluster: Cluster) -> None:
    found = told(present(cluster), job("train", 2, cpu=8))
    [row] = found.asked
    assert (str(row.key), sorted(row.placed.values())) == ("ns/train", ["n1", "n2"])
    assert (found.starts, found.evicted, found.delayed, found.gained) == (True, [], [], [])


def test_a_gang_that_does_not_fit_says_what_the_scheduler_would(cluster: Cluster) -> None:
    found = told(present(cluster), job("train", 3, cpu=8))
    [row] = found.asked
    assert not found.starts
    assert "Insufficient cpu" in row.message


def test_members_beyond_the_minimum_may_wait(cluster: Cluster) -> None:
    found = told(present(cluster), job("train", 3, cpu=8, minimum=2))
    [row] = found.asked
    assert (found.starts, len(row.placed), len(row.pending)) == (True, 2, 3)


def test_who_gives_way_is_named_with_the_one_to_whom(cluster: Cluster) -> None:
    sitting(cluster, "batch", "n1 n2", cpu=8)
    found = told(present(cluster), job("train", 2, cpu=8, priority="high"))
    assert found.starts
    assert {(each.pod.name, str(each.group), str(each.by)) for each in found.evicted} == {
        ("batch-0", "ns/batch", "ns/train"),
        ("batch-1", "ns/batch", "ns/train"),
    }
    assert found.delayed == []


def test_who_would_start_without_it_is_delayed(cluster: Cluster) -> None:
    cluster.gang("later", 2, spec=spec(cpu=8))
    found = told(present(cluster), job("train", 2, cpu=8, priority="high"))
    [delayed] = found.delayed
    assert (delayed.name, names(delayed.pods)) == ("ns/later", ["later-0", "later-1"])
    assert "Insufficient cpu" in delayed.message


def test_who_waits_already_keeps_its_turn(cluster: Cluster) -> None:
    cluster.gang("first", 2, spec=spec(cpu=8))
    found = told(present(cluster), job("train", 2, cpu=8))
    assert (found.starts, found.delayed) == (False, [])


def test_what_comes_later_is_made_once_what_comes_before_has_nodes(cluster: Cluster) -> None:
    text = """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {name: rl}
        spec:
          startupPolicy: {startupPolicyOrder: InOrder}
          replicatedJobs:
          - name: driver
            template: {spec: {template: {spec: &pod {schedulerName: enbloc, containers: [
              {name: c, image: i, resources: {requests: {cpu: CPU}}}]}}}}
          - name: worker
            template: {spec: {template: {spec: *pod}}}
        """
    labels = {"enbloc.dev/auto-group": "true"}
    fits = told(present(cluster, labels), text.replace("CPU", "8"))
    assert len(fits.asked) == 2
    assert (fits.starts, fits.unmade) == (True, [])
    too_large = told(present(cluster, labels), text.replace("CPU", "9"))
    assert (too_large.starts, names(too_large.unmade)) == (False, ["rl-worker-0-0"])


def test_pods_without_a_group_start_each_by_itself(cluster: Cluster) -> None:
    text = """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 3
          template: {spec: {schedulerName: enbloc, containers: [
            {name: c, image: i, resources: {requests: {cpu: 6}}}]}}
        """
    found = told(present(cluster), text)
    assert [row.starts for row in found.asked].count(True) == 2
    assert not found.starts


# ── objects that exist ───────────────────────────────────────────────────────────────────────


def test_an_object_that_exists_is_taken_to_be_deleted_before(cluster: Cluster) -> None:
    before = told(present(cluster), job("train", 2, cpu=8))
    assert before.starts
    for index, node in enumerate(["n1", "n2"]):
        cluster.pod(
            f"train-{index}-x",
            node=node,
            spec=spec(cpu=8),
            owner=Owner("Job", "train", "old", "batch/v1"),
        )
    made = submitted(present(cluster), job("train", 2, cpu=8))
    assert names(made.replaced) == ["train-0-x", "train-1-x"]
    assert list(made.notes) == [
        "Job ns/train exists (2 pods, 2 with a node); it is taken to be deleted first"
    ]
    found = told(present(cluster), job("train", 2, cpu=8))
    assert (found.starts, found.delayed, found.evicted) == (True, [], [])


def test_pods_of_another_kind_of_object_stay_whatever_their_names_are(cluster: Cluster) -> None:
    for index, node in enumerate(["n1", "n2"]):
        cluster.pod(
            f"train-{index}",
            node=node,
            spec=spec(cpu=8),
            owner=Owner("StatefulSet", "train", "other", "apps/v1"),
        )
    found = told(present(cluster), job("train", 2, cpu=16))
    assert not found.starts


def test_a_pod_group_that_somebody_made_counts_as_it_is(cluster: Cluster) -> None:
    cluster.group("train", 3)
    found = told(present(cluster), job("train", 2))
    assert not found.starts
    assert found.asked[0].minimum == 3


def test_a_pod_group_of_the_file_replaces_the_one_that_exists(cluster: Cluster) -> None:
    cluster.group("train", 3)
    group = """
        apiVersion: enbloc.dev/v1alpha1
        kind: PodGroup
        metadata: {name: train}
        spec: {minMember: 2}
        """
    found = told(present(cluster), f"{group}\n---\n{job('train', 2)}")
    assert (found.starts, found.asked[0].minimum) == (True, 2)


def test_a_pod_group_that_the_api_server_would_refuse_is_refused(cluster: Cluster) -> None:
    group = """
        apiVersion: enbloc.dev/v1alpha1
        kind: PodGroup
        metadata: {name: train}
        spec: {minMember: 0}
        """
    with pytest.raises(UsageError) as raised:
        submitted(present(cluster), f"{group}\n---\n{job('train', 2)}")
    assert str(raised.value).startswith("PodGroup ns/train: spec.minMember: ")


def test_a_namespace_that_does_not_exist_is_named(cluster: Cluster) -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: nss}, spec: {}}"
    with pytest.raises(UsageError) as raised:
        submitted(present(cluster), text)
    assert str(raised.value) == (
        "Pod nss/a: namespace nss not found (did you mean ns?); create it, or add it to the files"
    )
    namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: nss}}"
    assert submitted(present(cluster), f"{namespace}\n---\n{text}").pods


def test_a_priority_class_of_the_file_counts(cluster: Cluster) -> None:
    sitting(cluster, "batch", "n1 n2", cpu=8)
    urgent = """
        apiVersion: scheduling.k8s.io/v1
        kind: PriorityClass
        metadata: {name: urgent}
        value: 7
        """
    found = told(present(cluster), f"{urgent}\n---\n{job('train', 2, cpu=8, priority='urgent')}")
    assert len(found.evicted) == 2


# ── nodes that go and come ───────────────────────────────────────────────────────────────────


def test_members_of_a_node_that_goes_find_capacity_elsewhere(cluster: Cluster) -> None:
    sitting(cluster, "train", "n1", cpu=4)
    question = without_nodes(SimulatedCluster(present(cluster)), ["n1"])
    found = answer(present(cluster), question)
    assert (found.starts, found.delayed, found.gained) == (True, [], [])


def test_members_of_a_node_that_goes_may_find_none(cluster: Cluster) -> None:
    sitting(cluster, "train", "n1 n2", cpu=8)
    question = without_nodes(SimulatedCluster(present(cluster)), ["n1"])
    found = answer(present(cluster), question)
    [delayed] = found.delayed
    assert (found.starts, delayed.name, names(delayed.pods)) == (False, "ns/train", ["train-0"])
    assert delayed.message


def test_pods_that_belong_to_a_node_go_with_it_and_nobody_misses_them(cluster: Cluster) -> None:
    cluster.pod("proxy", node="n1", owner=Owner("DaemonSet", "proxy", "p", "apps/v1"))
    found = answer(present(cluster), without_nodes(SimulatedCluster(present(cluster)), ["n1"]))
    assert (found.starts, found.delayed) == (True, [])


def test_of_a_group_that_lost_a_node_a_smaller_one_is_as_small_as_it_says(
    cluster: Cluster,
) -> None:
    cluster.nodes("n3", cpu=16)
    sitting(cluster, "train", "n1 n2", cpu=4)
    for lost in ("n1", "n2"):
        state = SimulatedCluster(present(cluster))
        gone = without_nodes(state, [lost])
        state.tell(gone.events)
        question = gone.plus(resized(state, GroupKey(NAMESPACE, "train"), 1))
        [sized] = answer(present(cluster), question).sized
        assert (sized.members, sized.placed) == (1, 1)


def test_a_pod_that_nobody_would_make_again_is_told_of(cluster: Cluster) -> None:
    cluster.pod("bare", node="n1")
    question = without_nodes(SimulatedCluster(present(cluster)), ["n1"])
    [delayed] = answer(present(cluster), question).delayed
    assert (delayed.name, delayed.message) == ("pod ns/bare", "no controller would make it again")


def test_a_gang_that_waits_starts_on_nodes_that_come(cluster: Cluster) -> None:
    cluster.gang("train", 3, spec=spec(cpu=8))
    found = answer(present(cluster), more_nodes(SimulatedCluster(present(cluster)), 1, "n1"))
    [gained] = found.gained
    assert (found.starts, gained.name, len(gained.pods)) == (True, "ns/train", 3)


def test_nodes_that_come_are_ready_although_the_one_that_they_are_like_is_not(
    cluster: Cluster,
) -> None:
    cluster.node("n3", cpu=16, ready=False, unschedulable=True)
    question = more_nodes(SimulatedCluster(present(cluster)), 1, "n3")
    found = answer(present(cluster), question.plus(asking(present(cluster), job("train", 1, 16))))
    assert [*found.asked[0].placed.values()] == ["n3-more-0"]


def test_a_node_that_is_not_there_is_named_with_those_that_are_nearly_called_so(
    cluster: Cluster,
) -> None:
    cluster.nodes("gpu-1 gpu-2")
    with pytest.raises(UsageError, match=r"node gpu-3 not found \(did you mean gpu-2, gpu-1\?\)"):
        without_nodes(SimulatedCluster(present(cluster)), ["gpu-3"])


# ── groups of another size ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("number", "starts", "placed"), [(1, True, 1), (2, True, 2), (4, True, 4), (5, False, 4)]
)
def test_a_group_can_be_larger_or_smaller(
    cluster: Cluster, number: int, starts: bool, placed: int
) -> None:
    sitting(cluster, "train", "n1 n2", cpu=4)
    question = resized(SimulatedCluster(present(cluster)), GroupKey(NAMESPACE, "train"), number)
    found = answer(present(cluster), question)
    [sized] = found.sized
    assert (found.starts, sized.members, sized.placed) == (starts, number, placed)
    assert found.delayed == []


@pytest.mark.parametrize(("newest", "starts"), [("server", False), ("worker", True)])
def test_a_smaller_group_that_lacks_a_role_would_not_run(
    cluster: Cluster, newest: str, starts: bool
) -> None:
    roles = {"train-0": "worker", "train-1": "worker" if newest == "server" else "server"}
    cluster.group("train", 2, roles=(("worker", 1), ("server", 1)))
    for name, role in {**roles, "train-2": newest}.items():
        cluster.now += 1
        cluster.pod(name, "train", role=role, node="n1", owner=OWNER)
    question = resized(SimulatedCluster(present(cluster)), GroupKey(NAMESPACE, "train"), 2)
    found = answer(present(cluster), question)
    [sized] = found.sized
    assert (found.starts, sized.members, sized.placed) == (starts, 2, 2)
    assert sized.message == ("" if starts else "0 of 1 members of role server exist")


def test_a_group_of_no_members_lacks_none(cluster: Cluster) -> None:
    sitting(cluster, "train", "n1 n2", cpu=4)
    question = resized(SimulatedCluster(present(cluster)), GroupKey(NAMESPACE, "train"), 0)
    found = answer(present(cluster), question)
    assert (found.starts, found.sized[0].members) == (True, 0)


def test_what_a_smaller_group_leaves_others_may_take(cluster: Cluster) -> None:
    sitting(cluster, "train", "n1 n2", cpu=8)
    cluster.gang("next", 1, spec=spec(cpu=8))
    question = resized(SimulatedCluster(present(cluster)), GroupKey(NAMESPACE, "train"), 1)
    found = answer(present(cluster), question)
    assert [each.name for each in found.gained] == ["ns/next"]


def test_a_group_that_does_not_exist_is_named_with_what_is_nearly_called_so(
    cluster: Cluster,
) -> None:
    cluster.gang("train", 1)
    state = SimulatedCluster(present(cluster))
    with pytest.raises(UsageError, match=r"ns/trian not found \(did you mean train\?\)"):
        resized(state, GroupKey(NAMESPACE, "trian"), 1)
    with pytest.raises(UsageError, match="there is one in namespace ns"):
        resized(state, GroupKey("other", "train"), 1)
    cluster.group("empty", 1)
    with pytest.raises(UsageError, match="ns/empty has no members that could be more"):
        resized(SimulatedCluster(present(cluster)), GroupKey(NAMESPACE, "empty"), 1)


def test_the_pods_of_an_answer_are_those_of_the_cluster(cluster: Cluster) -> None:
    """Nothing of a question stays in the present."""
    before = present(cluster)
    first, second = (told(before, job("train", 2, cpu=8)) for _ in range(2))
    assert first == second
    assert PodKey(NAMESPACE, "train-0") in first.asked[0].placed


IN_WAVES = """
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {name: train}
    spec:
      replicatedJobs:
      - name: driver
        template: {spec: {template: {spec: &pod {schedulerName: enbloc, containers: [
          {name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}
      - name: worker
        template: {spec: {template: {spec: *pod}}}
"""


def test_the_podgroups_of_what_is_replaced_go_with_it(cluster: Cluster) -> None:
    """The JobSet that exists creates its workers later, in a PodGroup of their own."""
    key = "jobset.sigs.k8s.io"
    whole, part = group_name("JobSet", "train"), group_name("JobSet", "train", part="worker")
    for role, group in (("driver", whole), ("worker", part)):
        cluster.group(group, 1, derived=True, owner="JobSet/train")
        labels = ((f"{key}/jobset-name", "train"), (f"{key}/replicatedjob-name", role))
        owner = Owner("Job", f"train-{role}-0", f"uid-{role}", "batch/v1")
        cluster.pod(f"train-{role}-0-0", group, node="n1", role=role, owner=owner, labels=labels)
    found = present(cluster, {AUTO_GROUP_KEY: "true"})
    assert {each.pod.group for each in submitted(found, IN_WAVES).pods} == {
        GroupKey(NAMESPACE, whole)
    }
    assert told(found, IN_WAVES).starts
