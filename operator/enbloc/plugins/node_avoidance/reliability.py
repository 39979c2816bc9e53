# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeReliability: gangs prefer nodes that recently started their members well.

A node has 100 points and loses, with the default arguments,

* up to 60 for members that its kubelet refused: 60 · refused / (outcomes + 2), as if two more had
  been started, so that one refusal alone (20) does not decide;
* up to 20 for being slow: 20 · (1 − 2t / s), where s is its own moving average of seconds from
  bound to running and t the lower median of all nodes, taken to be 2.5 s at least: nothing below
  twice the median or five seconds. Images differ more than nodes do, hence no more than 20;
* up to 20 for pods that other schedulers recently placed there, which might place more before our
  Bindings arrive: 20 · n / (n + 1).

Evidence halves in whole steps, refusals and starts every half hour, pods of other schedulers every
five minutes: this is exact in binary, so that a replay elsewhere decides the same. Time alone never
lowers a node's score.

Weight: 1. The other default plugins weigh 14 together, so it moves 100 of 1500 points: preferred
affinity (200) and taints (300) outweigh the worst record, and one more pod of 1 CPU on a node of
8 (6 points of NodeResourcesFit) outweighs a small one. Among equals one point decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import GroupFacts
from enbloc.framework.observations import GroupGone, NodeChanged, Observation, PodChanged
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.plugins.node_avoidance.refusals import of_the_node, refusal

_PRIOR: Final = 2
_SHORTEST_START: Final = 2.5
#: The share of the newest start in the moving average.
_SHARE: Final = 0.25
#: How many recent starts are needed to call a node slow; the first one pulls the image.
_FEWEST_STARTS: Final = 2
#: Evidence below this counts as none.
_TRACE: Final = 1 / 16
#: More halvings than this reduce any count to nothing.
_MOST_HALVINGS: Final = 60

#: Owners whose pods do not count: every node has such pods.
_OF_EVERY_NODE: Final = frozenset({"DaemonSet", "Node"})

# Lines of the table.
_REFUSED, _OUTCOMES, _SINCE, _SECONDS, _OTHERS, _OTHERS_SINCE = range(6)
#: In _SECONDS: no start has been seen.
_UNKNOWN: Final = -1.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NodeReliability:
    """Scores nodes by how well they recently started members of gangs.

    Attributes:
        refusal_points: how many of the 100 points refusals may cost a node.
        refusal_half_life_seconds: how long until they, and starts, count half.
        slowness_points: how many points slow starts may cost it.
        other_scheduler_points: how many points pods of other schedulers may cost it.
        other_scheduler_half_life_seconds: how long until they count half.
    """

    name: ClassVar[str] = "NodeReliability"
    refusal_points: int = 60
    refusal_half_life_seconds: int = 1800
    slowness_points: int = 20
    other_scheduler_points: int = 20
    other_scheduler_half_life_seconds: int = 300

    def new_memory(self) -> "Reliability":
        """A memory that knows nothing of any node."""
        return Reliability(self)


