# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ranking: mask and score of every node for one class of identical pods."""

from collections.abc import Collection, Sequence
from copy import copy
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.engine.trial import refusals
from enbloc.engine.trial.evaluators import evaluators_of, of_claims, same, scorers_of
from enbloc.engine.trial.extremes import Extremes, Turned, turned_between
from enbloc.engine.trial.opinions import Opinion
from enbloc.engine.trial.parts import (
    FilterPart,
    PlacedChange,
    ScorePart,
    Scorer,
    forked,
    hears,
    rows_of,
)
from enbloc.engine.trial.plugin_calls import asked, asked_mask, checked_scores
from enbloc.engine.trial.refusals import Outside
from enbloc.engine.trial.slots import Slots
from enbloc.engine.trial.totals import Numbers, Totals
from enbloc.framework import decide
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.framework.status import Code, Diagnosis, Status
from enbloc.model.nodes import Mask, Nodes, Rows
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot


class Ranking:
    """Which nodes are feasible for one class of pods, and how good each is.

    Full answers are computed once. After pods have come or gone, plugins that read NODE are asked
    again for the touched rows only, those that read SPEC not at all, and those that read CLUSTER
    for all rows if they say that it made a difference.

    Attributes:
        pod: stands for its class.
        refused: why PreFilter refused the whole class; None = it did not.

    Raises:
        PluginError: a plugin raised or broke its contract.
    """

    __slots__ = (
        "_consulted",
        "_extremes",
        "_filters",
        "_fixed",
        "_listeners",
        "_mask",
        "_moving",
        "_outside",
        "_scored",
        "_scores",
        "_slots",
        "_sums",
        "_to_score",
        "_total",
        "pod",
        "refused",
    )

    def __init__(
        self,
        pod: Pod,
        profile: Profile,
        snapshot: Snapshot,
        nodes: Nodes | None = None,
        changes: Sequence[PlacedChange] = (),
        *,
        scored: bool = True,
    ) -> None:
        """Rank for the class of `pod`.

        Args:
            pod: any pod of the class.
            profile: its plugins are asked.
            snapshot: what the plugins see at PreFilter and PreScore.
            nodes: the present node table; None = the snapshot's.
            changes: what it holds beyond the snapshot.
            scored: False = only feasibility is requested, ever.
        """
        nodes = snapshot.nodes if nodes is None else nodes
        self.pod = pod
        self.refused: Diagnosis | None = None
        self._filters: list[FilterPart] = []
        self._consulted = 0
        self._scores: list[ScorePart] = []
        self._outside: Outside | None = None
        self._scored, self._to_score = False, scored
        self._moving: list[FilterPart] = []
        self._listeners: dict[int, tuple[str, object]] = {}
        self._mask: Mask = np.zeros(len(nodes), np.bool_)
        self._fixed = self._mask
        # Σ weight × score of every row; then the same with −1 where it is not feasible.
        self._sums: npt.NDArray[np.int64] = np.zeros(len(nodes), np.int64)
        self._total = Totals(np.full(len(nodes), -1, np.int64))
        self._extremes: Extremes | None = None
        #: None until requested, and after masks were requested again.
        self._slots: Slots | None = None
        evaluators = self._pre_filter(profile, snapshot)
        if evaluators is None:
            return
        for name, evaluator in evaluators:
            self._listen(name, evaluator, changes)
            mask = asked_mask(name, evaluator, pod, nodes)
            self._filters.append(FilterPart(name, evaluator, _writable(mask)))
        self._join()
        if scored and np.count_nonzero(self._mask):
            self._pre_score(profile, snapshot, nodes, changes)
            self._sum()

    # ── the class as a whole ─────────────────────────────────────────────────────────────────

    def _pre_filter(
        self, profile: Profile, snapshot: Snapshot
    ) -> list[tuple[str, decide.Filter]] | None:
        """Ask PreFilter; return the evaluators in Filter's order; None = refused."""
        found: dict[str, object] = {}
        sets: dict[str, frozenset[str]] = {}
        for plugin in profile.pre_filter:
            answer = asked(plugin.name, "PreFilter", plugin.pre_filter, self.pod, snapshot)
            if isinstance(answer, Status):
                self.refused = refusals.by_status(plugin.name, answer, len(snapshot.nodes))
                if answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    return None
                continue
            if isinstance(answer, decide.NodeSet):
                sets[plugin.name] = asked(plugin.name, "PreFilter", frozenset, answer.names)
                answer = answer.then
                if not frozenset.intersection(*sets.values()):
                    self.refused = refusals.by_sets(sorted(sets), len(snapshot.nodes))
                    return None
            found[plugin.name] = answer
        if self.refused is not None:
            return None
        if sets:
            names = frozenset.intersection(*sets.values())
            self._outside = Outside(~snapshot.nodes.named(tuple(names)), tuple(sorted(sets)))
        return evaluators_of(profile.filter, found)

    def _pre_score(
        self, profile: Profile, snapshot: Snapshot, nodes: Nodes, changes: Sequence[PlacedChange]
    ) -> None:
        self._scored = True
        found: dict[str, object] = {
            plugin.name: asked(plugin.name, "PreScore", plugin.pre_score, self.pod, snapshot)
            for plugin in profile.pre_score
        }
        for plugin, scorer in scorers_of(profile.score, found):
            self._listen(plugin.name, scorer, changes)
            parts: tuple[object, ...] = (scorer, plugin)
            normalizers = (p for p in parts if decide.implements(p, decide.NormalizeScore))
            normalizer, weight = next(normalizers, None), profile.weight(plugin)
            self._add_score(plugin.name, scorer, weight, normalizer, nodes).weigh(self._mask)

    def _add_score(
        self,
        name: str,
        scorer: Scorer,
        weight: int,
        normalizer: decide.NormalizeScore | None,
        nodes: Nodes,
    ) -> ScorePart:
        empty = np.zeros(0, dtype=np.int64)
        score = ScorePart(name, scorer, weight, normalizer, empty, empty)
        score.raw = score.ask(self.pod, nodes, self._mask)
        self._scores.append(score)
        return score

    def _listen(
        self, plugin: str, evaluator: decide.Filter | Scorer, changes: Sequence[PlacedChange]
    ) -> None:
        """Tell an evaluator, once, what came and left since the snapshot; more will follow."""
        if evaluator.reads is Reads.CLUSTER and id(evaluator) not in self._listeners:
            self._listeners[id(evaluator)] = (plugin, evaluator)
            hears(plugin, evaluator, changes)

    def consult(self, opinions: Sequence[Opinion], nodes: Nodes) -> None:
        """Add what extenders or plugins that learn said of this class."""
        if not opinions:
            return
        for name, view, _ in opinions:
            mask = asked_mask(name, view, self.pod, nodes)
            self._filters.append(FilterPart(name, view, _writable(mask)))
        self._consulted += len(opinions)
        self._slots = None
        self._join()
        if not self._scored:
            return
        for name, view, weight in opinions:
            self._add_score(name, view, weight, None, nodes)
        for score in self._scores:
            if score.among:
                score.raw = score.ask(self.pod, nodes, self._mask)
            score.weigh(self._mask)
        self._extremes = None
        self._sum()

    def fork(self) -> "Ranking | None":
        """Return a copy for further changes; None = an evaluator that hears of pods cannot fork."""
        forks: dict[int, Any] = {}
        listeners: dict[int, tuple[str, object]] = {}
        for plugin, evaluator in self._listeners.values():
            fork: object = evaluator
            if decide.implements(evaluator, decide.TracksPods):
                if not decide.implements(evaluator, decide.Forks):
                    return None
                fork = forks[id(evaluator)] = forked(plugin, evaluator)
            listeners[id(fork)] = (plugin, fork)
        made: Ranking = copy(self)
        made._slots = None
        made._filters = [part.fork(forks) for part in self._filters]
        made._moving = [e for e in made._filters if e.evaluator.reads is not Reads.SPEC]
        made._scores = [part.fork(forks) for part in self._scores]
        made._listeners = listeners
        made._mask, made._total = self._mask.copy(), self._total.fork()
        made._sums = self._sums.copy()
        made._extremes = self._extremes and self._extremes.copy(made._scores)
        return made

    # ── updates ──────────────────────────────────────────────────────────────────────────────

    def catch_up(
        self,
        nodes: Nodes,
        changes: Sequence[PlacedChange],
        others: Collection[int] = (),
        renewed: Collection[int] = (),
    ) -> bool:
        """Apply that pods came and left.

        Args:
            nodes: the present table.
            changes: which pods came and left.
            others: rows on which something else has changed.
            renewed: evaluators, by id, that have not been asked yet.

        Returns:
            False if that is impossible: the ranking must be rebuilt.
        """
        if self.refused is not None:
            return not changes
        moved = self._take_in(changes).union(renewed)
        rows = rows_of(changes, others)
        part = nodes.take(rows)
        whole = False
        for entry in self._filters:
            if id(entry.evaluator) in moved:
                mask = asked_mask(entry.name, entry.evaluator, self.pod, nodes)
                entry.mask = _writable(mask)
                whole = True
            elif entry.evaluator.reads is Reads.NODE:
                entry.mask[rows] = asked_mask(entry.name, entry.evaluator, self.pod, part)
        if whole:
            before, self._slots = self._mask, None
            self._join()
            turned = turned_between(slice(0, len(before)), before, self._mask)
        else:
            before = self._mask[rows].copy()
            self._join_rows(rows)
            turned = turned_between(rows, before, self._mask[rows])
            if self._slots is not None:
                self._slots.put(rows, part, self.narrowed(rows))
        if not self._scored:
            return not self._to_score or not np.count_nonzero(self._mask)
        self._rescore(nodes, part, rows, moved, turned)
        return True

    def _take_in(self, changes: Sequence[PlacedChange]) -> set[int]:
        """Return the evaluators, by id, whose whole answer may have changed."""
        return {
            id(evaluator)
            for name, evaluator in self._listeners.values()
            if hears(name, evaluator, changes)
        }

    def renew(
        self,
        pod: Pod,
        profile: Profile,
        snapshot: Snapshot,
        changes: Sequence[PlacedChange],
        others: Collection[int],
    ) -> bool:
        """Represent another pod of the class, whose claims differ, and apply changes.

        Args:
            pod: its claims are equivalent to those of `self.pod`.
            profile: its plugins are asked.
            snapshot: the cluster as it is.
            changes: which pods came and left since this was up to date.
            others: rows on which something else has changed.

        Returns:
            False if that is impossible: the ranking must be rebuilt.
        """
        if self.refused is not None:
            return False
        self._slots = None
        parts: list[Any] = [e for e in self._filters if e.name in profile.reads_claims]
        parts += [each for each in self._scores if each.name in profile.reads_claims]
        fresh = of_claims(pod, profile, snapshot, scored=self._scored)
        if fresh is None or [name for name, _ in fresh] != [part.name for part in parts]:
            return False
        self.pod = pod
        unasked: dict[int, tuple[str, Any]] = {}
        for part, (name, evaluator) in zip(parts, fresh, strict=True):
            before = part.evaluator
            self._listeners.pop(id(before), None)
            lasting = evaluator.reads is before.reads is not Reads.CLUSTER
            if not lasting or not asked(name, "PreFilter", same, evaluator, before):
                unasked[id(evaluator)] = name, evaluator
            part.replace(evaluator)
        if not self.catch_up(snapshot.nodes, changes, others, unasked):
            return False
        for name, evaluator in unasked.values():
            self._listen(name, evaluator, ())
        return True

    def _rescore(
        self,
        nodes: Nodes,
        part: Nodes,
        rows: Rows,
        moved: set[int],
        turned: Turned | None,
    ) -> None:
        """Ask again for what may have changed."""
        fresh: list[bool] = []
        for score in self._scores:
            anew = False
            if id(score.evaluator) in moved or (score.among and turned is not None):
                score.raw, anew = score.ask(self.pod, nodes, self._mask), True
            elif score.evaluator.reads is Reads.NODE and not score.among:
                anew = self._rescore_rows(score, part, rows)
            fresh.append(anew)
        if any(fresh):
            self._extremes = None
        elif turned is None or self._follow(turned):
            self._retotal(rows)
            return
        for score, anew in zip(self._scores, fresh, strict=True):
            if anew or (turned is not None and score.normalizer is not None):
                score.weigh(self._mask)
        if turned is not None:  # more rows may turn
            self._extremes = Extremes(self._scores, self._mask)
        self._sum()

    def _follow(self, turned: Turned) -> bool:
        """Apply turned rows if no scores of others change; return whether that was possible.

        It uses the unchanged raw scores.
        """
        extremes = self._extremes
        if extremes is None or extremes.move(*turned):
            return False
        gained = np.array(turned.gained, np.intp)
        for score, ends in extremes.of(self._scores) if turned.gained else ():
            self._sums[gained] += score.weigh_rows(gained, ends)
        self._retotal(np.array([*turned.gained, *turned.lost], np.intp))
        return True

    def _retotal(self, rows: Rows) -> None:
        self._total.put(rows, np.where(self._mask[rows], self._sums[rows], -1))

    def _rescore_rows(self, score: ScorePart, part: Nodes, rows: Rows) -> bool:
        """Ask for some rows only; True = that makes the other rows' final scores stale."""
        feasible = self._mask[rows]
        values = score.ask(self.pod, part, feasible)
        if score.normalizer is not None and (score.raw[rows] == values).all():
            return False
        score.raw = _writable(score.raw)
        score.raw[rows] = values
        if score.normalizer is not None:
            return True
        score.part = _writable(score.part)
        weighted = score.bounded(values, feasible) * score.weight
        self._sums[rows] += weighted - score.part[rows]
        score.part[rows] = weighted
        return False

    def _join(self) -> None:
        """Join all masks; those that only change with nodes are joined separately."""
        fixed = np.ones(len(self._mask), np.bool_)
        if self._outside is not None:
            fixed &= ~self._outside.mask
        for entry in self._filters:
            if entry.evaluator.reads is Reads.SPEC:
                fixed &= entry.mask
        self._moving = [e for e in self._filters if e.evaluator.reads is not Reads.SPEC]
        self._fixed = fixed
        mask = fixed.copy()
        for entry in self._moving:
            mask &= entry.mask
        self._mask = mask

    def _join_rows(self, rows: Rows) -> None:
        """Join the masks on some rows."""
        mask = self._fixed[rows].copy()
        for entry in self._moving:
            mask &= entry.mask[rows]
        self._mask[rows] = mask

    def _sum(self) -> None:
        """Sum up again; −1 where not feasible, so that argmax needs no second array."""
        total = np.zeros(len(self._mask), dtype=np.int64)
        for score in self._scores:
            total += score.part
        self._sums = total
        self._total = Totals(np.where(self._mask, total, -1))

    # ── one decision ─────────────────────────────────────────────────────────────────────────

    def best(self) -> int | None:
        """Return the feasible row with the highest score, the first of equals; None if none."""
        return None if self.refused is not None else self._total.best()

    def first(self, count: int, among: Numbers | None = None) -> Numbers:
        """Return intp[≤ count]: the feasible rows with the highest scores, in `best` order."""
        return self._total.first(count, among)

    def feasible(self, row: int) -> bool:
        """Whether this row is feasible now."""
        return self.refused is None and bool(self._mask[row])

    def row_by_row(self) -> bool:
        """Whether a pod of the class on a row affects what others say of that row only.

        This covers verdicts and raw scores; normalised scores only as `Extremes` says.
        """
        if self.refused is not None or not self._scored or not self.independent((self.pod,)):
            return False
        return not any(
            score.among or (score.evaluator.reads is Reads.NODE and score.normalizer is not None)
            for score in self._scores
        )

    def with_more(
        self, nodes: Nodes, rows: npt.NDArray[np.intp], more: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return int64[R]: the totals of some rows if each had so many further pods of the class.

        For a ranking that is `row_by_row`, while no extreme of a normalised score is lost.

        Args:
            nodes: the table that this is up to date with.
            rows: intp[R], each as often as there are questions about it.
            more: int64[R], from 1 on.
        """
        part = nodes.with_more(rows, self.pod.spec, more)
        mask, totals = self._fixed[rows], self._sums[rows]
        for entry in self._moving:
            own = entry.evaluator.reads is Reads.NODE
            if own:
                mask &= asked_mask(entry.name, entry.evaluator, self.pod, part)
            else:
                mask &= entry.mask[rows]
        for score in self._scores:
            if score.evaluator.reads is Reads.NODE:
                values = score.bounded(score.ask(self.pod, part, mask), mask)
                totals += values * score.weight - score.part[rows]
        totals[~mask] = -1
        return totals

    def extremes(self) -> Extremes:
        """Return which rows may be lost before scores must be normalised again."""
        if self._extremes is None:
            self._extremes = Extremes(self._scores, self._mask)
        return self._extremes.copy(self._scores)

    @property
    def mask(self) -> Mask:
        """bool[N]: the feasible rows."""
        return self._mask

    @property
    def totals(self) -> npt.NDArray[np.int64]:
        """int64[N]: the sum of weighted scores; −1 where not feasible."""
        return self._total.values

    def narrowed(self, rows: Rows = slice(None)) -> Mask:
        """Return bool[N]: False = the row stays refused whichever pods come; or for some rows."""
        if self.refused is not None:
            return np.zeros_like(self._mask[rows])
        mask = self._fixed[rows].copy()
        for entry in self._moving:
            evaluator = entry.evaluator
            if decide.implements(evaluator, decide.Narrows) and evaluator.narrows:
                mask &= entry.mask[rows]
        return mask

    def slots(self, nodes: Nodes, requests: tuple[tuple[str, int], ...]) -> Slots | None:
        """Return how many further pods of the class fit on each row; None = plugins must be asked.

        Args:
            nodes: the table that this is up to date with.
            requests: what such a pod takes of its node.
        """
        if self.refused is not None or any(
            decide.implements(entry.evaluator, decide.Limits) for entry in self._filters
        ):
            return None
        if self._slots is None or self._slots.requests != requests:
            self._slots = Slots(requests, nodes, self.narrowed())
        return self._slots

    def lasting(self) -> Mask:
        """Return bool[N]: False = the row stays refused whichever pods come or leave.

        It considers what the profile's own filters read in node objects. All True if PreFilter
        refused the class, which it may not do under another load.
        """
        if self.refused is not None:
            return np.ones_like(self._mask)
        mask = np.ones_like(self._mask)
        if self._outside is not None:
            mask &= ~self._outside.mask
        for entry in self._filters[: len(self._filters) - self._consulted]:
            if entry.evaluator.reads is Reads.SPEC:
                mask &= entry.mask
        return mask

    def most(
        self, nodes: Nodes, count: npt.NDArray[np.int64], *, ever: bool
    ) -> npt.NDArray[np.int64]:
        """Return int64[N]: how many pods of the class each row takes, at most `count` (int64[N]).

        It considers the filters' declared limits, not whether they accept a pod there.
        """
        for entry in self._filters:
            evaluator = entry.evaluator
            if decide.implements(evaluator, decide.Limits):
                ask = partial(evaluator.most, ever=ever)
                found = asked(entry.name, "Filter", ask, self.pod, nodes)
                scores = checked_scores(entry.name, found, len(nodes), "Filter")
                count = np.minimum(count, scores.astype(np.int64))
        return count

    def same_on_any_host(self, profile: Profile) -> bool:
        """Whether a pod that also names a host gets the same answer for the rows of that host.

        That is if plugins declare it, and what else is said applies to every class.
        """
        if self.refused is not None:
            return False
        names = {plugin.name for plugin in profile.pre_filter}
        names |= {each.name for each in self._filters[: len(self._filters) - self._consulted]}
        return names <= profile.same_on_any_host

    # ── diagnosis ────────────────────────────────────────────────────────────────────────────

    def independent(self, pods: Sequence[Pod]) -> bool:
        """Whether each of these pods, as it comes or leaves, affects its own row alone."""
        for name, evaluator in self._listeners.values():
            if not decide.implements(evaluator, decide.Ignores):
                return False
            if not asked(name, "Filter", all, map(evaluator.ignores, pods)):
                return False
        return True

    def resolvable(self, nodes: Nodes) -> Mask:
        """Return bool[N]: refused rows whose first refusal could end if pods left.

        No row if PreFilter refuses the class as a whole.
        """
        if self.refused is not None:
            return np.zeros(len(nodes), np.bool_)
        return refusals.resolvable(self.pod, self._filters, self._outside, nodes)

    def diagnosis(self, nodes: Nodes, among: Mask | None = None) -> Diagnosis:
        """Return why no row is feasible: each node counts under the first plugin that refused it.

        Args:
            nodes: the table that this is up to date with.
            among: bool[N], count these only; None = all.
        """
        if self.refused is not None:
            return self.refused
        among = np.ones(len(nodes), np.bool_) if among is None else among
        return refusals.diagnosis(self.pod, self._filters, self._outside, nodes, among)


A = TypeVar("A", npt.NDArray[np.int64], decide.Scores, Mask)


def _writable(array: A) -> A:
    return array if array.flags.writeable and array.base is None else array.copy()
