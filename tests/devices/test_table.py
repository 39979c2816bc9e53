# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The device table: who has what."""

from tests.calls import calls_of
from tests.devices.objects import (
    DRIVER,
    allocated,
    claim,
    device,
    device_class,
    exactly,
    nodes,
    picked,
    pod,
    slice_of,
    table,
)


def test_a_claim_gets_the_first_device() -> None:
    devices = table(slice_of("a", device("gpu-0"), device("gpu-1")), device_class())
    devices.put(claim("c", exactly(), owner="p"))
    one = pod("p", "c")
    fork = devices.fork()
    fork.place(one, "a", nodes("a"))
    assert picked(fork, one) == [["a/gpu-0"]]
    assert devices.decision(one.uid) is None


def test_a_pool_of_many_slices_is_made_once_for_all_that_are_published_together() -> None:
    devices = table(device_class())
    slices = [
        slice_of(
            "n1", *(device(f"d{at}-{n}") for n in range(8)), pool="p", name=f"s{at:03}", count=300
        )
        for at in range(300)
    ]

    def publish() -> None:
        for each in slices:
            devices.put(each)
        pool = devices.pool((DRIVER, "p"))
        assert pool is not None
        assert len(pool.devices) == 300 * 8

    assert calls_of(publish) < 100 * len(slices)  # each of them made it anew


def test_a_claim_is_shared_as_long_as_two_pods_name_it() -> None:
    devices, key = table(device_class()), "default/c"
    twice, other = pod("p", "c", "c", shared=True), pod("q", "c", shared=True)
    devices.enter(twice)
    devices.enter(twice)
    assert not devices.shared(key)
    devices.enter(other)
    assert devices.shared(key)
    devices.enter(pod("q", "d", shared=True))
    assert not devices.shared(key)
    devices.leave(twice.uid)
    devices.enter(other)
    assert not devices.shared(key)


def test_a_pod_that_names_another_claim_than_its_plan_knew_holds_nothing_for_ever() -> None:
    devices = table(
        slice_of("a", device("gpu-0")), device_class(), claim("c", exactly(), owner="p")
    )
    one = pod("p", "c")
    fork = devices.fork()
    fork.place(one, "a", nodes("a"))
    decided = fork.decision(one.uid)
    assert decided is not None
    other = pod("p", "d")
    devices.keep(other, "a", decided)
    devices.remove(other)
    assert list(devices._held.items()) == []


def test_a_pool_that_is_published_again_has_verdicts_of_its_own() -> None:
    """Of devices of which no two are alike, in a pool whose memory the next one may get."""
    where = nodes("a")
    one = claim(
        "c", exactly("gpus", 2), owner="p", constraints=({"matchAttribute": f"{DRIVER}/id"},)
    )
    devices = table(device_class(), one)
    wrong: list[int] = []
    for generation in range(1, 41):
        twins = generation % 3 == 0
        ids = [0 if twins and at < 2 else at for at in range(300)]
        made = [device(str(at), attributes={"id": each}) for at, each in enumerate(ids)]
        devices.put(slice_of("a", *made, generation=generation))
        places = devices.places("a", devices.spread(where))
        verdict = devices.verdict(devices.asked(pod("p", "c")).demands, "a", places)
        if (verdict.reason == "") != twins:
            wrong.append(generation)
    assert not wrong


def test_a_shared_claim_gets_what_both_nodes_see_though_their_own_pools_look_alike() -> None:
    """Semantics §2.10: all members that name it go where its devices can be reached."""
    where, pods = nodes("n1", "n2"), [pod(name, "c", shared=True) for name in "pq"]
    pools = [
        slice_of(
            None,
            device("own", nodeName=node),
            device("common", allNodes=True),
            pool=f"pool-of-{node}",
            perDeviceNodeSelection=True,
        )
        for node in where.names
    ]
    taken = claim("other", exactly(), status=allocated("common", pool="pool-of-n1"))
    devices = table(device_class(), *pools, taken, claim("c", exactly()))
    for each in pods:
        devices.enter(each)
    fork = devices.fork()
    fork.expect([*zip(pods, where.names, strict=True)], where)

    fork.place(pods[1], "n2", where)

    assert picked(fork, pods[1]) == [["pool-of-n2/common"]]


def test_what_a_pod_holds_costs_the_same_however_many_pods_share_its_claim() -> None:
    """Of a gang, each member asks this of each claim: many of both are common."""

    def cost(users: int) -> int:
        pods = [pod(f"p{at}", "c", shared=True) for at in range(users)]
        reserved = [{"resource": "pods", "name": of.key.name, "uid": of.uid} for of in pods]
        status = allocated("gpu-0", pool="net", reservedFor=reserved)
        devices = table(
            slice_of(None, device("gpu-0"), pool="net", allNodes=True),
            device_class(),
            claim("c", exactly(), status=status),
        )
        for each in pods:
            devices.enter(each)
        members = frozenset(each.uid for each in pods)

        def ask() -> None:
            for each in pods[-4:]:
                assert devices.alike(each) is not None
                assert devices.left_over(each, members) is not None

        return calls_of(ask)

    assert cost(200) == cost(8)
