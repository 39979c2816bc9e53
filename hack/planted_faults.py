# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plant one fault after the other in a copy of the engine, and see which of them the tests notice.

A test that cannot fail is none. Each fault is a slip that somebody could make in one line, where a
mistake would matter. It is found by the line itself, for modules move. Whoever rewrites that line
rewrites the fault: one whose line is not found once is an error. A fault that nothing notices is a
test that is missing.

    hack/planted_faults.py                        # all of them: hours
    hack/planted_faults.py --list
    hack/planted_faults.py deadline- reservation- # those whose names begin so
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
#: Where faults are planted.
ENGINE: Final = Path("operator/enbloc/engine")
#: What the tests need.
COPIED: Final = ("operator", "tests", "docs", "crds", "hack", "pyproject.toml")
#: The cheapest first: the first failure ends a run.
SUITES: Final = ("tests/rules", "tests/engine", "tests/laws")
#: Seconds after which a test hangs; a fault that makes one hang is noticed.
HANG: Final = 600


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


FAULTS: Final = (
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
        "more = count_succeeded(seen, memory) - seen",
        "more = seen - seen",
    ),
    Fault(
        "count-successes-of-an-earlier-life",
        "        self._forgotten = _NONE\n        self.done = _NO_SUCCESSES\n        self._counted",
        "        self._forgotten = _NONE\n"
        "        self.done = getattr(self, 'done', _NO_SUCCESSES)\n        self._counted",
    ),
    Fault(
        "keep-the-floor-of-an-earlier-life",
        "        self.captured: dict[str, int] = {}\n",
        "        self.captured: dict[str, int] = getattr(self, 'captured', {})\n",
    ),
    # ── which life a member is of ────────────────────────────────────────────────────────────
    Fault(
        "lives-a-rerun-joins",
        "gathering = self.newest if self.newest.gathers else self._further()\n"
        "        return self._take_in",
        "gathering = self.newest\n        return self._take_in",
    ),
    Fault(
        "lives-a-rerun-joins-while-a-plan-is-open",
        "if self.scheduled is not None or self.committed or self.all_succeeded:",
        "if self.scheduled is not None or self.all_succeeded:",
    ),
    Fault(
        "lives-members-outside-the-plan-stay",
        "        if not leaving:\n            return []",
        "        if leaving or not leaving:\n            return []",
    ),
    Fault(
        "lives-a-companion-joins-at-once",
        "if now < each.latest + COMPANION_SECONDS:",
        "if now < each.latest:",
    ),
    Fault(
        "lives-a-companion-with-a-quorum-joins",
        "if attempt_of(each.identity) is not None or has_quorum(each, self.group):",
        "if attempt_of(each.identity) is not None:",
    ),
    Fault(
        "lives-an-attempt-joins",
        "if attempt_of(each.identity) is not None or has_quorum(each, self.group):",
        "if has_quorum(each, self.group):",
    ),
    Fault(
        "lives-identities-with-a-quorum-gather",
        "elif has_quorum(each, self.group) and not self._is_one(each.identity):",
        "elif False:",
    ),
    Fault(
        "lives-the-youngest-with-a-quorum-is-first",
        "*mixed(rest)], key=lambda each: each[0].since)",
        "*mixed(rest)], key=lambda each: each[0].since, reverse=True)",
    ),
    Fault(
        "lives-attempts-gather",
        "if named is not None and named[1] < newest[named[0]]:",
        "if False:",
    ),
    Fault(
        "lives-a-quorum-without-the-roles",
        "return all(of_role[role] >= least for role, least in group.minimums())",
        "return True",
    ),
    Fault(
        "lives-an-old-attempt-is-placed",
        "superseded = any(attempt < newest[jobset] for jobset, attempt in attempts)",
        "superseded = False and bool(newest) and bool(attempts)",
    ),
    Fault(
        "lives-an-old-attempt-is-not-looked-at",
        "                changed.append(life)\n            life.superseded = superseded",
        "                pass\n            life.superseded = superseded",
    ),
    Fault(
        "lives-a-bare-pod-joins-the-dead",
        "if its in life.identities and (its != BARE or life.live):",
        "if its in life.identities:",
    ),
    Fault(
        "lives-anybody-takes-the-place-of-who-succeeded",
        "if pod.phase is not Phase.SUCCEEDED:\n                life.lost.add",
        "if True:\n                life.lost.add",
    ),
    Fault(
        "lives-without-end",
        ">= MOST_LIVES",
        ">= 1000",
    ),
    Fault(
        "lives-crowded-are-placed",
        "life.crowded = number >= own",
        "life.crowded = False",
    ),
    Fault(
        "lives-executors-are-strangers",
        "            return self._identities[driver]",
        "            return driver",
    ),
    Fault(
        "lives-a-relaunched-gang-has-started",
        "        self._capture()\n        self.started = None",
        "        self._capture()",
    ),
    Fault(
        "lives-successes-before-a-relaunch-are-held",
        "        self._forgotten = _NONE\n        self.done = _NO_SUCCESSES\n\n",
        "\n",
    ),
    Fault(
        "lives-a-start-is-believed-of-whoever-is-there",
        "self.started = memory.started if self._believed(memory.started, records) else None",
        "self.started = memory.started",
    ),
    Fault(
        "lives-what-runs-in-part-has-started-at-a-restart",
        "elif not any(pod.binding_record for pod in bound):",
        "else:",
    ),
    # ── when a group has started ─────────────────────────────────────────────────────────────
    Fault(
        "start-a-group-that-lacks-members",
        "if not facts.deficit and members.runs_whole(facts):",
        "if not facts.deficit:",
    ),
    Fault(
        "run-whole-without-the-roles",
        "and all(running[f.role] + f.succeeded >= f.minimum for f in facts.roles)",
        "and True",
    ),
    Fault(
        "let-a-raised-minimum-count-after-the-start",
        "minimum = min(minimum, self.captured.get(role, 0))",
        "pass",
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
        "if open_plan.seen == self._state.foreign_version:",
        "if open_plan.seen >= 0:",
    ),
    Fault(
        "last-look-counts-the-plan-against-itself",
        "trial.take_off(seat.pod, row)",
        "_ = seat.pod",
    ),
    Fault(
        "last-look-forgets-what-it-found-to-fit",
        "                trial.put(assignment.pod, row)\n        return failed",
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
        "if self.refusals and (self.doomed or counts[Stage.SENT]):",
        "if self.refusals and self.doomed:",
    ),
    Fault(
        "never-doomed",
        "return bool(self.refusals) and self._needed_total > 0 and self._sent == 0",
        "return False",
    ),
    Fault(
        "surplus-never-void",
        "return lost > 0 and lost + self._needed[Stage.CONFIRMED] == self._needed_total",
        "return False",
    ),
    Fault(
        "send-before-all-are-prepared",
        "if counts[Stage.RESERVED] or counts[Stage.PREPARING]:",
        "if counts[Stage.RESERVED]:",
    ),
    Fault(
        "believe-an-answer-before-the-watch",
        "self._move(open_plan, answer.uid, Stage.BOUND)",
        "self._move(open_plan, answer.uid, Stage.CONFIRMED)",
    ),
    Fault(
        "take-a-binding-elsewhere-for-ours",
        "same = assignment is not None and assignment.node == pod.node",
        "same = assignment is not None",
    ),
    Fault(
        "keep-the-capacity-of-a-refused-member",
        "happening = self._state.forget(uid, open_plan.number)",
        "happening = None",
    ),
    Fault(
        "ranks-of-held-members-given-twice",
        "taken = set(facts.ranks)",
        "taken = set[int]()",
    ),
    Fault(
        "a-plan-outlives-a-raised-minimum",
        "if not open_plan.started and not open_plan.still_meets(facts, members.pods):",
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
        "if free and lacking.wants(loss.pod.role) and self._state.claim(claim, turn.now):",
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
        "self.claims.put(claim._replace(end=now + NOMINATION_SECONDS))",
        "self.claims.put(claim._replace(end=math.inf))",
    ),
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
        "self._open[waiting].able and self._order.before(yielding, waiting)",
        "self._open[waiting].able and self._order.before(waiting, yielding)",
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
        "            if self.staying(unit.group):\n",
        "            if False:\n",
    ),
    Fault(
        "evict-while-one-is-yet-to-be-planned",
        "        if self._any_undecided:\n",
        "        if False:\n",
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
        "    if times <= 1:\n",
        "    if times <= 0:\n",
    ),
    Fault(
        "pause-no-longer-than-the-last-time",
        "timeout * 2.0 ** min(times - 1, 31)",
        "timeout * 2.0",
    ),
    Fault(
        "pause-though-the-group-has-run",
        "if key in self._pauses and members.runs_whole(facts):",
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
        "for unit in self._units.values() if unit.until <= turn.now]",
        "for unit in self._units.values() if unit.until == turn.now - 1.0]",
    ),
    # ── reservations ─────────────────────────────────────────────────────────────────────────
    Fault(
        "reservation-to-groups-ordered-later",
        "if each.order < order and not each.shared_by(wanted):",
        "if each.order > order and not each.shared_by(wanted):",
    ),
    Fault(
        "reservation-held-against-its-own-owner",
        "if each.order < order and not each.shared_by(wanted):",
        "if each.order < order:",
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
        "if clock is None or clock.life != terms.life:",
        "if clock is None or clock.since is None:",
    ),
    Fault(
        "reservation-begun-anew-by-a-restart",
        "since=min(_held_since(members), default=turn.now),",
        "since=turn.now,",
    ),
    Fault(
        "reservation-without-the-limit-of-its-namespace",
        "Capacity(_within(limits, found, subject) if limits else found)",
        "Capacity(found)",
    ),
    Fault(
        "reservation-not-prolonged-by-progress",
        "self.progress_at, self.open = now, True",
        "pass",
    ),
    Fault(
        "reservation-not-filled-by-what-is-held",
        "due=Counter(dict(group.min_resources)) - self._held(members) - filled.held,",
        "due=Counter(dict(group.min_resources)) - filled.held,",
    ),
    Fault(
        "reservation-not-filled-by-its-owner-s-groups",
        "due=Counter(dict(group.min_resources)) - self._held(members) - filled.held,",
        "due=Counter(dict(group.min_resources)) - self._held(members),",
    ),
    Fault(
        "reservation-kept-by-a-group-that-ended",
        "if group is None or not admitted or over:\n            self._drop(turn, members)\n",
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
        "pause-inverts-the-order",
        "if entry is None or not entry.key < item.sort_key:",
        "if entry is None or not entry.key > item.sort_key:",
    ),
    Fault(
        "no-turn-for-other-namespaces",
        "        self._active.set_back(item.subqueue)\n",
        "",
    ),
    Fault(
        "place-out-of-turn-without-asking-who-is-before",
        "if entry is None or not entry.key < item.sort_key:",
        "if True:",
    ),
    Fault(
        "count-those-called-up-over-placements",
        "self._called = 0\n        self._called_kinds.clear()\n        if",
        "if",
    ),
    Fault(
        "decide-before-all-were-looked-at",
        "if turn.behind or self._plans.far_ahead:",
        "if self._plans.far_ahead:",
    ),
    Fault(
        "look-at-all-groups-at-once",
        "if left <= 0:\n                return again",
        "if False:\n                return again",
    ),
    Fault(
        "forget-what-was-not-remembered",
        "if first < 0:  # more happened than is remembered",
        "if False:",
    ),
    Fault(
        "forget-who-waits-when-nothing-happens",
        "latest = (now + self._longest_wait,)",
        "latest = (math.inf,)",
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
        "            pod.annotations,\n            signatures,",
        "            (),\n            signatures,",
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
        "return (3 * self.slots - self._sent_of.get(namespace, 0)) // 4",
        "return self.slots",
    ),
    Fault(
        "class-key-without-the-namespace",
        "            pod.key.namespace,\n            self._number(pod.spec),",
        '            "",\n            self._number(pod.spec),',
    ),
    Fault(
        "ranking-not-caught-up",
        "if left and not kept.ranking.catch_up(snapshot.nodes, left):",
        "if left and not kept.ranking.catch_up(snapshot.nodes, left[:-1]):",
    ),
    Fault(
        "ranking-outlives-its-epoch",
        "        if self._stamp(epoch) != self._epoch:\n            self._kept.clear()",
        "        if self._stamp(epoch) != self._epoch:",
    ),
    # ── placing ──────────────────────────────────────────────────────────────────────────────
    Fault(
        "surplus-for-a-group-held-in-part",
        "    if facts.held_in_part:\n        return\n    for pod in others:",
        "    for pod in others:",
    ),
)


