# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""On random clusters each plugin of volumes says of one pod what kube-scheduler says."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework import decide
from enbloc.framework.status import Code, Status
from enbloc.model.node import Node
from enbloc.model.nodes import Mask
from enbloc.model.pods import NodeSelectorTerm, Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.node_volume_limits import NodeVolumeLimits
from enbloc.plugins.volume_binding.plugin import VolumeBinding
from enbloc.plugins.volume_restrictions import VolumeRestrictions
from enbloc.plugins.volume_zone import VolumeZone
from enbloc.storage.facts import (
    Affinity,
    Attachable,
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from tests.effort import examples
from tests.plugins import volume_reference as reference
from tests.plugins.volume_reference import Cluster
from tests.world.builders import node
from tests.world.storage import GIB, HOST, RWO, RWOP, RWX, ZONE, knowing, seat, table_of, using
from tests.world.tables import snapshot

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES = ("n0", "n1", "n2")
CLAIMS = tuple(f"c{i}" for i in range(4))
RARE = st.sampled_from((False,) * 30 + (True,))
CLASSES = ("local", "fast", "near", "now", "nobody", "")
OFFERED = ((RWO, RWX), (RWO, RWX, RWOP), (RWOP, RWO))
DRIVER = "csi.example.com"

zones = st.sampled_from(("a", "b"))
some_bytes = st.integers(1, 4).map(lambda gib: gib * GIB)
modes = st.sampled_from(((RWO,),) * 5 + ((RWX,), (RWO, RWX), (RWOP,)))


def _bytes(gib: int | None) -> int | None:
    return None if gib is None else gib * GIB


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    found = []
    for name in NODES[: draw(st.integers(1, 3))]:
        labels = {HOST: name, "disk": draw(st.sampled_from(("ssd", "hdd")))}
        for key in draw(st.sets(st.sampled_from((ZONE, OLD_ZONE)))):
            labels[key] = draw(zones)
        found.append(node(name, labels=tuple(sorted(labels.items()))))
    return found


@st.composite
def affinities(draw: st.DrawFn) -> Affinity:
    kind = draw(st.sampled_from(("none", "host", "zone", "two", "not", "empty", "field")))
    zone = Requirement(ZONE, Operator.IN, (draw(zones),))
    host = Requirement(HOST, Operator.IN, (draw(st.sampled_from(NODES)),))
    name = Requirement("metadata.name", Operator.IN, ("nobody",))
    apart = Requirement("disk", Operator.NOT_IN, ("ssd",))
    terms = {
        "host": (NodeSelectorTerm((host,)),),
        "zone": (NodeSelectorTerm((zone,)),),
        "two": (NodeSelectorTerm((zone, apart)), NodeSelectorTerm((host,))),
        "not": (NodeSelectorTerm((apart,)),),
        "empty": (NodeSelectorTerm(),),
        "field": (NodeSelectorTerm((), (name,)),),
    }
    return terms.get(kind)


@st.composite
def volumes(draw: st.DrawFn) -> list[PersistentVolume]:
    found = []
    for index in range(draw(st.integers(2, 8))):
        name = f"v{index}"
        labels = draw(st.dictionaries(st.sampled_from((ZONE, OLD_ZONE)), st.sampled_from(
            ("a", "b", "a__b", "a__")), max_size=2))  # fmt: skip
        labels |= draw(st.dictionaries(st.just("tier"), st.sampled_from(("x", "y"))))
        claim = draw(st.none() | st.none() | st.none() | st.builds(
            ClaimRef,
            st.sampled_from(CLAIMS).map("default/{}".format),
            st.sampled_from(("", "uid-c0", "uid-c1", "other")),
        ))  # fmt: skip
        affinity = draw(affinities())
        plugin = draw(st.sampled_from(("", "", "kubernetes.io/aws-ebs")))
        found.append(PersistentVolume(
            name, f"uid-{name}", "1",
            storage_class=draw(st.sampled_from(("local", "local", "fast"))),
            capacity=draw(st.integers(1, 5)) * GIB,
            access_modes=frozenset(draw(st.sampled_from(OFFERED))),
            mode=draw(st.sampled_from(("Filesystem",) * 9 + ("Block",))),
            attributes_class=draw(st.sampled_from(("",) * 8 + ("gold",))),
            available=draw(st.sampled_from((True,) * 6 + (False,))),
            deleting=draw(RARE),
            claim=claim,
            created=draw(st.integers(0, 2).map(float)),
            labels=tuple(sorted(labels.items())),
            affinity=affinity,
            csi=None if plugin else draw(st.none() | st.just(Attachable(DRIVER, name))),
            plugin=plugin,
            migrated_affinity=draw(affinities()) if plugin else None,
        ))  # fmt: skip
    return sorted(found, key=lambda each: (each.capacity, each.created, each.name))


@st.composite
def claims(draw: st.DrawFn, pod: Pod) -> list[PersistentVolumeClaim]:
    found = []
    for name in (*CLAIMS, f"{pod.key.name}-scratch"):
        if draw(RARE):
            continue
        volume = draw(st.sampled_from(("",) * 6 + ("v0", "v1", "v2") * 2 + ("gone",)))
        selector = Selector((Requirement("tier", Operator.IN, ("x",)),))
        found.append(PersistentVolumeClaim(
            "default", name, f"uid-{name}", "1",
            storage_class=draw(st.sampled_from(("local", "fast", "near") * 8 + CLASSES)),
            request=draw(st.sampled_from((1, 1, 2, 2, 3, None)).map(_bytes)),
            access_modes=draw(modes),
            mode=draw(st.sampled_from(("Filesystem",) * 9 + ("Block",))),
            attributes_class=draw(st.sampled_from(("",) * 8 + ("gold",))),
            selector=draw(st.sampled_from((None, None, None, selector))),
            volume=volume,
            bind_completed=bool(volume) and not draw(RARE),
            selected_node=draw(st.sampled_from((None,) * 9 + NODES[:2])),
            lost=draw(RARE),
            deleting=draw(RARE),
            owner=draw(st.sampled_from((pod.uid,) * 8 + ("", "other"))),
        ))  # fmt: skip
    return found


@st.composite
def capacities(draw: st.DrawFn) -> list[CSIStorageCapacity]:
    size = st.none() | some_bytes
    return [
        CSIStorageCapacity(
            "kube-system", f"s{index}", storage_class=draw(st.sampled_from(("fast", "near"))),
            capacity=draw(size), largest=draw(size),
            topology=draw(st.none() | st.just(Selector()) | zones.map(
                lambda zone: Selector((Requirement(ZONE, Operator.IN, (zone,)),)))),
        )
        for index in range(draw(st.integers(0, 3)))
    ]  # fmt: skip


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Pod, Cluster]:
    named = draw(st.lists(st.sampled_from((*CLAIMS, "~scratch")), min_size=1, max_size=3,
                          unique=True))  # fmt: skip
    pod, hosts, pvs = using("pod", *named), draw(nodes()), draw(volumes())
    near = (((ZONE, ("a",)),), ())
    seats = []
    for index in range(draw(st.integers(0, 3))):
        used = draw(st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True))
        name = draw(st.sampled_from(hosts)).name
        seats.append((replace(using(f"old{index}", *used), node=name), name))
    facts: list[VolumeFact] = [
        *pvs,
        *draw(claims(pod)),
        StorageClass("local", "kubernetes.io/no-provisioner", waits=True),
        StorageClass("fast", DRIVER, waits=True),
        StorageClass("near", DRIVER, waits=True, topologies=near),
        StorageClass("now", DRIVER),
        *draw(st.sampled_from(((), (CSIDriver(DRIVER, True),), (CSIDriver(DRIVER, False),)))),
        *draw(capacities()),
        *(
            CSINode(
                each.name,
                ((DRIVER, draw(st.integers(0, 4))),) if draw(st.booleans()) else (),
                migrated=frozenset(("kubernetes.io/aws-ebs",) if draw(st.booleans()) else ()),
            )
            for each in hosts
            if draw(st.booleans())
        ),
        *(
            VolumeAttachment(f"a{index}", DRIVER, draw(st.sampled_from(hosts)).name,
                             draw(st.sampled_from(("v0", "v1", "v2"))))
            for index in range(draw(st.integers(0, 3)))
        ),
    ]  # fmt: skip
    return pod, Cluster(facts, hosts, seats)


