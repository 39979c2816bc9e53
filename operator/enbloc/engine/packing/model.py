# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Packing: a group's deficit in numbers: how many of each kind fit into the room of each node.

It states only what filters certainly demand, so that a packing without an answer proves that there
is no placement; an answer is only a proposal, on which plugins have the last word.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing import declarations
from enbloc.engine.trial import ClassKey, Trial
from enbloc.framework import decide, searching
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.searching import OneDomain
from enbloc.ledgers import ledgers_of
from enbloc.model.nodes import Amounts, Mask, Nodes
from enbloc.model.pods import Pod

#: How many members of each kind go to each row: int64[C, M].
Counts = npt.NDArray[np.int64]

#: Steps that stating a group's needs on empty nodes may cost, whether or not searches may.
COUNTING: Final = 20_000

#: Counts below this are stored in two bytes.
_SHORT: Final = 2**15

#: How many terms of a pod, or values of one, one step reads.
_READ: Final = 4


class Kind(NamedTuple):
    """Identical pending members of one role, oldest first."""

    key: ClassKey
    role: str
    pods: tuple[Pod, ...]


class Need(NamedTuple):
    """A floor: at least so many members of these kinds."""

    members: int
    kinds: tuple[int, ...]


class KindsApart(NamedTuple):
    """Kinds that may not share a domain.

    Attributes:
        key: the node label whose values are the domains; "" = each row is one.
        domains: int64[M], of each row, from 1 on; 0 = none.
        pairs: bool[C, C], symmetric.
    """

    key: str
    domains: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.bool_]


class Shared(NamedTuple):
    """What several rows share beyond their own room, such as the devices of a network.

    Attributes:
        rows: bool[M]: a member on one of these takes of it.
        amounts: int64[C]: how much a member of each kind takes.
        free: the free amount.
        unit: its unit.
        name: what it is, in words after an amount.
    """

    rows: Mask
    amounts: npt.NDArray[np.int64]
    free: int
    unit: str
    name: str


