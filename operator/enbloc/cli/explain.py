# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc explain`: why a group, a pod or a job has no nodes, and with what it would."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import OK
from enbloc.cli.flags import cluster_flags, config_flag, document_flag, namespace_flag
from enbloc.cli.present import Simulated, simulated
from enbloc.cli.queue import row_document
from enbloc.cli.tables import print_document, say
from enbloc.errors import EnblocError
from enbloc.model import names

if TYPE_CHECKING:
    from enbloc.model.pods import Pod
    from enbloc.simulation import Explanation, Remedy, Waiting

_MOST_NAMED: Final = 5
#: Short names and plurals by which kubectl knows the kinds that are asked about.
_KINDS: Final = {
    "pod": "Pod",
    "pods": "Pod",
    "po": "Pod",
    "podgroup": "PodGroup",
    "podgroups": "PodGroup",
    "epg": "PodGroup",
}
_HEADINGS: Final = {
    "yours": "Whoever makes the pods can change that",
    "administrator": "Whoever runs the cluster can change that",
    "others": "Others would have to",
}


@click.command(short_help="Say why a group, a pod or a job waits, and with what it would start.")
@click.argument("name", metavar="NAME")
@namespace_flag
@document_flag
@config_flag
@cluster_flags
def explain(
    *,
    name: str,
    namespace: str | None,
    output: str,
    configs: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Say why a group, a pod or a job waits, and with what it would start.

    NAME is that of a PodGroup, of a pod, or of the Job or other object that made the pods; KIND/NAME
    says which is meant, as in pod/train-0 or job/train. The first line is the answer. Then come who
    is before it, and of each kind of change the least with which it would start: each was tried, by
    the engine itself, on what the scheduler lists; one step less was not enough. Nothing is written,
    and no scheduler needs to run.

    Exit code: 0 answered, 1 there is no such object, or the cluster cannot be read.
    """
    found = simulated("explain", configs, kubeconfig, context)
    meant = _meant(found, namespace or found.namespace, name)
    if isinstance(meant, _Placed):
        if output in ("table", "wide"):
            say(meant.sentence)
        else:
            print_document(_placed_document(meant), output)
        return OK
    explanation = found.explain(meant)
    if output in ("table", "wide"):
        _print(explanation)
    else:
        print_document(_document(explanation), output)
    return OK


# ── who is meant ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Placed:
    """A group, or a pod, of which nothing waits; or that is not ours.

    Attributes:
        pods: all that are live.
        sentence: what there is to say.
    """

    name: str
    pods: Sequence["Pod"]
    sentence: str


def _meant(found: Simulated, namespace: str, text: str) -> "Waiting | _Placed":
    """Who waits by this name; or what has it, and does not.

    Raises:
        EnblocError: there is nothing of this name, or there are several.
    """
    from enbloc.simulation import group_of  # noqa: PLC0415  # not for `--help`

    kind, _, name = text.rpartition("/")
    wanted = _KINDS.get(kind.lower(), kind)
    here = [pod for pod in found.pods if pod.key.namespace == namespace]
    by_name = {
        "PodGroup": [pod for pod in here if pod.group is not None and pod.group.name == name],
        "Pod": [pod for pod in here if pod.key.name == name],
    }
    owned = [pod for pod in here if pod.owner is not None and pod.owner.name == name]
    if kind and wanted not in by_name:
        pods = [p for p in owned if p.owner is not None and p.owner.kind.lower() == kind.lower()]
    elif kind:
        pods = by_name[wanted]
    else:
        pods = by_name["PodGroup"] or by_name["Pod"] or owned
    if not pods:
        raise EnblocError(_unknown(found, namespace, text, here))
    keys = {group_of(pod): None for pod in pods}
    rows = [row for row in found.rows if row.key in keys]
    if rows:
        return rows[0]
    return _Placed(f"{namespace}/{name}", pods, _placed(f"{namespace}/{name}", pods, found))


def _unknown(found: Simulated, namespace: str, text: str, here: Sequence["Pod"]) -> str:
    """Nothing is called so; what is called nearly so."""
    name = text.rpartition("/")[2]
    groups = {key.name for key in found.groups if key.namespace == namespace}
    if name in groups:
        return f"PodGroup {namespace}/{name} has no pods; create them, or look at what makes them"
    known = {pod.key.name for pod in here} | groups
    known |= {pod.owner.name for pod in here if pod.owner is not None}
    elsewhere = sorted(
        {pod.key.namespace for pod in found.pods if pod.group and pod.group.name == name}
    )
    near = difflib.get_close_matches(name, sorted(known), 3)
    hint = ""
    if elsewhere:
        hint = f"; there is one in namespace {', '.join(elsewhere[:_MOST_NAMED])}: pass --namespace"
    elif near:
        hint = f"; did you mean {', '.join(near)}?"
    return f"{text} not found in namespace {namespace}{hint}"


def _placed(name: str, pods: Sequence["Pod"], found: Simulated) -> str:
    """What there is to say of pods of which none waits for our scheduler."""
    waiting = [pod for pod in pods if pod.live and not pod.node]
    if waiting:
        scheduler = waiting[0].scheduler
        return f"{name} is scheduled by {scheduler}, not by {' or '.join(found.schedulers)}."
    live = [pod for pod in pods if pod.live]
    if not live:
        return f"{name} has ended: none of its {len(pods)} pods runs any more."
    nodes = sorted({pod.node for pod in live})
    more = f" and {len(nodes) - _MOST_NAMED} more" if len(nodes) > _MOST_NAMED else ""
    pods_are = "1 pod is" if len(live) == 1 else f"{len(live)} pods are"
    return f"{name} does not wait: {pods_are} on {', '.join(nodes[:_MOST_NAMED])}{more}."


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def _print(explanation: "Explanation") -> None:
    from enbloc.simulation import amounts, taken  # noqa: PLC0415  # not for `--help`

    say(explanation.sentence)
    row = explanation.waiting
    if not row.solo:
        have = row.members - len(row.pending) + len(row.placed)
        say(f"\nMembers: {row.members} of at least {row.minimum}, {have} with a node.")
    if explanation.ahead:
        rows = explanation.ahead
        named = ", ".join(each.name for each in rows[:_MOST_NAMED])
        more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
        say(f"\nAhead of it, and starting now: {named}{more}; they take {amounts(taken(rows))}.")
    if explanation.remedies:
        say("\nIt would start with any one of these:")
        for whose, heading in _HEADINGS.items():
            mine = [each for each in explanation.remedies if each.whose == whose]
            if mine:
                say(f"  {heading}:")
            for each in mine:
                say(f"    {each.text}{_evicting(each)}")
    elif not row.starts and row.decided:
        say("\nNo single change of those that were tried would do.")
    if not explanation.complete:
        say("\nNot every change was tried: there are too many.")


def _evicting(remedy: "Remedy") -> str:
    """Who would give way."""
    pods = remedy.victims
    if not pods:
        return ""
    named = ", ".join(map(str, pods[:_MOST_NAMED]))
    more = f" and {len(pods) - _MOST_NAMED} more" if len(pods) > _MOST_NAMED else ""
    return f" (evicts {named}{more})"


def _document(explanation: "Explanation") -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Explanation",
        "sentence": explanation.sentence,
        "cause": str(explanation.kind),
        **{"of": row_document(explanation.waiting)},
        "ahead": [row_document(each) for each in explanation.ahead],
        "remedies": [
            {
                "change": each.text,
                "whose": str(each.whose),
                "victims": [{"namespace": pod.namespace, "name": pod.name} for pod in each.victims],
            }
            for each in explanation.remedies
        ],
        "complete": explanation.complete,
    }


def _placed_document(placed: _Placed) -> Any:
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Explanation",
        "sentence": placed.sentence,
        "cause": "nothing",
        "of": None,
        "ahead": [],
        "remedies": [],
        "complete": True,
    }
