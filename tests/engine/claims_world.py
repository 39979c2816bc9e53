# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A world with claims: the API server that keeps them, PreBinds that write, and controllers."""

from collections import Counter
from dataclasses import replace
from typing import Any

from enbloc.devices.facts import Consumer, ResourceClaim, ResourceSlice
from enbloc.engine.effects import Bind, CancelPlan, Effect, PreBind, Unreserve
from enbloc.engine.events import (
    Event,
    FactGone,
    FactSeen,
    PreBindFailed,
    PreBound,
    Stream,
    Unreserved,
)
from enbloc.framework.act import Target
from enbloc.model.pods import Phase, Pod, PodResourceClaim, PodVolume
from enbloc.storage.facts import ClaimRef, PersistentVolume, PersistentVolumeClaim
from tests.devices.objects import claim, device, device_class, exactly, slice_of
from tests.rules.world import JOB, World
from tests.world.builders import spec
from tests.world.server import Server
from tests.world.storage import HOST, LOCAL, bound, held_by, pv, pvc


class Claiming(World):
    """Nodes with devices and local volumes, the API server's claims, and the controllers of these.

    What PreBind is to write is written at once, and what a pod leaves is free at once; a claim that
    was made for a pod goes with it.

    Attributes:
        slices: what nodes publish, by node.
        devices: claims for devices, by name.
        disks: claims for volumes, by name.
        volumes: by name.
        slow: PreBinds and Unreserves stay under way, until `take_back` or `end`.
        preparing: PreBinds that were begun and of which no Binding was sent, by the pod's name.
        answered: names of the pods of which the PreBind has ended.
        prepared: and of which all is written.
        undoing: what is taken back of whom, in order, and whether a plan of it was given up.
        collecting: the controllers of claims see at once that a pod is over; else with `collect`.
    """

    def __init__(self, **of: Any) -> None:
        super().__init__(**of)
        self.slices: dict[str, ResourceSlice] = {}
        self.devices: dict[str, ResourceClaim] = {}
        self.disks: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.slow = False
        self.preparing: dict[str, PreBind] = {}
        self.answered: set[str] = set()
        self.prepared: set[str] = set()
        self.undoing: list[tuple[Target, bool]] = []
        self.collecting = True
        self._left: list[Pod] = []
        self._claims = 0
        self.tell(FactSeen(device_class()))
        self.tell(FactSeen(LOCAL))

    # ── what there is ────────────────────────────────────────────────────────────────────────

    def machines(self, names: str, *, cpu: int = 4, gpus: int = 0, disks: int = 0) -> None:
        """Nodes, each with so many devices and local volumes of its own."""
        for name in names.split():
            self.node(name, cpu=cpu, labels=((HOST, name),))
            self.slices[name] = slice_of(name, *(device(f"gpu{at}") for at in range(gpus)))
            self.tell(FactSeen(self.slices[name]))
            for at in range(disks):
                self._put(pv(f"{name}-disk{at}", 1, name))

    def claiming(
        self, name: str, group: str, *, gpu: bool = True, disk: bool = False, cpu: int = 4
    ) -> None:
        """A member with a device, or a volume, of its own; the claims are made for it."""
        wanted = replace(
            spec(cpu=cpu),
            resource_claims=(PodResourceClaim("gpus", "template"),) if gpu else (),
            volumes=(PodVolume("data", "ephemeral"),) if disk else (),
        )
        named = (f"{name}-data",) if disk else ()
        unmade = (None,) if gpu else ()
        pod = self.pod(name, group, owner=JOB, spec=wanted, claims=named, resource_claims=unmade)
        self._claims += 1
        if disk:
            uid = f"disk-{self._claims}"
            made = pvc(f"{name}-data", uid=uid, owner=pod.uid)
            self._put(replace(made, namespace="ns"))
        if gpu:
            self.device_claim(f"{name}-gpus", owner=pod.uid)
            self.change(name, resource_claims=(f"{name}-gpus",))

    def naming(self, name: str, group: str, *, gpu: str = "", disk: str = "", cpu: int = 4) -> None:
        """A member that names claims which exist by themselves."""
        wanted = replace(
            spec(cpu=cpu),
            resource_claims=(PodResourceClaim("gpus"),) if gpu else (),
            volumes=(PodVolume("data", "claim"),) if disk else (),
        )
        claims, gpus = ((each,) if each else () for each in (disk, gpu))
        self.pod(name, group, owner=JOB, spec=wanted, claims=claims, resource_claims=gpus)

    def device_claim(self, name: str, **of: Any) -> None:
        """A claim for a device."""
        self._claims += 1
        made = claim(name, exactly(), uid=f"claim-{self._claims}")
        self._put(replace(made, namespace="ns", **of))

    def disk_on(self, name: str, volume: str) -> None:
        """A claim that is bound to a volume."""
        made = replace(bound(name, volume), namespace="ns")
        self._put(made)
        self._put(held_by(self.volumes[volume], made))

    def gang(self, name: str, pods: int, minimum: int | None = None, **of: Any) -> None:
        """A gang each of whose members has claims of its own."""
        self.group(name, pods if minimum is None else minimum, timeout=60)
        for at in range(pods):
            self.claiming(f"{name}-{at}", name, **of)

    def running_gang(self, name: str, pods: int, **of: Any) -> None:
        """The same, bound and Running."""
        self.gang(name, pods, **of)
        self.settle()
        self.run_pods(sorted(self.where(f"{name}-")))
        self.settle()

    # ── the API server, and the controllers of claims ────────────────────────────────────────

    def keep(self, other: Server) -> None:
        super().keep(other)
        assert isinstance(other, Claiming)
        self.slices, self.devices = dict(other.slices), dict(other.devices)
        self.disks, self.volumes = dict(other.disks), dict(other.volumes)
        self._left, self._claims = list(other._left), other._claims

    def listed(self, stream: Stream) -> list[Event]:
        events = super().listed(stream)
        if stream is Stream.NODES:
            kept = (self.slices, self.devices, self.disks, self.volumes)
            events += [FactSeen(fact) for facts in kept for fact in facts.values()]
        return events

    def _put(self, fact: ResourceClaim | PersistentVolumeClaim | PersistentVolume) -> None:
        if isinstance(fact, ResourceClaim):
            self.devices[fact.name] = fact
        elif isinstance(fact, PersistentVolumeClaim):
            self.disks[fact.name] = fact
        else:
            self.volumes[fact.name] = fact
        self.tell(FactSeen(fact))
        self._judge()

    def _judge(self) -> None:
        """Nothing is given twice (semantics §2.9 and §2.10)."""
        given = Counter(each for owned in self.owned().values() for each in owned)
        given.update(each.volume for each in self.disks.values() if each.volume)
        twice = sorted(name for name, count in given.items() if count > 1)
        assert not twice, f"{twice} was given twice: {self.owned()}"

    def put_pod(self, pod: Pod) -> None:
        super().put_pod(pod)
        if pod.finished:
            self._ended(pod)

    def delete(self, name: str) -> None:
        pod = self.pods[name]
        super().delete(name)
        self._ended(pod)

    def _ended(self, pod: Pod) -> None:
        self._left.append(pod)
        if self.collecting:
            self.collect()

    def collect(self) -> None:
        """The controllers of claims see which pods are over."""
        self.collecting = True
        while self._left:
            self._leaves(self._left.pop(0))

    def _leaves(self, pod: Pod) -> None:
        """A pod is over: claims made for it go, of others its reservation; the last frees all."""
        for name in pod.resource_claims:
            if name is None or name not in self.devices:
                continue
            self._release(name, pod.uid)
            if self.devices[name].owner == pod.uid:
                del self.devices[name]
                self.tell(FactGone("ResourceClaim", f"ns/{name}"))
        for disk in [each for each in self.disks.values() if each.owner == pod.uid]:
            del self.disks[disk.name]
            self.tell(FactGone("PersistentVolumeClaim", disk.key))
            if disk.volume:  # its provisioner wipes it
                volume = self.volumes[disk.volume]
                self._put(replace(volume, claim=None, available=True))

    def _release(self, name: str, uid: str, of: str | None = None) -> None:
        """A claim is reserved for one pod less, and without any it has no devices."""
        now = self.devices.get(name)
        if now is None or of not in (None, now.uid):
            return
        left = tuple(each for each in now.reserved_for if each.uid != uid)
        self._put(replace(now, reserved_for=left, allocation=now.allocation if left else None))

    # ── the shell ────────────────────────────────────────────────────────────────────────────

    def step(self) -> list[Effect]:
        effects = super().step()
        for effect in effects:
            if isinstance(effect, PreBind):
                self.preparing[effect.target.pod.name] = effect
            elif isinstance(effect, CancelPlan):
                for target in [begun.target for begun in self.preparing.values()]:
                    given_up = effect.members or {target.uid}
                    if target.plan == effect.plan and target.uid in given_up:
                        self._forget(target.pod.name)
                        self.undoing.append((target, True))
            elif isinstance(effect, Unreserve):
                self.undoing.append((effect.target, False))
        if not self.slow:
            self.end()
        return effects

    def _carry_out(self, effect: Bind) -> None:
        """A Binding is sent once all that its plan prepares is written (semantics §3.8)."""
        name = effect.target.pod.name
        plan = effect.target.plan
        others = {each for each, begun in self.preparing.items() if begun.target.plan == plan}
        assert others <= self.prepared, f"{name} is bound before {others - self.prepared}"
        for each in self.pods[name].resource_claims:
            assert each is not None
            has = self.devices[each]
            assert has.allocation is not None, f"{name} is bound without {each}"
            assert has.reserved(effect.target.uid), f"{each} is not reserved for {name}"
            pools = {result.pool for result in has.allocation.results} & set(self.hosts)
            assert pools <= {effect.target.node}, f"{name} is bound away from its devices"
        for each in self.pods[name].claims:
            disk = self.disks[each or ""]
            assert disk.volume, f"{name} is bound without {each}"
            assert disk.volume.partition("-")[0] == effect.target.node
        self._forget(name)
        super()._carry_out(effect)

    def _forget(self, name: str) -> None:
        self.preparing.pop(name, None)
        self.answered.discard(name)
        self.prepared.discard(name)

    def write(self, *names: str) -> str:
        """The requests of these PreBinds land, and nothing is answered yet; what is refused."""
        problems = [self._written(self.preparing[name].target) for name in names]
        return next(filter(None, problems), "")

    def _written(self, target: Target) -> str:
        disks, gpus = target.decided
        for one in gpus.claims if gpus is not None else ():
            now = self.devices[one.claim.partition("/")[2]]
            assert now.uid == one.uid, f"{one.claim} is another claim by now"
            allocation = now.allocation or one.allocation
            if allocation is None:
                return "it was deallocated in the meantime"
            if one.allocation is not None and one.allocation.results != allocation.results:
                return "it was allocated elsewhere in the meantime"
            consumer = Consumer("pods", target.pod.name, target.uid)
            reserved = tuple(dict.fromkeys((*now.reserved_for, consumer)))
            self._put(replace(now, allocation=allocation, reserved_for=reserved))
        for each in disks.claims if disks is not None else ():
            wanted = self.disks[each.claim.partition("/")[2]]
            assert each.volume is not None
            volume, owner = self.volumes[each.volume.name], ClaimRef(wanted.key, wanted.uid)
            assert volume.claim in (None, owner), f"{volume.name} is {volume.claim}'s"
            self._put(replace(volume, claim=owner, available=False))
            self._put(replace(wanted, volume=volume.name, bind_completed=True))
        return ""

    def take_back(self) -> None:
        """Let every Unreserve that is under way end."""
        while self.undoing:
            target, of_plan = self.undoing.pop(0)
            gpus = target.decided.devices
            for each in gpus.claims if gpus is not None else ():
                self._release(each.claim.partition("/")[2], target.uid, each.uid)
            if of_plan:
                self.tell(Unreserved(target.plan, target.uid))

    def end(self) -> None:
        """All that is under way ends: a PreBind waits for what is taken back of its group."""
        self.take_back()
        for name in [each for each in self.preparing if each not in self.answered]:
            self.answered.add(name)
            target, problem = self.preparing[name].target, self.write(name)
            if problem:
                self.tell(PreBindFailed(target.plan, target.uid, problem))
            else:
                self.prepared.add(name)
                self.tell(PreBound(target.plan, target.uid))

    # ── what to look at ──────────────────────────────────────────────────────────────────────

    def owned(self) -> dict[str, list[str]]:
        """The devices that each claim has for itself, as pool/device."""
        return {
            name: [f"{each.pool}/{each.device}" for each in of.allocation.results if not each.admin]
            for name, of in self.devices.items()
            if of.allocation is not None
        }

    def allocated_for_nobody(self, name: str) -> None:
        """A claim keeps its devices, and is reserved for no pod."""
        self._put(replace(self.devices[name], reserved_for=()))

    def reject(self, name: str, reason: str = "UnexpectedAdmissionError") -> str:
        """The kubelet refuses a member; the node that it is on."""
        node = self.pods[name].node
        self.change(name, phase=Phase.FAILED, rejected=reason)
        return node
