# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members of one gang are placed one after another, and each sees what the others were promised."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework import decide
from enbloc.framework.reads import Reads
from enbloc.framework.searching import SharedCapacity
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.plugins.node_volume_limits import NodeVolumeLimits
from enbloc.plugins.volume_binding.filter import NO_SPACE, NOTHING_TO_BIND, BindingFilter
from enbloc.plugins.volume_binding.plugin import VolumeBinding
from enbloc.plugins.volume_restrictions import ONE_POD_ONLY, VolumeRestrictions
from enbloc.plugins.volume_zone import VolumeZone
from enbloc.storage.facts import CSIDriver, VolumeFact
from tests.effort import examples
from tests.plugins import volume_reference as reference
from tests.world.builders import waiting
from tests.world.storage import (
    FAST,
    GIB,
    LOCAL,
    RWO,
    RWOP,
    RWX,
    bound,
    csi_node,
    hosts,
    knowing,
    ledger,
    pv,
    pvc,
    segment,
    table_of,
    using,
)
from tests.world.tables import snapshot

DRIVER = CSIDriver("csi.example.com", storage_capacity=True)
PLUGINS = (VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding(), VolumeZone())
GANG = GroupKey("default", "gang")


@dataclass
class Member:
    """A pod that is to be placed, and what filters its class."""

    pod: Pod
    filters: list[decide.Filter]


class Gang:
    """Places members on a fork of a table, as a decision does."""

    def __init__(self, table: Nodes, *pods: Pod) -> None:
        self.facts = snapshot(knowing(table, *pods))
        self.table = self.facts.nodes.fork()
        self._classes: dict[object, Member] = {}
        self.placed: dict[str, str] = {}

    def member(self, pod: Pod) -> Member:
        key = ledgers_of(self.facts.nodes).alike(pod), pod.group
        found = self._classes.get(key)
        if found is None:
            filters: list[decide.Filter] = []
            for plugin in PLUGINS:
                evaluator = plugin.pre_filter(pod, self.facts)
                assert not isinstance(evaluator, Status), evaluator.message
                if evaluator is not None:
                    filters.append(cast("decide.Filter", evaluator))
            found = self._classes[key] = Member(pod, filters)
        return found

    def allowed(self, pod: Pod) -> Mask:
        member = self.member(pod)
        mask: Mask = np.ones(len(self.table), np.bool_)
        for each in member.filters:
            mask &= each.filter(member.pod, self.table)
        return mask

    def where(self, pod: Pod) -> list[str]:
        names, allowed = self.table.names, self.allowed(pod)
        return [names[row] for row in np.flatnonzero(allowed).tolist()]

    def place(self, pod: Pod, name: str) -> None:
        row = self.table.row(name)
        assert row is not None
        self.table.add(row, pod)
        self.placed[pod.key.name] = name
        for member in self._classes.values():
            for each in member.filters:
                if decide.implements(each, decide.TracksPods):
                    each.placed(pod, row)

    def gets(self, pod: Pod) -> list[str]:
        """What the claims of a pod get: a volume, or "" = one that is made."""
        decision = ledger(self.table).decision(pod.uid)
        claims = decision.claims if decision else ()
        return [each.volume.name if each.volume else "" for each in claims]

    def why(self, pod: Pod) -> dict[str, int]:
        member = self.member(pod)
        found: dict[str, int] = {}
        for each in member.filters:
            refused = ~each.filter(member.pod, self.table)
            if isinstance(each, decide.Explain) and refused.any():
                found |= each.explain(member.pod, self.table, refused)
        return found


# ── claims of their own ──────────────────────────────────────────────────────────────────────


def test_two_members_with_a_claim_each_take_a_local_volume_each() -> None:
    members = [using("p0", "c0"), using("p1", "c1")]
    gang = Gang(
        table_of(hosts("a", "b"), LOCAL, pv("va", 1, "a"), pv("vb", 1, "b"), pvc("c0"), pvc("c1")),
        *members,
    )
    assert gang.where(members[0]) == ["a", "b"]

    gang.place(members[0], "a")
    assert gang.where(members[1]) == ["b"]
    assert gang.why(members[1]) == {NOTHING_TO_BIND: 1}

    gang.place(members[1], "b")
    assert (gang.gets(members[0]), gang.gets(members[1])) == (["va"], ["vb"])


