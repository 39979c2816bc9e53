# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trial: the cluster as it would be with members placed on it.

::

    the cluster as it is ──fork──► one order        fails, is forgotten
                         ──fork──► another order    fits: it holds the placement

Nothing is undone: every attempt is made on a fork.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.trial.alike import rows_in_turn
from enbloc.engine.trial.lookahead import AHEAD
from enbloc.engine.trial.opinions import Opinion
from enbloc.engine.trial.parts import PlacedChange
from enbloc.engine.trial.plugin_calls import asked_unchecked, shape_of
from enbloc.engine.trial.ranking import Ranking
from enbloc.engine.trial.ranking_cache import MOST_RANKINGS, ClassKey, Rankings, signatures
from enbloc.engine.trial.selected_labels import Named
from enbloc.errors import PluginError
from enbloc.framework.details import Details
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis
from enbloc.ledgers import Holds, Ledgers, ledgers_of, own_ledgers
from enbloc.model.nodes import Nodes
from enbloc.model.pins import HOSTNAME, host_of, without_host
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.snapshot import Snapshot
from enbloc.model.text import clipped

#: From this many changes on, those of identical pods are counted together.
_MANY: Final = 32
#: The most characters of what plugins add to a reason that are shown.
_LONGEST_DETAIL: Final = 512


@dataclass(slots=True)
class _Entry:
    """A ranking, and how much of the log it has seen."""

    ranking: Ranking
    seen: int


