# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Claims of a gang's members, decided together on a fork."""

from dataclasses import replace

import pytest

from enbloc.devices.decisions import DeviceDecision, Listing
from enbloc.devices.owners import Withdrawn
from enbloc.devices.table import Devices
from enbloc.ledgers import Ledgers
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import ContainerResource, Pod, PodResourceClaim, PodSpec
from enbloc.storage.table import Volumes
from tests.devices.objects import (
    DRIVER,
    allocated,
    ask,
    claim,
    consumes,
    counter_set,
    device,
    device_class,
    every,
    exactly,
    first_of,
    nodes,
    picked,
    pod,
    slice_of,
    table,
)

#: One device of the class, by its name as a resource.
EXTENDED = ContainerResource(0, "main", "example.com/gpu", 0, 1)
BIG = f'device.attributes["{DRIVER}"].size == "big"'


def fits(devices: Devices, of: Pod, node: str, where: Nodes) -> bool:
    """What a filter says of one node."""
    row = where.row(node)
    assert row is not None
    asked = devices.asked(of)
    places = devices.places(node, devices.spread(where))
    return not asked.refusal and not devices.verdict(asked.demands, node, places).reason


def test_a_member_gives_up_the_device_that_only_a_later_one_can_use() -> None:
    """kubernetes#138765: each pod for itself, the second finds the only big device taken."""
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of(
            "a", device("0", attributes={"size": "big"}), device("1", attributes={"size": "s"})
        ),
        claim("any", exactly(), owner="first"),
        claim("big", exactly("gpus", 1, "gpu", BIG), owner="second"),
    )
    first, second = pod("first", "any"), pod("second", "big")
    fork = devices.fork()

    fork.place(first, "a", where)
    assert picked(fork, first) == [["a/0"]]
    assert fits(fork, second, "a", where)
    fork.place(second, "a", where)

    assert picked(fork, second) == [["a/0"]]
    assert picked(fork, first) == [["a/1"]]
    assert devices.decision(first.uid) is None


def test_what_a_plan_has_decided_is_not_taken_from_it() -> None:
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of(
            "a", device("0", attributes={"size": "big"}), device("1", attributes={"size": "s"})
        ),
        claim("any", exactly(), owner="first"),
        claim("big", exactly("gpus", 1, "gpu", BIG), owner="second"),
    )
    first, second = pod("first", "any"), pod("second", "big")
    trial = devices.fork()
    trial.place(first, "a", where)
    decision = trial.decision(first.uid)
    assert decision is not None

    devices.keep(first, "a", decision)

    assert picked(devices, first) == [["a/0"]]
    assert not fits(devices.fork(), second, "a", where)


def test_members_on_two_nodes_share_out_a_network_of_devices_anew() -> None:
    where = nodes("a", "b")
    devices = table(
        device_class(),
        slice_of(
            None,
            device("0", attributes={"size": "big"}),
            device("1", attributes={"size": "s"}),
            pool="net",
            allNodes=True,
        ),
        claim("any", exactly(), owner="first"),
        claim("big", exactly("gpus", 1, "gpu", BIG), owner="second"),
    )
    first, second = pod("first", "any"), pod("second", "big")

    devices.place(first, "a", where)
    assert fits(devices, second, "b", where)
    devices.place(second, "b", where)

    assert picked(devices, first) == [["net/1"]]
    assert picked(devices, second) == [["net/0"]]


def test_partitions_are_exchanged_for_smaller_ones_when_the_counters_run_out() -> None:
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of(
            "a",
            device("whole", consumesCounters=[consumes("g", memory=8)]),
            device("half-0", consumesCounters=[consumes("g", memory=4)]),
            device("half-1", consumesCounters=[consumes("g", memory=4)]),
            count=2,
        ),
        slice_of("a", name="counters", count=2, sharedCounters=[counter_set("g", memory=8)]),
        claim("c0", exactly(), owner="p0"),
        claim("c1", exactly(), owner="p1"),
        claim("c2", exactly(), owner="p2"),
    )
    pods = [pod(f"p{at}", f"c{at}") for at in range(3)]

    devices.place(pods[0], "a", where)
    assert picked(devices, pods[0]) == [["a/whole"]]
    devices.place(pods[1], "a", where)

    assert sorted(picked(devices, each)[0][0] for each in pods[:2]) == ["a/half-0", "a/half-1"]
    assert not fits(devices, pods[2], "a", where)


