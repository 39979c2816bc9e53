# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which events wake a group that the plugins of volumes refused."""

from dataclasses import replace

import pytest

from enbloc.framework.hints import Action, Happening, Hint, Resource
from enbloc.model.pods import Pod, PodKey, PodSpec, PodVolume
from enbloc.plugins.node_volume_limits import NodeVolumeLimits
from enbloc.plugins.volume_binding.plugin import VolumeBinding
from enbloc.plugins.volume_restrictions import VolumeRestrictions
from enbloc.plugins.volume_zone import VolumeZone
from enbloc.storage.facts import (
    CSIDriver,
    CSINode,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from tests.world.builders import node, waiting
from tests.world.storage import FAST, ZONE, bound, inline, pv, pvc, segment, using

Plugin = VolumeBinding | VolumeRestrictions | VolumeZone | NodeVolumeLimits
DRIVER = CSIDriver("csi.example.com", storage_capacity=True)
NOW = StorageClass("now", "csi.example.com")
GCE = inline("gcePersistentDisk", pdName="d")
EBS = inline("awsElasticBlockStore", volumeID="d")
RBD = inline("rbd", monitors="a,b", pool="p", image="i")


def with_disk(name: str, volume: PodVolume, at: str = "") -> Pod:
    return using(name, spec=PodSpec(volumes=(volume,)), node=at)


def happened(new: VolumeFact, old: VolumeFact | None = None, *, gone: bool = False) -> Happening:
    action = Action.DELETE if gone else Action.UPDATE_OTHER if old else Action.ADD
    return Happening(Resource(new.kind), action, fact=new, old_fact=old)


CAPACITY = segment("s", 5, "z")
PVC = pvc("data")


@pytest.mark.parametrize(
    ("plugin", "event", "helps"),
    [
        pytest.param(VolumeBinding(), happened(PVC), True, id="binding: its claim"),
        pytest.param(VolumeBinding(), happened(pvc("x")), False, id="binding: another claim"),
        pytest.param(
            VolumeBinding(), happened(replace(PVC, namespace="x")), False, id="binding: elsewhere"
        ),
        pytest.param(VolumeBinding(), happened(pvc("pod-tmp")), True, id="binding: ephemeral"),
        pytest.param(
            VolumeBinding(), happened(pvc("x"), gone=True), True, id="binding: a claim less"
        ),
        pytest.param(
            VolumeBinding(), happened(bound("x", "v"), gone=True), False, id="binding: a bound one"
        ),
        pytest.param(
            VolumeBinding(), happened(pvc("x", uid="new"), pvc("x")), True, id="binding: made anew"
        ),
        pytest.param(
            VolumeBinding(), happened(pvc("x", 2), pvc("x")), False, id="binding: another, changed"
        ),
        pytest.param(VolumeBinding(), happened(pv("v"), pv("v", 2)), True, id="binding: a volume"),
        pytest.param(VolumeBinding(), happened(FAST), True, id="binding: a new class"),
        pytest.param(VolumeBinding(), happened(FAST, FAST), False, id="binding: the same class"),
        pytest.param(
            VolumeBinding(), happened(FAST, replace(FAST, topologies=((),))), True,
            id="binding: other topologies",
        ),
        pytest.param(VolumeBinding(), happened(CAPACITY), True, id="binding: a new segment"),
        pytest.param(
            VolumeBinding(), happened(segment("s", 6, "z"), CAPACITY), True, id="binding: more"
        ),
        pytest.param(
            VolumeBinding(), happened(segment("s", 4, "z"), CAPACITY), False, id="binding: less"
        ),
        pytest.param(
            VolumeBinding(), happened(segment("s", None, "z"), CAPACITY), False,
            id="binding: unknown",
        ),
        pytest.param(
            VolumeBinding(),
            happened(segment("s", 6, "z", largest=2), replace(CAPACITY, largest=2)), True,
            id="binding: more, in volumes of the same size",
        ),
        pytest.param(
            VolumeBinding(), happened(replace(CAPACITY, largest=2), replace(CAPACITY, largest=3)),
            False, id="binding: smaller volumes",
        ),
        pytest.param(
            VolumeBinding(),
            happened(segment("s", None, "z", largest=2), replace(CAPACITY, largest=2)), True,
            id="binding: no total any more",
        ),
        pytest.param(
            VolumeBinding(),
            happened(replace(CAPACITY, largest=2), segment("s", None, "z", largest=2)), False,
            id="binding: a total now",
        ),
        pytest.param(VolumeBinding(), happened(CSINode("n")), True, id="binding: a CSINode"),
        pytest.param(
            VolumeBinding(), happened(CSINode("n"), CSINode("n", (("d", 1),))), False,
            id="binding: limits",
        ),
        pytest.param(
            VolumeBinding(), happened(CSINode("n", migrated=frozenset("x")), CSINode("n")), True,
            id="binding: migrated",
        ),
        pytest.param(
            VolumeBinding(), happened(CSIDriver("d"), DRIVER), True, id="binding: no more capacity"
        ),
        pytest.param(
            VolumeBinding(), happened(DRIVER, CSIDriver("d")), False, id="binding: capacity now"
        ),
        pytest.param(VolumeZone(), happened(PVC), True, id="zone: its claim"),
        pytest.param(VolumeZone(), happened(pvc("pod-tmp")), False, id="zone: ephemeral"),
        pytest.param(VolumeZone(), happened(FAST), True, id="zone: a class that waits"),
        pytest.param(VolumeZone(), happened(NOW), False, id="zone: one that does not"),
        pytest.param(VolumeZone(), happened(pv("v")), True, id="zone: a new volume"),
        pytest.param(VolumeZone(), happened(pv("v"), pv("v", 2)), False, id="zone: same labels"),
        pytest.param(
            VolumeZone(), happened(pv("v", labels=((ZONE, "a"),)), pv("v")), True,
            id="zone: other labels",
        ),
        pytest.param(VolumeRestrictions(), happened(PVC), True, id="restrictions: its claim"),
        pytest.param(VolumeRestrictions(), happened(pvc("x")), False, id="restrictions: another"),
        pytest.param(NodeVolumeLimits(), happened(PVC), True, id="limits: its claim"),
        pytest.param(NodeVolumeLimits(), happened(CSINode("n")), True, id="limits: a CSINode"),
        pytest.param(
            NodeVolumeLimits(),
            happened(CSINode("n", (("d", 2),)), CSINode("n", (("d", 1),))), True, id="limits: more",
        ),
        pytest.param(
            NodeVolumeLimits(),
            happened(CSINode("n", (("d", 1),)), CSINode("n", (("d", 1),), ("d", "e"))), False,
            id="limits: the same",
        ),
        pytest.param(
            NodeVolumeLimits(), happened(VolumeAttachment("a", "d"), gone=True), True,
            id="limits: detached",
        ),
    ],
)  # fmt: skip
def test_an_object_wakes_those_whom_it_could_help(
    plugin: Plugin, event: Happening, *, helps: bool
) -> None:
    facts = waiting(using("pod", "data", "~tmp"))

    assert plugin.hint(event, facts) is (Hint.QUEUE if helps else Hint.SKIP)


@pytest.mark.parametrize(
    ("plugin", "gone", "helps"),
    [
        pytest.param(VolumeRestrictions(), using("x", "data"), True, id="the same claim"),
        pytest.param(VolumeRestrictions(), using("x", "logs"), False, id="another claim"),
        pytest.param(NodeVolumeLimits(), using("x", "logs", node="n"), True, id="a volume less"),
        pytest.param(NodeVolumeLimits(), using("x", "logs"), True, id="a reserved volume less"),
        pytest.param(NodeVolumeLimits(), using("x", node="n"), False, id="it had none"),
        pytest.param(
            NodeVolumeLimits(), with_disk("x", EBS, "n"), True, id="a disk that a driver serves"
        ),
        pytest.param(NodeVolumeLimits(), with_disk("x", RBD, "n"), False, id="one that none does"),
    ],
)
def test_a_pod_that_goes_wakes_those_whom_it_could_help(
    plugin: VolumeRestrictions | NodeVolumeLimits, gone: Pod, *, helps: bool
) -> None:
    event = Happening(Resource.POD, Action.DELETE, pod=gone)

    assert plugin.hint(event, waiting(using("pod", "data"))) is (Hint.QUEUE if helps else Hint.SKIP)


def test_a_disk_that_comes_free_wakes_who_waits_for_it() -> None:
    gone = Happening(Resource.POD, Action.DELETE, pod=with_disk("x", GCE, "n"))

    assert VolumeRestrictions().hint(gone, waiting(with_disk("pod", GCE))) is Hint.QUEUE
    assert VolumeRestrictions().hint(gone, waiting(with_disk("pod", EBS))) is Hint.SKIP


def test_a_disk_that_a_pod_of_another_namespace_had_wakes_who_waits_for_it() -> None:
    other = replace(with_disk("x", GCE, "n"), key=PodKey("other", "x"))
    gone = Happening(Resource.POD, Action.DELETE, pod=other)

    assert VolumeRestrictions().hint(gone, waiting(with_disk("pod", GCE))) is Hint.QUEUE


def test_a_claim_of_the_same_name_in_another_namespace_wakes_nobody() -> None:
    other = replace(using("x", "data", node="n"), key=PodKey("other", "x"))
    gone = Happening(Resource.POD, Action.DELETE, pod=other)

    assert VolumeRestrictions().hint(gone, waiting(using("pod", "data"))) is Hint.SKIP


@pytest.mark.parametrize("plugin", [VolumeBinding(), VolumeZone(), VolumeRestrictions()])
def test_a_new_node_wakes_everybody(plugin: Plugin) -> None:
    event = Happening(Resource.NODE, Action.ADD, node=node("n"))

    assert plugin.hint(event, waiting(using("pod", "data"))) is Hint.QUEUE