class Trial:
    """A private copy of the snapshot on which members are placed one after the other.

    Identical members share one Ranking, which is updated on demand. A fork uses the rankings and
    the node table of its origin until changes of its own make them stale.

    Attributes:
        profile: its plugins are asked.
        snapshot: the cluster as it is.

    Args:
        rankings: tells which pods are identical, and keeps rankings of earlier decisions; None =
            pods are distinguished by all of their labels.
        epoch: under which kept rankings are valid; None = none is taken or kept.
        opinions: of every class, beyond the profile; a ranking is kept without them.
        names: the labels that distinguish pods, instead of what `rankings` says; with these no
            rankings are taken or kept.
    """

    def __init__(
        self,
        profile: Profile,
        snapshot: Snapshot,
        rankings: Rankings | None = None,
        epoch: object = None,
        opinions: Sequence[Opinion] = (),
        names: Named | None = None,
    ) -> None:
        self.profile = profile
        self.snapshot = snapshot
        #: Shared with all forks.
        self._rankings = rankings or Rankings(every_label=True)
        self._names = names
        #: None if nothing is taken from, or kept for, another decision.
        self._epoch = None if names is not None else epoch
        self._everywhere = opinions
        #: The opinions that its origin does not have.
        self._further: Sequence[Opinion] = ()
        #: By class; shared with all forks, and complete before the first.
        self._opinions: dict[ClassKey, Sequence[Opinion]] = {}
        #: The answers of `held_by`; only in a trial without origin.
        self._holdings: dict[PodUID, Holds | None] = {}
        #: The trial of which this is a fork; None = none. An origin never changes any more.
        self._origin: Trial | None = None
        #: Whether a fork exists, so that `_log` and `_opinions` must not change.
        self._forked = False
        #: Which pods came and left beyond the snapshot, in order; it only grows.
        self._log: list[PlacedChange] = []
        #: How many of the first changes are the origin's.
        self._inherited = 0
        #: The pods that are added next, and their rows, until a table counts the first of them.
        self._expected: Sequence[tuple[Pod, int]] = ()
        #: The same, for every table; shared with all forks.
        self._always_expected: Sequence[tuple[Pod, int]] = ()
        #: A table of its own, with the first `_counted` changes; None until needed.
        self._table: Nodes | None = None
        self._counted = 0
        #: Rankings that score, by class; none is shared with another trial.
        self._entries: dict[ClassKey, _Entry] = {}
        #: Rankings that do not score, by class.
        self._filtered: dict[ClassKey, _Entry] = {}
        #: The number of rankings put into `_entries` in all.
        self._ranked = 0

    def fork(self, *further: Opinion) -> "Trial":
        """Return a trial that begins as this one; this one must not change any more.

        Args:
            further: opinions that count for every class from here on.
        """
        self._forked = True
        made = Trial(
            self.profile,
            self.snapshot,
            self._rankings,
            self._epoch,
            (*self._everywhere, *further),
            self._names,
        )
        made._further = further
        made._opinions = self._opinions
        made._always_expected = self._always_expected
        made._origin = self
        made._log = self._log.copy()
        made._inherited = made._counted = len(self._log)
        return made

    def advised(self, *opinions: Opinion) -> "Trial":
        """Return a trial that begins as this one, with further opinions for every class.

        It shares no ranking: its results are for this decision alone.
        """
        made = Trial(
            self.profile,
            self.snapshot,
            self._rankings,
            opinions=(*self._everywhere, *opinions),
            names=self._names,
        )
        made._opinions = self._opinions
        made._log = self._log.copy()
        return made

    @property
    def _unchanged(self) -> bool:
        """Whether it equals its origin, or the snapshot."""
        return len(self._log) == self._inherited

    @property
    def nodes(self) -> Nodes:
        """The node table with every placement so far."""
        if self._table is None:
            before = self.snapshot.nodes if self._origin is None else self._origin.nodes
            if self._unchanged:
                return before
            self._table = before.fork()
        news = self._log[self._counted :]
        expected = self._expected or [
            (it.pod, it.row) for it in news if it.pod.spec.resource_claims and not it.left
        ]
        expected = [*self._always_expected, *expected]
        if len(expected) > 1:
            self._expected = ()
            seats = [(pod, self._table.names[row]) for pod, row in expected]
            own_ledgers(self._table).devices.expect(seats, self._table)
        if len(news) < _MANY:
            for change in news:
                (self._table.remove if change.left else self._table.add)(change.row, change.pod)
        else:
            _count_together(self._table, news)
        self._counted = len(self._log)
        return self._table

    def expect(self, seats: Iterable[tuple[Pod, int]], *, always: bool = False) -> None:
        """Let claims that these pods share get what is seen from all of their rows.

        Args:
            seats: the pods that are added next, and their rows.
            always: whatever is added first; forks expect the same.
        """
        found = [seat for seat in seats if seat[0].spec.resource_claims]
        if always:
            self._always_expected = found
        else:
            self._expected = found

    @property
    def ledgers(self) -> Ledgers:
        """What pods hold beyond resources, with every placement so far; copies no table."""
        if self._table is None and not any(
            change.pod.spec.holds for change in self._log[self._inherited :]
        ):
            return ledgers_of(self.snapshot.nodes) if self._origin is None else self._origin.ledgers
        return ledgers_of(self.nodes)

    @property
    def changes(self) -> Sequence[PlacedChange]:
        """Which pods came and left beyond the snapshot, in order."""
        return tuple(self._log)

    def selected(self, namespace: str) -> Named:
        """Return the labels that distinguish pods of a namespace and of one spec."""
        if self._names is not None:
            return self._names
        return self._rankings.selected.in_namespace(namespace)

    @property
    def opinions(self) -> Sequence[Opinion]:
        """The opinions for every class, beyond the profile."""
        return self._everywhere

    def opinions_of(self, key: ClassKey) -> Sequence[Opinion]:
        """Return what extenders said of a class."""
        return self._opinions.get(key, ())

    def key(self, pod: Pod) -> ClassKey:
        """Return the class of a pod."""
        spec = pod.spec
        holds = self.held_by(pod)
        host = host_of(spec)
        if host:
            pod = replace(pod, spec=without_host(spec))
        key = self._rankings.key(pod, self.profile, self._names, holds)
        return key._replace(host=host) if host else key

    def keys(self, pods: Sequence[Pod]) -> list[ClassKey]:
        """Return the class of each pod; computed once for pods that agree in all that matters."""
        found: list[ClassKey] = []
        before: Pod | None = None
        for pod in pods:
            known = found[-1] if before is not None and _agree(pod, before) else None
            if known is None or known.signatures != signatures(pod, self.profile):
                known = self.key(pod)
            found.append(known)
            before = pod
        return found

    def held_by(self, pod: Pod) -> Holds | None:
        """Return what distinguishes pods by volumes and devices before any member is placed."""
        if not pod.spec.holds:
            return None
        if self._origin is not None:
            return self._origin.held_by(pod)
        if pod.uid not in self._holdings:
            self._holdings[pod.uid] = self.ledgers.alike(pod)
        return self._holdings[pod.uid]

    def consulted(self, key: ClassKey, opinions: Sequence[Opinion]) -> None:
        """Apply what extenders said of a class from now on, here and in every fork."""
        assert self._origin is None, "somebody outside speaks of the cluster as it is"
        assert not self._forked, "there are forks that were not told"
        self._opinions[key] = opinions
        entry = self._entries.get(key)
        if entry is not None:
            entry.ranking.consult(opinions, self.nodes)

    def ranking(self, pod: Pod, key: ClassKey | None = None) -> Ranking:
        """Return the ranking of the pod's class, up to date with every placement so far.

        Args:
            pod: any of the class.
            key: the class, if the caller knows it.
        """
        key = key or self.key(pod)
        if self._origin is not None and self._unchanged and not self._further:
            return self._origin.ranking(pod, key)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = self._begun(key, pod)
            self._ranked += 1
        news = self._log[entry.seen :]
        if news and not entry.ranking.catch_up(self.nodes, news):
            entry.ranking = self._anew(key, pod)
        entry.seen = len(self._log)
        return entry.ranking

    def _begun(self, key: ClassKey, pod: Pod) -> _Entry:
        """Return a ranking of its own: the origin's, a kept one, or a new one."""
        if self._origin is not None:
            # One that is not kept for the next decision need not be created in the origin first.
            many = self._ranked >= MOST_RANKINGS and key not in self._origin._entries  # noqa: SLF001  # one of our own
            ranking = None if many else self._origin.ranking(pod, key).fork()
            if ranking is None:
                return _Entry(self._anew(key, pod), len(self._log))
            ranking.consult(self._further, self._origin.nodes)
            return _Entry(ranking, self._inherited)
        # For the cluster as it is, without opinions: a kept one, or a new one.
        told = key.holds is None or ledgers_of(self.snapshot.nodes).position is not None
        keeps = self._epoch is not None and told
        kept = None
        if keeps:
            kept = self._rankings.take(key, pod, self.profile, self.snapshot, self._epoch)
        if kept is None:
            self._rankings.made += 1
        ranking = kept or Ranking(pod, self.profile, self.snapshot)
        if keeps and self._everywhere:
            # Opinions are for this decision alone; the ranking beneath them is not.
            self._give(key, ranking, ())
            own = ranking.fork()
            if own is None:
                self._rankings.made += 1
            ranking = own or Ranking(pod, self.profile, self.snapshot)
        ranking.consult((*self._everywhere, *self.opinions_of(key)), self.snapshot.nodes)
        return _Entry(ranking, 0)

    def _give(self, key: ClassKey, ranking: Ranking, beyond: Sequence[PlacedChange]) -> None:
        """Keep a ranking for the next decision, unless it is incomplete for lack of effort."""
        ledgers = ledgers_of(self.snapshot.nodes)
        if key.holds is None or not ledgers.devices.unfinished:
            self._rankings.give(key, ranking, beyond, self._epoch, ledgers.position)

    def _anew(self, key: ClassKey, pod: Pod, *, scored: bool = True) -> Ranking:
        self._rankings.made += 1
        ranking = Ranking(pod, self.profile, self.snapshot, self.nodes, self._log, scored=scored)
        ranking.consult((*self._everywhere, *self.opinions_of(key)), self.nodes)
        return ranking

    def filtered(self, pod: Pod) -> Ranking:
        """Return `ranking` for a caller that needs feasibility alone.

        With many classes only that is kept: the scores of each are arrays of all nodes.
        """
        key = self.key(pod)
        if key in self._entries or self._ranked < MOST_RANKINGS:
            return self.ranking(pod, key)
        return self.filter_of(pod, key)

    def feasible(self, pod: Pod, row: int) -> bool:
        """Whether a row is feasible for a pod, for a caller that ranks nothing on this trial."""
        key = self.key(pod)
        shared = self._of_any_host(pod, key, self.filter_of)
        if shared is None:
            return self.filter_of(pod, key).feasible(row)
        return shared.feasible(row) and row in self._rows_of(key.host)

    def filter_of(self, pod: Pod, key: ClassKey | None = None) -> Ranking:
        """Return `ranking`, never scored; a fork continues from what its origin knows.

        Args:
            pod: any of the class.
            key: the class, if the caller knows it.
        """
        key = key or self.key(pod)
        entry = self._filtered.get(key)
        if entry is None and self._origin is not None:
            fork = self._origin.filter_of(pod, key).fork()
            if fork is not None:
                fork.consult(self._further, self._origin.nodes)
                entry = _Entry(fork, self._inherited)
        news = self._log[entry.seen :] if entry is not None else []
        if entry is None or (news and not entry.ranking.catch_up(self.nodes, news)):
            entry = _Entry(self._anew(key, pod, scored=False), 0)
        self._filtered[key] = entry
        entry.seen = len(self._log)
        return entry.ranking

    def _rows_of(self, host: str) -> npt.NDArray[np.intp]:
        """Return intp[R]: the rows of the nodes with a hostname label."""
        return np.flatnonzero(self.snapshot.nodes.label(HOSTNAME, host))

    def shares_hosts(self, pod: Pod) -> bool:
        """Whether pods that differ from this one only in the host they name are of its class."""
        return self._of_any_host(pod, self.key(pod), self.ranking) is not None

    def _of_any_host(
        self, pod: Pod, key: ClassKey, ranked: Callable[[Pod, ClassKey], Ranking]
    ) -> Ranking | None:
        """Return the ranking of a pod's class for all hosts; None = it names none, or has its own.

        Args:
            pod: any of the class.
            key: the class.
            ranked: `ranking`, or `filter_of`.
        """
        if not key.host or self._opinions:
            return None
        alike = replace(pod, spec=without_host(pod.spec))
        ranking = ranked(alike, key._replace(host=""))
        return ranking if ranking.same_on_any_host(self.profile) else None

    def _best(self, pod: Pod, key: ClassKey) -> int | None:
        """Return the best row for a pod; None = no node is feasible."""
        shared = self._of_any_host(pod, key, self.ranking)
        if shared is None:
            return self.ranking(pod, key).best()
        rows = self._rows_of(key.host)
        totals = shared.totals[rows]
        if not len(rows) or totals.max() < 0:
            return None
        return int(rows[totals.argmax()])

    def forget(self, key: ClassKey) -> None:
        """Drop a class of which few or no further pods will come; it is ranked again if needed."""
        if self._ranked > MOST_RANKINGS:
            self._entries.pop(key, None)

    def place(self, pod: Pod) -> int | None:
        """Put a pod on its best node; return the row, or None if no node is feasible."""
        return self._place(pod, self.key(pod))

    def _place(self, pod: Pod, key: ClassKey) -> int | None:
        row = self._best(pod, key)
        if row is not None:
            self.add(pod, row)
        return row

    def place_alike(self, pods: Sequence[Pod], key: ClassKey) -> list[int]:
        """Put pods of one class on their best nodes, one after the other.

        Returns:
            The rows of the placed ones: the first of `pods`, all of them unless no node is feasible
            for a further one.
        """
        if key.host:
            return self._place_on_host(pods, key)
        first = self._first
        if first and key.holds is None:
            foreseen = self._rankings.foreseen(key, pods, self._epoch)
            if foreseen is not None:
                self.add_all(zip(pods, foreseen, strict=True))
                return foreseen
        rows: list[int] = []
        most = len(pods)
        while len(rows) < len(pods):
            left = pods[len(rows) : len(rows) + most]
            ranking = self.ranking(left[0], key)
            alike = key.holds is None and ranking.row_by_row()
            alike = alike and self.nodes.countable(left[0].spec)
            ahead = self._rankings.ahead(key) if first and alike and not rows else None
            if ahead is not None:
                found = rows_in_turn(ranking, self.nodes, max(len(left), AHEAD))
                if len(found) >= len(left):
                    found = ahead.tell(found, left, self._rankings.journal.end)
            elif alike and len(left) > 1:
                found = rows_in_turn(ranking, self.nodes, len(left))
            else:
                best = ranking.best()
                found = [] if best is None else [best]
            if not found:
                break
            self.add_all(zip(left, found, strict=False))
            rows += found
            # If each full node ends it early, requesting all remaining rows each time is quadratic.
            most = max(2, 2 * len(found))
        return rows

    def rows_among(
        self, pods: Sequence[Pod], key: ClassKey, among: npt.NDArray[np.intp]
    ) -> list[int]:
        """Return where pods of one class would go, one after the other, if these rows were all.

        Args:
            pods: of one class.
            key: the class.
            among: intp[R], ascending.

        Returns:
            The rows of the first of them; fewer than there are pods if not all fit, or if that is
            only known once some are placed.
        """
        ranking = self.ranking(pods[0], key)
        told = key.holds is None and not key.host and ranking.row_by_row()
        if not told or not self.nodes.countable(pods[0].spec):
            return []
        return rows_in_turn(ranking, self.nodes, len(pods), among)

    def _place_on_host(self, pods: Sequence[Pod], key: ClassKey) -> list[int]:
        rows: list[int] = []
        for pod in pods:
            row = self._place(pod, key)
            if row is None:
                break
            rows.append(row)
        return rows

    @property
    def _first(self) -> bool:
        """Whether nothing is placed yet, so that questions concern the cluster as it is."""
        kept = self._epoch is not None and not self._everywhere
        return kept and self._origin is not None and not self._log

    def add(self, pod: Pod, row: int) -> None:
        """Put a pod on a row, whatever its ranking says."""
        self._change(PlacedChange(pod, row))

    def add_all(self, seats: Iterable[tuple[Pod, int]]) -> None:
        """Put each pod on its row."""
        assert not self._forked, "its forks take it to be as it was"
        self._log += [PlacedChange(pod, row) for pod, row in seats]

    def stands(self, pod: Pod) -> bool:
        """Whether a pod that was put on a row got its volumes and devices there.

        A filter is asked about changed rows only; another row may have given a pod elsewhere what
        it had let this one have.
        """
        return not pod.spec.holds or ledgers_of(self.nodes).stands(pod)

    def remove(self, pod: Pod, row: int) -> None:
        """Take a pod off a row on which the snapshot counts it."""
        self._change(PlacedChange(pod, row, left=True))

    def remove_all(self, seats: Iterable[tuple[Pod, int]]) -> None:
        """Take pods off the rows on which the snapshot counts them."""
        assert not self._forked, "its forks take it to be as it was"
        self._log += [PlacedChange(pod, row, left=True) for pod, row in seats]

    def remove_from(self, pod: Pod, node: str) -> None:
        """Take a pod off the node on which the snapshot counts it, if that is there."""
        row = self.snapshot.nodes.row(node)
        if row is not None:
            self.remove(pod, row)

    def _change(self, change: PlacedChange) -> None:
        assert not self._forked, "its forks take it to be as it was"
        self._log.append(change)

    def diagnosis(self, pod: Pod) -> Diagnosis:
        """Return why no node is feasible for a pod, with what plugins say of its own claims."""
        ranking = self.ranking(pod)
        found = ranking.diagnosis(self.nodes)
        if ranking.refused is not None and ranking.pod is not pod and pod.spec.holds:
            # Unusable claims are of one class, but a refusal names the claim: ask about its own.
            own = Ranking(pod, self.profile, self.snapshot, self.nodes, self._log, scored=False)
            found = own.refused or found
        details = [
            _detail(plugin, pod, self.nodes)
            for plugin in self.profile.details
            if plugin.name in found.plugins
        ]
        detail = " ".join(filter(None, details))
        return replace(found, detail=clipped(detail, _LONGEST_DETAIL)) if detail else found

    def keep(self) -> None:
        """Hand the rankings back for the next decision; do not use this trial afterwards.

        Those of its origin too, where it has none of its own.
        """
        if self._epoch is None:
            return
        if self._origin is not None:
            self._origin.keep()
        if self._everywhere:  # its knowledge is for this decision alone
            return
        for key, entry in self._entries.items():
            self._give(key, entry.ranking, self._log[: entry.seen])


