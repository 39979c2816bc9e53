# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc doctor`: find what in the cluster clashes with enbloc, or keeps it from working."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import OK
from enbloc.cli.files import sources
from enbloc.cli.flags import cluster_flags, config_flag, output_flag
from enbloc.cli.tables import print_table
from enbloc.model import names

if TYPE_CHECKING:
    from enbloc.doctor import Finding, Installation

#: Exit code: a fault was found.
FAULTY: Final = 3


@click.command(short_help="Check the cluster for conflicts with enbloc.")
@click.option(
    "-n",
    "--namespace",
    default=names.NAMESPACE,
    show_default=True,
    help="The namespace of the installation.",
)
@click.option(
    "--release",
    default="enbloc",
    show_default=True,
    help="Prefix of the names of its Deployments, such as batch-enbloc for the Helm release batch.",
)
@click.option(
    "--preinstall",
    is_flag=True,
    help="Check before installation: do not expect enbloc, and check your own permissions.",
)
@output_flag
@config_flag
@cluster_flags
def doctor(
    *,
    namespace: str,
    release: str,
    preinstall: bool,
    output: str,
    configs: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Check the cluster for conflicts with enbloc, and for what keeps it from working.

    It checks other schedulers of the same schedulerName, CRDs, permissions, the version of the API
    server, pods that wait in vain, pods of other schedulers that claim devices, and Jobs that allow
    too few failures for an eviction of their gang. It changes nothing, and no process of enbloc
    needs to run. It reads from the Deployments what is installed. What it may not read is reported
    as "unknown", which is no fault.

    Exit code: 0 no fault was found, 3 at least one fault was found.
    """
    from enbloc.doctor import Verdict  # noqa: PLC0415  # not for `--help`

    ours = installation(namespace, release, configs, planned=preinstall)
    findings = asyncio.run(_examined(kubeconfig, context, ours))
    healthy = all(each.verdict is not Verdict.FAULT for each in findings)
    if output == "json":
        click.echo(json.dumps(_document(findings, healthy=healthy), indent=2))
    else:
        rows = [(each.check, each.verdict, each.object, each.message) for each in findings]
        print_table(("CHECK", "RESULT", "OBJECT", "MESSAGE"), rows)
    return OK if healthy else FAULTY


def installation(
    namespace: str, release: str, configs: Sequence[Path], *, planned: bool
) -> "Installation":
    """The installation that the flags describe.

    Args:
        namespace: of its Deployments.
        release: the prefix of their names.
        configs: files with its scheduler's configuration; none = not known.
        planned: whether it does not exist yet.

    Raises:
        ConfigError: a file cannot be read or is invalid.
    """
    from enbloc.doctor import Installation  # noqa: PLC0415  # not for `--help`

    if not configs:
        return Installation(namespace, release, planned=planned)
    from enbloc.config import configure  # noqa: PLC0415  # only a given file needs it

    found = configure(sources(configs))
    election = found.leader_election
    # The default is the name of no release; the chart sets the Lease's name.
    lease = "" if election.resource_name == names.SCHEDULER_LEASE else election.resource_name
    return Installation(
        namespace,
        release,
        frozenset(found.profiles),
        planned=planned,
        lease=(election.resource_namespace, lease),
    )


async def _examined(
    kubeconfig: Path | None, context: str | None, ours: "Installation"
) -> "list[Finding]":
    # Imported here: `--help` needs none of it.
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415
    from enbloc.doctor import examine  # noqa: PLC0415

    async with Client(await load(kubeconfig, context), component="doctor") as client:
        return await examine(client, ours)


def _document(findings: "Sequence[Finding]", *, healthy: bool) -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Diagnosis",
        "healthy": healthy,
        "findings": [
            {
                "check": each.check,
                "verdict": str(each.verdict),
                "object": each.object,
                "message": each.message,
            }
            for each in findings
        ],
    }
