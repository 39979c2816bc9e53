# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc ui`: serve the queue and the nodes as a page for browsers."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enbloc.cli.files import sources
from enbloc.cli.flags import Number, cluster_flags, config_flag
from enbloc.cli.present import configured, of_cluster
from enbloc.cli.server_flags import default_format
from enbloc.cli.servers import Signals, loop_factory
from enbloc.cli.tables import say, warn
from enbloc.errors import UsageError
from enbloc.model.names import UI_PORT

if TYPE_CHECKING:
    from enbloc.process.workers import Worker
    from enbloc.ui import Address
    from enbloc.ui.facts import Facts


@click.command(short_help="Serve a read-only web page that shows the queue and the nodes.")
@click.option(
    "--bind-address",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. If other machines can reach it, requests need a bearer token.",
)
@click.option(
    "--port",
    type=Number(0, 65535),
    default=UI_PORT,
    show_default=True,
    help="Port to listen on. 0 selects a free one.",
)
@click.option(
    "--tls-cert-file",
    "certificate",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Certificate for HTTPS. Default: a self-signed certificate.",
)
@click.option(
    "--tls-private-key-file",
    "private_key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Private key for --tls-cert-file.",
)
@config_flag
@cluster_flags
def ui(
    *,
    bind_address: str,
    port: int,
    certificate: Path | None,
    private_key: Path | None,
    configs: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Serve a read-only web page that shows the queue and the nodes, until it is stopped.

    It lists and watches the objects that the scheduler watches, and runs the scheduler's engine on
    a copy of them, as "enbloc queue" and "enbloc explain" do. It writes nothing, and no scheduler
    needs to run. On 127.0.0.1 it serves plain HTTP to every user of this machine. On an address
    that other machines can reach it serves HTTPS, and shows each user the namespaces whose
    PodGroups they may get, and the nodes if they may list nodes.

    Exit code: 0 stopped, 1 the cluster cannot be read, or the page fails later, 2 the command line,
    a --config file or the kubeconfig is invalid, or the address, the port or the certificate cannot
    be used, 130 interrupted.
    """
    # Imported here: `--help` needs none of it.
    from enbloc.ui import Address, started  # noqa: PLC0415

    if (certificate is None) != (private_key is None):
        raise UsageError("--tls-cert-file and --tls-private-key-file belong together; pass both")
    files = None if certificate is None or private_key is None else (certificate, private_key)
    address = Address(bind_address, port, files)
    # Forked before this process has threads, connections or credentials.
    with closing(started()) as worker, asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve(address, worker, configs, kubeconfig, context))


async def _serve(
    address: "Address",
    worker: "Worker[Facts]",
    configs: Sequence[Path],
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415
    from enbloc.client.permissions import SIMULATION  # noqa: PLC0415
    from enbloc.telemetry import configure_logging  # noqa: PLC0415
    from enbloc.ui import serve_ui  # noqa: PLC0415

    given = configured(sources(configs)) if configs else None
    named = Path(given.kubeconfig) if given is not None and given.kubeconfig else None
    cluster = await load(kubeconfig or named, context)
    if given is None:
        async with Client(cluster, component="ui", rules=SIMULATION) as client:
            found, unread = await of_cluster(client)
        warn([unread] if unread else [])
        given = configured(found)
    if default_format() == "json":
        configure_logging("json")
    else:  # on a terminal, success is not worth a line
        configure_logging("text", logging.WARNING)
    signals = Signals()
    signals.take()

    def serving(url: str) -> None:
        say(f"Serving {url}/ (read-only; Ctrl-C ends it)")

    return signals.exit_code(
        await serve_ui(cluster, given, address, signals.stop, worker, serving=serving)
    )
