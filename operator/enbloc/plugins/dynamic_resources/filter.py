# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DeviceFilter: which nodes can give one class of pods the devices that it asks for."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from copy import copy
from operator import is_
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from enbloc.devices.asked import Asked, DeviceVerdict, Terms, claim_keys
from enbloc.devices.demand import Demand
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
    """What the rows of a node table see.

    Attributes:
        groups: rows that see the same.
    """

    names: Sequence[str]
    spread: Spread
    groups: list[Rows]


class _Known(NamedTuple):
    """What all rows have answered, for as long as the class asks for the same.

    Attributes:
        asked: what it asked for.
        mask: bool[N], brought up to date row by row.
        uses: what was in use of the pools that several nodes see.
        sights: int64[N]: equal for rows that answer alike, whatever that is; -1 = not known.
        numbers: of what these go by.
    """

    asked: Asked
    names: Sequence[str]
    mask: Mask
    uses: tuple[Use, ...]
    sights: npt.NDArray[np.int64]
    numbers: dict[Hashable, int]


class DeviceFilter:
    """What nodes answer about one class of pods.

    A row is asked anew where pods came or left. Where the class may get devices that several nodes
    see, and more of these are in use, so is one for all rows that had them and are alike. All rows
    are when some are free again, or a claim that the class shares with others has got devices.
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
        """Whether a node answers both in the same way: they ask for the same, and share nothing."""
        if not isinstance(other, DeviceFilter) or self._shares or other._shares:
            return False
        return self.reads is other.reads and self._asked.alike(other._asked)

    __hash__ = None  # type: ignore[assignment]  # nobody keeps them in sets

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """The devices for all claims of the pod are there, and what its claims have is in reach."""
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
        if asked.joined and not known.mask.any():  # what members share may have to move
            return self._answers(pod, asked, nodes)
        return known.mask.copy()

    def _lasting(self, asked: Asked, nodes: Nodes) -> _Known | None:
        """What rows have answered, where only some have to be asked again; None = all have to.

        It is another one than before where more is in use of what several nodes see.
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

    def _look_again(self, asked: Asked, nodes: Nodes, known: _Known) -> None:
        """More is in use of what several nodes see: ask again for the rows that had devices.

        Whoever had none has none now: what claims of the plan hold, they could give up before.
        """
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

    def _answers(self, pod: Pod, asked: Asked, nodes: Nodes, *, move: bool = True) -> Mask:
        """bool[N]: what the rows answer now.

        Args:
            pod: of the class.
            asked: what it asks for.
            nodes: the rows.
            move: where no row says yes, claims that members share may get other devices.
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

    def _remember(self, asked: Asked, nodes: Nodes, mask: Mask) -> None:
        """Keep what all rows have answered."""
        unknown = np.full(len(mask), -1, np.int64)
        uses = ledgers_of(nodes).devices.uses()
        self._known = _Known(asked, nodes.names, mask.copy(), uses, unknown, {})
        self._touched.clear()
        self._freed = False

    def placed(self, pod: Pod, row: int) -> None:
        """A pod came to a row, and may have its devices."""
        del pod
        self._touched.add(row)

    def removed(self, pod: Pod, row: int) -> None:
        """A pod left a row, and what it had may be free."""
        self.placed(pod, row)
        self._freed = True

    def fork(self) -> Self:
        """A copy that hears of changes of its own."""
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
        """int64[N]: no row has devices for more such pods."""
        devices = ledgers_of(nodes).devices
        asked = self._now(pod, devices)
        demands = () if self._shares else asked.demands
        return most_pods(demands, nodes, ever=ever)

    def _now(self, pod: Pod, devices: Devices) -> Asked:
        """What the pod asks for; of claims with a name, others of the plan may have decided."""
        return devices.asked(pod) if self._shares else self._asked

    def _verdicts(
        self, pod: Pod, asked: Asked, nodes: Nodes, wanted: Mask, *, moving: bool = False
    ) -> Iterator[tuple[Rows, DeviceVerdict]]:
        """The verdict on rows that see the same; each row of which any is wanted, and some more.

        Args:
            pod: of the class.
            asked: what it asks for.
            nodes: the rows.
            wanted: which of them matter.
            moving: claims that members share get other devices where a row does not see theirs.
        """
        joined = [each.key for each in asked.joined]
        devices, names = ledgers_of(nodes).devices, nodes.names
        seen = self._grouped(nodes)
        lacking = {name: nodes.allocatable(name) == 0 for name in asked.served}
        unserved = _unserved(pod, asked, nodes)
        for group in seen.groups:
            if len(group) == 1 and not wanted[group[0]]:
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
        """What the rows see; kept as long as they are the same, for the objects do not change."""
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
        """int64[N]: the earlier the alternatives stand, the higher."""
        return self._filter.score(pod, nodes)


def _unserved(pod: Pod, asked: Asked, nodes: Nodes) -> Mask | None:
    """bool[N]: an extended resource is neither offered nor served by devices; None = nowhere."""
    others = {each.resource for each in pod.spec.extended if each.amount} - asked.served.keys()
    if not asked.served or not others:
        return None
    found: Mask = np.logical_or.reduce([nodes.allocatable(name) == 0 for name in others])
    return found


def _alike(rows: Rows, names: Sequence[str], devices: Devices) -> list[Rows]:
    """Rows that see the same, apart where other claims of the plan may change their devices."""
    found: dict[tuple[str, ...], list[int]] = {}
    for row in map(int, rows):
        found.setdefault(devices.tried(names[row]), []).append(row)
    return [np.array(each) for each in found.values()]


def _split(rows: Rows, masks: Iterable[Mask | None]) -> list[Rows]:
    """The rows apart where any of the masks tells them apart."""
    parts = [rows]
    for mask in masks:
        if mask is not None:
            halves = [(part[mask[part]], part[~mask[part]]) for part in parts]
            parts = [half for pair in halves for half in pair if len(half)]
    return parts


def _joined(asked: Asked) -> list[Terms]:
    """From where what members share can be used, as it is now."""
    return [each.allocation.terms for each in asked.joined if each.allocation.terms is not None]


def _in_reach(pins: Iterable[Terms], nodes: Nodes) -> Mask:
    """bool[N]: what a pod's claims have can be used from there."""
    mask = np.ones(len(nodes), np.bool_)
    for terms in pins:
        mask &= terms_match(terms, nodes)
    return mask
