# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trust: a column of how well each node treated its members lately, from 0 to 100.

A node begins with 100 and loses

* up to 60 for members that its kubelet refused: 60 · refused / (outcomes + 2), as if two more had
  been started, so that one refusal alone (20) is no verdict;
* up to 20 for being slow: 20 · (1 − 2t / s), where s is its own moving average of seconds from
  bound to running and t the lower median of all nodes, taken to be 2.5 s at least: nothing below
  twice the median or five seconds. Images differ more than nodes do, hence no more than 20;
* up to 20 for pods that other schedulers put there lately, which might put more before our
  Bindings arrive: 20 · n / (n + 1).

Evidence halves in whole steps, refusals and starts every half hour, strangers every five minutes:
exact in binary, so that a replay elsewhere decides the same. Time alone never makes a node look
worse.

Weight: 1. The default plugins weigh 14 together, so trust moves 100 of 1500 points: preferred
affinity (200) and taints (300) outweigh the worst record, and one more pod of 1 CPU on a node of
8 (6 points of NodeResourcesFit) outweighs a small one. Among equals one point decides.
"""

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.consulting import Verdict
from enbloc.engine.parts import Opinion
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import GroupFacts
from enbloc.model.nodes import Nodes

#: By this name its score is known.
TRUST: Final = "Trust"
WEIGHT: Final = 1

REFUSALS_HALVE: Final = 1800.0
STRANGERS_HALVE: Final = 300.0

_MOST_FOR_REFUSALS: Final = 60
_MOST_FOR_SLOWNESS: Final = 20
_MOST_FOR_STRANGERS: Final = 20
_PRIOR: Final = 2
_SHORTEST_START: Final = 2.5
#: The share of the newest start in the moving average.
_SHARE: Final = 0.25
#: So many starts lately are needed to call a node slow; the first one pulls the image.
_FEWEST_STARTS: Final = 2
#: Evidence below this is none.
_TRACE: Final = 1 / 16
#: More halvings than this leave nothing of any count.
_MOST_HALVINGS: Final = 60

# Lines of the table.
_REFUSED, _OUTCOMES, _SINCE, _SECONDS, _STRANGERS, _STRANGERS_SINCE = range(6)
#: In _SECONDS: no start was seen.
_UNKNOWN: Final = -1.0

Floats = npt.NDArray[np.float64]


class Trust:
    """What is remembered of each node: six numbers, as long as it exists and they weigh anything.

    Times are server seconds.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._slots: dict[str, int] = {}
        self._table: Floats = np.zeros((6, 16))

    def __len__(self) -> int:
        return len(self._names)

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def refused(self, node: str, now: float) -> None:
        """A kubelet refused a pod of ours."""
        slot = self._outcome(node, now)
        self._table[_REFUSED, slot] += 1

    def ran(self, node: str, seconds: float, now: float) -> None:
        """A pod of ours began to run, so many seconds after it was bound."""
        slot = self._outcome(node, now)
        mean = self._table[_SECONDS, slot]
        seconds = max(0.0, seconds)
        known = mean != _UNKNOWN
        self._table[_SECONDS, slot] = mean + (seconds - mean) * _SHARE if known else seconds

    def taken(self, node: str, now: float) -> None:
        """Another scheduler put a pod on this node."""
        slot = self._slot(node, now)
        self._fade(slot, (_STRANGERS,), _STRANGERS_SINCE, STRANGERS_HALVE, now)
        self._table[_STRANGERS, slot] += 1

    def forget(self, node: str) -> None:
        """A node is gone."""
        slot = self._slots.pop(node, None)
        if slot is None:
            return
        last = self._names.pop()
        if last != node:
            self._names[slot] = last
            self._slots[last] = slot
            self._table[:, slot] = self._table[:, len(self._names)]

    def _outcome(self, node: str, now: float) -> int:
        slot = self._slot(node, now)
        self._fade(slot, (_REFUSED, _OUTCOMES), _SINCE, REFUSALS_HALVE, now)
        self._table[_OUTCOMES, slot] += 1
        return slot

    def _fade(
        self, slot: int, lines: tuple[int, ...], since: int, halving: float, now: float
    ) -> None:
        """Bring counts up to now, before they grow."""
        column = self._table[:, slot]
        steps = int(_halvings(column[since], halving, now))
        column[list(lines)] = np.ldexp(column[list(lines)], -steps)
        column[since] = now if steps == _MOST_HALVINGS else column[since] + steps * halving

    def _slot(self, node: str, now: float) -> int:
        slot = self._slots.get(node)
        if slot is not None:
            return slot
        if len(self) == self._table.shape[1]:
            self._compact(now)
        slot = self._slots[node] = len(self)
        self._names.append(node)
        self._table[:, slot] = (0.0, 0.0, now, _UNKNOWN, 0.0, now)
        return slot

    def _compact(self, now: float) -> None:
        """Forget the nodes about which nothing is left to say; make room for as many again."""
        _, outcomes, strangers = self._counts(now)
        kept = np.flatnonzero(np.maximum(outcomes, strangers) >= _TRACE)
        table = np.zeros((6, max(16, 2 * kept.size)))
        table[:, : kept.size] = self._table[:, kept]
        self._names = [self._names[slot] for slot in kept]
        self._slots = {name: slot for slot, name in enumerate(self._names)}
        self._table = table

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def opinions(self, facts: GroupFacts, nodes: Nodes, now: float) -> list[Opinion]:
        """A score for gangs where trust tells nodes apart; nothing for pods without a group.

        It is for this very table, and does not change.
        """
        if facts.solo or not self._slots:
            return []
        lost = self._lost(now)
        scores = np.full(len(nodes), MAX_NODE_SCORE, np.int64)
        for slot in np.flatnonzero(lost):
            row = nodes.row(self._names[slot])
            if row is not None:
                scores[row] -= lost[slot]
        if (scores == scores[:1]).all():
            return []
        return [Opinion(TRUST, Verdict(np.ones(len(nodes), np.bool_), scores, {}), WEIGHT)]

    def score(self, node: str, now: float) -> int:
        """0 to 100, as `opinions` has it; an unknown node has 100."""
        slot = self._slots.get(node)
        if slot is None:
            return MAX_NODE_SCORE
        return MAX_NODE_SCORE - int(self._lost(now)[slot])

    def explain(self, node: str, now: float) -> str:
        """Why a node has less than 100, in one sentence without a full stop; "" = it has that.

        "n1: refused 2 of the last 30 members, takes 40s to start one against 3s elsewhere".
        """
        slot = self._slots.get(node)
        if slot is None or self.score(node, now) == MAX_NODE_SCORE:
            return ""
        refusals, slowness, strangers = (part[slot] for part in self._parts(now))
        refused, outcomes, taken = (math.ceil(count[slot]) for count in self._counts(now))
        said: list[str] = []
        if refusals:
            said.append(f"refused {refused} of the last {outcomes} members")
        if slowness:
            own, usual = self._table[_SECONDS, slot], self._usual_start()
            said.append(f"takes {own:.0f}s to start one against {usual:.0f}s elsewhere")
        if strangers:
            said.append(f"other schedulers put {taken} pods there lately")
        return f"{node}: {', '.join(said)}"

    def _counts(self, now: float) -> tuple[Floats, Floats, Floats]:
        """Refusals, outcomes and strangers of each slot, faded to now."""
        table = self._table[:, : len(self)]
        steps = _halvings(table[_SINCE], REFUSALS_HALVE, now)
        strangers = _halvings(table[_STRANGERS_SINCE], STRANGERS_HALVE, now)
        return (
            np.ldexp(table[_REFUSED], -steps),
            np.ldexp(table[_OUTCOMES], -steps),
            np.ldexp(table[_STRANGERS], -strangers),
        )

    def _lost(self, now: float) -> npt.NDArray[np.int64]:
        """What each slot has less than 100, in whole points, rounded down."""
        refusals, slowness, strangers = self._parts(now)
        return np.floor(refusals + slowness + strangers).astype(np.int64)

    def _parts(self, now: float) -> tuple[Floats, Floats, Floats]:
        """What each slot loses for refusals, slowness and strangers."""
        refused, outcomes, strangers = self._counts(now)
        own = self._table[_SECONDS, : len(self)]
        usual = 2 * max(self._usual_start(), _SHORTEST_START)
        slow = (own > usual) & (outcomes - refused >= _FEWEST_STARTS)
        return (
            _MOST_FOR_REFUSALS * refused / (outcomes + _PRIOR),
            np.where(slow, _MOST_FOR_SLOWNESS * (1 - usual / np.maximum(own, usual)), 0.0),
            _MOST_FOR_STRANGERS * strangers / (strangers + 1),
        )

    def _usual_start(self) -> float:
        """The lower median of all nodes' moving averages; 0 where there are none."""
        own = self._table[_SECONDS, : len(self)]
        known = own[own != _UNKNOWN]
        if not known.size:
            return 0.0
        middle = (known.size - 1) // 2
        return float(np.partition(known, middle)[middle])


def _halvings(since: Floats, halving: float, now: float) -> npt.NDArray[np.int64]:
    """How often counts have halved since then; time that runs backwards halves nothing."""
    steps = np.floor((now - since) / halving)
    return np.clip(steps, 0, _MOST_HALVINGS).astype(np.int64)
