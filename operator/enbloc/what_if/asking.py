# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Asking what would happen if objects were created, nodes removed or added, or groups scaled."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.controller.sources.at_once import KINDS
from enbloc.controller.submission import Created, Submission, SubmissionContext, submission
from enbloc.engine.events import FactSeen, NamespaceSeen, PodSeen
from enbloc.errors import UsageError
from enbloc.model.groups import GroupKey
from enbloc.model.selectors import Labels
from enbloc.model.text import whole_number
from enbloc.simulation import (
    PresentState,
    SimulatedCluster,
    WhatIfAnswer,
    WhatIfQuestion,
    created,
    more_nodes,
    resized,
    without_nodes,
)
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.what_if.report import Report
from enbloc.workloads import Admission, Expansion, Manifest, expand

#: The most nodes that can be added, and the most members that a group can be scaled to.
MOST_NODES: Final = 10_000
MOST_MEMBERS: Final = 10_000
_CLASSLESS: Final = (
    "claims without storageClassName are taken to have none: it is not known which StorageClass is "
    "the default; name it in the claims"
)


@dataclass(frozen=True, slots=True)
class WhatIfRequest:
    """The question as a user asks it.

    Attributes:
        manifests: of all files; None = no files were given.
        without: nodes that would be gone.
        add_nodes: how many nodes would be added.
        like: the node that the added ones are like.
        scales: group names with their new number of members; a name may be NAMESPACE/NAME, else it
            is in `namespace`.
        namespace: of objects that name none.
        only: whether objects may name no other namespace.
    """

    manifests: Sequence[Manifest] | None = None
    without: tuple[str, ...] = ()
    add_nodes: int = 0
    like: str = ""
    scales: Sequence[tuple[str, int]] = ()
    namespace: str = "default"
    only: bool = False


def scale(given: str) -> tuple[str, int]:
    """Parse GROUP=N.

    Raises:
        UsageError: it has another form, or N is too large.
    """
    name, equals, text = given.rpartition("=")
    number = whole_number(text, 8)
    if not (equals and name) or number is None:
        raise UsageError(f'"{given}" is not GROUP=N; write one such as train=8')
    if number > MOST_MEMBERS:
        raise UsageError(f"{text} members; at most {MOST_MEMBERS} can be asked about")
    return name, number


def report(
    present: PresentState,
    asked: WhatIfRequest,
    admission: Admission | None,
    answer: Callable[[WhatIfQuestion], WhatIfAnswer],
) -> Report:
    """Answer the question.

    Args:
        present: the current cluster.
        asked: the question.
        admission: what the API server fills in at admission; None = there are no manifests.
        answer: simulates a question.

    Raises:
        UsageError: something that is asked about does not exist, or cannot be created.
        ExceptionGroup: a UsageError for each object whose pods enbloc does not place.
    """
    cluster = SimulatedCluster(present)
    question = _nodes_and_groups(cluster, asked)
    notes: list[str] = []
    made: Sequence[Created] = ()
    if asked.manifests is not None and admission is not None:
        submitted = _submitted(cluster, present, asked, asked.manifests, admission)
        made = _ours(submitted, present)
        notes = [*submitted.notes, *dict.fromkeys(_others(submitted, present))]
        if admission.storage_class is None and _classless(submitted):
            notes.append(_CLASSLESS)
        question = question.plus(_created(cluster, submitted, made))
    return Report(_change(asked), answer(question), made, notes)


def _nodes_and_groups(cluster: SimulatedCluster, asked: WhatIfRequest) -> WhatIfQuestion:
    """The parts of the question about nodes and existing groups."""
    question = WhatIfQuestion()

    def then(part: WhatIfQuestion) -> None:
        """Add a part; the next parts see the cluster after it."""
        nonlocal question
        cluster.tell(part.events)
        question = question.plus(part)

    like = [more_nodes(cluster, asked.add_nodes, asked.like)] if asked.add_nodes else []
    if asked.without:
        then(without_nodes(cluster, asked.without))
    for part in like:
        then(part)
    for name, number in asked.scales:
        then(resized(cluster, _key(name, asked.namespace), number))
    return question


def _key(name: str, namespace: str) -> GroupKey:
    within, slash, own = name.rpartition("/")
    return GroupKey(within, own) if slash else GroupKey(namespace, name)