def test_what_is_left_of_a_segment_is_left_for_one_member() -> None:
    members = [using("p0", "c0"), using("p1", "c1")]
    gang = Gang(
        table_of(
            hosts("a", "b", zone="z"), FAST, DRIVER, segment("s", 9, "z"), pvc("c0", 5, "fast"),
            pvc("c1", 5, "fast"),
        ),
        *members,
    )  # fmt: skip

    gang.place(members[0], "a")

    assert gang.where(members[1]) == []
    assert gang.why(members[1]) == {NO_SPACE: 2}


def test_claims_of_one_pod_are_not_added_up_as_upstream() -> None:
    pod = using("pod", "c0", "c1")
    gang = Gang(
        table_of(
            hosts("a", zone="z"), FAST, DRIVER, segment("s", 9, "z"), pvc("c0", 5, "fast"),
            pvc("c1", 5, "fast"),
        ),
        pod,
    )  # fmt: skip

    assert gang.where(pod) == ["a"]


def test_a_volume_that_another_member_can_do_without_is_open_to_the_next() -> None:
    members = [using("p0", "c0"), using("p1", "c1")]
    gang = Gang(
        table_of(
            hosts("a", "b"), LOCAL, pv("both", 1, "a", "b"), pv("own", 2, "a"), pvc("c0"), pvc("c1")
        ),
        *members,
    )
    gang.place(members[0], "a")
    assert gang.gets(members[0]) == ["both"]

    assert gang.where(members[1]) == ["a", "b"]
    gang.place(members[1], "b")

    assert (gang.gets(members[0]), gang.gets(members[1])) == (["own"], ["both"])


def test_a_node_attaches_no_more_than_it_can_for_all_members() -> None:
    members = [using(f"p{i}", f"c{i}") for i in range(3)]
    claims = [pvc(f"c{i}", 1, "fast") for i in range(3)]
    gang = Gang(table_of(hosts("a"), FAST, csi_node("a", csi_example_com=2), *claims), *members)

    gang.place(members[0], "a")
    gang.place(members[1], "a")

    assert gang.where(members[2]) == []


# ── claims that members share ────────────────────────────────────────────────────────────────


def shared_by_two(mode: str) -> tuple[Gang, list[Pod]]:
    members = [using("p0", "data"), using("p1", "data")]
    claim = pvc("data", 1, "fast", access_modes=(mode,))
    return Gang(table_of(hosts("a", "b"), FAST, claim), *members), members


def test_a_claim_that_is_being_made_for_a_node_takes_its_pods_there() -> None:
    gang, members = shared_by_two(RWX)
    gang.place(members[0], "a")

    assert gang.where(members[1]) == ["a"]
    gang.place(members[1], "a")
    assert gang.gets(members[1]) == [""]


def test_a_volume_that_was_chosen_for_a_claim_takes_its_pods_to_where_it_is_reached() -> None:
    members = [using("p0", "data"), using("p1", "data")]
    claim = pvc("data", access_modes=(RWX,))
    modes = frozenset((RWX,))
    gang = Gang(
        table_of(
            hosts("a", "b", "c"), LOCAL, claim, pv("two", 1, "a", "b", access_modes=modes),
            pv("three", 2, "c", access_modes=modes),
        ),
        *members,
    )  # fmt: skip
    assert gang.where(members[0]) == ["a", "b", "c"]

    gang.place(members[0], "a")

    assert gang.where(members[1]) == ["a", "b"]


