# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc version`: what runs here, and what it talks to."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

import enbloc
from enbloc.cli.flags import cluster_flags
from enbloc.cli.tables import say
from enbloc.errors import NoClusterError

#: The oldest minor version of Kubernetes that enbloc supports, 1.32.
OLDEST: Final = (1, 32)


@click.command(short_help="Print the versions.")
@click.option("--client", "client_only", is_flag=True, help="Ask no API server.")
@cluster_flags
def version(*, client_only: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Print the versions of enbloc and of the API server."""
    click.echo(f"enbloc {enbloc.__version__}")
    if client_only:
        return
    import asyncio  # noqa: PLC0415  # only asking a server needs it

    try:
        info = asyncio.run(_server_version(kubeconfig, context))
    except NoClusterError:
        click.echo("no kubeconfig here, so no API server was asked", err=True)
        return
    say(f"Kubernetes {info.get('gitVersion') or 'of unknown version'}")
    minor = _minor(info)
    if minor is not None and minor < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        click.echo(
            f"warning: Kubernetes {minor[0]}.{minor[1]} is older than {oldest}, which enbloc needs",
            err=True,
        )


def _minor(info: Mapping[str, str]) -> tuple[int, int] | None:
    """Major and minor version, of "36+" the number; None = the server does not tell them."""
    found = [re.match(r"[0-9]{1,4}", info.get(part, "")) for part in ("major", "minor")]
    major, minor = (int(each[0]) if each else None for each in found)
    return None if major is None or minor is None else (major, minor)


async def _server_version(kubeconfig: Path | None, context: str | None) -> Mapping[str, str]:
    from enbloc.kube import Client, load  # noqa: PLC0415  # an HTTP client, only when it is used

    async with Client(await load(kubeconfig, context), component="cli") as client:
        return await client.version()