def _submitted(
    cluster: SimulatedCluster,
    found: PresentState,
    asked: WhatIfRequest,
    given: Sequence[Manifest],
    admission: Admission,
) -> Submission:
    """What the scheduler would see of the manifests.

    Raises:
        UsageError: they hold something that cannot be created, or that enbloc does not place.
    """
    expansion = expand(given, KINDS, asked.namespace, only=asked.only)
    _makes_pods(expansion)
    kept = {prefix for profile in found.profiles.values() for prefix in profile.annotations}
    known = SubmissionContext(
        schedulers=tuple(found.profiles),
        pods=tuple(cluster.pods.values()),
        groups=cluster.groups,
        facts=cluster.facts,
        namespaces=_namespaces(found),
        admission=admission,
        keep=tuple(sorted(kept)),
        now=found.now,
    )
    made = submission(expansion, known)
    _placed_by_others(made, found)
    return made


def _makes_pods(expansion: Expansion) -> None:
    if expansion.pods:
        return
    said = "".join(f"; {note}" for note in expansion.notes)
    raise UsageError(f"no pod is made of what is given{said}; add what makes pods")


def _namespaces(found: PresentState) -> Mapping[str, Labels]:
    return {each.name: each.labels for each in found.events if isinstance(each, NamespaceSeen)}


def _ours(made: Submission, found: PresentState) -> Sequence[Created]:
    """The pods that enbloc places."""
    return [
        each for each in made.pods if each.pod.scheduler in found.profiles and not each.pod.node
    ]


def _placed_by_others(made: Submission, found: PresentState) -> None:
    """Check that enbloc places a pod of each object.

    Raises:
        ExceptionGroup: a UsageError for each object of which it places none, with the field to set.
    """
    ours = {each.of for each in _ours(made, found)}
    names = " or ".join(found.profiles)
    problems: dict[str, None] = {}
    for each in made.pods:
        if each.of in ours:
            continue
        if each.pod.node:
            text = f"{each.field}.nodeName is set, so no scheduler places it; leave it out"
        else:
            text = (
                f"{each.pod.scheduler} places its pods, not {names}; set "
                f"{each.field}.schedulerName: {next(iter(found.profiles))}"
            )
        problems[f"{each.of}: {text}"] = None
    if problems:
        raise ExceptionGroup("no scheduler of ours places them", [*map(UsageError, problems)])


def _others(made: Submission, found: PresentState) -> Iterator[str]:
    """Notes on pods that another scheduler places, of objects with pods that enbloc places."""
    for each in made.pods:
        if each.pod.scheduler not in found.profiles and not each.pod.node:
            yield (
                f"{each.of}: pods of {each.field} are placed by {each.pod.scheduler}, and are no "
                "part of the answer"
            )


def _created(
    cluster: SimulatedCluster, made: Submission, ours: Sequence[Created]
) -> WhatIfQuestion:
    """The question for created pods, in waves per object; pods with a node exist from the start."""
    there = [PodSeen(each.pod) for each in made.pods if each.pod.node]
    objects: dict[str, dict[int, list[Created]]] = {}
    for each in ours:
        objects.setdefault(each.of, {}).setdefault(each.wave, []).append(each)
    waves = [
        [[each.pod for each in waves[wave]] for wave in sorted(waves)] for waves in objects.values()
    ]
    return created(cluster, [*made.first, *there], waves, made.replaced)


def _classless(submitted: Submission) -> bool:
    """Whether a claim names neither a StorageClass nor a volume."""
    facts = [each.fact for each in submitted.first if isinstance(each, FactSeen)]
    claims = [each for each in facts if isinstance(each, PersistentVolumeClaim)]
    return any(not (claim.storage_class or claim.volume) for claim in claims)


def _change(asked: WhatIfRequest) -> str:
    """The change of nodes, as the beginning of a sentence; "" = none."""
    parts: list[str] = []
    if asked.without:
        parts.append(f"without {', '.join(asked.without)}")
    if asked.add_nodes:
        more = "1 more node" if asked.add_nodes == 1 else f"{asked.add_nodes} more nodes"
        parts.append(f"with {more} like {asked.like}")
    return " and ".join(parts)