@pytest.mark.parametrize(
    ("mode", "group", "expected"),
    [
        pytest.param(RWO, GANG, ["a"], id="one node at a time: members go there"),
        pytest.param(RWX, GANG, ["a", "b"], id="many nodes: members go anywhere"),
        pytest.param(RWO, None, ["a", "b"], id="lone pods: as upstream"),
    ],
)
def test_members_that_share_a_bound_claim_go_where_it_can_be_used(
    mode: str, group: GroupKey | None, expected: list[str]
) -> None:
    members = [using("p0", "data", group=group), using("p1", "data", group=group)]
    claim = bound("data", "disk", access_modes=(mode,))
    gang = Gang(table_of(hosts("a", "b"), LOCAL, pv("disk"), claim), *members)
    gang.place(members[0], "a")

    assert gang.where(members[1]) == expected


def test_a_claim_of_one_pod_only_is_refused_to_the_second_member() -> None:
    gang, members = shared_by_two(RWOP)
    gang.place(members[0], "a")

    assert gang.where(members[1]) == []
    assert gang.why(members[1])[ONE_POD_ONLY] == 2


def test_two_members_that_need_a_claim_of_one_pod_only_are_refused_by_name() -> None:
    gang, members = shared_by_two(RWOP)

    status = VolumeRestrictions().pre_filter_group(waiting(*members), gang.facts)

    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == (
        'persistentvolumeclaim "data" has access mode ReadWriteOncePod, and 2 members use it: p0, '
        "p1"
    )


def test_a_member_beyond_the_minimum_may_wait_for_a_claim_of_one_pod_only() -> None:
    gang, members = shared_by_two(RWOP)
    facts = waiting(*members)
    enough = replace(facts, total=replace(facts.total, minimum=1))

    assert VolumeRestrictions().pre_filter_group(enough, gang.facts) == SUCCESS


# ── bounds ───────────────────────────────────────────────────────────────────────────────────


def test_a_segment_is_a_pool_of_bytes_for_the_nodes_that_have_no_other() -> None:
    members = [using("p0", "c0"), using("p1", "c1")]
    table = table_of(
        [*hosts("a", "b", zone="y"), *hosts("c", "d", zone="z")], FAST, DRIVER,
        segment("y", 9, "y"), segment("z", 250, "z"), segment("more", 1, "y"),
        pvc("c0", 100, "fast"), pvc("c1", 100, "fast"),
    )  # fmt: skip
    knowing(table, *members)

    (pool,) = VolumeBinding().pools(members[:1], table, ever=False)

    assert pool.rows.tolist() == [False, False, True, True]
    assert pool.amounts.tolist() == [100 * GIB]
    assert (pool.free, pool.unit, pool.name) == (250 * GIB, "bytes", "of class fast in zone z")
    assert VolumeBinding().pools(members[:1], table, ever=True) == []


def test_volumes_of_a_class_that_makes_none_are_a_pool() -> None:
    members = [using(f"p{i}", f"c{i}") for i in range(3)]
    claims = [pvc(f"c{i}") for i in range(3)]
    taken = pv("taken", available=False)
    table = knowing(table_of(hosts("a"), LOCAL, pv("one"), pv("two"), taken, *claims), *members)

    now, ever = (VolumeBinding().pools(members[:1], table, ever=ever) for ever in (False, True))

    assert [(p.free, p.unit, p.name, p.amounts.tolist()) for p in now] == [
        (2, "volumes", "of class local", [1])
    ]
    assert [p.free for p in ever] == [3]


# ── on random clusters ───────────────────────────────────────────────────────────────────────

NAMES = ("n0", "n1", "n2")
reach = st.sets(st.sampled_from(NAMES), min_size=1).map(sorted)
sizes = st.integers(1, 3)