def test_a_shared_claim_is_decided_once() -> None:
    """Semantics §2.10."""
    where = nodes("a", "b")
    devices = table(
        device_class(),
        slice_of("a", device("0"), device("1")),
        slice_of("b", device("0")),
        claim("shared", exactly()),
    )
    members = [pod(f"p{at}", "shared", shared=True) for at in range(3)]
    for each in members:
        devices.enter(each)
    assert devices.alike(members[0]) == devices.alike(members[1])

    devices.place(members[0], "a", where)
    devices.place(members[1], "a", where)

    decisions = [devices.decision(each.uid) for each in members[:2]]
    assert decisions[0] == decisions[1]
    assert devices.use((DRIVER, "a")).taken.bit_count() == 1
    pins = [each.allocation.terms or () for each in devices.asked(members[2]).joined]
    assert [term.fields[0].values for terms in pins for term in terms] == [("a",)]


def test_a_claim_that_several_share_does_not_tie_them_to_a_node_without_need() -> None:
    where = nodes("a", "b")
    devices = table(
        device_class(),
        slice_of("a", device("0")),
        slice_of(None, device("0"), pool="net", allNodes=True),
        claim("shared", exactly()),
    )
    members = [pod(f"p{at}", "shared", shared=True) for at in range(2)]
    for each in members:
        devices.enter(each)

    devices.place(members[0], "a", where)

    assert picked(devices, members[0]) == [["net/0"]]
    [found] = devices.asked(members[1]).joined
    assert found.allocation.terms is None


def test_an_own_claim_beside_a_shared_one_is_not_exchanged_with_it() -> None:
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of("a", device("0"), device("1"), device("2")),
        claim("shared", exactly()),
        claim("own", exactly("gpus", 2), owner="second"),
    )
    spec = PodSpec(
        resource_claims=(
            *pod("x", "y").spec.resource_claims,
            *pod("x", "y", shared=True).spec.resource_claims,
        )
    )
    first, second = pod("first", "shared", shared=True), pod("second", "own", "shared", spec=spec)

    devices.place(first, "a", where)
    devices.place(second, "a", where)

    assert picked(devices, first) == [["a/0"]]
    assert picked(devices, second) == [["a/1", "a/2"], ["a/0"]]


def test_two_forks_know_nothing_of_each_other() -> None:
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of("a", device("0")),
        claim("c0", exactly(), owner="p0"),
        claim("c1", exactly(), owner="p1"),
    )
    one, other = devices.fork(), devices.fork()

    one.place(pod("p0", "c0"), "a", where)
    other.place(pod("p1", "c1"), "a", where)

    assert picked(one, pod("p0", "c0")) == [["a/0"]]
    assert picked(other, pod("p1", "c1")) == [["a/0"]]
    assert devices.use((DRIVER, "a")).taken == 0


def test_a_pool_republished_in_mid_burst_keeps_what_is_in_use() -> None:
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of("a", device("0"), device("1")),
        claim("c0", exactly(), owner="p0"),
        claim("c1", exactly(), owner="p1"),
    )
    first, second = pod("p0", "c0"), pod("p1", "c1")
    trial = devices.fork()
    trial.place(first, "a", where)
    decision = trial.decision(first.uid)
    assert decision is not None
    devices.keep(first, "a", decision)

    devices.put(slice_of("a", device("9"), device("0"), device("1"), generation=2, count=2))
    assert not devices.stands(first.uid)
    assert not fits(devices, second, "a", where)
    devices.put(slice_of("a", name="more", generation=2, count=2))
    assert devices.stands(first.uid)
    devices.place(second, "a", where)

    assert picked(devices, first) == [["a/0"]]
    assert picked(devices, second) == [["a/9"]]


def test_a_device_that_is_gone_ends_what_was_decided() -> None:
    where = nodes("a")
    devices = table(device_class(), slice_of("a", device("0")), claim("c", exactly(), owner="p"))
    member = pod("p", "c")
    devices.place(member, "a", where)
    assert devices.stands(member.uid)

    devices.put(slice_of("a", device("1"), generation=2))

    assert not devices.stands(member.uid)


