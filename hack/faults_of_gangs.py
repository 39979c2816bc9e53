# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Slips in what a gang is, in its order, and in how it is sent and held."""

from typing import Final, NamedTuple


class Fault(NamedTuple):
    """A slip in one line.

    Attributes:
        name: what goes wrong, in a few words.
        line: a part of a line, or of neighbours, that stands once in the engine.
        slip: what stands there instead.
    """

    name: str
    line: str
    slip: str


GANGS: Final = (
    # ── who counts ───────────────────────────────────────────────────────────────────────────
    Fault(
        "count-gated-members-as-pending",
        "elif not pod.gates:\n                    pending.append(pod)",
        "else:\n                    pending.append(pod)",
    ),
    Fault(
        "count-reserved-members-as-pending",
        "elif pod.uid not in assumed:\n",
        "else:\n",
    ),
    Fault(
        "count-strangers-members-as-pending",
        "if pod.scheduler not in ours:\n",
        "if False:\n",
    ),
    Fault(
        "forget-what-status-counts-as-succeeded",
        "if more := count_succeeded(seen, memory) - seen:",
        "if more := seen - seen:",
    ),
    Fault(
        "count-successes-of-an-earlier-run",
        "        self._forgotten = _NONE\n        self.done = _NO_SUCCESSES\n        #: Members",
        "        self._forgotten = _NONE\n"
        "        self.done = getattr(self, 'done', _NO_SUCCESSES)\n        #: Members",
    ),
    Fault(
        "keep-the-floor-of-an-earlier-run",
        "        self.scheduled = None\n        self.floor = RunFloor()\n",
        "        self.scheduled = None\n"
        "        self.floor = self.__dict__.get('floor', RunFloor())\n",
    ),
    # ── which run a member is of ────────────────────────────────────────────────────────────
    Fault(
        "runs-a-rerun-joins",
        "gathering = self.newest if self.newest.gathers else self._further()\n"
        "        return self._take_in",
        "gathering = self.newest\n        return self._take_in",
    ),
    Fault(
        "runs-a-rerun-joins-while-a-plan-is-open",
        "if self.scheduled is not None or self.committed or self.all_succeeded:",
        "if self.scheduled is not None or self.all_succeeded:",
    ),
    Fault(
        "runs-members-outside-the-plan-stay",
        "        if not leaving:\n            return []",
        "        if leaving or not leaving:\n            return []",
    ),
    Fault(
        "runs-a-companion-joins-at-once",
        "if now < each.latest + COMPANION_SECONDS:",
        "if now < each.latest:",
    ),
    Fault(
        "runs-a-companion-with-a-quorum-joins",
        "if attempt_of(each.owner) is not None or has_quorum(each.pods, self.group):",
        "if attempt_of(each.owner) is not None:",
    ),
    Fault(
        "runs-an-attempt-joins",
        "if attempt_of(each.owner) is not None or has_quorum(each.pods, self.group):",
        "if has_quorum(each.pods, self.group):",
    ),
    Fault(
        "runs-owners-with-a-quorum-gather",
        "elif has_quorum(each.pods, self.group) and not self._is_one(each.owner):",
        "elif False:",
    ),
    Fault(
        "runs-the-youngest-with-a-quorum-is-first",
        "*mixed(rest)], key=lambda each: each[0].since)",
        "*mixed(rest)], key=lambda each: each[0].since, reverse=True)",
    ),
    Fault(
        "runs-attempts-gather",
        "outdated = _outdated([each.owner for each in rest])",
        "outdated = frozenset[str]()",
    ),
    Fault(
        "runs-a-quorum-without-the-roles",
        "return group.reached(Counter(pod.role for pod in pods))",
        "return True",
    ),
    Fault(
        "tree-a-plan-of-too-few-children-is-sent",
        "return whole and not facts.problem",
        "return True",
    ),
    Fault(
        "tree-only-members-of-a-choice-count-in-a-proof",
        "of_choice(facts, roles, everybody=True)",
        "of_choice(facts, roles)",
    ),
    Fault(
        "tree-children-beyond-the-floor-are-not-searched-for",
        "share = steps // len(more)",
        "share = 0",
    ),
    Fault(
        "runs-an-old-attempt-is-placed",
        "superseded = not outdated.isdisjoint(run.owners)",
        "superseded = False",
    ),
    Fault(
        "runs-an-old-attempt-is-not-looked-at",
        "            changed.append(run)\n        run.superseded = superseded",
        "            pass\n        run.superseded = superseded",
    ),
    Fault(
        "runs-a-bare-pod-joins-the-dead",
        "if owner in run.owners and (owner != BARE or run.live):",
        "if owner in run.owners:",
    ),
    Fault(
        "runs-anybody-takes-the-place-of-who-succeeded",
        "if not pod.live and pod.phase is not Phase.SUCCEEDED:\n            run.lost.add",
        "if not pod.live:\n            run.lost.add",
    ),
    Fault(
        "runs-without-end",
        ">= MOST_RUNS",
        ">= 1000",
    ),
    Fault(
        "runs-crowded-are-placed",
        "run.crowded = number >= own",
        "run.crowded = False",
    ),
    Fault(
        "runs-executors-are-strangers",
        "            return self._owners[driver]",
        "            return driver",
    ),
    Fault(
        "runs-a-relaunched-gang-has-started",
        "self.started, self.captured, self.before = None, {}, succeeded",
        "self.captured, self.before = {}, succeeded",
    ),
    Fault(
        "runs-successes-before-a-relaunch-are-held",
        "self.done.latest)\n        self._forgotten = _NONE\n        self.done = _NO_SUCCESSES\n",
        "self.done.latest)\n",
    ),
    Fault(
        "runs-a-start-is-believed-of-whoever-is-there",
        "self.started = memory.started if believed else None",
        "self.started = memory.started",
    ),
    Fault(
        "runs-what-runs-in-part-has-started-at-a-restart",
        "elif not any(pod.binding_record for pod in bound):",
        "else:",
    ),
    # ── when a group has started ─────────────────────────────────────────────────────────────
    Fault(
        "start-a-group-that-lacks-members",
        "if run.started is None and not facts.deficit and run.runs_whole(facts):",
        "if run.started is None and not facts.deficit:",
    ),
    Fault(
        "run-whole-without-the-roles",
        "and all(running[f.role] + f.succeeded >= f.minimum for f in facts.roles)",
        "and True",
    ),
    Fault(
        "let-a-raised-minimum-count-after-the-start",
        "            minimum = min(minimum, self.captured.get(role, minimum))",
        "            pass",
    ),
    # ── order ────────────────────────────────────────────────────────────────────────────────
    Fault(
        "queue-time-of-the-oldest-member",
        "k = max(1, total.minimum - total.succeeded)",
        "k = 1",
    ),
    Fault(
        "queue-time-never-kept",
        "if k <= len(created) and complete:",
        "if k <= len(created) and complete and not live:",
    ),
    Fault(
        "priority-of-the-highest-member",
        "lowest = min((pod.priority for pod in self.live.values())",
        "lowest = max((pod.priority for pod in self.live.values())",
    ),
    Fault(
        "order-backwards",
        "return mine is not None and one != other and (its is None or mine < its)",
        "return mine is not None and one != other and (its is None or its < mine)",
    ),
    # ── sending ──────────────────────────────────────────────────────────────────────────────
    Fault(
        "no-last-look",
        "if open_plan.seen == seen:",
        "if seen is not None:",
    ),
    Fault(
        "bind-an-addition-without-what-was-written",
        "open_plan.seen = open_plan.seen._replace(facts=NOT_SEEN)",
        "pass",
    ),
    Fault(
        "runs-the-next-run-inherits-after-a-restart",
        "        if not _may_mix(run, each, group):\n            continue\n        if run.pods",
        "        if run.pods",
    ),
    Fault(
        "last-look-counts-the-plan-against-itself",
        "trial.remove(seat.pod, row)",
        "_ = seat.pod",
    ),
    Fault(
        "last-look-forgets-what-it-found-to-fit",
        "                trial.add(pod, row)\n        return failed",
        "                pass\n        return failed",
    ),
    Fault(
        "send-more-than-there-are-slots",
        "self.slots -= 1",
        "self.slots -= 0",
    ),
    Fault(
        "send-surplus-before-the-floor-is-bound",
        "if len(found) >= limit or not (assignment.needed or self.floor_confirmed):",
        "if len(found) >= limit:",
    ),
    Fault(
        "send-on-after-a-refusal",
        "if self.refusals and (self.doomed or counts[MemberStage.SENT]):",
        "if self.refusals and self.doomed:",
    ),
    Fault(
        "never-doomed",
        "return bool(self.refusals) and self._needed_total > 0 and self._sent == 0",
        "return False",
    ),
    Fault(
        "surplus-never-void",
        "return lost > 0 and lost + self._needed[MemberStage.CONFIRMED] == self._needed_total",
        "return False",
    ),
    Fault(
        "send-before-all-are-prepared",
        "if self._needed[MemberStage.RESERVED] or self._needed[MemberStage.PREPARING]:",
        "if self._needed[MemberStage.RESERVED]:",
    ),
    Fault(
        "believe-an-answer-before-the-watch",
        "self._move(open_plan, answer.uid, MemberStage.BOUND)",
        "self._move(open_plan, answer.uid, MemberStage.CONFIRMED)",
    ),
    Fault(
        "take-a-binding-elsewhere-for-ours",
        "same = assignment is not None and assignment.node == pod.node",
        "same = assignment is not None",
    ),
    Fault(
        "keep-the-capacity-of-a-refused-member",
        "turn.happened += self._state.forget(uid, open_plan.number)",
        "pass",
    ),
    Fault(
        "ranks-of-held-members-given-twice",
        "_free(facts.ranks)",
        "_free(())",
    ),
    Fault(
        "a-plan-outlives-a-raised-minimum",
        "if not open_plan.started and not open_plan.still_meets(facts, run.pods):",
        "if False:",
    ),
    Fault(
        "permit-waits-for-ever",
        "over = [name for name, wait in open_plan.waits.items() if wait.deadline <= now]",
        "over = list[str]()",
    ),
    # ── what is held ─────────────────────────────────────────────────────────────────────────
    Fault(
        "hold-no-capacity-of-the-lost",
        "if self._state.reserve(each, turn.now):",
        "if False:",
    ),
    Fault(
        "hold-more-than-the-deficit",
        "spare = [c for c in held if c.pod is not None and not lacking.take(c.pod.role)]",
        "spare = [c for c in held if c.pod is not None and lacking.take(c.pod.role) is None]",
    ),
    Fault(
        "hold-capacity-after-the-deadline",
        "if until <= turn.now or self._repair.releasing(facts.key):",
        "if self._repair.releasing(facts.key):",
    ),
    Fault(
        "held-capacity-binds-earlier-groups-too",
        "return self.holder is not None and order.before(self.holder, facts.key)",
        "return self.holder is not None",
    ),
    Fault(
        "foreign-nominations-count-for-nobody",
        "return self.pod is not None and self.pod.priority >= facts.priority",
        "return False",
    ),
    Fault(
        "foreign-nominations-of-lower-priority-count",
        "return self.pod is not None and self.pod.priority >= facts.priority",
        "return True",
    ),
    Fault(
        "foreign-nominations-never-lapse",
        "self.reservations.put(reservation._replace(end=now + NOMINATION_SECONDS))",
        "self.reservations.put(reservation._replace(end=math.inf))",
    ),
)
