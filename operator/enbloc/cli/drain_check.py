# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc drain-check`: say which groups would stay whole if these nodes were drained."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import BAD_USAGE, OK
from enbloc.cli.failures import say_each
from enbloc.cli.flags import output_flag
from enbloc.cli.present import Access, access_flags, present
from enbloc.cli.tables import print_table, say
from enbloc.model.text import several

if TYPE_CHECKING:
    from enbloc.engine import Aftermath

#: Exit code: at least one group would not be whole. As with diff, "no" differs from no answer.
NOT_WHOLE: Final = 1
NO_ANSWER: Final = BAD_USAGE
#: The time limit for the answer (seconds).
SECONDS: Final = 120.0

_MOST_NODES: Final = 5


@click.command(short_help="Check which groups would stay whole if these nodes were drained.")
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True)
@output_flag
@access_flags
def drain_check(*, nodes: tuple[str, ...], output: str, access: Access) -> int:
    """Check which groups would stay whole if these nodes were drained at once.

    It lists the objects that the scheduler lists, and plans as the scheduler would for the members
    that would be lost. It writes nothing, and no scheduler needs to run.

    Exit code: 0 every group would be whole, 1 at least one would not, 2 the answer is not known,
    for example because it would take longer than 120 seconds.
    """
    nodes = tuple(dict.fromkeys(nodes))
    code = NO_ANSWER
    try:
        found = _found(nodes, access)
        _print(nodes, found, output)
        code = OK if all(after.whole for after in found) else NOT_WHOLE
    except* Exception as group:  # noqa: BLE001  # a traceback ends with 1, as a gang that breaks does
        say_each(group)
    return code


def _print(nodes: Sequence[str], found: "Sequence[Aftermath]", output: str) -> None:
    if output == "json":
        click.echo(json.dumps(_document(nodes, found), indent=2))
    elif found:
        rows = [(str(after.group), str(len(after.lost)), _verdict(after)) for after in found]
        print_table(("GROUP", "LOST", "VERDICT"), rows)
    else:
        say(f"No group has members on {', '.join(nodes)}.")


def _found(nodes: Sequence[str], access: Access) -> "Sequence[Aftermath]":
    """The aftermath of the drain for each group."""
    found, _ = present(access)
    from enbloc.process.workers import until  # noqa: PLC0415  # not for `--help`

    with access.answering():
        return found.engine().without(nodes, found.now, until(SECONDS))


def _verdict(after: "Aftermath") -> str:
    """The aftermath of the drain for a group, for people."""
    by = f"gives way to {after.preempted_by}: " if after.preempted_by is not None else ""
    return f"{by}{_what_becomes(after)}"


def _victims(after: "Aftermath") -> str:
    """The pods to evict for a group, without which it does not fit."""
    pods = after.victims
    if not pods:
        return ""
    give = "pod gives way" if len(pods) == 1 else "pods give way"
    return f"; only if {len(pods)} {give}: {several([*map(str, pods)], _MOST_NODES)}"


def _what_becomes(after: "Aftermath") -> str:
    solo, plan, pending = after.facts.solo, after.plan, len(after.facts.pending)
    if not after.whole:
        if not solo:
            return f"would fall below its minimum: {plan.message}"
        return f"finds no capacity: {plan.message}" if pending else "no controller would replace it"
    rest = ""
    if plan.message:  # else all fit, or members beyond the minimum are tried once that is bound
        rest = f"; no capacity for {pending - len(plan.assignments)} of its members: {plan.message}"
    if not plan.assignments:
        return f"stays whole{rest}"
    nodes = list(dict.fromkeys(assignment.node for assignment in plan.assignments))
    where = several(nodes, _MOST_NODES)
    return f"{'' if solo else 'members '}can be rescheduled on: {where}{rest}{_victims(after)}"


def _document(nodes: Sequence[str], found: Sequence["Aftermath"]) -> Any:
    """The answer, for programs."""
    return {
        "nodes": list(nodes),
        "whole": all(after.whole for after in found),
        "groups": [
            {
                "kind": "Pod" if after.facts.solo else "PodGroup",
                "namespace": after.group.namespace,
                "name": after.lost[0].name if after.facts.solo else after.group.name,
                "whole": after.whole,
                "minimum": after.facts.total.minimum,
                "remaining": after.facts.total.held,
                "lost": [pod.name for pod in after.lost],
                "placements": [
                    {"pod": assignment.pod.key.name, "node": assignment.node}
                    for assignment in after.plan.assignments
                ],
                "victims": [
                    {"namespace": pod.namespace, "name": pod.name} for pod in after.victims
                ],
                "preemptedBy": str(after.preempted_by) if after.preempted_by else None,
                "message": after.plan.message,
            }
            for after in found
        ],
    }
