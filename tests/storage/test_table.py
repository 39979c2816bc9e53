# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The table of volumes: what claims get, who uses them, and what is given back when."""

from dataclasses import replace

import pytest

from enbloc.model.nodes import Nodes
from enbloc.storage.decisions import VolumeClaimDecision, VolumeDecision, VolumeRef
from enbloc.storage.facts import (
    Attachable,
    ClaimRef,
    CSIDriver,
    PersistentVolumeClaim,
    VolumeAttachment,
)
from enbloc.storage.table import Volumes
from tests.world.storage import (
    FAST,
    GIB,
    LOCAL,
    RWOP,
    bound,
    csi_volume,
    held_by,
    hosts,
    knowing,
    ledger,
    on,
    pv,
    pvc,
    seat,
    segment,
    table_of,
    using,
)

DRIVER = CSIDriver("csi.example.com", storage_capacity=True)


def chosen(table: Nodes, name: str) -> str:
    """The volume that the one claim of a pod gets; "" = one is made."""
    decision = ledger(table).decision(using(name).uid)
    assert decision is not None
    (claim,) = decision.claims
    return claim.volume.name if claim.volume else ""


# ── what claims get ──────────────────────────────────────────────────────────────────────────


def test_a_claim_gets_the_smallest_volume_that_its_node_reaches() -> None:
    table = table_of(
        hosts("a", "b"), LOCAL, pv("large", 9, "a"), pv("small", 3, "a"), pv("other", 2, "b"),
        pvc("data", 2),
    )  # fmt: skip

    seat(table, using("pod", "data"), "a")

    assert chosen(table, "pod") == "small"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(2.0, 1.0, "two", id="the older"),
        pytest.param(1.0, 1.0, "one", id="by name"),
    ],
)
def test_of_volumes_of_one_size_the_older_is_taken_then_by_name(
    first: float, second: float, expected: str
) -> None:
    table = table_of(
        hosts("a"), LOCAL, pv("one", created=first), pv("two", created=second), pvc("data")
    )

    seat(table, using("pod", "data"), "a")

    assert chosen(table, "pod") == expected


def test_a_decision_tells_claim_and_volume_by_uid() -> None:
    table = table_of(hosts("a"), LOCAL, FAST, pv("disk"), pvc("data"), pvc("logs", 1, "fast"))
    pod = using("pod", "data", "logs")

    seat(table, pod, "a")

    assert ledger(table).decision(pod.uid) == VolumeDecision(
        (
            VolumeClaimDecision("default/data", "pvc-data", VolumeRef("disk", "pv-disk")),
            VolumeClaimDecision("default/logs", "pvc-logs"),
        )
    )


def test_nothing_is_decided_for_a_pod_whose_claims_are_bound() -> None:
    table = table_of(hosts("a"), LOCAL, pv("disk"), bound("data", "disk"))
    pod = using("pod", "data")

    seat(table, pod, "a")

    assert ledger(table).decision(pod.uid) is None
    assert ledger(table).stands(pod.uid)


def test_two_pods_never_get_one_volume() -> None:
    table = table_of(hosts("a"), LOCAL, pv("disk"), pv("spare", 2), pvc("one"), pvc("two"))

    seat(table, using("first", "one"), "a")
    seat(table, using("second", "two"), "a")

    assert {chosen(table, "first"), chosen(table, "second")} == {"disk", "spare"}


def test_a_member_gives_its_volume_to_one_that_can_use_no_other() -> None:
    table = table_of(
        hosts("a", "b"), LOCAL, pv("shared", 1, "a", "b"), pv("own", 2, "a"), pvc("one"), pvc("two")
    ).fork()
    seat(table, using("first", "one"), "a")
    assert chosen(table, "first") == "shared"

    seat(table, using("second", "two"), "b")

    assert (chosen(table, "first"), chosen(table, "second")) == ("own", "shared")


def test_what_a_plan_decided_is_not_decided_again() -> None:
    table = table_of(
        hosts("a", "b"), LOCAL, pv("shared", 1, "a", "b"), pv("own", 2, "a"), pvc("one"), pvc("two")
    )
    first = using("first", "one")
    decision = VolumeDecision(
        (VolumeClaimDecision("default/one", "pvc-one", VolumeRef("shared", "x")),)
    )
    ledger(table).keep(first, "a", decision)
    trial = table.fork()

    seat(trial, using("second", "two"), "b")

    assert chosen(trial, "first") == "shared"
    assert ledger(trial).decision(using("second").uid) is None


# ── forks, and pods that leave ───────────────────────────────────────────────────────────────