def test_counters_that_another_scheduler_overdraws_are_seen_at_the_last_look() -> None:
    """Two devices of one chip: either can be had, and not both."""
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of(
            "a",
            device("whole", consumesCounters=[consumes("chip", memory=8)]),
            device("half", consumesCounters=[consumes("chip", memory=4)]),
            count=2,
        ),
        slice_of("a", name="counters", count=2, sharedCounters=[counter_set("chip", memory=8)]),
        *(claim(name, exactly(), owner=f"p-{name}") for name in "cd"),
    )
    member = pod("p-c", "c")
    devices.place(member, "a", where)
    devices.put(claim("c", exactly(), owner="p-c", status=allocated("whole", pool="a")))
    assert devices.stands(member.uid, written=True)
    devices.put(claim("d", exactly(), owner="p-d", status=allocated("half", pool="a")))
    assert not devices.stands(member.uid, written=True)


def test_capacity_that_another_scheduler_overdraws_is_seen_at_the_last_look() -> None:
    where = nodes("a")
    shared = device("0", allowMultipleAllocations=True, capacity={"memory": "10"})
    wanted = exactly("gpus", capacity={"requests": {"memory": "10"}})
    devices = table(
        device_class(),
        slice_of("a", shared),
        *(claim(name, wanted, owner=f"p-{name}") for name in "cd"),
    )

    member = pod("p-c", "c")
    devices.place(member, "a", where)
    decision = devices.decision(member.uid)
    assert decision is not None
    [given] = decision.claims
    devices.put(replace(claim("c", wanted, owner="p-c"), allocation=given.allocation))
    assert devices.stands(member.uid, written=True)
    status = allocated("0", pool="a")
    [result] = status["allocation"]["devices"]["results"]
    result |= {"shareID": "another", "consumedCapacity": {"memory": "10"}}
    devices.put(claim("d", wanted, owner="p-d", status=status))
    assert not devices.stands(member.uid, written=True)


def test_a_claim_that_is_seen_with_other_devices_has_those_and_what_its_plan_holds() -> None:
    """They may be an earlier plan's, which takes them back while the plan writes its own."""
    where = nodes("a")
    devices = table(
        device_class(), slice_of("a", device("0"), device("1")), claim("c", exactly(), owner="p")
    )
    member = pod("p", "c")
    devices.place(member, "a", where)
    assert picked(devices, member) == [["a/0"]]

    devices.put(claim("c", exactly(), owner="p", status=allocated("1", pool="a")))
    assert devices.use((DRIVER, "a")).taken == 0b11
    assert not devices.stands(member.uid, written=True)

    devices.put(claim("c", exactly(), owner="p"))
    assert devices.use((DRIVER, "a")).taken == 0b01

    devices.put(claim("c", exactly(), owner="p", status=allocated("0", pool="a")))
    assert devices.use((DRIVER, "a")).taken == 0b01
    assert devices.stands(member.uid, written=True)

    devices.put(claim("c", exactly(), owner="p"))
    assert not devices.stands(member.uid, written=True)  # somebody has taken them back
    devices.remove(member)
    assert devices.use((DRIVER, "a")).taken == 0


def test_a_device_that_another_claim_has_as_well_is_of_no_use_to_either() -> None:
    where = nodes("a")
    devices = table(
        device_class(),
        slice_of("a", device("0")),
        *(claim(name, exactly(), owner=f"p-{name}") for name in "cd"),
    )
    member = pod("p-c", "c")
    devices.place(member, "a", where)
    got = allocated("0", pool="a")
    devices.put(claim("c", exactly(), owner="p-c", status=got))
    assert devices.stands(member.uid, written=True)

    devices.put(claim("d", exactly(), owner="p-d", status=got))  # by another scheduler

    assert not devices.stands(member.uid, written=True)
    assert devices.asked(pod("p-d", "d")).refusal == (
        "ResourceClaim default/d has device gpu.example.com/a/0, and so has another claim: delete "
        "one of them"
    )


def test_what_a_plan_held_that_is_given_up_stays_in_use_for_all_but_its_own_group() -> None:
    where, group = nodes("a"), GroupKey("default", "g")
    devices = table(
        device_class(),
        slice_of("a", device("0")),
        *(claim(name, exactly(), owner=f"p-{name}") for name in "cd"),
    )
    one, other = pod("p-c", "c"), pod("p-d", "d")
    trial = devices.fork()
    trial.place(one, "a", where)
    decision = trial.decision(one.uid)
    assert decision is not None
    devices.keep(one, "a", decision)
    member = Withdrawn(group, "plan", one.uid)
    devices.withdrawn(member, decision)
    devices.remove(one)

    trial = devices.fork()
    trial.reclaim(GroupKey("default", "h"))
    trial.place(other, "a", where)
    assert picked(trial, other) == [[]]
    trial = devices.fork()
    trial.reclaim(group)
    trial.place(other, "a", where)
    assert picked(trial, other) == [["a/0"]]

    devices.withdrawn(member, None)
    devices.place(other, "a", where)
    assert picked(devices, other) == [["a/0"]]


