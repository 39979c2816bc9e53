# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slips in repair, reservations, the queue, rankings and placing."""

from typing import Final

from hack.faults_of_gangs import Fault

CAPACITY: Final = (
    # ── repair ───────────────────────────────────────────────────────────────────────────────
    Fault(
        "deadline-from-the-first-member-scheduled",
        "return max(times, default=since) + self.timeout(facts)",
        "return min(times, default=since) + self.timeout(facts)",
    ),
    Fault(
        "deadline-from-the-newest-member-needed",
        "times = [min((pod.created for pod in _needed(facts)), default=since)]",
        "times = [max((pod.created for pod in _needed(facts)), default=since)]",
    ),
    Fault(
        "deadline-of-the-default-always",
        "        own = facts.group.timeout if facts.group else 0\n"
        "        return float(own or self._default_timeout)",
        "        return float(self._default_timeout)",
    ),
    Fault(
        "evict-without-a-failed-plan",
        "if repair.failed\n            and repair.bound",
        "if repair.bound",
    ),
    Fault(
        "evict-the-earliest-that-is-due",
        "gang = self._gang(due[-1]) if due else None",
        "gang = self._gang(due[0]) if due else None",
    ),
    Fault(
        "evict-the-earlier-of-two",
        "if in_order and self._order.before(yielding, waiting):",
        "if in_order and self._order.before(waiting, yielding):",
    ),
    Fault(
        "evict-who-could-have-the-capacity-of-those-that-leave",
        "repair.lacks_capacity and bool(uids) and",
        "repair.lacks_capacity and not uids and",
    ),
    Fault(
        "forget-the-other-pairs-when-one-yields",
        "            if found is not None or self._pairs:\n",
        "            if found is not None:\n                self._pairs.clear()\n"
        "            if found is not None or self._pairs:\n",
    ),
    Fault(
        "ask-again-at-once-for-an-eviction-of-which-nothing-was-heard",
        "            if eviction.staying:\n",
        "            if False:\n",
    ),
    Fault(
        "evict-while-one-is-yet-to-be-planned",
        "        if not self._any_undecided:\n",
        "        if True:\n",
    ),
    Fault(
        "compare-only-who-failed-for-the-first-time",
        "repair.fresh |= first or repair.lacks_capacity",
        "repair.fresh |= first",
    ),
    Fault(
        "yield-to-one-that-a-server-refused",
        "            if not self._open[waiting].lacks_capacity:\n",
        "            if False:\n",
    ),
    Fault(
        "say-for-ever-that-both-wait",
        "                if repair.stuck_with == key:\n",
        "                if False:\n",
    ),
    Fault(
        "pause-after-the-first-release",
        "pause.after(releases.times - 1)",
        "pause.after(releases.times)",
    ),
    Fault(
        "pause-no-longer-than-the-last-time",
        "pause.after(releases.times - 1)",
        "pause.after(min(releases.times - 1, 1))",
    ),
    Fault(
        "pause-though-the-group-has-run",
        "if key in self._pauses and run.runs_whole(facts):",
        "if False:",
    ),
    Fault(
        "pause-though-the-spec-changed",
        "if releases.spec != _spec(facts) or not",
        "if not",
    ),
    Fault(
        "pause-inverts-the-order",
        "pause = None if item.called else self._pause(facts, turn.now)",
        "pause = self._pause(facts, turn.now)",
    ),
    Fault(
        "evict-bare-members",
        "if self.bare or not self.ours:",
        "if not self.ours:",
    ),
    Fault(
        "evict-what-is-to-be-kept",
        "if group is None or group.on_incomplete is OnIncomplete.KEEP:",
        "if group is None:",
    ),
    Fault(
        "evict-a-started-gang-that-is-to-be-repaired",
        "return group.on_incomplete is OnIncomplete.RESTART and self.facts.quorum",
        "return self.facts.quorum",
    ),
    Fault(
        "restart-before-the-replacements-exist",
        "return group.on_incomplete is OnIncomplete.RESTART and self.facts.quorum",
        "return group.on_incomplete is OnIncomplete.RESTART",
    ),
    Fault(
        "ask-a-budget-again-at-once",
        "return self.able and self.not_before <= now",
        "return self.able",
    ),
    Fault(
        "wait-for-ever-for-members-that-leave",
        "self._untils.put(eviction, eviction.until)",
        "self._untils.put(eviction, math.inf)",
    ),
    # ── reservations ─────────────────────────────────────────────────────────────────────────
    Fault(
        "reservation-to-groups-ordered-later",
        "if each.order < wanted.order and not each.shared_by(wanted):",
        "if each.order > wanted.order and not each.shared_by(wanted):",
    ),
    Fault(
        "reservation-held-against-its-own-owner",
        "            if each.shared_by(wanted):\n                for resource",
        "            if False:\n                for resource",
    ),
    Fault(
        "reservation-never-expires",
        "if p.open and self._end(g, p) <= turn.now]",
        "if p.open and self._end(g, p) < 0.0]",
    ),
    Fault(
        "reservation-prolonged-without-end",
        "if clock.ends <= now:",
        "if False:",
    ),
    Fault(
        "reservation-begun-anew-by-a-loss",
        "if clock is None or clock.run_name != terms.run_name:",
        "if clock is None or clock.since is None:",
    ),
    Fault(
        "reservation-begun-anew-by-a-restart",
        "since=min(_held_since(run), default=turn.now),",
        "since=turn.now,",
    ),
    Fault(
        "reservation-without-the-limit-of-its-namespace",
        "ReservedAmounts(_within(limits, amounts, subject) if limits else amounts)",
        "ReservedAmounts(amounts)",
    ),
    Fault(
        "reservation-not-prolonged-by-progress",
        "self.progress_at, self.open = now, True",
        "pass",
    ),
    Fault(
        "reservation-not-filled-by-what-is-held",
        "due=self.whole(run) - self._families.taken(run) - filled.held,",
        "due=self.whole(run) - filled.held,",
    ),
    Fault(
        "reservation-not-filled-by-its-owner-s-groups",
        "due=self.whole(run) - self._families.taken(run) - filled.held,",
        "due=self.whole(run) - self._families.taken(run),",
    ),
    Fault(
        "reservation-kept-by-a-group-that-ended",
        "if group is None or not admitted or over:\n            self._drop(turn, run)\n",
        "if group is None or not admitted or over:\n            pass\n",
    ),
    Fault(
        "reservation-on-cordoned-nodes",
        "nodes.ready & ~nodes.unschedulable",
        "nodes.ready",
    ),
    Fault(
        "reservation-without-its-capacity",
        "            if wanted.due[resource] > amount:\n                free",
        "            if wanted.due[resource] > 2 * amount:\n                free",
    ),
    # ── the queue, and who is woken ──────────────────────────────────────────────────────────
    Fault(
        "pause-never-grows",
        "return min(self.maximum, self.initial * 2.0 ** min(failures - 1, 31))",
        "return min(self.maximum, self.initial)",
    ),
    Fault(
        "miss-events-during-an-attempt",
        "if self._deciding:\n            self._events.extend(happened)",
        "if False:\n            self._events.extend(happened)",
    ),
    Fault(
        "wake-groups-that-wait-for-capacity-without-end",
        "release.number < group.counted",
        "True",
    ),
    Fault(
        "wake-nobody-at-a-gate",
        "for gated, index in ((False, self._waiting), (True, self._gated)):",
        "for gated, index in ((False, self._waiting),):",
    ),
    Fault(
        "call-up-who-is-behind",
        "passed >= MOST_PASSED or not entry.key < item.sort_key:",
        "passed >= MOST_PASSED or not entry.key > item.sort_key:",
    ),
    Fault(
        "no-turn-for-other-namespaces",
        "        self._active.failed(item.subqueue)\n",
        "",
    ),
    Fault(
        "place-out-of-turn-without-asking-who-is-before",
        "if not room or passed >= MOST_PASSED or not entry.key < item.sort_key:",
        "if True:",
    ),
    Fault(
        "count-those-called-up-over-placements",
        "self._called = self._in_vain = item.let_by = 0\n        item.deferred",
        "self._in_vain = item.let_by = 0\n        item.deferred",
    ),
    Fault(
        "decide-before-all-were-looked-at",
        "turn.behind |= len(turn.changed) > MOST_REVIEWS",
        "pass",
    ),
    Fault(
        "look-at-all-groups-at-once",
        "if left <= 0:\n                return\n        self._asking = None",
        "if False:\n                return\n        self._asking = None",
    ),
    Fault(
        "forget-what-was-not-remembered",
        "if first < 0:",
        "if False:",
    ),
    Fault(
        "forget-who-waits-when-nothing-happens",
        "self._timers.put(item.key, now + self._longest_wait)",
        "self._timers.put(item.key, float('inf'))",
    ),
    Fault(
        "no-pause-for-pods-without-a-group",
        "(item.solo or patient or item.hinted >= _MOST_HINTED)",
        "(patient or item.hinted >= _MOST_HINTED)",
    ),
    Fault(
        "hints-without-bound",
        "(item.solo or patient or item.hinted >= _MOST_HINTED)",
        "(item.solo or patient)",
    ),
    # ── kept rankings ────────────────────────────────────────────────────────────────────────
    Fault(
        "class-key-without-annotations",
        "            pod.annotations,\n            signatures(pod, profile),",
        "            (),\n            signatures(pod, profile),",
    ),
    Fault(
        "class-key-without-labels",
        "labels = telling(labels, self.selected.in_namespace(pod.key.namespace))",
        "labels = ()",
    ),
    Fault(
        "class-key-without-values",
        "key, value if (values := named[key]) is None or value in values else _OTHER",
        "key, _OTHER",
    ),
    Fault(
        "selectors-of-other-namespaces-tell-pods-apart",
        "for scope in {_EVERYWHERE, namespace}:",
        "for scope in self._named:",
    ),
    Fault(
        "one-namespace-takes-all-slots",
        "share = (3 * self.slots - sent) // 4",
        "share = self.slots",
    ),
    Fault(
        "class-key-without-the-namespace",
        "            pod.key.namespace,\n            self.number(pod.spec),",
        '            "",\n            self.number(pod.spec),',
    ),
    Fault(
        "ranking-not-caught-up",
        "if left and not ranking.catch_up(nodes, left):",
        "if left and not ranking.catch_up(nodes, left[:-1]):",
    ),
    Fault(
        "ranking-outlives-its-epoch",
        "        if self._stamp(epoch) != self._epoch:\n            self._forget()",
        "        if self._stamp(epoch) != self._epoch:",
    ),
    # ── placing ──────────────────────────────────────────────────────────────────────────────
    Fault(
        "surplus-for-a-group-held-in-part",
        "return PlacedFloor(facts, outcome, tried, None if facts.held_in_part else others)",
        "return PlacedFloor(facts, outcome, tried, others)",
    ),
    Fault(
        "shared-devices-by-their-first-node",
        "        if decide.implements(plugin, searching.GathersInSets):",
        "        if False:",
    ),
    Fault(
        "shared-devices-of-the-first-user",
        "        if len(expected) > 1:",
        "        if False:",
    ),
    Fault(
        "domains-by-upper-bounds-alone",
        "    if placement is None and searching.charge(2 * placing + filtering):",
        "    if False:",
    ),
    Fault(
        "all-members-around-a-shared-device",
        "        if kinds.all():",
        "        if True:",
    ),
)