def test_what_is_placed_on_a_fork_is_seen_by_nobody_else() -> None:
    table = table_of(hosts("a"), LOCAL, pv("disk"), pvc("data"))
    fork = table.fork()
    second = fork.fork()

    seat(fork, using("pod", "data"), "a")

    assert ledger(fork).held("default/data") is not None
    for other in (table, second):
        assert ledger(other).held("default/data") is None
        assert not list(ledger(other).users("default/data"))
        assert not ledger(other).holdings.taken("local")


def test_a_pod_that_leaves_gives_back_what_it_held() -> None:
    table = table_of(
        hosts("a", zone="z"), LOCAL, FAST, DRIVER, pv("disk"), segment("s", 9, "z"), pvc("data"),
        pvc("logs", 4, "fast"),
    )  # fmt: skip
    volumes = ledger(table)
    segments = volumes.known.segments("fast")
    assert segments is not None
    pod = using("pod", "data", "logs")
    seat(table, pod, "a")
    assert volumes.holdings.charged("fast", segments).tolist() == [4 * GIB]

    volumes.remove(pod)

    assert volumes.holdings.charged("fast", segments).tolist() == [0]
    assert not volumes.holdings.taken("local")
    assert not list(volumes.users("default/data"))
    assert volumes.attached("a").counts == {}
    assert volumes.decision(pod.uid) is None


def test_a_claim_is_held_until_the_last_of_its_pods_leaves() -> None:
    table = table_of(hosts("a"), LOCAL, pv("disk"), pvc("data"))
    first, second = using("first", "data"), using("second", "data")
    seat(table, first, "a")
    seat(table, second, "a")

    ledger(table).remove(first)
    assert chosen(table, "second") == "disk"

    ledger(table).remove(second)
    assert ledger(table).held("default/data") is None


# ── the API server wins ──────────────────────────────────────────────────────────────────────


def test_a_claim_that_is_seen_as_bound_is_held_no_more() -> None:
    volume, claim = pv("disk"), pvc("data")
    table, pod = table_of(hosts("a"), LOCAL, volume, claim), using("pod", "data")
    seat(table, pod, "a")
    volumes = ledger(table)

    volumes.put(held_by(volume, claim))
    assert chosen(table, "pod") == "disk"
    volumes.put(replace(claim, volume="disk", bind_completed=True))

    assert volumes.decision(pod.uid) is None
    assert volumes.held(claim.key) is None
    assert volumes.stands(pod.uid)


def test_a_volume_stays_taken_until_it_says_itself_whose_it_is() -> None:
    volume, claim = pv("disk"), pvc("data")
    table = table_of(hosts("a"), LOCAL, volume, claim)
    seat(table, using("pod", "data"), "a")
    volumes = ledger(table)

    volumes.put(replace(claim, volume="disk", bind_completed=True))
    assert volumes.holdings.taken("local") == 1

    volumes.put(held_by(volume, claim))
    assert volumes.holdings.taken("local") == 0


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda v: v.put(replace(pvc("data"), uid="another")), id="made anew"),
        pytest.param(lambda v: v.drop(PersistentVolumeClaim.kind, "default/data"), id="gone"),
    ],
)
def test_a_claim_that_is_another_one_or_none_holds_nothing(change: object) -> None:
    table = table_of(hosts("a"), LOCAL, pv("disk"), pvc("data"))
    pod = using("pod", "data")
    seat(table, pod, "a")

    assert callable(change)
    change(ledger(table))

    assert ledger(table).held("default/data") is None
    assert not ledger(table).stands(pod.uid)


@pytest.mark.parametrize(
    "fact",
    [
        pytest.param(replace(pv("disk"), claim=ClaimRef("default/other", "x")), id="given away"),
        pytest.param(replace(pv("disk"), deleting=True), id="being deleted"),
        pytest.param(replace(pv("disk"), available=False), id="not available"),
        pytest.param(replace(pvc("data"), deleting=True), id="claim being deleted"),
        pytest.param(replace(pvc("data"), selected_node="b"), id="selected elsewhere"),
    ],
)
def test_a_decision_does_not_stand_once_the_volume_cannot_be_had(fact: object) -> None:
    table, pod = table_of(hosts("a"), LOCAL, pv("disk"), pvc("data")), using("pod", "data")
    seat(table, pod, "a")
    assert ledger(table).stands(pod.uid)

    ledger(table).put(fact)  # type: ignore[arg-type]  # any of them

    assert not ledger(table).stands(pod.uid)


# ── storage that is made ─────────────────────────────────────────────────────────────────────


