# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc replay`: replay a decision from a dump, and say whether it is the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enbloc.cli.dumps import dumped_sources, read_dump
from enbloc.cli.entry import ERROR, OK
from enbloc.cli.tables import print_table, say

if TYPE_CHECKING:
    from enbloc.engine.decide import Decision
    from enbloc.engine.preemption import Preemption
    from enbloc.engine.replay import Dump, DumpFile, Replayed


@click.command(short_help="Replay a decision of the scheduler from a dump.")
@click.argument("plan", required=False)
@click.option(
    "--dump",
    "file",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The dump that the scheduler wrote (see its --dump-dir).",
)
def replay(*, plan: str | None, file: Path) -> int:
    """Replay the decision PLAN from a dump, and report whether the result is the same.

    The id of a plan is in the annotation enbloc.dev/plan of each pod that it placed, and in the
    log line of each decision (for placed pods without a group: from --v=2 on). Without PLAN, the
    decisions in the dump are listed.

    No cluster is needed. Exit code 1 means that the decision differs, or is not in the dump.
    """
    # Imported here: `--help` needs none of it.
    from enbloc.config import configure  # noqa: PLC0415
    from enbloc.engine.replay import replay_plan as replayed  # noqa: PLC0415

    found = read_dump(file)
    if plan is None:
        _list(found.dump.decisions())
        return OK
    again = replayed(found.dump, plan, configure(dumped_sources(file, found)).profiles)
    if again is None:
        say(f"error: plan {plan} is not in {file}: {_reach(found.dump)}", err=True)
        return ERROR
    _warn_of_solver(found)
    return _print(again)


def _reach(dump: "Dump") -> str:
    """The time range of the decisions in a dump, and the process that made them."""
    decisions = dump.decisions()
    if not decisions:
        return "it holds no decisions"
    first, last = decisions[0], decisions[-1]
    process = last.plan.id.rpartition("-")[0]
    since = "its first one" if dump.whole else "earlier ones were dropped"
    return (
        f"it holds the {len(decisions)} decisions of the process {process} "
        f"from {_when(first)} ({since}) to {_when(last)}"
    )


def _list(decisions: "Sequence[Decision]") -> None:
    rows = [
        (_when(each), each.plan.id, str(each.plan.group), each.plan.verdict.value)
        for each in decisions
    ]
    print_table(("WHEN", "PLAN", "GROUP", "RESULT"), rows)


def _print(again: "Replayed") -> int:
    """Print the recorded decision and the replayed one; returns the exit code."""
    decision, plan = again.decision, again.decision.plan
    say(f"Plan:     {plan.id}")
    say(f"Group:    {plan.group}")
    say(f"When:     {_when(decision)}")
    say(f"Profile:  {decision.question.profile}")
    say(f"Result:   {plan.verdict.value}")
    if plan.message:
        say(f"Message:  {plan.message}")
    if plan.search:
        say(f"Search:   {plan.search}, {plan.steps} steps")
    if plan.assignments:
        say()
        rows = [
            (str(each.pod.key), each.node, "floor" if each.needed else "surplus")
            for each in plan.assignments
        ]
        print_table(("MEMBER", "NODE", "PART"), rows)
    if again.was is not None:
        _print_victims(again.was)
    say()
    if not again.differences:
        say("The replay decided the same.")
        return OK
    say("The replay decided otherwise:")
    for difference in again.differences:
        say(f"  {difference}")
    return ERROR


def _print_victims(found: "Preemption") -> None:
    """Print the pods to evict for the group and its nodes then, or why there are none."""
    if found.message:
        say(f"Victims:  {found.message}")
    if found.victims:
        say()
        rows = [(str(pod.key), pod.node) for unit in found.victims for pod in unit.pods]
        print_table(("VICTIM", "NODE"), rows)
        say()
        print_table(("MEMBER", "GOES TO"), [(str(pod.key), node) for pod, node in found.nodes])


def _warn_of_solver(file: "DumpFile") -> None:
    from enbloc import __version__  # noqa: PLC0415  # only here
    from enbloc.engine.packing import solver_available  # noqa: PLC0415  # as above

    if file.by != __version__:
        text = f"it was decided by enbloc {file.by}, and this is {__version__}"
        say(f"warning: {text}", err=True)
    if file.dump.solver != solver_available():
        there = "was" if file.dump.solver else "was not"
        text = f"the extra `exact` {there} installed where this was decided; here it is otherwise"
        say(f"warning: {text}", err=True)


def _when(decision: "Decision") -> str:
    from enbloc.model.times import micro_time_text  # noqa: PLC0415  # `--help` needs none of it

    return micro_time_text(decision.question.at)