def planted(tree: Path, fault: Fault) -> Path:
    """Plant a fault; the file that it is in.

    Raises:
        LookupError: its line is not found, or found more than once.
    """
    files = sorted((tree / ENGINE).rglob("*.py"))
    found = [path for path in files for _ in range(path.read_text().count(fault.line))]
    if len(found) != 1:
        raise LookupError(f"{fault.name}: found {len(found)} times, not once: {fault.line!r}")
    [path] = found
    path.write_text(path.read_text().replace(fault.line, fault.slip))
    return path


def tried(tree: Path, suites: Sequence[str]) -> str:
    """The first test that fails in a tree; "" = all pass.

    Raises:
        RuntimeError: the tests do not run at all.
    """
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider",
        "-o", f"timeout={HANG}", *suites,
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ran.stdout, re.MULTILINE)
    if failed:
        return failed[1]
    if "Timeout" in ran.stdout + ran.stderr:
        return "a test that hangs"
    raise RuntimeError(f"pytest ended with {ran.returncode}:\n{ran.stdout[-3000:]}{ran.stderr}")


def chosen(names: Iterable[str]) -> list[Fault]:
    """The faults whose names begin so; all of them without any name."""
    begun = tuple(names) or ("",)
    return [fault for fault in FAULTS if fault.name.startswith(begun)]


