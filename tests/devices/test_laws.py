# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the ledger, and a plain search to compare with."""

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from enbloc.devices.facts import AllocatedDevice, ResourceSlice
from enbloc.devices.table import Devices
from enbloc.devices.use import UNUSED, Use, added
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from tests.devices.objects import (
    DRIVER,
    allocated,
    claim,
    consumes,
    counter_set,
    device,
    device_class,
    exactly,
    nodes,
    pod,
    slice_of,
    table,
)
from tests.effort import examples

WHERE = nodes("a", "b")
CLASSES = {
    "any": (),
    "big": (f'device.attributes["{DRIVER}"].size == "big"',),
    "small": (f'device.attributes["{DRIVER}"].size == "small"',),
}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Devices, list[Pod]]:
    """Two nodes with devices of their own, a network of them, and pods with a claim each."""
    devices = table(*(device_class(name, *terms) for name, terms in CLASSES.items()))
    for node in ("a", "b"):
        sizes = draw(st.lists(st.sampled_from(["big", "small"]), max_size=4))
        halves = draw(st.booleans())
        made = [
            device(
                str(at),
                attributes={"size": size},
                **(
                    {"consumesCounters": [consumes("g", memory=4 if size == "big" else 2)]}
                    if halves
                    else {}
                ),
            )
            for at, size in enumerate(sizes)
        ]
        devices.put(slice_of(node, *made, count=2 if halves else 1))
        if halves:
            counters = [counter_set("g", memory=draw(st.integers(0, 10)))]
            devices.put(slice_of(node, name=f"{node}-counters", count=2, sharedCounters=counters))
    network = draw(st.integers(0, 2))
    devices.put(
        slice_of(
            None,
            *[device(str(at), attributes={"size": "big"}) for at in range(network)],
            pool="net",
            allNodes=True,
        )
    )
    pods: list[Pod] = []
    for at in range(draw(st.integers(1, 5))):
        of, count = draw(st.sampled_from(sorted(CLASSES))), draw(st.integers(1, 2))
        devices.put(claim(f"c{at}", exactly("gpus", count, of), owner=f"p{at}"))
        pods.append(pod(f"p{at}", f"c{at}"))
    return devices, pods


def fits(devices: Devices, of: Pod, node: str, where: Nodes = WHERE) -> bool:
    row = where.row(node)
    assert row is not None
    places = devices.places(node, devices.spread(where))
    return not devices.verdict(devices.asked(of).demands, node, places).reason


def results(devices: Devices, pods: list[Pod]) -> list[AllocatedDevice]:
    found: list[AllocatedDevice] = []
    for each in pods:
        decision = devices.decision(each.uid)
        for made in decision.claims if decision is not None else ():
            found += made.allocation.results if made.allocation is not None else ()
    return found


@examples(60)
@given(world=worlds(), data=st.data())
def test_no_device_is_given_away_twice_and_no_counter_is_overdrawn(
    world: tuple[Devices, list[Pod]], data: st.DataObject
) -> None:
    devices, pods = world
    placed: list[Pod] = []
    for each in pods:
        node = data.draw(st.sampled_from(["a", "b"]))
        if fits(devices, each, node):
            devices.place(each, node, WHERE)
            placed.append(each)

        given_away = Counter((r.driver, r.pool, r.device) for r in results(devices, placed))
        assert max(given_away.values(), default=1) == 1
        assert len(placed) == sum(
            all(made.allocation for made in decision.claims)
            for member in placed
            if (decision := devices.decision(member.uid)) is not None
        )
        for key in [(DRIVER, "a"), (DRIVER, "b")]:
            pool, use = devices.pool(key), devices.use(key)
            assert pool is not None
            assert all(map(int.__le__, use.counted, pool.counters))


@examples(60)
@given(world=worlds(), data=st.data())
def test_whoever_leaves_leaves_nothing_behind(
    world: tuple[Devices, list[Pod]], data: st.DataObject
) -> None:
    devices, pods = world
    keys = [(DRIVER, "a"), (DRIVER, "b"), (DRIVER, "net")]
    before = [devices.use(key) for key in keys]
    trial = devices.fork()
    placed = [(each, data.draw(st.sampled_from(["a", "b"]))) for each in pods]
    for each, node in placed:
        if fits(trial, each, node):
            trial.place(each, node, WHERE)
    assert [devices.use(key) for key in keys] == before

    for each, _ in data.draw(st.permutations(placed)):
        trial.remove(each)

    assert [trial.use(key).taken for key in keys] == [0, 0, 0]
    assert [sum(trial.use(key).counted) for key in keys] == [0, 0, 0]
    assert all(trial.decision(each.uid) is None for each in pods)


@examples(60)
@given(world=worlds())
def test_one_node_takes_as_many_as_a_plain_search_finds_room_for(
    world: tuple[Devices, list[Pod]],
) -> None:
    devices, pods = world
    placed: list[Pod] = []
    for each in pods:
        expected = possible(devices, [*placed, each])
        assert fits(devices, each, "a") == expected
        if expected:
            devices.place(each, "a", WHERE)
            placed.append(each)


def possible(devices: Devices, pods: list[Pod]) -> bool:
    """Whether these pods can all be on node a, by trying every choice of devices."""
    free: list[tuple[str, str, int]] = []
    memory = 1 << 30
    for key in [(DRIVER, "a"), (DRIVER, "net")]:
        pool = devices.pool(key)
        assert pool is not None
        if pool.counters:
            memory = pool.counters[0]
        for at, each in enumerate(pool.devices):
            takes = sum(amount for _, amount in pool.consumes[at]) if pool.consumes else 0
            free.append((f"{key}/{each.name}", str(each.values[0]), takes))
    asks = [devices.asked(member).demands[0].wants[0].ask for member in pods]
    return _possible([(ask.device_class, ask.count) for ask in asks], free, memory)


