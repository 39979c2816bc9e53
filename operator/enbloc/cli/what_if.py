# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc what-if`: what would become of manifests, nodes and groups; nothing is written."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from enbloc.cli.entry import BAD_USAGE, OK
from enbloc.cli.failures import say_each
from enbloc.cli.flags import (
    DOCUMENTS,
    Number,
    cluster_flags,
    config_flag,
    document_flag,
    dump_file_flag,
    namespace_flag,
)
from enbloc.cli.present import Access, present
from enbloc.cli.tables import print_document, say
from enbloc.errors import UsageError

if TYPE_CHECKING:
    from enbloc.client.client import Client
    from enbloc.controller.submission import Created, Submission
    from enbloc.model.groups import GroupKey
    from enbloc.model.selectors import Labels
    from enbloc.simulation import Present, Question, SimulatedCluster
    from enbloc.workloads import Admission, Expansion, Manifest

#: Exit codes beside 0. As with diff, an answer that is no differs from having none.
NOT_SO: Final = 1
NO_ANSWER: Final = BAD_USAGE

_MOST_NODES: Final = 10_000
_MOST_MEMBERS: Final = 10_000


@click.command(short_help="Say what would become of pods, nodes and groups before it is done.")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Objects that would be created, YAML or JSON; - is stdin. May be repeated.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="NODE",
    help="A node that would be gone. May be repeated.",
)
@click.option("--add-nodes", type=Number(1, _MOST_NODES), help="So many nodes would be added.")
@click.option("--like", metavar="NODE", help="Which node the added ones are like.")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="GROUP=N",
    help="A PodGroup that would have N members. May be repeated.",
)
@namespace_flag
@document_flag
@config_flag
@dump_file_flag
@cluster_flags
def what_if(  # noqa: PLR0913  # each is a flag
    *,
    files: tuple[str, ...],
    without: tuple[str, ...],
    add_nodes: int | None,
    like: str | None,
    scales: tuple[str, ...],
    namespace: str | None,
    output: str,
    configs: tuple[Path, ...],
    dump: Path | None,
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Say what would happen if objects were created, nodes went or came, or groups were scaled.

    The first line is the answer: whether all would start now, and where; then who would be evicted
    for it, and who would start, or keep its nodes, without the change and does not with it. The
    engine itself decides, on what the scheduler lists, with the change and without it. Nothing is
    written, and no scheduler needs to run.

    FILE may hold what makes pods: Pod, Job, CronJob, StatefulSet, Deployment, ReplicaSet, JobSet,
    LeaderWorkerSet, RayCluster, RayJob, SparkApplication, TrainJob, jobs of the training operator,
    the MPI operator and Volcano; and PodGroups, of enbloc and of other projects. Each becomes the
    pods that its controller would make, and the PodGroups that enbloc would.

    Of a dump it is not known which StorageClass is that of claims that name none; a note says so
    where it matters.

    Exit code: 0 all that is asked about would start, or nobody is worse off where only nodes
    change; 1 not; 2 the answer is not known.
    """
    code = NO_ANSWER
    try:
        asked = _asked(files, without, add_nodes, like, scales)
        access = Access("what-if", configs, kubeconfig, context, dump)
        code = _answer(asked, namespace, output, access)
    except* Exception as group:  # noqa: BLE001  # a traceback ends with 1, as an answer that is no does
        say_each(group)
    return code


# ── what is asked ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Asked:
    """The flags, read.

    Attributes:
        manifests: of all files; None = none were given.
        scales: names of groups, and how many members they would have.
    """

    manifests: "Sequence[Manifest] | None"
    without: tuple[str, ...]
    add_nodes: int
    like: str
    scales: Sequence[tuple[str, int]]


def _asked(
    files: Sequence[str],
    without: Sequence[str],
    add_nodes: int | None,
    like: str | None,
    scales: Sequence[str],
) -> _Asked:
    """What is asked, checked as far as it can be without a cluster.

    Raises:
        UsageError: nothing is asked, or a flag or a file is wrong.
    """
    from enbloc.workloads import manifests  # noqa: PLC0415  # not for `--help`

    if (add_nodes is None) != (like is None):
        raise UsageError("--add-nodes and --like belong together: --add-nodes 2 --like NODE")
    if not (files or without or add_nodes or scales):
        raise UsageError(
            "nothing is asked: pass -f FILE, --without NODE, --add-nodes N --like NODE, or "
            "--scale GROUP=N"
        )
    if files.count("-") > 1:
        raise UsageError("-f -: stdin can be read once; name it once")
    found = [each for file in files for each in manifests(_called(file), _content(file))]
    if files and not found:
        raise UsageError(f"-f {', '.join(files)}: there is no object in it")
    sizes = [_scale(each) for each in scales]
    named = [name for name, _ in sizes]
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise UsageError(f"--scale: {twice} is named twice; name each group once")
    return _Asked(
        found if files else None,
        tuple(dict.fromkeys(without)),
        add_nodes or 0,
        like or "",
        sizes,
    )


def _called(file: str) -> str:
    return "stdin" if file == "-" else file


def _content(file: str) -> bytes:
    """What a file holds, and no more than can be read.

    Raises:
        UsageError: it cannot be read.
    """
    from enbloc.workloads import MOST_BYTES  # noqa: PLC0415  # not for `--help`

    if file == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-f {file}: cannot be read: {error.strerror}; name a file") from None


def _scale(given: str) -> tuple[str, int]:
    name, equals, number = given.rpartition("=")
    if not (equals and name and number.isascii() and number.isdigit() and len(number) < 9):
        raise UsageError(f'--scale: "{given}" is not GROUP=N; write one such as train=8')
    if int(number) > _MOST_MEMBERS:
        raise UsageError(f"--scale: {number} members; at most {_MOST_MEMBERS} can be asked about")
    return name, int(number)


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def _answer(asked: _Asked, namespace: str | None, output: str, access: Access) -> int:
    """Print the answer; the exit code."""
    admissions: list[Admission] = []

    async def also(client: "Client") -> None:
        from enbloc.live import read_admission  # noqa: PLC0415  # not for `--help`

        if asked.manifests is not None:
            admissions.append(await read_admission(client))

    found, default = present(access, also)
    from enbloc.cli.what_if_report import Report, document, text  # noqa: PLC0415  # as above
    from enbloc.simulation import SimulatedCluster, answer  # noqa: PLC0415

    cluster = SimulatedCluster(found)
    question = _nodes_and_groups(cluster, asked, namespace or default)
    notes: list[str] = []
    created: Sequence[Created] = ()
    if asked.manifests is not None:
        admission = admissions[0] if admissions else _admission(found)
        made = _submitted(
            cluster, found, asked.manifests, admission, namespace, namespace or default
        )
        created = _ours(made, found)
        notes = [*made.notes, *_classless(made, access.dump), *dict.fromkeys(_others(made, found))]
        question = question.plus(_created(cluster, made, created))
    report = Report(_change(asked), answer(found, question), created, notes)
    if output in DOCUMENTS:
        print_document(document(report), output)
        return OK if report.answer.starts else NOT_SO
    for line in text(report, wide=output == "wide"):
        say(line)
    for note in report.notes:
        say(f"note: {note}", err=True)
    return OK if report.answer.starts else NOT_SO


def _admission(found: "Present") -> "Admission":
    """What the API server of a dump filled in, but for claims without a StorageClass."""
    from enbloc.engine.events import PriorityClassSeen  # noqa: PLC0415  # not for `--help`
    from enbloc.workloads import Admission, PriorityClass  # noqa: PLC0415

    seen = [each for each in found.events if isinstance(each, PriorityClassSeen)]
    return Admission({e.name: PriorityClass(e.value, e.preempts, e.default) for e in seen})


def _classless(made: "Submission", dump: Path | None) -> "Iterator[str]":
    """What is said of claims whose StorageClass a dump does not tell."""
    from enbloc.engine.events import FactSeen  # noqa: PLC0415  # not for `--help`
    from enbloc.storage.facts import PersistentVolumeClaim  # noqa: PLC0415

    facts = [each.fact for each in made.first if isinstance(each, FactSeen)]
    claims = [each for each in facts if isinstance(each, PersistentVolumeClaim)]
    if dump is not None and any(not (claim.storage_class or claim.volume) for claim in claims):
        yield (
            f"claims without storageClassName are taken to have none: {dump} does not say which "
            "StorageClass is the default; name it in the claims"
        )


def _nodes_and_groups(cluster: "SimulatedCluster", asked: _Asked, namespace: str) -> "Question":
    """What is asked of nodes and of groups that exist."""
    from enbloc.simulation import (  # noqa: PLC0415  # not for `--help`
        Question,
        more_nodes,
        resized,
        without_nodes,
    )

    question = Question()

    def then(part: "Question") -> None:
        """What is asked next is asked of the cluster in which this has happened."""
        nonlocal question
        cluster.tell(part.events)
        question = question.plus(part)

    like = [more_nodes(cluster, asked.add_nodes, asked.like)] if asked.add_nodes else []
    if asked.without:
        then(without_nodes(cluster, asked.without))
    for part in like:
        then(part)
    for name, number in asked.scales:
        then(resized(cluster, _key(name, namespace), number))
    return question


def _key(name: str, namespace: str) -> "GroupKey":
    from enbloc.model.groups import GroupKey  # noqa: PLC0415  # not for `--help`

    within, slash, own = name.rpartition("/")
    return GroupKey(within, own) if slash else GroupKey(namespace, name)


def _submitted(
    cluster: "SimulatedCluster",
    found: "Present",
    given: "Sequence[Manifest]",
    admission: "Admission",
    only: str | None,
    namespace: str,
) -> "Submission":
    """What the scheduler would see of the files.

    Raises:
        UsageError: they hold something that cannot be created, or that no scheduler of ours places.
    """
    from enbloc.controller.sources.at_once import KINDS  # noqa: PLC0415  # not for `--help`
    from enbloc.controller.submission import Known, submission  # noqa: PLC0415
    from enbloc.workloads import expand  # noqa: PLC0415

    expansion = expand(given, KINDS, namespace, only=only is not None)
    _makes_pods(expansion)
    kept = {prefix for profile in found.profiles.values() for prefix in profile.annotations}
    known = Known(
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


def _makes_pods(expansion: "Expansion") -> None:
    if expansion.pods:
        return
    said = "".join(f"; {note}" for note in expansion.notes)
    raise UsageError(f"-f: no pod is made of what is in the files{said}; add what makes pods")


def _namespaces(found: "Present") -> "Mapping[str, Labels]":
    from enbloc.engine.events import NamespaceSeen  # noqa: PLC0415  # not for `--help`

    return {each.name: each.labels for each in found.events if isinstance(each, NamespaceSeen)}


def _ours(made: "Submission", found: "Present") -> "Sequence[Created]":
    """The pods that are to be placed by a scheduler of ours."""
    return [
        each for each in made.pods if each.pod.scheduler in found.profiles and not each.pod.node
    ]


def _placed_by_others(made: "Submission", found: "Present") -> None:
    """See that of each object some pod is ours to place.

    Raises:
        ExceptionGroup: of a UsageError for each of which none is, with the field to set.
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


def _others(made: "Submission", found: "Present") -> "Iterator[str]":
    """What is said of pods that another scheduler places, of objects of which some are ours."""
    for each in made.pods:
        if each.pod.scheduler not in found.profiles and not each.pod.node:
            yield (
                f"{each.of}: pods of {each.field} are placed by {each.pod.scheduler}, and are no "
                "part of the answer"
            )


def _created(
    cluster: "SimulatedCluster", made: "Submission", ours: "Sequence[Created]"
) -> "Question":
    """The pods of each object, wave by wave; those that have a node are there from the start."""
    from enbloc.engine.events import PodSeen  # noqa: PLC0415  # not for `--help`
    from enbloc.simulation import created  # noqa: PLC0415

    there = [PodSeen(each.pod) for each in made.pods if each.pod.node]
    objects: dict[str, dict[int, list[Created]]] = {}
    for each in ours:
        objects.setdefault(each.of, {}).setdefault(each.wave, []).append(each)
    waves = [
        [[each.pod for each in waves[wave]] for wave in sorted(waves)] for waves in objects.values()
    ]
    return created(cluster, [*made.first, *there], waves, made.replaced)


def _change(asked: _Asked) -> str:
    """What is changed of nodes, as the beginning of a sentence; "" = nothing."""
    parts: list[str] = []
    if asked.without:
        parts.append(f"without {', '.join(asked.without)}")
    if asked.add_nodes:
        more = "1 more node" if asked.add_nodes == 1 else f"{asked.add_nodes} more nodes"
        parts.append(f"with {more} like {asked.like}")
    return " and ".join(parts)