@pytest.mark.parametrize(
    "consumer",
    [
        {"resource": "pods", "name": "p", "uid": "uid-p"},
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"},
    ],
)
def test_nothing_is_to_be_written_for_a_bound_pod_whose_claim_is_reserved(
    consumer: dict[str, str],
) -> None:
    """One that is not bound holds it: what an earlier plan wrote may be taken back yet."""
    where = nodes("a")
    status = allocated("0", pool="a", reservedFor=[consumer])
    devices = table(
        device_class(), slice_of("a", device("0")), claim("c", exactly(), owner="p", status=status)
    )
    bound, planned = (pod("p", "c", pod_group="g", node=node) for node in ("a", ""))

    devices.place(bound, "a", where)
    assert devices.decision(bound.uid) is None
    devices.remove(bound)
    devices.place(planned, "a", where)
    decision = devices.decision(planned.uid)
    assert decision is not None
    assert [each.allocation for each in decision.claims] == [devices.allocation("default/c")]


def test_a_pod_that_is_bound_before_its_claim_is_seen_keeps_its_devices() -> None:
    where = nodes("a")
    devices = table(device_class(), slice_of("a", device("0")), claim("c", exactly(), owner="p"))
    trial = devices.fork()
    trial.place(pod("p", "c"), "a", where)
    decision = trial.decision(pod("p", "c").uid)
    assert decision is not None
    devices.keep(pod("p", "c"), "a", decision)

    devices.remove(pod("p", "c"))
    devices.keep(pod("p", "c", node="a"), "a", decision)

    assert devices.use((DRIVER, "a")).taken == 1
    devices.remove(pod("p", "c", node="a"))
    assert devices.use((DRIVER, "a")).taken == 0


def test_who_is_placed_where_nothing_is_left_must_not_be_bound() -> None:
    where = nodes("a")
    devices = table(device_class(), claim("c", exactly(), owner="p"))
    member = pod("p", "c")

    devices.place(member, "a", where)

    decision = devices.decision(member.uid)
    assert decision is not None
    assert decision.claims[0].problem
    assert not devices.stands(member.uid)


def test_more_than_256_pods_cannot_share_a_claim() -> None:
    where = nodes("a")
    devices = table(device_class(), slice_of("a", device("0")), claim("shared", exactly()))
    for at in range(256):
        devices.place(pod(f"p{at}", "shared", shared=True), "a", where)

    last = pod("last", "shared", shared=True)
    assert devices.asked(last).refusal == (
        "ResourceClaim default/shared has 256 consumers, and no more are possible: use "
        "resourceClaimTemplateName, or list it in spec.resourceClaims of a PodGroup of Kubernetes"
    )


def test_the_pods_of_a_pod_group_of_kubernetes_are_one_consumer_of_a_claim() -> None:
    """Semantics §2.10."""
    where = nodes("a")
    reserved = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "u"}
    others = [{"resource": "pods", "name": f"o{at}", "uid": f"o{at}"} for at in range(254)]
    status = allocated("0", pool="a", reservedFor=[reserved, *others])
    devices = table(
        device_class(), slice_of("a", device("0")), claim("shared", exactly(), status=status)
    )
    members = [pod(f"p{at}", "shared", shared=True, pod_group="g") for at in range(300)]
    for each in members:
        assert devices.asked(each).refusal == ""
        devices.place(each, "a", where)

    devices.place(pod("one", "shared", shared=True), "a", where)
    assert devices.asked(members[0]).refusal == ""
    assert "256 consumers" in devices.asked(pod("two", "shared", shared=True)).refusal
    assert "256 consumers" in devices.asked(pod("h", "shared", shared=True, pod_group="h")).refusal


