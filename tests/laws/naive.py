# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The naive model: what semantics §1 and §2 say of a group, counted anew whenever it is asked.

`View` holds objects as somebody was shown them: one as the API server has them, and one as the
scheduler of the moment knows them. Where a stream lags, or a process died before it wrote down what
it knew, the two differ; a law then takes the reading that accuses nobody.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from enbloc.engine.events import (
    Event,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from enbloc.model.binding_record import read_binding_record
from enbloc.model.groups import Group, GroupKey, Relaunch
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodSpec, PodUID
from enbloc.model.taints import Effect

OURS = "enbloc"
#: The resources of this world.
RESOURCES = ("cpu", "pods")

NOTHING = PodSpec()

#: A minimum per role; "" is the group's own.
Floors = dict[str, int]


def cost(spec: PodSpec, resource: str) -> int:
    return dict(spec.requests).get(resource, 0)


def usable(node: Node | None, spec: PodSpec = NOTHING) -> bool:
    """A pod without tolerations may be bound here."""
    return (
        node is not None
        and not node.unschedulable
        and all(taint.effect is Effect.PREFER_NO_SCHEDULE for taint in node.taints)
        and set(spec.node_selector) <= set(node.labels)
    )


def pinned(pod: Pod) -> str:
    """The only node that a DaemonSet's pod can have; "" = it is none."""
    terms = pod.spec.node_affinity
    return terms[0].fields[0].values[0] if terms else ""


def floors(group: Group) -> Floors:
    return {"": group.min_member, **{r.name: r.min_member for r in group.roles if r.min_member}}


def owner_of(pod: Pod) -> str:
    """Whose run a pod is of; a bare one begins its own where no other is live."""
    return pod.restart or (pod.owner.uid if pod.owner else pod.uid)


def reduced(floor: Floors, done: Counter[str]) -> Floors:
    """What is left of each minimum when so many have succeeded (semantics §1)."""
    return {role: max(0 if role else 1, least - done[role]) for role, least in floor.items()}


def pending(pod: Pod) -> bool:
    """Unbound, live, ours and not gated."""
    return pod.live and not pod.node and pod.scheduler == OURS and not pod.gates


def count(pods: Iterable[Pod]) -> Counter[str]:
    """How many of each role, and under "" how many in all."""
    found: Counter[str] = Counter()
    for pod in pods:
        found[""] += 1
        if pod.role:
            found[pod.role] += 1
    return found


def missing(have: Counter[str], floor: Floors) -> Floors:
    """What is missing to each minimum; empty = it is met."""
    return {role: least - have[role] for role, least in floor.items() if have[role] < least}


class Run:
    """One group, and the present run of its members."""

    def __init__(self) -> None:
        self.group: Group | None = None
        self.pods: dict[PodUID, Pod] = {}
        self.owners: set[str] = set()
        self.succeeded: dict[PodUID, Pod] = {}
        self.past: set[PodUID] = set()  # of earlier runs
        self.remembered: Counter[str] = Counter()
        self.started = False
        self.settled = False
        self.was: list[Floors] = []  # every minimum in this run, as far as known
        self.captured: Floors | None = None  # what a started group needs, where that is certain
        self.oldest = math.inf  # no queue time of this run is earlier
        self.ended = 0  # how many runs there were before
        self.doubtful = False  # whether a success that was listed at the start is of this run
        self.relaunched = False  # something had succeeded, and nobody was bound any more
        self.fixed: Floors | None = None  # what it is planned with since, at most
        self.planned = False  # a plan of it is open
        self.seen_bound = False  # somebody was, since it was relaunched
        self.before: Counter[str] = Counter()  # what had succeeded then
        self.counted: set[PodUID] = set()  # and which

    @property
    def live(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.live]

    @property
    def bound(self) -> list[Pod]:
        return [pod for pod in self.live if pod.node]

    @property
    def pending(self) -> list[Pod]:
        return sorted((p for p in self.live if pending(p)), key=lambda p: (p.created, p.key))

    def put(self, pod: Pod) -> None:
        before = self.pods.get(pod.uid)
        fresh = before is None
        if pod.deleting and (before is None or before.phase is not Phase.SUCCEEDED):
            # Who is deleted before the end has not done the work (semantics §2.2).
            pod = replace(pod, phase=Phase.FAILED) if pod.phase is Phase.SUCCEEDED else pod
        first = self.settled and fresh and pod.live and not self.live
        if first and self.owners and owner_of(pod) not in self.owners:
            self._die()
        self.pods[pod.uid] = pod
        self.seen_bound |= pod.live and bool(pod.node)
        if pod.live and self.settled:
            self.owners.add(owner_of(pod))
            self.oldest = min(self.oldest, pod.created)
        if pod.phase is Phase.SUCCEEDED and pod.uid not in self.past:
            self.succeeded[pod.uid] = pod
            known = read_binding_record(
                pod.binding_record
            )  # an orphan is of its owner's run, and its own
            if self.settled and known and known.run not in self.owners:
                self.doubtful = True

    def _of_this_run(self, pod: Pod) -> bool:
        if not (pod.restart or pod.owner) or not self.owners:
            return True
        return owner_of(pod) in self.owners

    def _die(self) -> None:
        self.ended += 1
        self.captured = None
        self.oldest = math.inf
        self.past |= self.pods.keys()
        self.owners = set()
        self.succeeded = {}
        self.remembered = Counter()
        self.started = False
        self.relaunched, self.before, self.counted = False, Counter(), set()
        self.fixed, self.seen_bound = None, False
        self.doubtful = False
        self.was = [floors(self.group)] if self.group else []

    def take(self, group: Group | None) -> None:
        listed = floors(self.group) if self.group else {}
        self.group = group
        if group is None:
            return
        if self.settled and not (self.bound or self.ever_succeeded or self.started):
            self.was.clear()  # what nobody was bound by counts no more (semantics §2.5)
        self.was.append(floors(group))
        if self.captured is not None:
            known, floor = self.captured, floors(group)
            self.captured = known | {r: min(n, known.get(r, 0)) for r, n in floor.items()}
            # Who was there before the role was listed counts (semantics §2.5).
            new = [r for r in floor if r and not (listed.get(r) or known.get(r))]
            came = {r: min(floor[r], self.held[r]) for r in new if self.held[r]}
            total = min(floor[""], self.held[""], self.captured[""] + sum(came.values()))
            self.captured |= {**came, "": max(self.captured[""], total)} if came else {}
        if self.settled and group.memory.run_name in self.owners:
            self._recall()

    def _recall(self) -> None:
        assert self.group is not None
        memory = self.group.memory
        found = Counter(dict(memory.roles))
        found[""] = memory.succeeded
        self.remembered |= found - self.before

    def settle(self) -> None:
        """The first lists are complete (semantics §2.2)."""
        self.settled = True
        memory = self.group.memory if self.group else None
        records = [r for pod in self.live if (r := read_binding_record(pod.binding_record))]
        self.owners = {owner_of(pod) for pod in self.live}
        times = [*(pod.created for pod in self.live), *(r.queue_time for r in records)]
        self.oldest = min(times, default=math.inf)
        known = self.owners | {r.run for r in records}
        if memory and memory.run_name and (not self.live or memory.run_name in known):
            self.owners.add(memory.run_name)
            past = memory.runs[-1].relaunch if memory.runs else None
            if past is not None:
                self._recall_relaunch(past)
            self._recall()
            self.started = memory.started is not None and self._believed(memory.started)
            if memory.runs and memory.runs[-1].minimums:
                least = dict(memory.runs[-1].minimums)
                self.was.append(least)
                self.fixed = least if past is not None else None
                if not self.started and (memory.started is not None or past is None):
                    self.stop()
        known = {
            r.run for p in self.succeeded.values() if (r := read_binding_record(p.binding_record))
        }
        self.doubtful = not known <= self.owners
        for found in records:
            least = dict.fromkeys(self.was[-1], 0) if self.was else {}
            self.was.append({**least, "": found.floor})
        ours = any(pod.binding_record for pod in self.bound)
        if not (memory and memory.run_name) and not ours and any(p.running for p in self.bound):
            self.started = True
        if self.started and self.was:
            # What each role needed when it started is not written down.
            held = self.held
            roles = {role: held[role] for role in self.was[-1]}
            self.was.append({**roles, "": min(floor[""] for floor in self.was)})

    def _recall_relaunch(self, past: Relaunch) -> None:
        """Who was bound by then does not count any more (semantics §2.4)."""
        self.relaunched = True
        self.before = Counter(dict(past.roles))
        self.before[""] = past.succeeded
        if past.minimums:
            self.was.append(dict(past.minimums))
        old = {
            uid: pod
            for uid, pod in self.succeeded.items()
            if past.latest is not None and (pod.scheduled_at or pod.created) <= past.latest
        }
        self.before |= count(pod for pod in old.values() if self._of_this_run(pod))
        self.counted |= old.keys()

    def _believed(self, started: float) -> bool:
        """Somebody who is there was bound before the start, or says that he came after it."""
        held = self.bound or [*self.succeeded.values()]
        records = [r for pod in held if (r := read_binding_record(pod.binding_record))]
        return (
            not held
            or any((pod.scheduled_at or pod.created) <= started for pod in held)
            or any(record.started for record in records)
        )

    def stop(self) -> None:
        """Nobody is bound any more: what is relaunched has not started (semantics §1).

        If nothing has succeeded either, its floor is the PodGroup's, whole (semantics §2.5).
        """
        self.fixed, self.seen_bound = None, False
        if not self.ever_succeeded:
            self.started, self.captured = False, None
            self.was = [floors(self.group)] if self.group else []
            return
        self.before += self.done
        self.counted |= self.succeeded.keys()
        self.remembered = Counter()
        self.started, self.relaunched, self.captured = False, True, None

    def plan(self) -> None:
        """A plan of it is open: from here on who comes is not needed (semantics §2.4)."""
        if self.relaunched and not self.started and self.fixed is None:
            self.fixed = self.floor

    def look(self) -> None:
        """Note whether the floor runs together now, and whether nobody is bound any more."""
        if self.group is None:
            return
        if self.started:
            self._welcome()
            if not self.bound and (self.live or missing(self.held, self.least_floor)):
                self.stop()
            return
        if not (self.bound or self.planned) and (self.live or missing(self.held, self.least_floor)):
            if self.fixed is not None or (self.seen_bound and self.done.total()):
                self.stop()
            return
        running = count(pod for pod in self.live if pod.running) + self.done
        self.started = not missing(running, self.floor) and bool(self.owners)

    def coming(self) -> Floors:
        """Roles that surely came since it started and are not held (semantics §2.5)."""
        if self.group is None or self.captured is None:
            return {}
        return {r: n for r, n in floors(self.group).items() if r and not self.captured.get(r)}

    def _welcome(self) -> None:
        """Roles that came are a part of the floor once they are held."""
        for role, least in self.coming().items():
            if self.captured is not None and self.held[role] >= least:
                total = floors(self.group)[""] if self.group else 0
                whole = min(total, self.captured.get("", 0) + least)
                self.captured = self.captured | {role: least, "": whole}

    @property
    def ever_succeeded(self) -> bool:
        """Something succeeded in this run, held or not."""
        return bool((self.before + self.done).total())

    @property
    def done(self) -> Counter[str]:
        """Succeeded in this run, per role; at least, where some are remembered and some were seen.

        Two of different roles are two pods.
        """
        ours = (
            pod
            for pod in self.succeeded.values()
            if self._of_this_run(pod) and pod.uid not in self.counted
        )
        found = count(ours) | self.remembered
        found[""] = max(found[""], sum(n for role, n in found.items() if role))
        return found

    @property
    def held(self) -> Counter[str]:
        return count(self.bound) + self.done

    @property
    def perhaps_started(self) -> bool:
        return self.started or any(pod.running for pod in self.bound)

    @property
    def least_floor(self) -> Floors:
        """The least that can count as the floor: of a started group, what it was at any time."""
        now = self.floor
        if not (self.perhaps_started or self.relaunched):
            return now
        if not (self.bound or self.ever_succeeded):
            return now
        least = {role: min([n, *(w.get(role, 0) for w in self.was)]) for role, n in now.items()}
        return reduced(least, self.before)

    @property
    def floor(self) -> Floors:
        """What counts as the floor, if it was never raised since the group started."""
        assert self.group is not None
        floor = floors(self.group)
        if self.fixed is not None:
            return {role: min(least, self.fixed.get(role, least)) for role, least in floor.items()}
        left = reduced(floor, self.before)
        if not self.relaunched:
            return left
        # Its owner may run those that succeeded anew (semantics §2.4).
        there = count(self.live) + self.done
        return {role: max(n, min(floor[role], there[role])) for role, n in left.items()}


class View:
    """The objects as somebody was shown them."""

    def __init__(self, *, settled: bool) -> None:
        self.pods: dict[PodUID, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.runs: dict[GroupKey, Run] = {}
        self.settled = settled

    def run(self, key: GroupKey) -> Run:
        if key not in self.runs:
            run = self.runs[key] = Run()
            run.settled = self.settled
        return self.runs[key]

    def apply(self, event: Event) -> None:
        match event:
            case PodSeen(pod):
                self.pods[pod.uid] = pod
                if pod.group is not None:
                    self.run(pod.group).put(pod)
            case PodGone(_, uid):
                gone = self.pods.pop(uid, None)
                if gone is not None and gone.group is not None:
                    del self.run(gone.group).pods[uid]
                    self._drop_if_empty(gone.group)
            case NodeSeen(node):
                self.nodes[node.name] = node
            case NodeGone(name):
                self.nodes.pop(name, None)
            case GroupSeen(group):
                self.run(group.key).take(group)
            case GroupGone(key, _):
                self.run(key).take(None)
                self._drop_if_empty(key)
            case _:
                pass

    def _drop_if_empty(self, key: GroupKey) -> None:
        run = self.run(key)
        if run.group is None and not run.pods:
            del self.runs[key]

    def settle(self) -> None:
        self.settled = True
        for run in self.runs.values():
            run.settle()

    def look(self) -> None:
        for run in self.runs.values():
            run.look()

    def used(self, node: str, resource: str, but: Iterable[PodUID] = ()) -> int:
        """Requests of the pods that sit on a node; terminating ones sit until they are gone."""
        left_out = set(but)
        return sum(
            cost(pod.spec, resource)
            for pod in self.pods.values()
            if pod.node == node and not pod.finished and pod.uid not in left_out
        )

    def room(self, node: str, resource: str) -> int:
        found = self.nodes.get(node)
        return dict(found.allocatable).get(resource, 0) if found else 0
