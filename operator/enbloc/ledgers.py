# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ledgers: both tables of what pods hold beyond resources, as the node table carries them."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, get_args

from enbloc.devices.decisions import DeviceDecision
from enbloc.devices.facts import DeviceClass, ResourceClaim, ResourceSlice
from enbloc.devices.owners import Withdrawn
from enbloc.devices.table import Devices
from enbloc.model.groups import GroupKey
from enbloc.model.ledger import ByName, Fact, Ledger
from enbloc.model.node_log import NodeLog
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodUID
from enbloc.model.weight import weight_of
from enbloc.storage.decisions import VolumeDecision
from enbloc.storage.facts import (
    Attachable,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from enbloc.storage.table import Volumes


class Decisions(NamedTuple):
    """What a plan decided for one pod beyond its node; None in a field = nothing to do.

    Attributes:
        volumes: which volumes to bind or provision.
        devices: which claims to allocate or reserve.
    """

    volumes: VolumeDecision | None = None
    devices: DeviceDecision | None = None


class LeftOver(NamedTuple):
    """What an earlier attempt left behind for a pod, in the form of its decisions.

    Attributes:
        node: the node that was selected for volumes; "" = none.
    """

    node: str
    decided: Decisions


#: The kinds of objects that the tables know.
FACTS: Final[Mapping[str, type[Any]]] = {
    each.kind: each for each in (*get_args(VolumeFact), ResourceSlice, DeviceClass, ResourceClaim)
}

#: Approximate bytes per object, and per device of a slice or user of a claim.
_FACT_BYTES: Final = 1024
_DEVICE_BYTES: Final = 512


def weight_of_fact(fact: Fact) -> int:
    """Approximate bytes of an object: the parts that its writers can make large."""
    match fact:
        case ResourceSlice(devices=devices):
            return _FACT_BYTES + _DEVICE_BYTES * len(devices)
        case ResourceClaim(spec=spec, allocation=allocation):
            others = _DEVICE_BYTES * (len(fact.reserved_for) + len(fact.states))
            return _FACT_BYTES + spec.size + weight_of(allocation) + others
        case DeviceClass(selectors=selectors, config=config):
            return _FACT_BYTES + weight_of(selectors) + weight_of(config)
        case PersistentVolume(affinity=affinity, migrated_affinity=other, labels=labels):
            return _FACT_BYTES + weight_of(affinity) + weight_of(other) + weight_of(labels)
        case PersistentVolumeClaim(selector=wide) | CSIStorageCapacity(topology=wide):
            return _FACT_BYTES + weight_of(wide)
        case StorageClass(topologies=topologies):
            return _FACT_BYTES + weight_of(topologies)
        case _:
            return _FACT_BYTES


NOTHING_DECIDED = Decisions()
#: The decisions for a pod whose volumes and devices another scheduler decides.
GETS_NOTHING: Final = Decisions(VolumeDecision(), DeviceDecision())


class Holds(NamedTuple):
    """What makes pods alike in their volumes and devices.

    Attributes:
        volumes: an entry for each claim; None = it has none.
        devices: an entry for each claim; None = it has none.
        named: a claim is identified by its name, so hardly any other pod is alike.
    """

    volumes: tuple[Hashable, ...] | None
    devices: tuple[Hashable, ...] | None
    named: bool


#: A position in the tables' logs of touched nodes; None = a fork, which has no logs.
Position = tuple[int, int] | None


class Leaving(NamedTuple):
    """What leaving pods hold, and the API still shows for a while after they are gone.

    Attributes:
        claims: keys of ResourceClaims.
        volumes: the attached volumes, each with its node.
    """

    pods: frozenset[PodUID] = frozenset()
    claims: tuple[str, ...] = ()
    volumes: tuple[tuple[str, Attachable], ...] = ()


NOTHING_LEAVES: Final = Leaving()


def made_again(fact: Fact, pods: Collection[PodUID]) -> Fact | None:
    """A claim as it would be if these pods were deleted and recreated; None = unchanged.

    A claim that was made for a pod is deleted with it and made anew; a claim that the user named
    loses only the reservation.
    """
    if isinstance(fact, PersistentVolumeClaim) and fact.owner in pods:
        return replace(fact, volume="", bind_completed=False, selected_node=None)
    if isinstance(fact, ResourceClaim):
        if fact.owner in pods:
            return replace(fact, allocation=None, reserved_for=(), states=())
        left = tuple(each for each in fact.reserved_for if each.uid not in pods)
        if left != fact.reserved_for:
            allocation = fact.allocation if left else None
            return replace(fact, allocation=allocation, reserved_for=left)
    return None


def detached(
    gone: Collection[Pod], pods: Iterable[Pod], facts: Mapping[tuple[str, str], Fact]
) -> Sequence[VolumeAttachment]:
    """The VolumeAttachments that are deleted once some pods have left their nodes.

    A volume stays attached as long as another pod uses it on the node.

    Args:
        gone: these pods, each with its former node.
        pods: all pods; these may be among them.
        facts: all volumes and devices, by kind and key.
    """
    left = {each for pod in gone for each in _volumes_on(pod, facts)}
    if not left:
        return ()
    nodes, uids = {node for node, _ in left}, {pod.uid for pod in gone}
    for pod in pods:
        if pod.node in nodes and not pod.finished and pod.uid not in uids:
            left.difference_update(_volumes_on(pod, facts))
    attachments = (fact for fact in facts.values() if isinstance(fact, VolumeAttachment))
    return [each for each in attachments if (each.node, each.volume) in left]


def _volumes_on(pod: Pod, facts: Mapping[tuple[str, str], Fact]) -> Iterator[tuple[str, str]]:
    """The node of a pod with the name of each volume that its claims are bound to."""
    for name in pod.claims:
        claim = facts.get((PersistentVolumeClaim.kind, f"{pod.key.namespace}/{name}"))
        if isinstance(claim, PersistentVolumeClaim) and claim.volume:
            yield pod.node, claim.volume


class Ledgers:
    """The tables of volumes and of devices.

    Args:
        volumes: None = an empty table.
        devices: None = an empty table.
    """

    __slots__ = ("devices", "volumes")

    def __init__(self, volumes: Volumes | None = None, devices: Devices | None = None) -> None:
        self.volumes = Volumes() if volumes is None else volumes
        self.devices = Devices() if devices is None else devices

    @property
    def version(self) -> tuple[int, int]:
        """A version that changes with every change of an object or of what is held."""
        return self.volumes.version, self.devices.version

    def concerns(self, pod: Pod) -> bool:
        """Whether a pod has volumes or devices."""
        spec = pod.spec
        if spec.volumes or spec.resource_claims:
            return True
        return bool(spec.extended) and self.devices.concerns(pod)

    def alike(self, pod: Pod) -> Holds | None:
        """Equal for pods that have alike volumes and devices; None = the pod has none."""
        if not self.concerns(pod):
            return None
        volumes, devices = self.volumes.alike(pod), self.devices.alike(pod)
        if volumes is None and devices is None:
            return None
        named = any(isinstance(each, ByName) for each in (*(volumes or ()), *(devices or ())))
        return Holds(volumes, devices, named)

    @property
    def position(self) -> Position:
        """The position to pass to `touched` later; None = this is a fork."""
        logs = self._logs
        return (logs[0].end, logs[1].end) if logs is not None else None

    @property
    def _logs(self) -> tuple[NodeLog, NodeLog] | None:
        """The tables' logs of touched nodes; None = this is a fork."""
        volumes, devices = self.volumes.touched, self.devices.settled()
        return (volumes, devices) if volumes is not None and devices is not None else None

    def touched(self, since: Position) -> Collection[str] | None:
        """The nodes whose offer to pods changed since `since`, other than by pods.

        For volumes this is what nodes can attach, for devices those that no other node sees.

        Returns:
            None if that is no longer known.
        """
        logs = self._logs
        if logs is None or since is None:
            return None
        found: set[str] = set()
        for log, position in zip(logs, since, strict=True):
            names = log.since(position)
            if names is None:
                return None
            found.update(names)
        return found

    def _of(self, kind: str) -> Ledger[Any, Any, Any] | None:
        for ledger in (self.volumes, self.devices):
            if kind in ledger.kinds:
                return ledger
        return None

    def put(self, fact: Fact) -> Fact | None:
        """Add or update an object; returns the previous one."""
        ledger = self._of(fact.kind)
        old: Fact | None = None if ledger is None else ledger.put(fact)
        return old

    def drop(self, kind: str, key: str) -> Fact | None:
        """Remove an object; returns it."""
        ledger = self._of(kind)
        old: Fact | None = None if ledger is None else ledger.drop(kind, key)
        return old

    def enter(self, pod: Pod) -> None:
        """Record that a pod exists or has changed."""
        self.volumes.enter(pod)
        self.devices.enter(pod)

    def leave(self, uid: PodUID) -> None:
        """Record that a pod is gone."""
        self.volumes.leave(uid)
        self.devices.leave(uid)

    def place(self, pod: Pod, node: str, nodes: Nodes, decided: Decisions | None) -> None:
        """Put a pod on a node; `decided` None = decide what it gets there, unless it is bound.

        Only a fork decides anything.
        """
        volumes, devices = decided or NOTHING_DECIDED
        if volumes is not None:
            self.volumes.keep(pod, node, volumes)
        elif pod.spec.volumes:
            self.volumes.place(pod, node, nodes)
        if devices is not None:
            self.devices.keep(pod, node, devices)
        elif self.devices.concerns(pod):
            self.devices.place(pod, node, nodes)

    def remove(self, pod: Pod) -> None:
        """Take a pod off its node."""
        self.volumes.remove(pod)
        self.devices.remove(pod)

    def decided(self, pod: Pod) -> Decisions:
        """The decisions for a pod on its node."""
        if not self.concerns(pod):
            return NOTHING_DECIDED
        return Decisions(self.volumes.decision(pod.uid), self.devices.decision(pod.uid))

    def left_over(self, pod: Pod, members: frozenset[PodUID]) -> LeftOver | None:
        """What an earlier attempt left behind for a pod that has no node; None = nothing.

        Args:
            pod: the pod that could not be placed.
            members: the members of its group without a node; what others use is not left over.
        """
        if not self.concerns(pod):
            return None
        node, volumes = self.volumes.left_over(pod, members) or ("", None)
        devices = self.devices.left_over(pod, members)
        if volumes is None and devices is None:
            return None
        return LeftOver(node, Decisions(volumes, devices))

    def stands(self, pod: Pod, *, written: Decisions | None = None) -> bool:
        """Whether the decisions for a pod are still possible.

        Args:
            pod: a pod that is on a node.
            written: what PreBind has written for it, and the watch has shown; None = nothing yet.
        """
        if not self.concerns(pod):
            return True
        volumes = written.volumes if written is not None else None
        return self.volumes.stands(pod.uid, written=volumes) and self.devices.stands(
            pod.uid, written=written is not None
        )

    def withdrawn(self, member: Withdrawn, decided: Decisions | None) -> None:
        """Record that a plan was abandoned whose requests may still be under way.

        What might otherwise be given to two pods stays in use. Volumes do not: each names its
        claim.

        Args:
            member: a member of the plan.
            decided: its decisions; None = everything done for it has been undone.
        """
        self.devices.withdrawn(member, decided.devices if decided is not None else None)

    def leaving(self, pods: Iterable[Pod]) -> Leaving:
        """What bound pods hold that is freed some time after they are gone."""
        held = [pod for pod in pods if pod.spec.holds]
        return Leaving(
            frozenset(pod.uid for pod in held),
            tuple(key for pod in held for key in self.devices.claims_of(pod)),
            tuple((pod.node, each) for pod in held for each in self.volumes.attachable(pod)),
        )

    def lingers(self, left: Leaving) -> bool:
        """Whether any of it is still held, and by no other pod."""
        return any(self.devices.lingers(key, left.pods) for key in left.claims) or any(
            self.volumes.lingers(node, volume) for node, volume in left.volumes
        )

    def fork(self) -> "Ledgers":
        """An independent copy."""
        return Ledgers(self.volumes.fork(), self.devices.fork())


def ledgers_of(nodes: Nodes) -> Ledgers:
    """The ledgers of a node table, read-only.

    Raises:
        RuntimeError: the table is a snapshot whose origin has changed since.
    """
    found = nodes.ledgers
    assert isinstance(found, Ledgers), "a node table with ledgers of another kind"
    return found


def own_ledgers(nodes: Nodes) -> Ledgers:
    """The ledgers of a node table, writable: see `Nodes.own_ledgers`."""
    found = nodes.own_ledgers()
    assert isinstance(found, Ledgers), "a node table with ledgers of another kind"
    return found


def reclaim(nodes: Nodes, group: GroupKey) -> None:
    """Let a group plan with what its earlier plans held, on a fork or a snapshot.

    That is being released.
    """
    if ledgers_of(nodes).devices.any_withdrawn:
        own_ledgers(nodes).devices.reclaim(group)