class Reliability:
    """The memory of nodes: six numbers for each, as long as it exists and they count.

    Times are server seconds.
    """

    def __init__(self, arguments: NodeReliability) -> None:
        self._arguments = arguments
        self._names: list[str] = []
        self._slots: dict[str, int] = {}
        self._table: Floats = np.zeros((6, 16))

    def __len__(self) -> int:
        return len(self._names)

    # ── what happened ────────────────────────────────────────────────────────────────────────

    def observe(self, observation: Observation, now: float) -> tuple[()]:
        """Count what became of our pods, and what other schedulers placed."""
        match observation:
            case PodChanged(pod=pod, ours=False):
                if _newcomer(observation, now, self._arguments.other_scheduler_half_life_seconds):
                    self.count_other_scheduler(pod.node, now)
            case PodChanged(pod=pod):
                if _starts(observation) and pod.scheduled_at is not None:
                    self.count_start(pod.node, now - pod.scheduled_at, now)
                if of_the_node(refusal(observation)):
                    self.count_refusal(pod.node, now)
            case NodeChanged(name=name, node=None):
                self.forget(name)
            case NodeChanged() | GroupGone():
                pass
        return ()

    def count_refusal(self, node: str, now: float) -> None:
        """Record that a kubelet refused a pod of ours."""
        slot = self._outcome(node, now)
        self._table[_REFUSED, slot] += 1

    def count_start(self, node: str, seconds: float, now: float) -> None:
        """Record that a pod of ours began to run, `seconds` after it was bound."""
        slot = self._outcome(node, now)
        mean = self._table[_SECONDS, slot]
        seconds = max(0.0, seconds)
        known = mean != _UNKNOWN
        self._table[_SECONDS, slot] = mean + (seconds - mean) * _SHARE if known else seconds

    def count_other_scheduler(self, node: str, now: float) -> None:
        """Record that another scheduler placed a pod on this node."""
        slot = self._slot(node, now)
        half_life = self._arguments.other_scheduler_half_life_seconds
        self._fade(slot, (_OTHERS,), _OTHERS_SINCE, half_life, now)
        self._table[_OTHERS, slot] += 1

    def forget(self, node: str) -> None:
        """Forget a node that is gone."""
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
        half_life = self._arguments.refusal_half_life_seconds
        self._fade(slot, (_REFUSED, _OUTCOMES), _SINCE, half_life, now)
        self._table[_OUTCOMES, slot] += 1
        return slot

    def _fade(
        self, slot: int, lines: tuple[int, ...], since: int, half_life: float, now: float
    ) -> None:
        """Fade counts to now, before they grow."""
        column = self._table[:, slot]
        steps = int(_halvings(column[since], half_life, now))
        column[list(lines)] = np.ldexp(column[list(lines)], -steps)
        column[since] = now if steps == _MOST_HALVINGS else column[since] + steps * half_life

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
        """Forget the nodes without evidence, and make space for as many again."""
        _, outcomes, others = self._counts(now)
        kept = np.flatnonzero(np.maximum(outcomes, others) >= _TRACE)
        table = np.zeros((6, max(16, 2 * kept.size)))
        table[:, : kept.size] = self._table[:, kept]
        self._names = [self._names[slot] for slot in kept]
        self._slots = {name: slot for slot, name in enumerate(self._names)}
        self._table = table

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    def scores(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, int]:
        """The scores of the nodes that have less than 100, the same for every gang."""
        del facts, nodes
        if not self._names:
            return {}
        lost = self._lost(now)
        return {
            self._names[slot]: MAX_NODE_SCORE - int(lost[slot])
            for slot in np.flatnonzero(lost).tolist()
        }

    def _counts(self, now: float) -> tuple[Floats, Floats, Floats]:
        """Refusals, outcomes and pods of other schedulers of each slot, faded to now."""
        arguments, table = self._arguments, self._table[:, : len(self)]
        steps = _halvings(table[_SINCE], arguments.refusal_half_life_seconds, now)
        others = _halvings(table[_OTHERS_SINCE], arguments.other_scheduler_half_life_seconds, now)
        return (
            np.ldexp(table[_REFUSED], -steps),
            np.ldexp(table[_OUTCOMES], -steps),
            np.ldexp(table[_OTHERS], -others),
        )

    def _lost(self, now: float) -> npt.NDArray[np.int64]:
        """How many points each slot has less than 100, in whole points, rounded down."""
        arguments = self._arguments
        refused, outcomes, others = self._counts(now)
        own = self._table[_SECONDS, : len(self)]
        usual = 2 * max(self._usual_start(), _SHORTEST_START)
        slow = (own > usual) & (outcomes - refused >= _FEWEST_STARTS)
        slowness = np.where(slow, 1 - usual / np.maximum(own, usual), 0.0)
        points = (
            arguments.refusal_points * refused / (outcomes + _PRIOR)
            + arguments.slowness_points * slowness
            + arguments.other_scheduler_points * others / (others + 1)
        )
        return np.floor(points).astype(np.int64)

    def _usual_start(self) -> float:
        """The lower median of all nodes' moving averages; 0 if there are none."""
        own = self._table[_SECONDS, : len(self)]
        known = own[own != _UNKNOWN]
        if not known.size:
            return 0.0
        middle = (known.size - 1) // 2
        return float(np.partition(known, middle)[middle])


def _halvings(since: Floats, half_life: float, now: float) -> npt.NDArray[np.int64]:
    """How often counts have halved since then; 0 if time runs backwards."""
    steps = np.floor((now - since) / half_life)
    return np.clip(steps, 0, _MOST_HALVINGS).astype(np.int64)


def _starts(change: PodChanged) -> bool:
    """Whether a pod that was known began to run."""
    old: Pod | None = change.old
    return old is not None and change.pod.running and not (old.running or old.finished)


def _newcomer(change: PodChanged, now: float, lately: float) -> bool:
    """Whether a pod has just come to its node, rather than being listed there."""
    old, pod = change.old, change.pod
    if (old is not None and old.node) or pod.finished:
        return False
    if pod.owner is not None and pod.owner.kind in _OF_EVERY_NODE:
        return False
    return now - pod.bound_at < lately
