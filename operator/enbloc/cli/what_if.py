# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc what-if`: say what a change of manifests, nodes or groups would do; writes nothing."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import BAD_USAGE, OK
from enbloc.cli.failures import say_each
from enbloc.cli.flags import DOCUMENTS, Number, document_flag, namespace_flag
from enbloc.cli.present import Access, access_flags, present
from enbloc.cli.queue import row_document
from enbloc.cli.tables import print_document, say
from enbloc.errors import EnblocError, UsageError
from enbloc.model import names

if TYPE_CHECKING:
    from enbloc.client.client import Client
    from enbloc.simulation import Affected, PresentState
    from enbloc.what_if import Report, WhatIfRequest
    from enbloc.workloads import Admission

#: Exit code: the answer is no. As with diff, "no" differs from no answer.
NOT_SO: Final = 1
NO_ANSWER: Final = BAD_USAGE
#: The time limit for the answer (seconds).
SECONDS: Final = 120.0

#: What `enbloc.what_if.MOST_NODES` is, whose import is too slow for each command's start.
_MOST_NODES: Final = 10_000


@click.command(short_help="Simulate new objects, added or removed nodes, or scaled groups.")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Simulate creating the objects in this file, YAML or JSON; - is stdin. May be repeated.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="NODE",
    help="Simulate removing this node. May be repeated.",
)
@click.option("--add-nodes", type=Number(1, _MOST_NODES), help="Simulate adding this many nodes.")
@click.option("--like", metavar="NODE", help="Node that the added nodes are copies of.")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="GROUP=N",
    help="Simulate scaling a PodGroup to N members. May be repeated.",
)
@namespace_flag
@document_flag
@access_flags
def what_if(
    *,
    files: tuple[str, ...],
    without: tuple[str, ...],
    add_nodes: int | None,
    like: str | None,
    scales: tuple[str, ...],
    namespace: str | None,
    output: str,
    access: Access,
) -> int:
    """Simulate what happens if objects are created, nodes removed or added, or groups scaled.

    The first line is the answer: whether everything would start now, and where. Then follow the
    pods that would be evicted for it, and the groups and pods that would start, or keep their
    nodes, without the change but not with it. The scheduler's own engine decides on the objects
    that the scheduler lists, with the change and without it. Nothing is written, and no scheduler
    needs to run.

    FILE may hold objects that create pods: Pod, Job, CronJob, StatefulSet, Deployment, ReplicaSet,
    JobSet, LeaderWorkerSet, RayCluster, RayJob, SparkApplication, TrainJob, jobs of the training
    operator, the MPI operator and Volcano; and PodGroups, of enbloc and of other projects. Each
    becomes the pods that its controller would create, and the PodGroups that enbloc would create.

    A dump does not show the default StorageClass, for claims that name no class; a note says so
    where it matters.

    Exit code: 0 everything in question would start or, if only nodes change, no group or pod is
    worse off; 1 otherwise; 2 the answer is not known, for example because it would take longer than
    120 seconds.
    """
    code = NO_ANSWER
    try:
        asked = _asked(files, without, add_nodes, like, scales)
        code = _answer(asked, namespace, output, access)
    except* Exception as group:  # noqa: BLE001  # a traceback ends with 1, as an answer that is no does
        say_each(group)
    return code


# ── what is asked ────────────────────────────────────────────────────────────────────────────


def _asked(
    files: Sequence[str],
    without: Sequence[str],
    add_nodes: int | None,
    like: str | None,
    scales: Sequence[str],
) -> "WhatIfRequest":
    """The question, checked as far as possible without a cluster.

    Raises:
        UsageError: there is no question, or a flag or a file is wrong.
    """
    from enbloc.what_if import WhatIfRequest  # noqa: PLC0415  # not for `--help`
    from enbloc.workloads import manifests  # noqa: PLC0415  # as above

    if (add_nodes is None) != (like is None):
        raise UsageError("--add-nodes and --like belong together: --add-nodes 2 --like NODE")
    if not (files or without or add_nodes or scales):
        raise UsageError(
            "there is no question: pass -f FILE, --without NODE, --add-nodes N --like NODE, or "
            "--scale GROUP=N"
        )
    if files.count("-") > 1:
        raise UsageError("-f -: stdin can be read only once; pass it once")
    found = [each for file in files for each in manifests(_called(file), _content(file))]
    if files and not found:
        raise UsageError(f"-f {', '.join(files)}: no objects found")
    sizes = [_scale(each) for each in scales]
    named = [name for name, _ in sizes]
    if twice := next((name for name in named if named.count(name) > 1), None):
        raise UsageError(f"--scale: {twice} is given twice; give each group once")
    return WhatIfRequest(
        found if files else None,
        tuple(dict.fromkeys(without)),
        add_nodes or 0,
        like or "",
        sizes,
    )