def facts_of(pod: Pod, cluster: Cluster) -> Snapshot:
    """The cluster as plugins of ours see it."""
    table = knowing(table_of(cluster.nodes, *cluster.facts), pod, *(p for p, _ in cluster.seats))
    for other, name in cluster.seats:
        seat(table, other, name)
    return snapshot(table)


def answer(
    plugin: VolumeBinding | VolumeRestrictions | VolumeZone | NodeVolumeLimits,
    pod: Pod,
    facts: Snapshot,
) -> tuple[Status | None, Mask, Counter[str]]:
    """The refusal of the pod, else the mask and the reasons."""
    evaluator = plugin.pre_filter(pod, facts)
    mask = facts.nodes.ready  # all of them
    if isinstance(evaluator, Status):
        return evaluator, mask, Counter()
    if evaluator is None:
        return None, mask, Counter()
    assert isinstance(evaluator, decide.Filter)
    mask = evaluator.filter(pod, facts.nodes)
    if isinstance(evaluator, decide.Explain):
        return None, mask, evaluator.explain(pod, facts.nodes, ~mask)
    return None, mask, +Counter({evaluator.reason: int((~mask).sum())})


def refusal(message: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message)


@pytest.mark.hypothesis
@examples(80)
@given(case=clusters())
def test_volume_binding_says_what_upstream_says(case: tuple[Pod, Cluster]) -> None:
    pod, cluster = case
    status, mask, reasons = answer(VolumeBinding(), pod, facts_of(pod, cluster))

    message = reference.binding_refuses_pod(pod, cluster)
    if message:
        assert status == refusal(message)
        return
    expected = [reference.binding_reasons(pod, each, cluster) for each in cluster.nodes]
    assert status is None
    assert mask.tolist() == [not each for each in expected]
    assert reasons == Counter(reason for each in expected for reason in each)