def main() -> int:
    """Plant faults and run the tests; exits with how many were not noticed, or not found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", help="how the names of the faults begin; none = all")
    parser.add_argument("--list", action="store_true", help="only plant, and say where")
    parser.add_argument("--suites", nargs="+", default=SUITES, help="which tests to run")
    parser.add_argument("--trust", action="store_true", help="the tests pass without any fault")
    given = parser.parse_args()
    suites: list[str] = list(given.suites)
    missed: list[str] = []
    gone: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in COPIED:
            source, ignored = ROOT / name, shutil.ignore_patterns("__pycache__", ".hypothesis")
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=ignored)
            else:
                shutil.copy(source, tree / name)
        if not (given.list or given.trust):
            failed = tried(tree, suites)
            if failed:
                print(f"{failed} fails without any fault")
                return 1
        for fault in chosen(given.names):
            began = time.monotonic()
            try:
                path = planted(tree, fault)
            except LookupError as error:
                print(f"GONE     {error}", flush=True)
                gone.append(fault.name)
                continue
            if given.list:
                print(f"{fault.name:48} {path.relative_to(tree)}")
            else:
                noticed = tried(tree, suites)
                word, took = "noticed" if noticed else "MISSED", time.monotonic() - began
                print(f"{word:8} {fault.name:48} {took:5.0f}s  {noticed}", flush=True)
                missed += [] if noticed else [fault.name]
            shutil.copy(ROOT / path.relative_to(tree), path)
    for names, what in ((missed, "noticed"), (gone, "found")):
        if names:
            print(f"{len(names)} were not {what}: {', '.join(names)}")
    return len(missed) + len(gone)


if __name__ == "__main__":
    sys.exit(main())