@dataclass(frozen=True)
class Packing:
    """The members to place, and the room for them.

    Attributes:
        kinds: C kinds of members.
        needs: the floors; the first is the group's own, of all kinds.
        resources: R names of resources, each with its unit: amounts are multiples of it.
        requests: int64[C, R], in units.
        rows: int64[M]: the rows of the node table that have a place for some kind.
        room: int64[M, R], in units, rounded down.
        places: int64[C, M]: how many members of a kind alone a row could take.
        apart: which kinds exclude which.
        pools: what rows share.
        likeness: int64[M]: rows with the same number offer the same beyond room and places.
        complete: exclusions were determined; otherwise that would have cost too much. A packing
            without an answer is still a proof then, but an answer is not worth the search.
        steps: the cost of building and summing it.
    """

    kinds: tuple[Kind, ...]
    needs: tuple[Need, ...]
    resources: tuple[tuple[str, int], ...]
    requests: Amounts
    rows: npt.NDArray[np.intp]
    room: Amounts
    places: Counts
    apart: tuple[KindsApart, ...]
    pools: tuple[Shared, ...] = ()
    likeness: npt.NDArray[np.int64] | None = None
    complete: bool = True
    steps: int = 0

    @cached_property
    def alone(self) -> npt.NDArray[np.bool_]:
        """bool[C, M]: whether a row takes at most one of the kind."""
        alone = np.zeros(self.places.shape, np.bool_)
        for _, domains, pairs in self.apart:
            alone |= pairs.diagonal()[:, None] & (domains != 0)
        return alone

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many members of each kind there are."""
        return tuple(len(kind.pods) for kind in self.kinds)

    def only(self, chosen: Mask) -> "Packing":
        """Return the packing on some of the rows (bool[M])."""
        return replace(
            self,
            rows=self.rows[chosen],
            room=self.room[chosen],
            places=self.places[:, chosen],
            apart=tuple(
                KindsApart(key, domains[chosen], pairs) for key, domains, pairs in self.apart
            ),
            pools=tuple(pool._replace(rows=pool.rows[chosen]) for pool in self.pools),
            likeness=None if self.likeness is None else self.likeness[chosen],
        )

    def confined(self, kinds: Mask, chosen: Mask) -> tuple["Packing", Mask]:
        """Return the packing with some kinds (bool[C]) on some of the rows (bool[M]).

        Returns:
            The packing, and bool[M]: the rows that it has.
        """
        if kinds.all():
            return self.only(chosen), chosen
        places = self.places.copy()
        places[np.ix_(kinds, ~chosen)] = 0
        rows = np.asarray(places.any(axis=0))
        return replace(self, places=places).only(rows), rows

    def within(self, nodes: Nodes, more: Mapping[str, Amounts]) -> "Packing":
        """Return the packing in what is free on the same rows of these nodes.

        Args:
            nodes: the rows.
            more: what is also free, by resource, on each row of the table (int64[N]).
        """
        names = tuple(name for name, _ in self.resources)
        units = np.array([unit for _, unit in self.resources], np.int64).reshape(-1, 1)
        free = nodes.frees(names)[:, self.rows] if names else self.room.T
        for line, name in enumerate(names):
            if name in more:
                free[line] += more[name][self.rows]
        room = (free.clip(min=0) // units).clip(max=2**62 // max(1, len(self.kinds)))
        places = np.array(
            [
                np.minimum(most, _places(request, room, count))
                for most, request, count in zip(
                    self.places, self.requests, self.counts, strict=True
                )
            ]
        )
        return replace(self, room=room.T, places=places)

    @property
    def shape(self) -> bytes:
        """A key: packings of the same shape differ only in whose members they place."""
        digest = hashlib.blake2b(repr((self.counts, self.needs, self.resources)).encode())
        for array in (self.requests, self.rows, self.room, self.places):
            small = array.astype(np.int16) if array.max(initial=0) < _SHORT else array
            digest.update(repr((small.shape, small.dtype)).encode())
            digest.update(np.ascontiguousarray(small).data)
        for key, domains, pairs in self.apart:
            digest.update(key.encode())
            digest.update(np.ascontiguousarray(domains).data)
            digest.update(np.ascontiguousarray(pairs).data)
        for pool in self.pools:
            digest.update(repr((pool.free, pool.unit, pool.name)).encode())
            digest.update(pool.rows.tobytes())
            digest.update(pool.amounts.tobytes())
        return digest.digest()

    def holds(self, counts: Counts) -> bool:
        """Whether so many members of each kind (int64[C, M]) satisfy everything, in integers."""
        if (counts < 0).any() or (counts > self.places).any():
            return False
        if (counts.T @ self.requests > self.room).any():
            return False
        sums = counts.sum(axis=1)
        if (sums > np.array(self.counts)).any():
            return False
        if any(int(sums[list(need.kinds)].sum()) < need.members for need in self.needs):
            return False
        if any(int((counts[:, p.rows].sum(axis=1) * p.amounts).sum()) > p.free for p in self.pools):
            return False
        return not any(_clashes(counts, each) for each in self.apart)


def _clashes(counts: Counts, apart: KindsApart) -> bool:
    """Whether two that exclude each other share a domain."""
    size = int(apart.domains.max(initial=0)) + 1
    inside = np.array([np.bincount(apart.domains, line, size) for line in counts])[:, 1:]
    several = inside - np.eye(len(counts))[:, :, None]  # [C, C, D]: others that each finds
    present = inside[:, None] > 0
    return bool((present & (several > 0) & apart.pairs[:, :, None]).any())


# ── from a group and a cluster ───────────────────────────────────────────────────────────────


def packing_now(facts: GroupFacts, trial: Trial, steps: int) -> Packing | None:
    """Return the deficit, in the room that is free now; None = that costs more than the steps."""

    def mask(pod: Pod) -> Mask:
        return trial.filtered(pod).narrowed()

    def rooms(names: tuple[str, ...]) -> Amounts:
        return trial.nodes.frees(names).copy()

    return _packing(facts, trial, mask, rooms, (), steps, ever=False)


def packing_ever(facts: GroupFacts, held: Sequence[Pod], trial: Trial) -> Packing | None:
    """Return the deficit, in the room of nodes that hold only the group's bound members.

    None = that costs more than a count may.
    """
    nodes = trial.snapshot.nodes

    def mask(pod: Pod) -> Mask:
        return trial.filtered(pod).lasting()

    return _packing(
        facts,
        trial,
        mask,
        lambda names: room_ever(names, held, nodes),
        _seated(held, nodes),
        COUNTING,
        ever=True,
    )


def plain_requests(pod: Pod, trial: Trial) -> tuple[tuple[str, int], ...] | None:
    """Return what a pod certainly takes of its node, if only that limits how many fit.

    None = it keeps apart from similar pods, or takes of what nodes share.
    """
    if pod.spec.holds or _Exclusions(trial.profile, trial).among([pod]):
        return None
    return _shared(trial.profile, [pod], trial.snapshot.nodes)[0]


def room_ever(names: tuple[str, ...], held: Sequence[Pod], nodes: Nodes) -> Amounts:
    """Return int64[R, N]: the room of the nodes if they hold only these bound pods."""
    rooms = nodes.allocatables(names).copy()
    for pod, row in _seated(held, nodes):
        requests = dict(pod.spec.requests)
        taken = [requests.get(name, 0) for name in names]
        rooms[:, row] = np.maximum(rooms[:, row] - taken, -(2**62))
    return rooms


def _seated(held: Sequence[Pod], nodes: Nodes) -> list[tuple[Pod, int]]:
    return [(pod, row) for pod in held if (row := nodes.row(pod.node)) is not None]


def _packing(
    facts: GroupFacts,
    trial: Trial,
    mask: Callable[[Pod], Mask],
    rooms: Callable[[tuple[str, ...]], Amounts],
    seated: Sequence[tuple[Pod, int]],
    steps: int,
    *,
    ever: bool,
) -> Packing | None:
    profile, nodes = trial.profile, trial.snapshot.nodes
    kinds = _kinds(facts, trial)
    pods, needs = [kind.pods[0] for kind in kinds], _needs(facts, kinds)
    resources, requests = _shared(profile, pods, nodes)
    wide = 1 + len(nodes) // 1000
    cost = 20 + (len(kinds) + len(needs)) * len(resources) * wide
    if cost > steps:
        return None
    excludes, there = _Exclusions(profile, trial), _by_class(seated, trial)
    asking = _asking(pods, [pod for pod, _ in there], wide)
    asked_all = cost + asking <= steps
    cost += asking if asked_all else 0
    pairs = excludes.among(pods) if asked_all else {}
    adding_up = len(pairs) * (len(kinds) + 20) * (3 + wide)
    complete = asked_all and cost + adding_up <= steps
    names = tuple(name for name, _ in resources)
    units = np.array([unit for _, unit in resources], np.int64).reshape(-1, 1)
    # All kinds of members together must fit in int64.
    most = 2**62 // max(1, len(kinds))
    room = np.zeros((0, len(nodes)), np.int64)
    if names:
        room = (rooms(names).clip(min=0) // units).clip(max=most)
    places = np.zeros((len(kinds), len(nodes)), np.int64)
    for index, pod in enumerate(pods):
        eligible = mask(pod)
        for neighbour, seats in there if asked_all else ():
            eligible &= excludes.leaves(pod, neighbour, seats)
        found = _places(requests[index], room, len(kinds[index].pods))
        places[index] = trial.filtered(pod).most(trial.nodes, found, ever=ever) * eligible
    rows = np.flatnonzero(places.any(axis=0))
    if len(rows) < len(nodes):
        room, places = room[:, rows], places[:, rows]
    aparts = tuple(
        _apart(key, excludes.domains(key)[rows], apart)
        for key, apart in ({**_spread(pods), **pairs}.items() if complete else ())
    )
    packing = Packing(
        kinds, needs, resources, requests, rows, room.T, places,
        aparts, _pools(trial, pods, rows, ever=ever), _likeness(trial, pods, rows),
        complete, cost + adding_up if complete else cost,
    )  # fmt: skip
    np.minimum(packing.places, 1, out=packing.places, where=packing.alone)
    return packing


def _pools(
    trial: Trial, pods: Sequence[Pod], rows: npt.NDArray[np.intp], *, ever: bool
) -> tuple[Shared, ...]:
    """Return what plugins say that rows share, as far as any of these pods takes of it."""
    found: list[Shared] = []
    for plugin in trial.profile.filtering if any(pod.spec.holds for pod in pods) else ():
        if decide.implements(plugin, searching.Pools):
            for pool in declarations.pools(plugin, pods, trial.nodes, ever=ever):
                inside = pool.rows[rows]
                if inside.any() and pool.amounts.any():
                    found.append(Shared(inside, pool.amounts, pool.free, pool.unit, pool.name))
    return tuple(found)


def _likeness(
    trial: Trial, pods: Sequence[Pod], rows: npt.NDArray[np.intp]
) -> npt.NDArray[np.int64] | None:
    """Return int64[M]: which rows plugins say are identical; None = all are."""
    found: npt.NDArray[np.int64] | None = None
    for plugin in trial.profile.filtering if any(pod.spec.holds for pod in pods) else ():
        if decide.implements(plugin, searching.TellsNodesApart):
            numbers = declarations.likeness(plugin, pods, trial.nodes)[rows]
            both = numbers[None] if found is None else np.stack((found, numbers))
            found = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
    return found if found is not None and found.any() else None


def _spread(pods: Sequence[Pod]) -> Mapping[str, npt.NDArray[np.bool_]]:
    """Return domains of spread constraints, with no exclusions: bool[C, C], by label key.

    How many may be in a domain is for the plugin to decide; but a row of another domain is worth
    another try.
    """
    keys = sorted({each.topology_key for pod in pods for each in pod.spec.spread if each.hard})
    return {key: np.zeros((len(pods), len(pods)), np.bool_) for key in keys}


def _by_class(seated: Sequence[tuple[Pod, int]], trial: Trial) -> list[tuple[Pod, list[int]]]:
    """Return one pod of each class, with the rows where pods of that class are."""
    found: dict[ClassKey, tuple[Pod, list[int]]] = {}
    for pod, row in seated:
        found.setdefault(trial.key(pod), (pod, []))[1].append(row)
    return list(found.values())


def _asking(pods: Sequence[Pod], there: Sequence[Pod], wide: int) -> int:
    """Return the steps of asking about each pair of the pods, and of a pod and one there."""
    kinds, others = len(pods), len(there)
    reading = sum(map(_terms, pods)) * (kinds + others) + sum(map(_terms, there)) * kinds
    return kinds * (kinds + 1) // 2 + kinds * others * wide + reading // _READ


def _terms(pod: Pod) -> int:
    """Return the number of a pod's rules about others that it shares no domain with."""
    selectors = (
        selector
        for term in pod.spec.pod_anti_affinity.required
        for selector in (term.selector, term.namespace_selector)
    )
    values = sum(1 + len(each.values) for s in selectors if s for each in s.requirements)
    names = sum(1 + len(term.namespaces) for term in pod.spec.pod_anti_affinity.required)
    return len(pod.spec.host_ports) + names + values