def test_a_claim_that_was_made_for_a_pod_group_of_kubernetes_is_decided_once() -> None:
    """Semantics §2.10."""
    where = nodes("a", "b")
    owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g"}
    owners = {"ownerReferences": [{**owner, "uid": "uid-g", "controller": True}]}
    devices = table(
        device_class(),
        slice_of("a", device("0")),
        slice_of("b", device("0")),
        claim("g-gpu-x", exactly(), metadata=owners),
    )
    members = [pod(f"p{at}", "g-gpu-x", pod_group="g") for at in range(2)]
    for each in members:
        devices.enter(each)
    devices.place(members[0], "a", where)
    assert not devices.asked(members[1]).demands
    devices.place(members[1], "a", where)

    decisions = [devices.decision(each.uid) for each in members]
    assert [each.claims[0].allocation for each in decisions if each] == [
        devices.allocation("default/g-gpu-x")
    ] * 2
    assert {each.claims[0].listing for each in decisions if each} == {
        Listing("g", (PodResourceClaim("claim-0", "template-0"),))
    }
    stranger = pod("stranger", "g-gpu-x", pod_group="h")
    assert devices.asked(stranger).refusal == (
        "ResourceClaim default/g-gpu-x was not created for Pod default/stranger "
        "(neither Pod nor PodGroup h is the owner)"
    )


def test_the_first_alternative_that_can_be_had_is_chosen() -> None:
    where = nodes("a", "b")
    devices = table(
        device_class(),
        slice_of("a", device("0"), device("1")),
        slice_of("b", device("0")),
        claim("c", first_of("r", ask("two", 2), ask("one")), owner="p"),
    )
    member = pod("p", "c")
    scores = {}
    for name in ("a", "b"):
        places = devices.places(name, devices.spread(where))
        scores[name] = devices.verdict(devices.asked(member).demands, name, places).score

    assert scores == {"a": 8, "b": 7}


def test_extended_resources_get_devices_where_the_node_has_none_of_its_own() -> None:
    where = nodes("a")
    devices = table(
        device_class("gpu", extendedResourceName="example.com/gpu"),
        slice_of("a", device("0"), device("1"), device("2")),
    )
    wants = (
        ContainerResource(0, "prepare", "example.com/gpu", 1, 2, init=True),
        ContainerResource(1, "train", "example.com/gpu", 0, 1),
    )
    member = pod("p", spec=PodSpec(extended=wants))

    devices.place(member, "a", where)

    decision = devices.decision(member.uid)
    assert isinstance(decision, DeviceDecision)
    assert decision.extended is not None
    assert [
        (each.name, each.exactly.count) for each in decision.extended.requests if each.exactly
    ] == [("container-0-request-1", 1), ("container-1-request-0", 1)]
    assert decision.extended.mappings == (
        ("train", "example.com/gpu", "container-1-request-0"),
        ("prepare", "example.com/gpu", "container-1-request-0"),
        ("prepare", "example.com/gpu", "container-0-request-1"),
    )
    assert picked(devices, member) == [["a/0", "a/1"]]


def test_all_devices_are_not_had_while_a_pool_is_being_updated() -> None:
    where = nodes("a")
    devices = table(
        device_class(), slice_of("a", device("0"), count=2), claim("c", every(), owner="p")
    )
    member = pod("p", "c")
    places = devices.places("a", devices.spread(where))
    verdict = devices.verdict(devices.asked(member).demands, "a", places)

    assert verdict.reason == (
        f", request gpus: asks for all devices, but resource pool {DRIVER}/a is currently being "
        "updated"
    )
    assert devices.problems() == {f"{DRIVER}/a": "is currently being updated"}


def test_pods_that_are_taken_away_in_a_trial_give_their_extended_resources_back() -> None:
    devices = table(
        device_class(extendedResourceName="example.com/gpu"), slice_of("a", device("0"))
    )
    member = pod("p", node="a", spec=PodSpec(extended=(EXTENDED,)))
    status = allocated(
        "0", pool="a", reservedFor=[{"resource": "pods", "name": "p", "uid": "uid-p"}]
    )
    made = claim("made", exactly(), owner="p", status=status)
    devices.put(replace(made, extended_for=member.uid))
    ledgers = Ledgers(Volumes(), devices)
    ledgers.place(member, "a", nodes("a"), None)
    trial = ledgers.fork()
    trial.remove(member)
    assert trial.devices.use((DRIVER, "a")).taken == 0
    assert devices.use((DRIVER, "a")).taken == 1