@st.composite
def gangs(draw: st.DrawFn) -> tuple[Nodes, list[Pod], list[VolumeFact]]:
    classes = st.sampled_from(("local", "local", "fast"))
    facts: list[VolumeFact] = [LOCAL, FAST]
    facts += [
        pv(f"v{i}", draw(sizes), *draw(reach), storage_class=draw(classes))
        for i in range(draw(st.integers(0, 5)))
    ]
    if draw(st.booleans()):
        zones = st.sampled_from(("y", "z"))
        capacities = [segment(f"s{i}", draw(st.integers(1, 6)), draw(zones)) for i in range(2)]
        facts += [DRIVER, *capacities]
    facts += [csi_node(name, csi_example_com=draw(st.integers(0, 3))) for name in draw(reach)]
    pods = []
    for index in range(draw(st.integers(1, 4))):
        names = [f"c{index}-{i}" for i in range(draw(st.integers(0, 2)))]
        facts += [pvc(name, draw(sizes), draw(classes)) for name in names]
        if draw(st.booleans()):
            names.append("shared")
        if names:
            pods.append(using(f"p{index}", *names, group=GANG if draw(st.booleans()) else None))
    mode = draw(st.sampled_from((RWO, RWO, RWOP)))
    facts.append(pvc("shared", 1, draw(classes), access_modes=(mode,)))
    nodes = [*hosts("n0", "n1", zone="y"), *hosts("n2", zone="z")]
    return table_of(nodes, *facts), pods, facts


def check_promises(gang: Gang, pods: Sequence[Pod], facts: Sequence[VolumeFact]) -> None:
    """No volume twice, each where it is reached; every claim of a placed pod gets something."""
    volumes = ledger(gang.table)
    cluster = reference.Cluster(facts, ())
    given: dict[str, str] = {}
    for pod in pods:
        decision = volumes.decision(pod.uid)
        claims = decision.claims if decision else ()
        assert [each.claim for each in claims] == [f"default/{name}" for name in pod.claims]
        for each in claims:
            node = gang.table.node(gang.placed[pod.key.name])
            assert node is not None
            if each.volume is None:
                continue
            volume, claim = cluster.volume(each.volume.name), cluster.claim(each.claim)
            assert volume is not None
            assert claim is not None
            assert reference.reaches(volume.affinity, node)
            assert volume.capacity >= claim.size
            assert volume.storage_class == claim.storage_class
            assert given.setdefault(volume.name, claim.key) == claim.key
        assert volumes.stands(pod.uid)


@pytest.mark.hypothesis
@examples(150)
@given(case=gangs(), data=st.data())
def test_members_are_promised_what_there_is_and_no_more(
    case: tuple[Nodes, list[Pod], list[VolumeFact]], data: st.DataObject
) -> None:
    table, pods, facts = case
    gang, placed = Gang(table, *pods), list[Pod]()
    for pod in pods:
        where = gang.where(pod)
        fresh = Gang.__new__(Gang)
        fresh.facts, fresh.table, fresh.placed = replace(gang.facts), gang.table, {}
        fresh._classes = {}
        assert fresh.where(pod) == where, "an evaluator that heard of all says what a new one says"
        if not where:
            continue
        gang.place(pod, data.draw(st.sampled_from(where)))
        placed.append(pod)
        check_promises(gang, placed, facts)
    segments = ledger(gang.table).known.segments("fast")
    if segments is None:
        return
    charged = ledger(gang.table).holdings.charged("fast", segments)
    held = ledger(gang.table).holdings.claims.values()
    own = [
        sum(each.size for each in held if each.segment and each.pods == frozenset((pod.uid,)))
        for pod in placed
    ]
    # Only what one pod asks for by itself may be more than there is, as upstream lets it pass.
    assert ((charged <= segments.capacity) | (charged <= max(own, default=0))).all()


@pytest.mark.hypothesis
@examples(80)
@given(case=gangs(), data=st.data())
def test_after_all_members_have_left_a_table_is_as_before(
    case: tuple[Nodes, list[Pod], list[VolumeFact]], data: st.DataObject
) -> None:
    table, pods, _ = case
    gang = Gang(table, *pods)
    before = {pod.uid: gang.where(pod) for pod in pods}
    for pod in pods:
        where = gang.where(pod)
        if where:
            gang.place(pod, data.draw(st.sampled_from(where)))
    for pod in data.draw(st.permutations(pods)):
        if pod.key.name in gang.placed:
            ledger(gang.table).remove(pod)

    volumes = ledger(gang.table)
    assert not volumes.holdings.claims
    assert not volumes.holdings.volumes
    assert {pod.uid: gang.where(pod) for pod in pods} == before


