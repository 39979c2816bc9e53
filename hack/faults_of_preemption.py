# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slips in preemption: who is protected, how long victims are waited for, what is begun anew."""

from typing import Final

from hack.faults_of_gangs import Fault

PREEMPTION: Final = (
    # ── who is protected ─────────────────────────────────────────────────────────────────────
    Fault(
        "protect-nobody",
        "free = self.lifted or unit.protected <= self._now",
        "free = True",
    ),
    Fault(
        "protect-by-creation",
        "began = self._began(pod.started, (pod,))\n        name, most",
        "began = pod.created\n        name, most",
    ),
    Fault(
        "protect-by-the-member-with-the-most-time",
        "return min(map(self._runtime, pods), default=self.min_runtime)",
        "return max(map(self._runtime, pods), default=self.min_runtime)",
    ),
    Fault(
        "evict-once-more-than-allowed",
        "return -math.inf if len(times) < most else times[len(times) - most] + _HOUR",
        "return -math.inf if len(times) <= most else times[len(times) - most] + _HOUR",
    ),
    Fault(
        "believe-a-checkpoint-to-come",
        "if at <= self._now + CLOCK_ERROR:",
        "if at < math.inf:",
    ),
    Fault(
        "break-groups-of-others",
        "return run.unmet() if run.group is not None else ()",
        "return run.unmet()",
    ),
    # ── how long victims are waited for ──────────────────────────────────────────────────────
    Fault(
        "wait-for-a-victim-without-its-grace-period",
        "end = turn.now + victim.pod.grace + eviction.patience",
        "end = turn.now + eviction.patience",
    ),
    Fault(
        "prefer-those-who-take-an-hour-to-leave",
        "            work = _SLOW_WORK",
        "            work = 0.0",
    ),
    Fault(
        "search-for-one-namespace-until-it-has-enough",
        "self._waiting[namespace] = self._waiting.pop(namespace)",
        "pass",
    ),
    Fault(
        "tell-who-leaves-by-himself",
        "if victim.stage is VictimStage.SENT:\n            eviction.left",
        "if True:\n            eviction.left",
    ),
    Fault(
        "wait-for-victims-on-lost-nodes",
        "and (not happening.node.ready or happening.action is Action.DELETE)",
        "and happening.action is Action.DELETE",
    ),
    Fault(
        "stop-a-gang-of-which-one-leaves",
        "and not (eviction.left or eviction.stopped):",
        "and not eviction.stopped:",
    ),
    Fault(
        "let-stay-who-was-told-again",
        "if eviction is None or not (eviction.stopped and uid in eviction.awaited):",
        "if eviction is None:",
    ),
    Fault(
        "reserve-nodes-again-that-nobody-leaves",
        "evictions.of(group) is None and some.left(state)",
        "evictions.of(group) is None and not some.pods",
    ),
    # ── what is begun anew ───────────────────────────────────────────────────────────────────
    Fault(
        "resume-a-broken-gang-as-a-whole-one",
        "self._finish(turn, run, self._groups.facts(run))",
        "pass",
    ),
    Fault(
        "leave-the-rest-of-a-gang-to-its-fate",
        "if not told.isdisjoint(pod.uid for pod in minimum):\n        return run.bound",
        "if not told.isdisjoint(pod.uid for pod in minimum):\n        return ()",
    ),
    Fault(
        "evict-for-ever-where-bindings-are-refused",
        "            self._setbacks.add(each.key, turn.now)\n            return",
        "            return",
    ),
    Fault(
        "reserve-nothing-after-a-refused-binding",
        "self._reserver.reserve_again(turn, facts, nodes, each)\n\n    def _resume",
        "del nodes\n\n    def _resume",
    ),
    Fault(
        "preempt-during-a-pause",
        "if until is not None:  # it would not be bound before",
        "if until is not None and until < 0:  # it would not be bound before",
    ),
    Fault(
        "search-moves-for-free",
        "        return self.steps + self._moved // _MOVED_A_STEP",
        "        return self.steps",
    ),
)