def _possible(wants: list[tuple[str, int]], free: list[tuple[str, str, int]], memory: int) -> bool:
    if not wants:
        return True
    (of, count), rest = wants[0], wants[1:]
    fitting = [each for each in free if of in ("any", each[1])]
    for chosen in combinations(fitting, count):
        left = memory - sum(takes for _, _, takes in chosen)
        # A set of counters that is exceeded lets nothing that takes of it be had.
        if left < 0 and any(takes for _, _, takes in chosen):
            continue
        if _possible(rest, [each for each in free if each not in chosen], left):
            return True
    return False


def test_two_thousand_devices_of_which_no_two_agree_are_gone_through_once() -> None:
    """matchAttribute over values of which each device has another."""
    where = nodes("a")
    devices = table(
        device_class("any"),
        slice_of("a", *[device(str(at), attributes={"id": at}) for at in range(2000)]),
        claim(
            "c",
            exactly("gpus", 2, "any"),
            owner="p",
            constraints=({"matchAttribute": f"{DRIVER}/id"},),
        ),
    )
    places = devices.places("a", devices.spread(where))
    verdict = devices.verdict(devices.asked(pod("p", "c")).demands, "a", places)

    assert verdict.reason == "cannot allocate all claims"
    assert not verdict.open


def test_a_search_that_would_not_end_says_that_it_has_no_answer() -> None:
    """Twelve of even and twelve of odd devices are tried in every combination."""
    where = nodes("a")
    devices = table(
        device_class("any"),
        slice_of("a", *[device(f"{at}", attributes={"id": at, "odd": at % 2}) for at in range(48)]),
        claim(
            "c",
            exactly("some", 12, "any"),
            exactly("others", 14, "any"),
            owner="p",
            constraints=(
                {"distinctAttribute": f"{DRIVER}/id"},
                {"matchAttribute": f"{DRIVER}/odd"},
            ),
        ),
    )
    places = devices.places("a", devices.spread(where))
    verdict = devices.verdict(devices.asked(pod("p", "c")).demands, "a", places)

    assert verdict.open
    assert verdict.reason == (
        "cannot allocate all claims within 10000 steps of the search for devices"
    )


def _use_by_hand(devices: Devices, key: tuple[str, str]) -> Use:
    """What of a pool is in use, counted anew from every claim, in which each device counts once."""
    use, pool = UNUSED, devices.pool(key)
    for claim_key in sorted(key for key, _ in devices._claims.items()):
        allocation = devices.allocation(claim_key)
        for result in dict.fromkeys(allocation.results if allocation is not None else ()):
            if (result.driver, result.pool) == key and pool is not None:
                use = added(use, pool, result)
    return use


def _published(data: st.DataObject, node: str) -> ResourceSlice:
    names = data.draw(st.lists(st.sampled_from("xyz"), max_size=4))
    counted = data.draw(st.booleans())
    shared = data.draw(st.booleans())
    made = [
        device(
            name,
            attributes={"size": "big"},
            **({"consumesCounters": [consumes("g", memory=1)]} if counted else {}),
            **({"allowMultipleAllocations": True, "capacity": {"m": "2"}} if shared else {}),
        )
        for name in names
    ]
    return slice_of(
        node,
        *made,
        count=data.draw(st.integers(1, 2)),
        generation=data.draw(st.integers(1, 2)),
        name=f"{node}-{data.draw(st.integers(0, 1))}",
        sharedCounters=[counter_set("g", memory=2)] if data.draw(st.booleans()) else [],
    )


@examples(100)
@given(data=st.data())
def test_what_is_in_use_is_what_claims_have_whatever_is_published_meanwhile(
    data: st.DataObject,
) -> None:
    devices = table(*(device_class(name, *terms) for name, terms in CLASSES.items()))
    keys = [(DRIVER, "a"), (DRIVER, "b")]
    pods = [pod(f"p{at}", f"c{at}") for at in range(3)]
    for _ in range(data.draw(st.integers(1, 14))):
        at, node = data.draw(st.integers(0, 2)), data.draw(st.sampled_from("ab"))
        match data.draw(st.sampled_from(["publish", "withdraw", "ask", "forget", "sit", "rise"])):
            case "publish":
                devices.put(_published(data, node))
            case "withdraw":
                devices.drop("ResourceSlice", f"{node}-{data.draw(st.integers(0, 1))}")
            case "ask":
                names = data.draw(st.lists(st.sampled_from("xyz"), max_size=2))
                status = allocated(*names, pool=node) if data.draw(st.booleans()) else None
                count = data.draw(st.integers(1, 2))
                devices.put(
                    claim(f"c{at}", exactly("gpus", count, "any"), owner=f"p{at}", status=status)
                )
            case "forget":
                devices.drop("ResourceClaim", f"default/c{at}")
            case "sit":
                devices.place(pods[at], node, WHERE)
            case _:
                devices.remove(pods[at])
        fork = devices.fork()
        for key in keys:
            assert devices.use(key) == fork.use(key) == _use_by_hand(devices, key)
    for each in pods:
        devices.decision(each.uid)
        devices.stands(each.uid)
        devices.alike(each)