def _kinds(facts: GroupFacts, trial: Trial) -> tuple[Kind, ...]:
    named = {floor.role for floor in facts.roles}
    found: dict[tuple[ClassKey, str], list[Pod]] = {}
    for pod in facts.pending:
        role = pod.role if pod.role in named else ""
        found.setdefault((trial.key(pod), role), []).append(pod)
    return tuple(Kind(key, role, tuple(pods)) for (key, role), pods in found.items())


def _needs(facts: GroupFacts, kinds: Sequence[Kind]) -> tuple[Need, ...]:
    """Return each floor's deficit; the group's is at least the sum of those of its roles."""
    roles = [
        Need(floor.deficit, tuple(i for i, kind in enumerate(kinds) if kind.role == floor.role))
        for floor in facts.roles
        if floor.deficit
    ]
    total = max(facts.total.deficit, sum(need.members for need in roles))
    return (Need(total, tuple(range(len(kinds)))), *roles)


def _shared(
    profile: Profile, pods: Sequence[Pod], nodes: Nodes
) -> tuple[tuple[tuple[str, int], ...], Amounts]:
    """Return what every kind must find free if it requests it, with units; int64[C, R] in units.

    Not what devices may serve where a node does not offer it.
    """
    served = ledgers_of(nodes).devices.served_by_devices
    wanted = [dict(pod.spec.requests) for pod in pods]
    taken = [
        {
            name
            for plugin in profile.filtering
            if decide.implements(plugin, searching.Takes)
            for name in declarations.names(plugin.name, plugin.takes, pod)
        }
        for pod in pods
    ]
    names = sorted({name for each in wanted for name in each})
    shared = [
        (name, math.gcd(*(each.get(name, 0) for each in wanted)))
        for name in names
        if not served(name)
        and all(name in mine for mine, each in zip(taken, wanted, strict=True) if each.get(name))
    ]
    requests = [[each.get(name, 0) // unit for name, unit in shared] for each in wanted]
    return tuple(shared), np.array(requests, np.int64).reshape(len(pods), len(shared))


def _places(request: Amounts, room: Amounts, most: int) -> Amounts:
    """Return int64[N]: how many members with this request (int64[R]) each row's room takes."""
    places = np.full(room.shape[1], most, np.int64)
    for amount, line in zip(request.tolist(), room, strict=True):
        if amount:
            np.minimum(places, line // amount, out=places)
    return places


def together(trial: Trial, pods: Sequence[Pod], *, ever: bool = False) -> Iterator[OneDomain]:
    """Yield domains in one of which some of these pods must be, as plugins declare them.

    Args:
        trial: the cluster as it is.
        pods: one of each class.
        ever: what other pods use counts as free.
    """
    nodes = trial.nodes
    yield from in_sets(trial, pods, ever=ever)
    users: dict[str, Mask] = {}
    for plugin in trial.profile.filtering:
        if decide.implements(plugin, searching.Gathers):
            for at, pod in enumerate(pods):
                for key in declarations.names(plugin.name, plugin.gathers, pod, trial.snapshot):
                    users.setdefault(key, np.zeros(len(pods), np.bool_))[at] = True
    for key, those in users.items():
        yield OneDomain(those, nodes.domains(key) if key else np.arange(1, len(nodes) + 1))


def in_sets(trial: Trial, pods: Sequence[Pod], *, ever: bool = False) -> Iterator[OneDomain]:
    """Yield those of the domains that no label describes, as the nodes that reach one device."""
    holds = any(pod.spec.holds for pod in pods)
    for plugin in trial.profile.filtering if holds else ():
        if decide.implements(plugin, searching.GathersInSets):
            yield from declarations.sets(plugin, pods, trial.nodes, ever=ever)


def takers(profile: Profile) -> frozenset[str]:
    """Return the plugins that allot capacity: their events are those that free more of it."""
    return frozenset(
        each.name for each in profile.filtering if decide.implements(each, searching.Takes)
    )


def numbered(codes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return the same domains (int64[M]), numbered from 1 on as they first occur; 0 stays 0.

    Codes of a node table depend on the labels that nodes had before; a decision must not.
    """
    _, first, inverse = np.unique(np.append(0, codes), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse][1:].astype(np.int64, copy=False)


def _apart(key: str, codes: npt.NDArray[np.int64], pairs: npt.NDArray[np.bool_]) -> KindsApart:
    domains = numbered(codes)
    each_its_own = len(codes) == domains.max(initial=0)
    return KindsApart("" if each_its_own else key, domains, pairs)


class _Exclusions:
    """What the plugins of a profile say about which pods exclude which."""

    def __init__(self, profile: Profile, trial: Trial) -> None:
        self._plugins = [
            plugin
            for plugin in profile.filtering
            if decide.implements(plugin, searching.KeepsApart)
        ]
        self._snapshot = trial.snapshot

    def between(self, pod: Pod, other: Pod) -> set[str]:
        """Return the label keys by which two pods exclude each other; "" = on one node."""
        return {
            key
            for plugin in self._plugins
            for key in declarations.names(plugin.name, plugin.apart, pod, other, self._snapshot)
        }

    def domains(self, key: str) -> npt.NDArray[np.int64]:
        """Return int64[N]: the domain of each row; 0 = none."""
        nodes = self._snapshot.nodes
        if not key:
            return np.arange(1, len(nodes) + 1)
        return nodes.domains(key).astype(np.int64)

    def leaves(self, pod: Pod, neighbour: Pod, rows: Sequence[int]) -> Mask:
        """Return bool[N]: the rows left to a pod by neighbours of one class on these rows."""
        mask = np.ones(len(self._snapshot.nodes), np.bool_)
        for key in self.between(pod, neighbour):
            domains = self.domains(key)
            taken = np.zeros(int(domains.max()) + 1, np.bool_)
            taken[domains[rows]] = True
            taken[0] = False
            mask &= ~taken[domains]
        return mask

    def among(self, pods: Sequence[Pod]) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Return, by label key, bool[C, C]: which of these pods exclude each other."""
        found: dict[str, npt.NDArray[np.bool_]] = {}
        for one, pod in enumerate(pods):
            for two, other in enumerate(pods[: one + 1]):
                for key in sorted(self.between(pod, other)):
                    pairs = found.setdefault(key, np.zeros((len(pods), len(pods)), np.bool_))
                    pairs[one, two] = pairs[two, one] = True
        return found
