# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Actions: everything that can happen to a world, by name and with plain arguments.

What cannot happen just now is no action at all, so that any list of them can be played and any
part of a failing list can be left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from enbloc.engine.effects import Bind
from enbloc.engine.events import Stream
from enbloc.model.groups import OnIncomplete, Role
from enbloc.model.pods import Phase
from tests.laws.objects import Part
from tests.laws.process import FOREVER, Flight
from tests.laws.waiting import (
    fits_and_waits,
    nobody_is_lost,
    nothing_is_kept,
    only_room_is_lacking,
    statuses_say_what_is,
)
from tests.laws.world import World
from tests.world.server import SHOWN

#: So many parts an owner has at most.
MOST_PARTS = 4


class Step(NamedTuple):
    """One action of a script."""

    action: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Gang:
    """How a gang is to be.

    Attributes:
        spare: how many of its members it can do without.
        owned: a controller creates and replaces them.
        late: the PodGroup comes after its members.
        zone: its members want a node with the label ZONE.
        reserve: minResources exceed what the members ask for by one CPU less; 0 = there are none.
    """

    parts: tuple[Part, ...]
    spare: int = 0
    policy: OnIncomplete = OnIncomplete.REPAIR
    timeout: int = 0
    priority: int = 0
    owned: bool = True
    late: bool = False
    gated: bool = False
    reserve: int = 0
    keeps_names: bool = False
    zone: bool = False


