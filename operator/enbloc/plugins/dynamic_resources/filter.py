# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DeviceFilter: which nodes have the devices that one class of pods requests."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from copy import copy
from operator import is_
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from enbloc.devices.demand import Demand
from enbloc.devices.needs import DeviceNeeds, DeviceVerdict, Terms, claim_keys
from enbloc.devices.search import CANNOT, told
from enbloc.devices.table import Devices
from enbloc.devices.use import Use
from enbloc.devices.views import Rows, Spread
from enbloc.framework.reads import Reads
from enbloc.ledgers import ledgers_of
from enbloc.model.node_selection import terms_match
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.plugins.dynamic_resources.limits import most_pods

NOT_AVAILABLE: Final = "resourceclaim not available on the node"
LEFT_OVER: Final = "cannot schedule extended resource claim"
NO_RESOURCE: Final = "cannot fit resource"


class _Seen(NamedTuple):
    """Which rows of a node table see the same devices.

    Attributes:
        groups: the rows, grouped by what they see.
    """

    names: Sequence[str]
    spread: Spread
    groups: list[Rows]


class _Known(NamedTuple):
    """The answers of all rows, valid as long as the class requests the same.

    Attributes:
        asked: what it requested.
        mask: bool[N], updated row by row.
        uses: the use of the pools that several nodes see.
        sights: int64[N]: equal for rows that answer alike, whatever that use is; -1 = unknown.
        numbers: of what these go by.
    """

    asked: DeviceNeeds
    names: Sequence[str]
    mask: Mask
    uses: tuple[Use, ...]
    sights: npt.NDArray[np.int64]
    numbers: dict[Hashable, int]


