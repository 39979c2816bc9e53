# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc explain`: say why a group, a pod or a job waits, and which change would start it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from enbloc.cli.entry import ERROR, OK
from enbloc.cli.failures import say_each
from enbloc.cli.flags import DOCUMENTS, document_flag, namespace_flag
from enbloc.cli.present import Access, access_flags
from enbloc.cli.queue import row_document
from enbloc.cli.reported import NamespaceView, Reported, seen
from enbloc.cli.tables import print_document, say
from enbloc.errors import EnblocError, UsageError
from enbloc.model import names
from enbloc.model.near_words import nearest
from enbloc.model.pending import why
from enbloc.model.text import several

if TYPE_CHECKING:
    from enbloc.model.pods import Pod
    from enbloc.simulation import Explanation, Outlook, Remedy, Waiting

_MOST_NAMED: Final = 5
_POD: Final = "Pod"
#: kubectl's short names of kinds that users ask about.
_SHORT: Final = {_POD: "po", names.POD_GROUP_KIND: "epg", "StatefulSet": "sts", "ReplicaSet": "rs"}


@click.command(short_help="Explain why a group, pod or job is waiting, and what would start it.")
@click.argument("name", metavar="NAME")
@namespace_flag
@document_flag
@access_flags
def explain(
    *,
    name: str,
    namespace: str | None,
    output: str,
    access: Access,
) -> int:
    """Explain why a group, pod or job is waiting, and what would start it.

    NAME is the name of a PodGroup, a pod, or the Job or other object that created the pods. Use
    KIND/NAME to select one of them, as in pod/train-0 or job/train. The first line is the answer.
    Then follow the groups and pods ahead of it, and for each kind of change the smallest one that
    would start it. Each change was tried by the scheduler's own engine, on the objects that the
    scheduler lists; one step less was not enough. Nothing is written, and no scheduler needs to
    run.

    Exit code: 0 answered, 1 there is no such object, or the cluster cannot be read, 2 the command
    line, a --config file, the dump or the kubeconfig is invalid.
    """
    asked = _Target.read(name)
    try:
        found, chosen = seen(access, namespace)
    except ExceptionGroup as group:
        say_each(group)
        return ERROR
    meant = _meant(found, chosen, asked)
    if isinstance(meant, str):
        _print(_answer(meant), [meant], output)
        return OK
    row, others = meant
    if others:
        access.note([others])
    if isinstance(row, Reported):
        sentence = f"{row.name} waits: {why(row)}"
        _print(_answer(sentence, row), [sentence], output)
    else:
        assert not isinstance(found, NamespaceView)
        with access.answering():
            explanation = found.explain(row)
        _print(_document(explanation), _lines(explanation), output)
    return OK


def _print(document: Any, lines: Iterable[str], output: str) -> None:
    if output in DOCUMENTS:
        print_document(document, output)
        return
    for line in lines:
        say(line)


# ── who is meant ─────────────────────────────────────────────────────────────────────────────


class _Target(NamedTuple):
    """The object that a command line asks about.

    Attributes:
        text: as typed.
        kind: in lower case, without its API group, maybe a plural; "" = any.
    """

    text: str
    kind: str
    name: str

    @classmethod
    def read(cls, text: str) -> "_Target":
        """Parse NAME or KIND/NAME.

        Raises:
            UsageError: it has no name, or a "/" without a kind.
        """
        kind, slash, name = text.rpartition("/")
        if not name or (slash and not kind):
            raise UsageError(f'"{text}" is not a name; pass NAME or KIND/NAME, such as job/train')
        return cls(text, kind.partition(".")[0].lower(), name)

    def means(self, kind: str) -> bool:
        """Whether objects of this kind may be meant."""
        word = kind.lower()
        return self.kind in ("", word, f"{word}s", f"{word}es", _SHORT.get(kind, word))


def _meant(
    found: "Outlook | NamespaceView", namespace: str, asked: _Target
) -> "tuple[Waiting | Reported, str] | str":
    """The waiting group or pod of this name, with a note on others of that name.

    If none waits for our scheduler, a sentence about the pods of that name instead.

    Raises:
        EnblocError: nothing has that name, or several waiting objects have it.
    """
    here = [pod for pod in found.pods if pod.key.namespace == namespace]
    called = _called(asked, here)
    if not called:
        raise EnblocError(_unknown(found, namespace, asked, here))
    of = {pod.uid: row.key for row in found.rows for pod in row.pending}
    keys = {label: {of[pod.uid] for pod in pods if pod.uid in of} for label, pods in called.items()}
    waiting = {label: theirs for label, theirs in keys.items() if theirs}
    if not waiting:
        live = (label for label, pods in called.items() if any(pod.live for pod in pods))
        meant = next(live, next(iter(called)))
        return _placed(f"{namespace}/{asked.name}", called[meant], found, one=meant == _POD)
    everything = {key for theirs in waiting.values() for key in theirs}
    label = next((label for label, theirs in waiting.items() if theirs == everything), None)
    if label is None:
        candidates = " and ".join(f"{label}/{asked.name}" for label in waiting)
        raise EnblocError(
            f"{asked.text} is ambiguous in namespace {namespace}: {candidates} wait; "
            "pass one of them"
        )
    first, *others = (row for row in found.rows if row.key in everything)
    if not others:
        return first, ""
    also = several([row.short_name for row in others], _MOST_NAMED)
    return (
        first,
        f"this is about {first.short_name} alone; of {label}/{asked.name} also wait: {also}",
    )


