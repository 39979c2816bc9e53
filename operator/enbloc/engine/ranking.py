# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ranking: mask and score of every node for one class of alike pods."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.framework.status import Diagnosis, Status
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot

T = TypeVar("T")


def asked(plugin: str, point: str, question: Callable[..., T], *arguments: Any) -> T:
    """Ask a plugin; whatever it raises becomes one PluginError."""
    try:
        return question(*arguments)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(plugin, point, f"{type(error).__name__}: {error}") from error


def _checked_mask(plugin: str, mask: object, count: int) -> Mask:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (count,):
        raise PluginError(plugin, "Filter", f"expected bool[{count}], got {_shape(mask)}")
    return mask


def _checked_scores(plugin: str, scores: object, count: int) -> decide.Scores:
    if (
        not isinstance(scores, np.ndarray)
        or scores.dtype not in (np.int64, np.float64)
        or scores.shape != (count,)
    ):
        raise PluginError(
            plugin, "Score", f"expected int64[{count}] or float64[{count}], got {_shape(scores)}"
        )
    if scores.dtype == np.float64 and not np.isfinite(scores).all():
        raise PluginError(plugin, "Score", "the scores contain NaN or infinity")
    return scores


def _shape(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__


@dataclass(slots=True)
class _Filter:
    name: str
    evaluator: decide.Filter

    def mask(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = asked(self.name, "Filter", self.evaluator.filter, pod, nodes)
        return _checked_mask(self.name, mask, len(nodes))


@dataclass(slots=True)
class _Score:
    name: str
    evaluator: decide.Score
    weight: int
    normalize: decide.Normalize | None
    raw: decide.Scores
    part: npt.NDArray[np.int64]

    def score(self, pod: Pod, nodes: Nodes) -> decide.Scores:
        scores = asked(self.name, "Score", self.evaluator.score, pod, nodes)
        return _checked_scores(self.name, scores, len(nodes))

    def weigh(self, mask: Mask) -> None:
        """Compute the weighted part from the raw scores, normalised over the feasible rows."""
        if self.normalize is None:
            self.part = self.bounded(self.raw, mask) * self.weight
            return
        feasible = asked(self.name, "NormalizeScore", self.normalize, self.raw[mask])
        self.part = np.zeros(len(mask), dtype=np.int64)
        self.part[mask] = self.bounded(_checked_scores(self.name, feasible, int(mask.sum())))
        self.part *= self.weight

    def bounded(self, scores: decide.Scores, mask: Mask | None = None) -> npt.NDArray[np.int64]:
        seen = scores if mask is None else scores[mask]
        if len(seen) and (seen.min() < 0 or seen.max() > decide.MAX_NODE_SCORE):
            wrong = seen[(seen < 0) | (seen > decide.MAX_NODE_SCORE)][0]
            raise PluginError(
                self.name,
                "Score",
                f"returns an invalid score {wrong}, it should in the range of "
                f"[0, {decide.MAX_NODE_SCORE}] after normalizing",
            )
        return scores.astype(np.int64, copy=False)


class Ranking:
    """Which nodes are feasible for one class of pods on a fork, and how good each is.

    Full answers are computed once; after a placement only the touched row is asked again for
    plugins that read NODE, nothing for those that read SPEC, everything for those that read
    CLUSTER.

    Raises:
        PluginError: a plugin raised or broke its contract.
    """

    def __init__(
        self,
        pod: Pod,
        profile: Profile,
        snapshot: Snapshot,
        fork: Nodes,
        log: Sequence[tuple[Pod, int]] = (),
    ) -> None:
        """Rank for the class of `pod` on `fork`; `log` lists what was placed on it already."""
        self._pod = pod
        self._nodes = fork
        self.refused: Diagnosis | None = None
        self._filters: list[_Filter] = []
        self._scores: list[_Score] = []
        if self._pre_filter(profile, snapshot):
            self._catch_up(self._filters, log)
            self._fixed = self._filtered(self._by(Reads.SPEC))
            self._mask = self._fixed & self._filtered(self._by(Reads.NODE, Reads.CLUSTER))
            if self._mask.any():
                self._pre_score(profile, snapshot, log)
            self._sum()

    # ── the class as a whole ─────────────────────────────────────────────────────────────────

    def _pre_filter(self, profile: Profile, snapshot: Snapshot) -> bool:
        for plugin in profile.filter:
            evaluator: object = plugin
            if decide.implements(plugin, decide.PreFilter):
                evaluator = asked(plugin.name, "PreFilter", plugin.pre_filter, self._pod, snapshot)
            if isinstance(evaluator, Status):
                self.refused = Diagnosis(
                    nodes=len(self._nodes),
                    plugins=frozenset({plugin.name}),
                    message=evaluator.message,
                )
                return False
            if evaluator is None:
                continue
            if not decide.implements(evaluator, decide.Filter):
                raise PluginError(
                    plugin.name, "PreFilter", f"{_shape(evaluator)} has no filter, reads and reason"
                )
            self._filters.append(_Filter(plugin.name, evaluator))
        return True

    def _catch_up(
        self, parts: Sequence["_Filter | _Score"], log: Sequence[tuple[Pod, int]]
    ) -> None:
        """Tell evaluators that were made from the snapshot what the fork holds beyond it."""
        for part in parts:
            if decide.implements(part.evaluator, decide.Placed):
                for pod, row in log:
                    asked(part.name, "Filter", part.evaluator.placed, pod, row)

    def _pre_score(
        self, profile: Profile, snapshot: Snapshot, log: Sequence[tuple[Pod, int]]
    ) -> None:
        for plugin in profile.score:
            scorer: object = plugin
            if decide.implements(plugin, decide.PreScore):
                scorer = asked(plugin.name, "PreScore", plugin.pre_score, self._pod, snapshot)
            if scorer is None:
                continue
            if not decide.implements(scorer, decide.Score):
                raise PluginError(plugin.name, "PreScore", f"{_shape(scorer)} has no score, reads")
            parts: tuple[object, ...] = (scorer, plugin)
            normalizers = (p for p in parts if decide.implements(p, decide.NormalizeScore))
            normalize = next((part.normalize for part in normalizers), None)
            empty = np.zeros(0, dtype=np.int64)
            score = _Score(plugin.name, scorer, profile.weight(plugin), normalize, empty, empty)
            self._catch_up([score], log)
            score.raw = score.score(self._pod, self._nodes)
            score.weigh(self._mask)
            self._scores.append(score)

    def _by(self, *reads: Reads) -> list[_Filter]:
        return [entry for entry in self._filters if entry.evaluator.reads in reads]

    def _filtered(self, filters: Sequence[_Filter]) -> Mask:
        mask = np.ones(len(self._nodes), dtype=bool)
        for entry in filters:
            mask &= entry.mask(self._pod, self._nodes)
        return mask

    def _sum(self) -> None:
        """Σ weight × score; −1 where not feasible, so that argmax needs no second array."""
        total = np.zeros(len(self._nodes), dtype=np.int64)
        for score in self._scores:
            total += score.part
        total[~self._mask] = -1
        self._total = total

    # ── one decision ─────────────────────────────────────────────────────────────────────────

    def best(self) -> int | None:
        """The feasible row with the highest score, the first of equals; None if there is none."""
        if self.refused is not None or not len(self._total):
            return None
        row = int(self._total.argmax())
        return row if self._total[row] >= 0 else None

    def placed(self, pod: Pod, row: int) -> None:
        """A member, of this class or another, was placed on a row of the fork."""
        if self.refused is not None:
            return
        whole = False
        parts: list[_Filter | _Score] = [*self._filters, *self._scores]
        for part in parts:
            if part.evaluator.reads is Reads.CLUSTER:
                whole = True
                self._catch_up([part], [(pod, row)])
        if whole:
            self._mask = self._fixed & self._filtered(self._by(Reads.NODE, Reads.CLUSTER))
            for score in self._scores:
                if score.evaluator.reads is not Reads.SPEC:
                    score.raw = score.score(self._pod, self._nodes)
                score.weigh(self._mask)
            self._sum()
        elif self._fixed[row]:
            self._refresh(row)

    def _refresh(self, row: int) -> None:
        one = self._nodes.take(slice(row, row + 1))
        feasible = all(entry.mask(self._pod, one)[0] for entry in self._by(Reads.NODE))
        changed = feasible != bool(self._mask[row])
        self._mask[row] = feasible
        alike = True
        for score in self._scores:
            moved = False
            if score.evaluator.reads is Reads.NODE and feasible:
                fresh = score.score(self._pod, one)
                moved = fresh[0] != score.raw[row]
                score.raw = _writable(score.raw)
                score.raw[row] = fresh[0]
            if score.normalize is not None and (changed or moved):
                score.weigh(self._mask)
                alike = False
            elif score.normalize is None and moved:
                score.part = _writable(score.part)
                score.part[row] = score.bounded(score.raw[row : row + 1])[0] * score.weight
        if not alike:
            self._sum()
        elif not feasible:
            self._total[row] = -1
        else:
            self._total[row] = sum(int(score.part[row]) for score in self._scores)

    def feasible(self, row: int) -> bool:
        """Whether this row is feasible now."""
        return self.refused is None and bool(self._mask[row])

    # ── why not ──────────────────────────────────────────────────────────────────────────────

    def diagnosis(self) -> Diagnosis:
        """Why no row is feasible: each node counts under the first plugin that refused it."""
        if self.refused is not None:
            return self.refused
        left = np.ones(len(self._nodes), dtype=bool)
        reasons: Counter[str] = Counter()
        plugins: set[str] = set()
        for entry in self._filters:
            refused = left & ~entry.mask(self._pod, self._nodes)
            if not refused.any():
                continue
            plugins.add(entry.name)
            left &= ~refused
            evaluator = entry.evaluator
            if decide.implements(evaluator, decide.Explain):
                reasons += asked(
                    entry.name, "Filter", evaluator.explain, self._pod, self._nodes, refused
                )
            else:
                reasons[evaluator.reason] += int(refused.sum())
        return Diagnosis(
            nodes=len(self._nodes),
            reasons=tuple(sorted(reasons.items())),
            plugins=frozenset(plugins),
        )


A = TypeVar("A", npt.NDArray[np.int64], decide.Scores)


def _writable(array: A) -> A:
    return array if array.flags.writeable else array.copy()