class DeviceFilter:
    """Filters nodes for one class of pods.

    A row is checked again when pods came or left. If the class may get devices that several nodes
    see, and more of these are in use, one row is checked for all alike rows that had devices. All
    rows are checked when such devices are freed, or when a claim that the class shares is
    allocated.
    """

    reason: ClassVar[str] = CANNOT

    def __init__(self, pod: Pod, devices: Devices) -> None:
        asked = devices.asked(pod)
        self._asked = asked
        self._kept: _Seen | None = None
        self._known: _Known | None = None
        self._touched: set[int] = set()
        self._freed = False
        self._shares = any(map(devices.shared, claim_keys(pod)))
        self.reads = Reads.NODE
        if self._shares or devices.may_share(self._demands(pod, devices, tuple(asked.served))):
            self.reads = Reads.CLUSTER
        elif not asked.demands and not asked.served:
            self.reads = Reads.SPEC

    def __eq__(self, other: object) -> bool:
        """Whether nodes answer both alike: they request the same, and share no claims."""
        if not isinstance(other, DeviceFilter) or self._shares or other._shares:
            return False
        return self.reads is other.reads and self._asked.alike(other._asked)

    __hash__ = None  # type: ignore[assignment]  # nobody keeps them in sets

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where unallocated claims find devices, and allocated ones are reachable."""
        asked = self._now(pod, ledgers_of(nodes).devices)
        known = self._lasting(asked, nodes)
        if known is None:
            mask = self._answers(pod, asked, nodes)
            if self.reads is Reads.CLUSTER:
                self._remember(asked, nodes, mask)
            return mask
        touched = sorted(self._touched)
        self._touched.clear()
        known.sights[touched] = -1
        for row in touched:
            known.mask[row] = self._answers(pod, asked, nodes.take(np.array([row])), move=False)[0]
        if known is not self._known:
            self._known = known
            self._look_again(asked, nodes, known)
        if asked.joined and not known.mask.any():  # shared claims may have to move
            return self._answers(pod, asked, nodes)
        return known.mask.copy()

    def _lasting(self, asked: DeviceNeeds, nodes: Nodes) -> _Known | None:
        """The earlier answers, if only some rows must be checked again; None = all must.

        It is a new object if more is in use of what several nodes see.
        """
        known = self._known
        if known is None or known.names != nodes.names:
            return None
        if self._freed and (asked.served or ledgers_of(nodes).devices.may_share(asked.demands)):
            return None
        uses = ledgers_of(nodes).devices.uses()
        same = len(uses) == len(known.uses) and all(map(is_, uses, known.uses))
        if not same and (asked.served or len(uses) != len(known.uses)):
            return None
        if known.asked is not asked and known.asked != asked:
            return None
        return known if same else known._replace(uses=uses)

    def _look_again(self, asked: DeviceNeeds, nodes: Nodes, known: _Known) -> None:
        """Check the rows that had devices again, as more of the shared pools is in use.

        Rows that had none have none now: what claims of the plan hold could be exchanged before,
        too.
        """
        if not asked.demands:  # the claims that it shares have devices: it needs no more
            return
        devices, spread = ledgers_of(nodes).devices, self._grouped(nodes).spread
        joined = [each.key for each in asked.joined]
        names, mask, sights = known.names, known.mask, known.sights
        rows = np.flatnonzero(mask)
        for row in map(int, rows[sights[rows] < 0]):
            sight = devices.sight(asked.demands, names[row], spread)
            sights[row] = known.numbers.setdefault(sight, len(known.numbers))
        found, first = np.unique(sights[rows], return_index=True)
        devices.spend(len(found))
        for sight, at in zip(map(int, found), map(int, first), strict=True):
            places = devices.places(names[int(rows[at])], spread)
            if not devices.verdict(asked.demands, "", places).reason:
                continue
            for row in map(int, rows[sights[rows] == sight]):
                places = devices.places(names[row], spread)
                mask[row] = not devices.verdict(asked.demands, names[row], places, joined).reason

    def _answers(self, pod: Pod, asked: DeviceNeeds, nodes: Nodes, *, move: bool = True) -> Mask:
        """bool[N]: the current answers of the rows.

        Args:
            pod: a pod of the class.
            asked: what it requests.
            nodes: the rows.
            move: if no row says yes, claims that members share may get other devices.
        """
        if asked.refusal or asked.stale or asked.failed:
            return np.zeros(len(nodes), np.bool_)
        pinned = _in_reach(asked.pins, nodes)
        mask = pinned & _in_reach(_joined(asked), nodes)
        for rows, verdict in self._verdicts(pod, asked, nodes, mask):
            if verdict.reason:
                mask[rows] = False
        if move and asked.joined and not mask.any():
            mask = pinned
            for rows, verdict in self._verdicts(pod, asked, nodes, mask, moving=True):
                if verdict.reason:
                    mask[rows] = False
        return mask

    def _remember(self, asked: DeviceNeeds, nodes: Nodes, mask: Mask) -> None:
        """Cache the answers of all rows."""
        unknown = np.full(len(mask), -1, np.int64)
        uses = ledgers_of(nodes).devices.uses()
        self._known = _Known(asked, nodes.names, mask.copy(), uses, unknown, {})
        self._touched.clear()
        self._freed = False

    def placed(self, pod: Pod, row: int) -> None:
        """Record that a pod came to a row, and may have taken devices."""
        del pod
        self._touched.add(row)

    def removed(self, pod: Pod, row: int) -> None:
        """Record that a pod left a row, and may have freed devices."""
        self.placed(pod, row)
        self._freed = True

    def fork(self) -> Self:
        """A copy that is told of its own changes only."""
        made = copy(self)
        made._touched = set(self._touched)  # noqa: SLF001  # one of our own
        if self._known is not None:
            kept = self._known._replace(mask=self._known.mask.copy())
            made._known = kept._replace(sights=kept.sights.copy())  # noqa: SLF001
        return made

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Each node counts under its first reason, as kube-scheduler finds it."""
        devices = ledgers_of(nodes).devices
        asked = self._now(pod, devices)
        if asked.refusal or asked.stale:
            return Counter({asked.refusal or LEFT_OVER: int(refused.sum())})
        reached = _in_reach((*asked.pins, *_joined(asked)), nodes)
        counts: Counter[str] = Counter()
        claims = (*asked.claims, f"{pod.key.namespace}/<extended-resources>")
        for rows, verdict in self._verdicts(pod, asked, nodes, refused):
            count = int(refused[rows].sum())
            if verdict.reason:
                counts[told(verdict.reason, claims[verdict.of])] += count
            elif asked.failed:
                counts[NOT_AVAILABLE] += count
            else:
                counts[NOT_AVAILABLE] += int((refused[rows] & ~reached[rows]).sum())
        return +counts

    def score(self, pod: Pod, nodes: Nodes) -> npt.NDArray[np.int64]:
        """int64[N]: Σ(8 − place) over the alternatives that the pod has or would get."""
        asked = self._now(pod, ledgers_of(nodes).devices)
        scores = np.zeros(len(nodes), np.int64)
        if asked.demands and not asked.refusal:
            for rows, verdict in self._verdicts(pod, asked, nodes, np.ones(len(nodes), np.bool_)):
                scores[rows] = 0 if verdict.reason else verdict.score + asked.score
        return scores

    def most(self, pod: Pod, nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
        """int64[N]: an upper bound for such pods on each row, by devices of their own claims."""
        devices = ledgers_of(nodes).devices
        asked = self._now(pod, devices)
        of = zip(asked.claims, asked.demands, strict=False)
        own = [demand for claim, demand in of if not devices.shared(claim)]
        return most_pods(own, nodes, ever=ever)

    def _now(self, pod: Pod, devices: Devices) -> DeviceNeeds:
        """What the pod requests now; named claims may have been decided for others of the plan."""
        return devices.asked(pod) if self._shares else self._asked

    def _verdicts(
        self, pod: Pod, asked: DeviceNeeds, nodes: Nodes, wanted: Mask, *, moving: bool = False
    ) -> Iterator[tuple[Rows, DeviceVerdict]]:
        """The verdicts on groups of rows that see the same, for every group with a wanted row.

        Args:
            pod: of the class.
            asked: what it asks for.
            nodes: the rows.
            wanted: which rows matter.
            moving: shared claims get other devices if a row does not see theirs.
        """
        joined = [each.key for each in asked.joined]
        devices, names = ledgers_of(nodes).devices, nodes.names
        seen = self._grouped(nodes)
        lacking = {name: nodes.allocatable(name) == 0 for name in asked.served}
        unserved = _unserved(pod, asked, nodes)
        for group in seen.groups:
            if not (wanted[group[0]] if len(group) == 1 else wanted[group].any()):
                continue
            for rows in _split(group, (unserved, *lacking.values())):
                row = int(rows[0])
                if unserved is not None and unserved[row]:
                    yield rows, _NO_RESOURCE
                    continue
                lacks = tuple(name for name, none in lacking.items() if none[row])
                demands = self._demands(pod, devices, lacks) if lacks else asked.demands
                if devices.spent:
                    yield rows, devices.verdict(demands, "", ())
                    continue
                places = devices.places(names[row], seen.spread)
                verdict = devices.verdict(demands, "", places)
                if not (verdict.reason or moving) or not devices.revisable:
                    yield rows, verdict
                    continue
                for same in _alike(rows, names, devices):
                    node = names[int(same[0])]
                    yield same, devices.verdict(demands, node, places, joined)

    def _grouped(self, nodes: Nodes) -> _Seen:
        """The rows grouped by what they see; cached, as the objects do not change."""
        kept, devices, names = self._kept, ledgers_of(nodes).devices, nodes.names
        if kept is None or kept.names != names:
            spread = devices.spread(nodes)
            kept = _Seen(names, spread, spread.groups(names, devices.has_own))
            if len(names) > 1:
                self._kept = kept
        return kept

    def _demands(self, pod: Pod, devices: Devices, lacks: tuple[str, ...]) -> tuple[Demand, ...]:
        asked = self._asked.demands
        return (*asked, devices.extended(pod, lacks)[0]) if lacks else asked


_NO_RESOURCE: Final = DeviceVerdict(NO_RESOURCE)


class DeviceScore:
    """Ranks nodes by the alternatives that they have for one class of pods."""

    def __init__(self, asked: DeviceFilter) -> None:
        self._filter = asked
        self.reads = asked.reads

    def __eq__(self, other: object) -> bool:
        """Whether a node scores the same by both."""
        return isinstance(other, DeviceScore) and self._filter == other._filter

    __hash__ = None  # type: ignore[assignment]  # nobody keeps them in sets

    def score(self, pod: Pod, nodes: Nodes) -> npt.NDArray[np.int64]:
        """int64[N]: higher for earlier alternatives."""
        return self._filter.score(pod, nodes)


def _unserved(pod: Pod, asked: DeviceNeeds, nodes: Nodes) -> Mask | None:
    """bool[N]: nodes without an extended resource that no devices serve; None = no such node."""
    others = {each.resource for each in pod.spec.extended if each.amount} - asked.served.keys()
    if not asked.served or not others:
        return None
    found: Mask = np.logical_or.reduce([nodes.allocatable(name) == 0 for name in others])
    return found


def _alike(rows: Rows, names: Sequence[str], devices: Devices) -> list[Rows]:
    """Rows grouped by what they see, split if other claims of the plan may change devices there."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in map(int, rows):
        found.setdefault(devices.tried(names[row]), []).append(row)
    return [np.array(each) for each in found.values()]


def _split(rows: Rows, masks: Iterable[Mask | None]) -> list[Rows]:
    """The rows, split by the values of each mask."""
    parts = [rows]
    for mask in masks:
        if mask is not None:
            halves = [(part[mask[part]], part[~mask[part]]) for part in parts]
            parts = [half for pair in halves for half in pair if len(half)]
    return parts


def _joined(asked: DeviceNeeds) -> list[Terms]:
    """Where the current devices of shared claims can be used."""
    return [each.allocation.terms for each in asked.joined if each.allocation.terms is not None]


def _in_reach(pins: Iterable[Terms], nodes: Nodes) -> Mask:
    """bool[N]: nodes that can use what a pod's claims have."""
    mask = np.ones(len(nodes), np.bool_)
    for terms in pins:
        mask &= terms_match(terms, nodes)
    return mask