def charged(volumes: Volumes) -> list[int]:
    segments = volumes.known.segments("fast")
    assert segments is not None
    return (volumes.holdings.charged("fast", segments) // GIB).tolist()


def test_a_new_volume_is_taken_from_the_fullest_segment_that_has_enough() -> None:
    table = table_of(
        hosts("a", zone="z"), FAST, DRIVER, segment("1", 9, "z"), segment("2", 5, "z"),
        segment("3", 3, "z"), pvc("data", 4, "fast"),
    )  # fmt: skip

    seat(table, using("pod", "data"), "a")

    assert charged(ledger(table)) == [0, 4, 0]


def test_a_charge_ends_when_its_claim_is_bound() -> None:
    """What the driver says then counts alone: where it sets nothing aside, that never changes."""
    claim = pvc("data", 4, "fast")
    other = pvc("logs", 2, "fast")
    table = table_of(hosts("a", zone="z"), FAST, DRIVER, segment("s", 9, "z"), claim, other)
    volumes = ledger(table)
    seat(table, using("pod", "data"), "a")
    seat(table, using("next", "logs"), "a")

    volumes.put(replace(claim, selected_node="a"))
    volumes.put(segment("s", 9, "z", resource_version="2"))
    assert charged(volumes) == [6]  # nobody knows whether it counts what is being made

    volumes.put(replace(claim, volume="made", bind_completed=True))
    assert charged(volumes) == [2]


def test_a_charge_ends_with_its_claim() -> None:
    claim = pvc("data", 4, "fast")
    table = table_of(hosts("a", zone="z"), FAST, DRIVER, segment("s", 9, "z"), claim)
    volumes = ledger(table)
    seat(table, using("pod", "data"), "a")

    volumes.drop(claim.kind, claim.key)

    assert charged(volumes) == [0]


def test_a_kept_decision_is_charged_to_the_segment_that_it_was_planned_from() -> None:
    table = table_of(
        hosts("a", zone="z"), FAST, DRIVER, segment("s", 9, "z"), pvc("data", 4, "fast")
    )
    pod, trial = using("pod", "data"), table.fork()
    seat(trial, pod, "a")
    decision = ledger(trial).decision(pod.uid)
    assert isinstance(decision, VolumeDecision)

    ledger(table).keep(pod, "a", decision)

    assert charged(ledger(table)) == [4]
    assert ledger(table).decision(pod.uid) == decision


def test_a_new_volume_is_charged_where_an_earlier_attempt_selected_its_node() -> None:
    """Semantics §2.9: it was promised, and is not provisioned yet."""
    claim = pvc("data", 4, "fast", selected_node="a")
    table = table_of(hosts("a", zone="z"), FAST, DRIVER, segment("s", 9, "z"), claim)

    seat(table, using("pod", "data"), "a")

    assert charged(ledger(table)) == [4]


def test_of_one_pod_no_claim_hides_storage_from_another_whose_node_is_selected() -> None:
    """As the filter has it, and kube-scheduler: each claim is looked at by itself."""
    table = table_of(
        hosts("a", zone="z"), FAST, DRIVER, segment("s", 4, "z"), pvc("new", 3, "fast"),
        pvc("old", 2, "fast", selected_node="a"), pvc("older", 1, "fast", selected_node="a"),
    )  # fmt: skip
    pod = using("pod", "old", "older", "new")

    seat(table, pod, "a")

    assert ledger(table).stands(pod.uid)
    assert charged(ledger(table)) == [6]


def test_a_claim_whose_selected_node_is_gone_is_charged_to_no_segment() -> None:
    claim = pvc("data", 4, "fast", selected_node="gone")
    table = table_of(hosts("a", zone="z"), FAST, DRIVER, segment("s", 9, "z"), claim)

    seat(table, using("pod", "data"), "a")

    assert charged(ledger(table)) == [0]


# ── who is alike ─────────────────────────────────────────────────────────────────────────────


def test_pods_with_claims_of_their_own_are_alike_if_they_want_alike_volumes() -> None:
    claims = [pvc("one"), pvc("two"), pvc("large", 2), pvc("other", 1, "fast")]
    pods = [using(f"pod-{each.name}", each.name) for each in claims]
    table = knowing(table_of(hosts("a"), LOCAL, FAST, *claims), *pods)

    one, two, large, other = (ledger(table).alike(pod) for pod in pods)

    assert one == two
    assert len({one, large, other}) == 3


def test_pods_whose_claims_are_bound_are_alike_if_the_same_nodes_reach_the_volumes() -> None:
    volumes = [csi_volume("v0"), csi_volume("v1"), csi_volume("v2", affinity=on("a"))]
    claims = [bound(f"c{i}", f"v{i}", storage_class="fast") for i in range(3)]
    pods = [using(f"p{i}", f"c{i}") for i in range(3)]
    table = knowing(table_of(hosts("a"), FAST, *volumes, *claims), *pods)

    first, second, third = (ledger(table).alike(pod) for pod in pods)

    assert first == second != third


def test_a_claim_that_another_pod_names_tells_its_pods_from_others() -> None:
    pods = [using("first", "shared"), using("second", "shared"), using("third", "own")]
    table = knowing(table_of(hosts("a"), LOCAL, pvc("shared"), pvc("own")), *pods)
    volumes = ledger(table)

    assert volumes.alike(pods[0]) == volumes.alike(pods[1]) != volumes.alike(pods[2])

    volumes.leave(pods[1].uid)
    assert volumes.alike(pods[0]) == volumes.alike(pods[2])


def test_a_claim_that_a_volume_names_tells_its_pod_from_others() -> None:
    reserved = pv("disk", claim=ClaimRef("default/one"))
    pods = [using("first", "one"), using("second", "two")]
    table = knowing(table_of(hosts("a"), LOCAL, reserved, pvc("one"), pvc("two")), *pods)

    assert ledger(table).alike(pods[0]) != ledger(table).alike(pods[1])


def test_missing_claims_are_alike_and_a_pod_without_volumes_does_not_matter() -> None:
    table = table_of(hosts("a"))

    assert ledger(table).alike(using("a", "x")) == ledger(table).alike(using("b", "y"))
    assert ledger(table).alike(using("c")) is None


# ── what nodes attach ────────────────────────────────────────────────────────────────────────


def test_a_node_attaches_what_its_pods_use_and_what_attachments_say_each_once() -> None:
    table = table_of(
        hosts("a"), FAST, csi_volume("v0"), csi_volume("v1"), csi_volume("v2"),
        bound("c0", "v0", storage_class="fast"), bound("c1", "v1", storage_class="fast"),
        VolumeAttachment("x", "csi.example.com", "a", "v1"),
        VolumeAttachment("y", "csi.example.com", "a", "v2"),
    )  # fmt: skip
    volumes = ledger(table)
    assert volumes.attached("a").counts == {"csi.example.com": 2}

    seat(table, using("first", "c0"), "a")
    seat(table, using("second", "c0", "c1"), "a")

    assert volumes.attached("a").counts == {"csi.example.com": 3}
    assert volumes.attached("a").volumes == {
        Attachable("csi.example.com", "v0"),
        Attachable("csi.example.com", "v1"),
    }
    volumes.drop(VolumeAttachment.kind, "y")
    assert volumes.attached("a").counts == {"csi.example.com": 2}


def test_what_a_node_attaches_follows_a_claim_that_gets_its_volume() -> None:
    claim = pvc("data", 1, "fast")
    table = table_of(hosts("a"), FAST, csi_volume("v0"), claim)
    seat(table, replace(using("pod", "data"), node="a"), "a")
    volumes = ledger(table)
    assert volumes.attached("a").counts == {"csi.example.com": 1}

    volumes.put(replace(claim, volume="v0", bind_completed=True))

    assert volumes.attached("a").volumes == {Attachable("csi.example.com", "v0")}


def test_a_claim_of_one_pod_only_knows_its_users() -> None:
    table = table_of(hosts("a"), LOCAL, pvc("data", access_modes=(RWOP,)))
    pod = using("pod", "data")

    seat(table, pod, "a")

    assert [uid for uid, _ in ledger(table).users("default/data")] == [pod.uid]


def test_volumes_that_are_bound_for_good_are_not_looked_at_where_more_can_be_made() -> None:
    volume, claim = csi_volume("v0"), bound("c0", "v0", storage_class="fast")
    table = table_of(hosts("a"), LOCAL, FAST, volume, claim, pv("disk"), bound("c1", "disk"))
    volumes = ledger(table)
    known = volumes.known
    assert known.has_volumes("fast")  # it does not say itself yet whose it is

    volumes.put(held_by(volume, claim))
    before = known.available("fast")
    assert not known.has_volumes("fast")
    assert known.has_volumes("local")

    volumes.put(replace(held_by(volume, claim), resource_version="2"))
    assert known.available("fast") is before

    volumes.drop(PersistentVolumeClaim.kind, claim.key)
    assert [each.name for each in known.available("fast").volumes] == ["v0"]

    volumes.put(replace(FAST, provisioner="kubernetes.io/no-provisioner"))
    volumes.put(claim)
    assert known.has_volumes("fast")