@pytest.mark.hypothesis
@examples(40)
@given(case=clusters())
def test_volume_zone_says_what_upstream_says(case: tuple[Pod, Cluster]) -> None:
    pod, cluster = case
    status, mask, _ = answer(VolumeZone(), pod, facts_of(pod, cluster))

    found = reference.zones(pod, cluster)
    if isinstance(found, str):
        assert status == refusal(found)
        return
    assert status is None
    assert mask.tolist() == [reference.zone_allows(found, each) for each in cluster.nodes]


@pytest.mark.hypothesis
@examples(40)
@given(case=clusters())
def test_node_volume_limits_say_what_upstream_says(case: tuple[Pod, Cluster]) -> None:
    pod, cluster = case
    if reference.binding_refuses_pod(pod, cluster):
        return
    status, mask, _ = answer(NodeVolumeLimits(), pod, facts_of(pod, cluster))

    assert status is None
    assert mask.tolist() == [reference.within_limits(pod, each, cluster) for each in cluster.nodes]


@pytest.mark.hypothesis
@examples(40)
@given(case=clusters())
def test_volume_restrictions_say_what_upstream_says(case: tuple[Pod, Cluster]) -> None:
    pod, cluster = case
    status, mask, _ = answer(VolumeRestrictions(), pod, facts_of(pod, cluster))

    missing = [
        name
        for name, ephemeral in reference.claims_of(pod)
        if not ephemeral and cluster.claim(f"default/{name}") is None
    ]
    if missing:
        assert status == refusal(f'persistentvolumeclaim "{missing[0]}" not found')
        return
    assert status is None
    assert mask.all() == (not reference.in_use_by_another(pod, cluster))
    assert mask.all() or not mask.any()
