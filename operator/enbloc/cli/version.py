# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc version`: print the versions of enbloc and of the API server."""

from collections.abc import Mapping
from pathlib import Path

import click

import enbloc
from enbloc.cli.flags import cluster_flags
from enbloc.cli.tables import say
from enbloc.errors import NoClusterError


@click.command(short_help="Print the versions.")
@click.option("--client", "client_only", is_flag=True, help="Print the version of enbloc only.")
@cluster_flags
def version(*, client_only: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Print the versions of enbloc and of the API server."""
    click.echo(f"enbloc {enbloc.__version__}")
    if client_only:
        return
    import asyncio  # noqa: PLC0415  # only a request to a server needs it

    from enbloc.client.server_version import OLDEST, minor, written  # noqa: PLC0415  # as above

    try:
        info = asyncio.run(_server_version(kubeconfig, context))
    except NoClusterError:
        click.echo("no kubeconfig here, so no API server was asked", err=True)
        return
    say(f"Kubernetes {info.get('gitVersion') or 'of unknown version'}")
    found = minor(info)
    if found is not None and found < OLDEST:
        click.echo(
            f"warning: Kubernetes {written(found)} is older than {written(OLDEST)}, which enbloc "
            "needs",
            err=True,
        )


async def _server_version(kubeconfig: Path | None, context: str | None) -> Mapping[str, str]:
    # Imported here: the HTTP client is not always needed.
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415

    async with Client(await load(kubeconfig, context), component="cli") as client:
        return await client.version()