def _count_together(nodes: Nodes, changes: Sequence[PlacedChange]) -> None:
    """Count changes in a table; those of pods that hold something one after the other."""
    counts: dict[tuple[int, int], int] = {}
    specs: dict[int, PodSpec] = {}
    for pod, row, left in changes:
        spec = pod.spec
        if spec.holds:
            (nodes.remove if left else nodes.add)(row, pod)
            continue
        place = id(specs.setdefault(id(spec), spec)), row
        counts[place] = counts.get(place, 0) + (-1 if left else 1)
    for (spec_id, row), count in counts.items():
        nodes.place(row, specs[spec_id], count)


def _detail(plugin: Details, pod: Pod, nodes: Nodes) -> str:
    """Return what a plugin says of a pod's own claims, after a check of its type."""
    text = asked_unchecked(plugin.name, "Filter", plugin.detail, pod, nodes)
    if text is not None and not isinstance(text, str):
        got = shape_of(text)
        raise PluginError(plugin.name, "Filter", f"expected a text as detail, got {got}")
    return text or ""


def _agree(pod: Pod, other: Pod) -> bool:
    """Whether nothing but signatures could distinguish two pods."""
    return (
        pod.spec is other.spec
        and not pod.spec.holds
        and pod.labels == other.labels
        and pod.annotations == other.annotations
        and pod.key.namespace == other.key.namespace
    )
