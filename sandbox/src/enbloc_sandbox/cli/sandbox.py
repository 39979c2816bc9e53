# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc sandbox`: a local API server with fake nodes."""

import asyncio
import difflib
import logging
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

#: The exit code of a process that Ctrl-C ended.
_INTERRUPTED: Final = 130


class Number(click.IntRange):
    """An integer within bounds."""

    name = "integer"


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text]


#: The parts of a fault: how each is read, and what it must be.
_FAULT: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "verb": (str, ""),
    "resource": (str, ""),
    "status": (int, "an integer"),
    "delay": (float, "a number of seconds"),
    "times": (int, "an integer"),
    "retry_after": (int, "an integer"),
    "hang": (_flag, "true or false"),
    "after_commit": (_flag, "true or false"),
}


def _fault(text: str) -> dict[str, Any]:
    """`verb=create,resource=pods,status=500,times=3` as arguments of `Faults.add`.

    Raises:
        click.BadParameter: a part is unknown, missing, or not what it must be.
    """
    from enbloc_sandbox import Faults, resource_names  # noqa: PLC0415  # `--help` needs none of it

    found: dict[str, Any] = {}
    for part in text.split(","):
        key, separator, value = part.partition("=")
        if key not in _FAULT or not separator:
            raise _no_fault(f'"{part}" is not KEY=VALUE with a key of {", ".join(_FAULT)}')
        if key in found:
            raise _no_fault(f"{key} is given twice")
        read, kind = _FAULT[key]
        try:
            found[key] = read(value)
        except (KeyError, ValueError):
            raise _no_fault(f"{key} must be {kind}, not {value}") from None
    for key in ("verb", "resource"):
        if key not in found:
            raise _no_fault(f"{key} is missing; {key}=* stands for all")
    known = resource_names()
    resource = found["resource"]
    if resource not in {"*", *known}:
        near = difflib.get_close_matches(resource, known, n=1)
        hint = f'did you mean "{near[0]}"?' if near else 'name one such as "pods", or "*" for all'
        raise _no_fault(f'resource "{resource}" does not exist; {hint}')
    try:
        Faults().add(**found)
    except ValueError as error:
        raise _no_fault(str(error)) from None
    return found


def _program() -> str:
    """`enbloc` if a shell finds it by that name, else the path by which it was started."""
    started = Path(sys.argv[0]).absolute()
    found = shutil.which("enbloc")
    known = found is not None and Path(found).absolute() == started
    return "enbloc" if known or started.name != "enbloc" else str(started)


def _no_fault(why: str) -> click.BadParameter:
    return click.BadParameter(why, param_hint="--fault")


@click.command(short_help="Run a local API server with fake nodes.")
@click.option(
    "--nodes",
    type=Number(0, 10_000),
    default=4,
    show_default=True,
    help="Number of nodes, each with 8 GPUs, 96 CPUs and 768 GiB.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="CSV file of the nodes, with columns sn, cpu_milli, memory_mib, gpu, model.",
)
@click.option(
    "--devices",
    type=Number(0, 1024),
    default=0,
    show_default="none",
    help="Number of devices of DeviceClass gpu.sandbox.enbloc.dev that each node offers to "
    "ResourceClaims.",
)
@click.option(
    "--port",
    type=Number(0, 65535),
    default=0,
    show_default="any free one",
    help="Port to listen on, on 127.0.0.1.",
)
@click.option(
    "--write-kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("sandbox.kubeconfig"),
    show_default=True,
    help="kubeconfig file to write. It is removed at the end.",
)
@click.option("--no-crds", is_flag=True, help="Do not install enbloc's CRDs.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="A fault to inject, such as verb=create,resource=pods/binding,status=500,"
    "times=3. May be repeated.",
)
def sandbox(
    *,
    nodes: int,
    trace: Path | None,
    devices: int,
    port: int,
    write_kubeconfig: Path,
    no_crds: bool,
    faults: tuple[str, ...],
) -> int:
    """Run a local API server with fake nodes, until Ctrl-C.

    It has no authentication, and listens on 127.0.0.1 only. Its objects are lost when it ends.
    """
    # Imported here: `--help` needs none of it.
    from enbloc_sandbox.nodes import default_shapes, read_trace  # noqa: PLC0415
    from enbloc_sandbox.together import Plan, run_sandbox  # noqa: PLC0415

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    shapes = default_shapes(nodes) if trace is None else read_trace(trace)
    plan = Plan(
        shapes,
        write_kubeconfig,
        port,
        crds=not no_crds,
        devices=devices,
        faults=[_fault(text) for text in faults],
    )

    def ready(url: str) -> None:
        click.echo(f"The sandbox serves {url} with {len(shapes)} nodes. In another terminal:")
        click.echo(f"  export KUBECONFIG={write_kubeconfig.resolve()}")
        click.echo("  kubectl get nodes")
        click.echo(f"  {_program()} run")
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
        return _INTERRUPTED if received == [signal.SIGINT] else 0

    return asyncio.run(until_signalled())