def _called(asked: _Target, pods: "Iterable[Pod]") -> "Mapping[str, Sequence[Pod]]":
    """The pods of each object that may be meant, by its kind: group, pod, then the owner."""
    found: dict[str, list[Pod]] = {names.POD_GROUP_KIND: [], _POD: []}
    for pod in pods:
        if pod.group is not None and pod.group.name == asked.name:
            found[names.POD_GROUP_KIND].append(pod)
        if pod.key.name == asked.name:
            found[_POD].append(pod)
        if pod.owner is not None and pod.owner.name == asked.name:
            found.setdefault(pod.owner.kind, []).append(pod)
    return {kind: pods for kind, pods in found.items() if pods and asked.means(kind)}


def _unknown(
    found: "Outlook | NamespaceView", namespace: str, asked: _Target, here: "Sequence[Pod]"
) -> str:
    """The message that nothing has this name, with similar names."""
    groups = {key.name for key in found.groups if key.namespace == namespace}
    if asked.name in groups and asked.means(names.POD_GROUP_KIND):
        name = f"{namespace}/{asked.name}"
        return f"PodGroup {name} has no pods; create them, or check what creates them"
    known = {pod.key.name for pod in here} | groups
    known |= {pod.owner.name for pod in here if pod.owner is not None}
    others = [f"{kind}/{asked.name}" for kind in _called(asked._replace(kind=""), here)]
    namesakes = [pod for pods in _called(asked, found.pods).values() for pod in pods]
    elsewhere = sorted({pod.key.namespace for pod in namesakes})
    near = others or nearest(asked.name, known)
    hint = ""
    if elsewhere:
        hint = f"; there is one in namespace {', '.join(elsewhere[:_MOST_NAMED])}: pass --namespace"
    elif asked.kind in {pod.key.namespace for pod in found.pods}:
        hint = f"; did you mean {asked.name} --namespace={asked.kind}?"
    elif near:
        hint = f"; did you mean {', '.join(near)}?"
    if asked.kind and not (asked.means(names.POD_GROUP_KIND) or asked.means(_POD)):
        return f"no pods of {asked.text} found in namespace {namespace}{hint}"
    return f"{asked.text} not found in namespace {namespace}{hint}"


def _placed(
    name: str, pods: "Sequence[Pod]", found: "Outlook | NamespaceView", *, one: bool
) -> str:
    """The answer for pods none of which waits for our scheduler.

    Args:
        name: the name that was asked about.
        pods: at least one.
        found: the state of the cluster or namespace.
        one: whether a single pod is meant.
    """
    waiting = [pod for pod in pods if pod.live and not pod.node]
    if waiting:
        scheduler = waiting[0].scheduler or names.DEFAULT_SCHEDULER
        return f"{name} is scheduled by {scheduler}, not by {' or '.join(found.schedulers)}."
    live = [pod for pod in pods if pod.live]
    if live and one:
        return f"{name} does not wait: it is on {live[0].node}."
    if live:
        pods_are = "1 pod is" if len(live) == 1 else f"{len(live)} pods are"
        nodes = several(sorted({pod.node for pod in live}), _MOST_NAMED)
        return f"{name} does not wait: {pods_are} on {nodes}."
    if any(not pod.finished for pod in pods):
        return f"{name} is being deleted." if one else f"{name} is ending: its pods are deleted."
    return f"{name} has ended{'.' if one else f': none of its {len(pods)} pods runs any more.'}"


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def _lines(explanation: "Explanation") -> Iterator[str]:
    """The answer, for people."""
    from enbloc.simulation import INCOMPLETE, amounts, taken  # noqa: PLC0415  # not for `--help`

    yield explanation.sentence
    row = explanation.waiting
    yield ""
    if not row.solo:
        have = row.bound + len(row.placed)
        yield f"Members: {row.members} of at least {row.minimum}, {have} with a node."
    yield f"Reason: {row.reason}."
    if explanation.ahead:
        ahead = several([each.name for each in explanation.ahead], _MOST_NAMED)
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
    if explanation.nothing_helps:
        yield ""
        yield "No single change of those that were tried is enough."
    if not explanation.complete:
        yield INCOMPLETE


def _remedies(found: "Sequence[Remedy]") -> Iterator[str]:
    """A line per remedy, grouped by who can apply it."""
    from enbloc.simulation import Whose  # noqa: PLC0415  # not for `--help`

    for whose in Whose:
        mine = [each for each in found if each.whose is whose]
        if mine:
            yield f"  {whose.heading}:"
        for each in mine:
            victims = several([str(pod) for pod in each.victims], _MOST_NAMED)
            yield f"    {each.text}" + (f" (evicts {victims})" if victims else "")


def _document(explanation: "Explanation") -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Explanation",
        "sentence": explanation.sentence,
        "cause": str(explanation.cause),
        "of": row_document(explanation.waiting),
        "ahead": [row_document(each) for each in explanation.ahead],
        "remedies": [_remedy_document(each) for each in explanation.remedies],
        "onceOthersHaveEnded": [_remedy_document(each) for each in explanation.later],
        "complete": explanation.complete,
    }


def _remedy_document(remedy: "Remedy") -> Any:
    victims = [{"namespace": pod.namespace, "name": pod.name} for pod in remedy.victims]
    return {"change": remedy.text, "whose": str(remedy.whose), "victims": victims}


def _answer(sentence: str, row: "Reported | None" = None) -> Any:
    """An answer of one sentence, for programs.

    Args:
        sentence: the answer.
        row: the waiting group or pod that it is about, if no change was tried for it.
    """
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Explanation",
        "sentence": sentence,
        "cause": None,
        "of": None if row is None else row_document(row),
        "ahead": [],
        "remedies": [],
        "onceOthersHaveEnded": [],
        "complete": row is None,
    }