def _called(file: str) -> str:
    return "stdin" if file == "-" else file


def _content(file: str) -> bytes:
    """The content of a file, up to the longest that can be parsed.

    Raises:
        UsageError: the file cannot be read.
    """
    from enbloc.workloads import MOST_BYTES  # noqa: PLC0415  # not for `--help`

    if file == "-" and sys.stdin is None:
        raise UsageError("-f -: stdin is closed; pipe a file into it, or name a file")
    try:
        if file == "-":
            return sys.stdin.buffer.read(MOST_BYTES + 1)
        with Path(file).open("rb") as stream:
            return stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"-f {file}: cannot be read: {error.strerror}; name a file") from None


def _scale(given: str) -> tuple[str, int]:
    from enbloc.what_if import scale  # noqa: PLC0415  # not for `--help`

    try:
        return scale(given)
    except UsageError as error:
        raise UsageError(f"--scale: {error}") from None


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def _answer(asked: "WhatIfRequest", namespace: str | None, output: str, access: Access) -> int:
    """Print the answer; returns the exit code.

    Raises:
        EnblocError: the simulation reached its time limit, or there is another reason.
    """
    admissions: list[Admission] = []

    async def also(client: "Client") -> None:
        from enbloc.live import read_admission  # noqa: PLC0415  # not for `--help`

        if asked.manifests is not None:
            admissions.append(await read_admission(client))

    found, default = present(access, also)
    from enbloc.process.workers import until  # noqa: PLC0415  # not for `--help`
    from enbloc.simulation import GivenUpError, answer  # noqa: PLC0415  # as above
    from enbloc.what_if import report, text  # noqa: PLC0415  # as above

    asked = replace(asked, namespace=namespace or default, only=namespace is not None)
    admission = next(iter(admissions), None) if access.dump is None else _admission(found)
    timely = partial(answer, found, go_on=until(SECONDS))
    try:
        with access.answering():
            said = report(found, asked, admission, timely)
    except GivenUpError as error:
        raise EnblocError(
            f"there is no answer: the simulation reached its time limit of {SECONDS:g} s"
        ) from error
    if output in DOCUMENTS:
        print_document(_document(said), output)
        return OK if said.answer.starts else NOT_SO
    for line in text(said, wide=output == "wide", more="; -o wide has all"):
        say(line)
    for note in said.notes:
        say(f"note: {note}", err=True)
    return OK if said.answer.starts else NOT_SO


def _admission(found: "PresentState") -> "Admission":
    """What the API server of a dump's cluster fills in at admission, as far as the dump says."""
    from enbloc.engine.events import PriorityClassSeen  # noqa: PLC0415  # not for `--help`
    from enbloc.workloads import Admission, PriorityClass  # noqa: PLC0415

    seen = [each for each in found.events if isinstance(each, PriorityClassSeen)]
    classes = {e.name: PriorityClass(e.value, e.preempts, e.default) for e in seen}
    return Admission(classes, storage_class=None)


# ── documents ────────────────────────────────────────────────────────────────────────────────


def _document(report: "Report") -> Any:
    """The answer, for programs."""
    from enbloc.what_if import text  # noqa: PLC0415  # not for `--help`

    found = report.answer
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "WhatIf",
        "sentence": next(text(report, wide=False)),
        "starts": found.starts,
        "asked": [
            {
                "name": each.name,
                "starts": each.starts,
                "pods": each.pods,
                "placed": len(each.placed),
                "message": each.message,
                "groups": [row_document(row) for row in each.rows],
            }
            for each in report.subjects
        ],
        "scaled": [
            {
                "namespace": each.key.namespace,
                "name": each.key.name,
                "members": each.members,
                "placed": each.placed,
                "whole": each.whole,
                "message": each.message,
            }
            for each in found.sized
        ],
        "evicted": [
            {
                "namespace": each.pod.namespace,
                "name": each.pod.name,
                "group": "" if each.group.name.startswith("/") else each.group.name,
                "by": str(each.by) if each.by is not None else "",
            }
            for each in found.evicted
        ],
        "delayed": [_affected_document(each) for each in found.delayed],
        "gained": [_affected_document(each) for each in found.gained],
        "notes": list(report.notes),
    }


def _affected_document(each: "Affected") -> dict[str, Any]:
    solo = each.key.name.startswith("/")
    return {
        "kind": "Pod" if solo else "PodGroup",
        "namespace": each.key.namespace,
        "name": each.pods[0].key.name if solo else each.key.name,
        "pods": [pod.key.name for pod in each.pods],
        "message": each.message,
    }
