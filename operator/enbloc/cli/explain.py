# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc explain`: why a group, a pod or a job has no nodes, and with what it would."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import ERROR, OK
from enbloc.cli.failures import forbidden, say_each
from enbloc.cli.flags import DOCUMENTS, cluster_flags, config_flag, document_flag, namespace_flag
from enbloc.cli.present import Access, outlook
from enbloc.cli.queue import row_document
from enbloc.cli.reported import reported, say_note
from enbloc.cli.tables import print_document, say
from enbloc.errors import EnblocError
from enbloc.model import names

if TYPE_CHECKING:
    from enbloc.model.pods import Pod
    from enbloc.simulation import Explanation, Outlook, Remedy, Waiting

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

    NAME is that of a PodGroup, of a pod, or of the Job or other object that made the pods;
    KIND/NAME says which is meant, as in pod/train-0 or job/train. The first line is the answer.
    Then come who is before it, and of each kind of change the least with which it would start: each
    was tried, by the engine itself, on what the scheduler lists; one step less was not enough.
    Nothing is written, and no scheduler needs to run.

    Exit code: 0 answered, 1 there is no such object, or the cluster cannot be read, 2 the command
    line, a file of --config or the kubeconfig is wrong.
    """
    access = Access("explain", configs, kubeconfig, context)
    try:
        found, default = outlook(access)
    except ExceptionGroup as group:
        return _without_outlook(access, namespace, name, output, group)
    meant = _meant(found, namespace or default, name)
    if isinstance(meant, str):
        _print(_answer(meant), [meant], output)
    else:
        explanation = found.explain(meant)
        _print(_document(explanation), _lines(explanation), output)
    return OK


def _print(document: Any, lines: Iterable[str], output: str) -> None:
    if output in DOCUMENTS:
        print_document(document, output)
        return
    for line in lines:
        say(line)


def _without_outlook(
    access: Access,
    namespace: str | None,
    name: str,
    output: str,
    group: ExceptionGroup[Exception],
) -> int:
    """Say what the scheduler reported last, where the cluster cannot be listed."""
    if not forbidden(group):
        say_each(group)
        return ERROR
    kind, _, wanted = name.rpartition("/")
    kind = _KINDS.get(kind.lower(), kind)
    known = [each for each in reported(access, namespace) if kind in ("", each.kind)]
    found = [each for each in known if each.name == wanted]
    say_note()
    if not found:
        near = difflib.get_close_matches(wanted, [each.name for each in known], 3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise EnblocError(f"no PodGroup or pod {name} waits in this namespace{hint}")
    told = found[0]
    sentence = f"{told.namespace}/{told.name} waits: {told.reason}: {told.message}"
    _print(_answer(sentence), [sentence], output)
    return OK


# ── who is meant ─────────────────────────────────────────────────────────────────────────────


def _meant(found: "Outlook", namespace: str, text: str) -> "Waiting | str":
    """Who waits by this name; or what there is to say of pods that do not wait for us.

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
    return _placed(f"{namespace}/{name}", pods, found)


def _unknown(found: "Outlook", namespace: str, text: str, here: Sequence["Pod"]) -> str:
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


def _placed(name: str, pods: Sequence["Pod"], found: "Outlook") -> str:
    """What there is to say of pods of which none waits for our scheduler."""
    waiting = [pod for pod in pods if pod.live and not pod.node]
    if waiting:
        scheduler = waiting[0].scheduler
        return f"{name} is scheduled by {scheduler}, not by {' or '.join(found.schedulers)}."
    live = [pod for pod in pods if pod.live]
    if not live:
        return f"{name} has ended: none of its {len(pods)} pods runs any more."
    pods_are = "1 pod is" if len(live) == 1 else f"{len(live)} pods are"
    return f"{name} does not wait: {pods_are} on {_several(sorted({pod.node for pod in live}))}."


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def _lines(explanation: "Explanation") -> Iterator[str]:
    """The answer, for people."""
    from enbloc.simulation import amounts, taken  # noqa: PLC0415  # not for `--help`

    yield explanation.sentence
    row = explanation.waiting
    if not row.solo:
        have = row.members - len(row.pending) + len(row.placed)
        yield ""
        members = f"Members: {row.members} of at least {row.minimum}, {have} with a node."
        yield f"{members} Reason: {row.reason}."
    if explanation.ahead:
        ahead = _several([each.name for each in explanation.ahead])
        yield ""
        requests = amounts(taken(explanation.ahead))
        yield f"Ahead of it, and starting now: {ahead}; requests: {requests}."
    if explanation.remedies:
        yield ""
        yield "It would start with any one of these:"
        yield from _remedies(explanation.remedies)
    if explanation.later:
        yield ""
        yield "It would fit, once others have ended, with any one of these:"
        yield from _remedies(explanation.later)
    if not (row.starts or explanation.remedies or explanation.later):
        yield ""
        yield "No single change of those that were tried is enough."
    if not explanation.complete:
        yield "Not every change was tried: there are too many."


def _remedies(found: "Sequence[Remedy]") -> Iterator[str]:
    """A line for each, by those in whose hand it is."""
    for whose, heading in _HEADINGS.items():
        mine = [each for each in found if each.whose == whose]
        if mine:
            yield f"  {heading}:"
        for each in mine:
            victims = _several([str(pod) for pod in each.victims])
            yield f"    {each.text}" + (f" (evicts {victims})" if victims else "")


def _several(texts: Sequence[str]) -> str:
    """Some of them, and how many more there are."""
    more = len(texts) - _MOST_NAMED
    return ", ".join(texts[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _document(explanation: "Explanation") -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Explanation",
        "sentence": explanation.sentence,
        "cause": str(explanation.kind),
        "of": row_document(explanation.waiting),
        "ahead": [row_document(each) for each in explanation.ahead],
        "remedies": [_remedy_document(each) for each in explanation.remedies],
        "onceOthersHaveEnded": [_remedy_document(each) for each in explanation.later],
        "complete": explanation.complete,
    }


def _remedy_document(remedy: "Remedy") -> Any:
    victims = [{"namespace": pod.namespace, "name": pod.name} for pod in remedy.victims]
    return {"change": remedy.text, "whose": str(remedy.whose), "victims": victims}


def _answer(sentence: str) -> Any:
    """The answer where that is one sentence, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Explanation",
        "sentence": sentence,
        "cause": None,
        "of": None,
        "ahead": [],
        "remedies": [],
        "onceOthersHaveEnded": [],
        "complete": True,
    }