class Actions(World):
    """A world in which things happen one after the other, and are written down.

    Args:
        eager: the scheduler steps after everything that happens, until it has nothing to do.
    """

    def __init__(self, *, slots: int = 2, eager: bool = False) -> None:
        super().__init__(slots=slots)
        self.eager = eager
        self.script: list[Step] = []

    def do(self, action: str, *arguments: object) -> None:
        """Let something happen; a law that it breaks is told with all that led to it."""
        self.script.append(Step(action, arguments))
        try:
            getattr(self, action)(*arguments)
            if self.eager and self.leader is not None:
                self.rest()
            self.nobody_is_lost()
        except AssertionError as broken:
            lines = "\n".join(f"    Step{tuple(step)!r}," for step in self.script)
            broken.add_note(f"slots={self.slots}, eager={self.eager}, after\n{lines}")
            raise

    # ── nodes ────────────────────────────────────────────────────────────────────────────────

    def node_appears(self, name: str, cpu: int, pods: int, zone: bool = True) -> None:
        self.add_node(name, cpu, pods, zone=zone)

    def node_is(self, name: str, what: str) -> None:
        if name not in self.hosts:
            return
        if what in ("cordoned", "uncordoned"):
            self.cordon(name, what == "cordoned")
        elif what in ("ready", "not ready"):
            self.ready(name, what == "ready")
        elif what in ("labelled", "not labelled"):
            self.label(name, what == "labelled")
        elif what == "drained":
            self.cordon(name, True)
            for pod in [p for p in self.pods.values() if p.node == name and p.live]:
                self.end(pod.key.name)
        else:
            assert what == "lost"
            self.drop_node(name)

    def pods_of_lost_nodes_go(self) -> None:
        for pod in [p for p in self.pods.values() if p.node and p.node not in self.hosts]:
            self.delete(pod.key.name)

    # ── gangs ────────────────────────────────────────────────────────────────────────────────

    def gang_arrives(self, name: str, gang: Gang) -> None:
        if name in self.groups:
            return
        parts = gang.parts
        self.add_owner(
            name,
            parts,
            priority=gang.priority,
            gates=("hold",) if gang.gated else (),
            keeps_names=gang.keeps_names,
            zone=gang.zone,
        )
        if gang.late:
            self.reconcile(name)
        asked = sum(part.count * part.cpu for part in parts) + gang.reserve - 1
        self.add_group(
            name,
            max(1, sum(part.count for part in parts) - gang.spare),
            owner=self.owners[name].uid,
            roles=[(part.role, part.count) for part in parts if part.role],
            on_incomplete=gang.policy,
            timeout=gang.timeout,
            min_resources=(("cpu", asked * 1000),) if gang.reserve else (),
        )
        self.reconcile(name)
        if not gang.owned:
            for pod in self.members(name):
                self.change(pod.key.name, owner=None)
            del self.owners[name]

    def owner_replaces(self, name: str) -> None:
        if name in self.owners:
            self.reconcile(name)

    def owner_restarts(self, name: str) -> None:
        if name in self.owners:
            self.restart_job(name)

    def owner_goes_idle(self, name: str, minimum: int) -> None:
        """It is scaled to zero, or suspended; the PodGroup says `minimum` then, 0 = as before."""
        owner = self.owners.get(name)
        if owner is None or owner.idle:
            return
        owner.idle = True
        for pod in self.members(name):
            if not pod.deleting and pod.phase is not Phase.SUCCEEDED:
                self.end(pod.key.name)
        if minimum:
            self._group_changes(name, min_member=minimum, roles=())
        self.reached["an owner goes idle"] += 1

    def owner_comes_back(self, name: str, more: int) -> None:
        """It runs again, each of its parts with so many more members, or fewer."""
        owner = self.owners.get(name)
        if owner is None or not owner.idle:
            return
        owner.idle = False
        owner.parts = tuple(
            replace(part, count=max(1, min(5, part.count + more))) for part in owner.parts
        )
        self._as_its_owner(name)
        self.reconcile(name)
        self.reached["an owner comes back"] += 1

    def owner_is_reshaped(self, name: str, count: int) -> None:
        """It gains a part of so many members, or loses its last one; parts without a role stay."""
        owner = self.owners.get(name)
        if owner is None or not all(part.role for part in owner.parts):
            return
        if count:
            if len(owner.parts) < MOST_PARTS:
                owner.parts = (*owner.parts, Part(self.name("role"), count, 1))
        elif len(owner.parts) > 1:
            *parts, last = owner.parts
            owner.parts = tuple(parts)
            for pod in self.members(name):
                if pod.role == last.role and not pod.deleting and not pod.finished:
                    self.end(pod.key.name)
        self._as_its_owner(name)
        self.reconcile(name)

    def _as_its_owner(self, name: str) -> None:
        """The PodGroup says what its owner calls for."""
        parts = self.owners[name].parts
        roles = tuple(Role(part.role, part.count) for part in parts if part.role)
        self._group_changes(name, min_member=sum(part.count for part in parts), roles=roles)

    def minimum_is(self, name: str, minimum: int) -> None:
        self._group_changes(name, min_member=minimum)

    def policy_is(self, name: str, policy: OnIncomplete) -> None:
        self._group_changes(name, on_incomplete=policy)

    def _group_changes(self, name: str, **more: object) -> None:
        if name in self.groups:
            group = self.groups[name]
            self.put_group(replace(group, generation=group.generation + 1, **more))  # type: ignore[arg-type]

    def podgroup_goes(self, name: str) -> None:
        if name in self.groups:
            self.drop_group(name)

    def podgroup_comes(self, name: str, minimum: int) -> None:
        if name not in self.groups:
            self.add_group(name, minimum)

    def webhook_denies(self, name: str) -> None:
        """From now on one member of a gang can never be bound."""
        self.denied.setdefault(name, "")

    def webhook_is_mended(self, name: str) -> None:
        self.denied.pop(name, None)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def pod_appears(
        self, name: str, cpu: int, group: str | None, scheduler: str, gates: tuple[str, ...]
    ) -> None:
        if name not in self.pods:
            self.add_pod(name, cpu=cpu, group=group, scheduler=scheduler, gates=gates)

    def foreign_pod_appears(self, name: str, cpu: int, node: str, how: str) -> None:
        if how == "pinned":
            self.add_daemon(name, cpu, node)
        else:
            self.add_pod(name, cpu=cpu, group=None, scheduler="other")
            self.change(name, **{how: node})

    def pod_is_deleted(self, name: str) -> None:
        if name in self.pods and not self.pods[name].deleting:
            self.end(name)

    def pod_finishes(self, name: str, phase: Phase) -> None:
        if name in self.pods and self.pods[name].node and not self.pods[name].finished:
            self.change(name, phase=phase)

    def kubelet_refuses(self, name: str) -> None:
        pod = self.pods.get(name)
        if pod is not None and pod.bound and pod.phase is Phase.PENDING:
            self.change(name, phase=Phase.FAILED, rejected="OutOfcpu")

    def pods_run(self, most: int) -> None:
        todo = [p for p in self.pods.values() if p.bound and p.phase is Phase.PENDING]
        for pod in todo[:most]:
            self.change(pod.key.name, phase=Phase.RUNNING)

    def terminating_pods_go(self) -> None:
        for pod in [p for p in self.pods.values() if p.deleting]:
            self.delete(pod.key.name)

    def pod_is_ungated(self, name: str) -> None:
        if name in self.pods and self.pods[name].gates:
            self.change(name, gates=())

    def stranger_binds(self, name: str, node: str) -> None:
        pod = self.pods.get(name)
        if pod is not None and pod.live and not pod.node and not pod.gates:
            self.change(name, node=node, scheduled_at=self.now)

    # ── time, the network, and the scheduler ─────────────────────────────────────────────────

    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    def steps(self, times: int) -> None:
        for _ in range(times if self.leader else 0):
            self.step()

    def all_lands(self) -> None:
        self.everything_lands()

    def stream(self, stream: Stream, how: str) -> None:
        process = self.leader
        if process is None:
            return
        if how == "lags":
            process.lagging.add(stream)
        elif how == "shows one":
            process.catch_up(stream, 1)
        else:
            process.lagging.discard(stream)
            if how == "catches up":
                process.catch_up(stream)
            else:
                process.relist(stream)

    def _flight(self, life: int, uid: str) -> Flight | None:
        """The request for a member, of this process if it sent one."""
        found: Flight | None = None
        for flight in self.flying:
            target = flight.effect.target if isinstance(flight.effect, Bind) else flight.effect
            if target.uid == uid and (found is None or flight.life == life):
                found = flight
        return found

    def request_lands(self, life: int, uid: str, fate: str) -> None:
        flight = self._flight(life, uid)
        if flight is None:
            return
        if not isinstance(flight.effect, Bind):
            alive = self.sender(flight) is not None
            if fate != "ok":
                fate = "later" if alive or fate != "lost" else fate
            self.land_eviction(flight, fate)
            return
        pod = self.pods.get(flight.effect.target.pod.name)
        self.land(flight, fate)
        if fate == "terminating" and pod is not None and pod.group is not None:
            self._end(pod.group.name)

    def _end(self, group: str) -> None:
        """Whose namespace is terminating goes altogether."""
        self.owners.pop(group, None)
        self.podgroup_goes(group)
        for pod in self.members(group):
            self.pod_is_deleted(pod.key.name)

    def answers_arrive(self, limit: int) -> None:
        if self.leader is not None:
            self.leader.hear_answers(limit)

    def writes_stall(self) -> None:
        if self.leader is not None:
            self.leader.stalled = True

    def writes_go_out(self) -> None:
        if self.leader is not None:
            self.leader.stalled = False
            self.leader.write()

    def killed(self) -> None:
        if self.leader is not None:
            self.kill()

    def started(self, order: Sequence[Stream] = SHOWN, listed: int = len(SHOWN)) -> None:
        if self.leader is None:
            self.start(order, listed=listed)

    def next_is_listed(self) -> None:
        """One more stream delivers its first list."""
        if self.leader is not None and self.leader.unlisted:
            self.leader.list_next()
            if not self.leader.unlisted:
                self.reached["synced long after its start"] += 1

    def taken_over(self, order: Sequence[Stream] = SHOWN) -> None:
        if self.leader is not None:
            self.take_over(order)

    def former_acts(self, how: str) -> None:
        if how == "ends":
            self.former_ends()
        else:
            self.former_steps(sees=how == "sees and steps")

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def nobody_is_lost(self) -> None:
        """Who may be tried is found by something; who only waits for events lacks room."""
        if self.leader is None or self.leader.unlisted:
            return
        nobody_is_lost(self.leader.judge)
        done = self.leader.knows_all and not self.flying and self.leader.wakeup > self.now
        if done and (self.leader.wakeup >= FOREVER or only_room_is_lacking(self.leader.judge)):
            left = fits_and_waits(self.leader.judge)
            assert not left, f"{left} fit, and are not placed at once"

    def ends(self) -> None:
        """Let everything land and all timers end; then nothing that fits is left waiting."""
        self.denied.clear()
        self.everything_settles()
        judge = self.process.judge
        left = fits_and_waits(judge)
        assert not left, f"{left} fit, and wait for nothing"
        statuses_say_what_is(judge)
        nothing_is_kept(judge, self.slots)

    def replay_gives_the_same_effects(self) -> None:
        if self.leader is not None:
            self.leader.replay_gives_the_same_effects()


def play(script: Sequence[Step], *, slots: int = 2, eager: bool = False) -> Actions:
    """A world to which all of this happened."""
    world = Actions(slots=slots, eager=eager)
    for step in script:
        world.do(step.action, *step.arguments)
    return world