@pytest.mark.hypothesis
@examples(150)
@given(
    volumes=st.lists(st.tuples(sizes, reach), max_size=4),
    wants=st.lists(st.tuples(sizes, st.sampled_from(NAMES)), min_size=1, max_size=4),
)
def test_whoever_comes_first_all_members_get_volumes_if_there_are_enough(
    volumes: list[tuple[int, list[str]]], wants: list[tuple[int, str]]
) -> None:
    pods = [using(f"p{i}", f"c{i}") for i in range(len(wants))]
    claims = [pvc(f"c{i}", size) for i, (size, _) in enumerate(wants)]
    facts = [pv(f"v{i}", size, *names) for i, (size, names) in enumerate(volumes)]
    gang = Gang(table_of(hosts(*NAMES), LOCAL, *facts, *claims), *pods)

    def fits(volume: int, want: int) -> bool:
        size, names = volumes[volume]
        return size >= wants[want][0] and wants[want][1] in names

    for count, pod in enumerate(pods, 1):
        possible = any(
            all(fits(volume, want) for want, volume in enumerate(order))
            for order in permutations(range(len(volumes)), count)
        )
        name = wants[count - 1][1]
        assert (name in gang.where(pod)) == possible
        if not possible:
            return
        gang.place(pod, name)
    assert len({each for pod in pods for each in gang.gets(pod)}) == len(pods)


@pytest.mark.hypothesis
@examples(60)
@given(case=gangs(), ever=st.booleans())
def test_no_more_alike_members_fit_than_a_filter_says(
    case: tuple[Nodes, list[Pod], list[VolumeFact]], ever: bool
) -> None:
    table, pods, _ = case
    for pod in pods:
        gang = Gang(table, pod)
        for each in gang.member(pod).filters:
            if decide.implements(each, decide.Limits):
                most = each.most(pod, gang.table, ever=ever)
                assert (most[gang.allowed(pod)] >= 1).all()


@pytest.mark.hypothesis
@examples(60)
@given(case=gangs(), data=st.data())
def test_a_placement_stays_within_every_pool(
    case: tuple[Nodes, list[Pod], list[VolumeFact]], data: st.DataObject
) -> None:
    table, pods, _ = case
    gang = Gang(table, *pods)
    pools: dict[bool, Sequence[SharedCapacity]] = {
        ever: VolumeBinding().pools(pods, gang.table, ever=ever) for ever in (False, True)
    }
    placed: list[int] = []
    for place, pod in enumerate(pods):
        where = gang.where(pod)
        if where:
            gang.place(pod, data.draw(st.sampled_from(where)))
            placed.append(place)
    for found in pools.values():
        for pool in found:
            inside = [
                each
                for each in placed
                if (row := gang.table.row(gang.placed[pods[each].key.name])) is not None
                and pool.rows[row]
            ]
            used = int(pool.amounts[inside].sum())
            alone = int(pool.amounts[inside].max(initial=0))
            assert used <= pool.free or (pool.unit == "bytes" and used == alone)


def test_a_pod_whose_claims_nobody_can_take_from_is_looked_at_once() -> None:
    pod = using("pod", "c0")
    table = knowing(table_of(hosts("a"), FAST, pvc("c0", 1, "fast")), pod)

    evaluator = VolumeBinding().pre_filter(pod, snapshot(table))

    assert isinstance(evaluator, BindingFilter)
    assert evaluator.reads is Reads.SPEC


def test_a_pod_that_comes_may_decide_a_shared_claim_for_the_next() -> None:
    members = [using("p0", "shared"), using("p1", "shared"), using("p2", "own")]
    claims = [pvc("shared", access_modes=(RWX,)), pvc("own")]
    gang = Gang(table_of(hosts("a"), LOCAL, *claims), *members)

    narrows = [
        each.narrows
        for member in (members[0], members[2])
        for each in gang.member(member).filters
        if isinstance(each, BindingFilter)
    ]

    assert narrows == [False, True]
