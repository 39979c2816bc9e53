# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc sandbox`: a local API server with fake nodes."""

import asyncio
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from enbloc.cli.entry import INTERRUPTED
from enbloc.cli.extras import sandbox_extra

#: The parts of a fault, and how each is read.
_FAULT: Final[dict[str, Callable[[str], Any]]] = {
    "verb": str,
    "resource": str,
    "status": int,
    "delay": float,
    "times": int,
    "retry_after": int,
    "hang": lambda text: text == "true",
    "after_commit": lambda text: text == "true",
}


def _fault(text: str) -> dict[str, Any]:
    """`verb=create,resource=pods,status=500,times=3` as arguments.

    Raises:
        click.BadParameter: a part is unknown or cannot be read.
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        try:
            found[key] = _FAULT[key](value)
        except (KeyError, ValueError):
            known = ", ".join(_FAULT)
            raise click.BadParameter(
                f'"{part}" is no KEY=VALUE with a key of {known}', param_hint="--fault"
            ) from None
    return found


@click.command(short_help="Run a local API server with fake nodes.")
@click.option(
    "--nodes",
    type=click.IntRange(0, 10_000),
    default=4,
    show_default=True,
    help="How many nodes, with 8 GPUs, 96 CPUs and 768 GiB each.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="The nodes, as a CSV with columns sn, cpu_milli, memory_mib, gpu, model.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="The port on 127.0.0.1.",
)
@click.option(
    "--write-kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("sandbox.kubeconfig"),
    show_default=True,
    help="Where to write how to reach it; removed at the end.",
)
@click.option("--no-crds", is_flag=True, help="Leave enbloc's CRDs to you.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="What is to go wrong, such as verb=create,resource=pods/binding,status=500,"
    "times=3. May be repeated.",
)
def sandbox(
    *,
    nodes: int,
    trace: Path | None,
    port: int,
    write_kubeconfig: Path,
    no_crds: bool,
    faults: tuple[str, ...],
) -> int:
    """Run a local API server with fake nodes, until Ctrl-C.

    It has no authentication and keeps nothing: it listens on 127.0.0.1 only, and what it held is
    gone when it ends.
    """
    # Imported here: `--help` needs none of it.
    with sandbox_extra("enbloc sandbox"):
        from enbloc.sandbox.nodes import default_shapes, read_trace  # noqa: PLC0415
        from enbloc.sandbox.together import Plan, run_sandbox  # noqa: PLC0415

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    shapes = default_shapes(nodes) if trace is None else read_trace(trace)
    plan = Plan(
        shapes,
        write_kubeconfig,
        port,
        crds=not no_crds,
        faults=[_fault(text) for text in faults],
    )

    def ready(url: str) -> None:
        click.echo(f"The sandbox serves {url} with {len(shapes)} nodes. In another terminal:")
        click.echo(f"  export KUBECONFIG={write_kubeconfig.resolve()}")
        click.echo("  kubectl get nodes")
        click.echo("  enbloc run")
        click.echo("Ctrl-C ends it.")

    async def until_signalled() -> int:
        stop = asyncio.Event()
        received: list[int] = []

        def on_signal(number: int) -> None:
            received.append(number)
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
        await run_sandbox(plan, ready, stop)
        return INTERRUPTED if received == [signal.SIGINT] else 0

    return asyncio.run(until_signalled())
