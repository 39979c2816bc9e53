# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc topology`: show what is free in each domain, or write a Topology from node labels."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import ERROR, OK
from enbloc.cli.failures import say_each
from enbloc.cli.flags import cluster_flags
from enbloc.cli.running import run
from enbloc.cli.tables import print_document, print_table, say
from enbloc.errors import EnblocError, UsageError
from enbloc.model import names
from enbloc.model.dns_names import LABEL
from enbloc.model.qualified_names import object_name_problem, qualified_name_problem
from enbloc.model.quantity import render
from enbloc.model.topology import MOST_LEVELS, Level, Topology, place_of

if TYPE_CHECKING:
    from enbloc.live import NodeReading
    from enbloc.topology import DomainCapacity, Found, Overview

_GIB: Final = 2**30


@click.group(short_help="Show the domains of a Topology, or generate a Topology from node labels.")
def topology() -> None:
    """Show the domains of a Topology, or generate a Topology from node labels.

    Nothing is written to the cluster, and no process of enbloc needs to run.
    """


# ── show ─────────────────────────────────────────────────────────────────────────────────────


@topology.command()
@click.option(
    "--topology",
    "name",
    metavar="NAME",
    help="The Topology. May be omitted if enbloc has only one. For one of another project, put its "
    "API group first, as in kueue.x-k8s.io/default.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=KEY",
    help="A level to show instead of a Topology: its name and its node label. May be repeated, the "
    "outermost level first.",
)
@click.option("--level", help="The innermost level to show, by name or node label. Default: all.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@cluster_flags
def show(
    *,
    name: str | None,
    labels: tuple[str, ...],
    level: str | None,
    output: str,
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Show the domains of a Topology, or of node labels, as a tree with the free capacity of each.

    Free capacity is what the nodes that are Ready and not cordoned offer, minus what the pods on
    them request; devices of ResourceClaims are not counted. A domain with enough capacity in total
    may still have too little on each node. Of more than 1000 domains, the first 1000 are shown, and
    the number of the others.

    Exit code: 0 shown, 1 there is no such Topology, or it cannot be read.
    """
    given = [*map(_level, labels)]
    _check(given)
    if given and name is not None:
        raise UsageError("--label and --topology cannot be used together; leave one of them out")
    # Suppresses log lines about malformed objects: the warnings already name them.
    logging.getLogger("enbloc").addHandler(logging.NullHandler())
    try:
        reading = run(_read(kubeconfig, context))
    except ExceptionGroup as group:  # an error for each resource that cannot be listed
        say_each(group)
        return ERROR
    for problem in reading.problems:
        say(f"warning: {problem}", err=True)
    from enbloc.topology import overview  # noqa: PLC0415  # not for `--help`

    found = Topology("", tuple(given)) if given else _named(name, reading.topologies)
    shown = overview(reading.nodes, found, _depth(found, level))
    if output == "table":
        _print(shown)
    else:
        print_document(_document(shown), output)
    return OK


async def _read(kubeconfig: Path | None, context: str | None) -> "NodeReading":
    # Imported here: `--help` needs none of it.
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415
    from enbloc.client.permissions import TOPOLOGY  # noqa: PLC0415
    from enbloc.live import read_nodes  # noqa: PLC0415

    cluster = await load(kubeconfig, context)
    async with Client(cluster, component="topology", rules=TOPOLOGY) as client:
        return await read_nodes(client)


def _named(name: str | None, topologies: Mapping[str, Topology]) -> Topology:
    """The Topology to show.

    Raises:
        EnblocError: it does not exist, or cannot be used.
        UsageError: there are several, and the command names none.
    """
    if not topologies:
        raise EnblocError(
            "there is no Topology; create one with: enbloc topology init | kubectl apply -f -, "
            "or pass node labels: --label rack=example.com/rack"
        )
    known = ", ".join(sorted(topologies))
    own = [each for each in topologies.values() if not each.foreign] or [*topologies.values()]
    if name is None and len(own) > 1:
        raise UsageError(f"there are several Topologies; pass --topology with one of {known}")
    found = own[0] if name is None else topologies.get(name)
    if found is None:
        raise EnblocError(f"Topology {name} not found; pass --topology with one of {known}")
    if found.problem:
        raise EnblocError(f"Topology {found.name} cannot be used: {found.problem}")
    return found


def _depth(found: Topology, level: str | None) -> int | None:
    """How many levels to show; None = all.

    Raises:
        UsageError: there is no such level.
    """
    if level is None:
        return None
    if (place := place_of(level, found.levels)) is not None:
        return place + 1
    known = ", ".join(each.name for each in found.levels)
    which = f"Topology {found.name} has no level" if found.name else "--label defines no level"
    raise UsageError(f'{which} "{level}"; pass --level with one of {known}')


def _print(shown: "Overview") -> None:
    """The tree, for people."""
    rows = [
        (
            "  " * each.depth + each.path,
            shown.levels[each.depth].name,
            str(each.nodes),
            str(each.ready),
            *_free(each),
        )
        for each in shown.domains
    ]
    print_table(("DOMAIN", "LEVEL", "NODES", "READY", "CPU", "MEMORY", "GPUS"), rows)
    if shown.more:
        counts = " and ".join(f"{count} of {level}" for level, count in shown.more.items())
        say(f"and {sum(shown.more.values())} more: {counts}; --level shows fewer levels")
    levels = {level.label: level for level in shown.levels}
    for label, count in shown.outside.items():
        if levels[label].tier is not None:
            nodes = "node is" if count == 1 else "nodes are"
            say(f"outside: {count} {nodes} in no HyperNode of {levels[label].name}")
        else:
            nodes = "node lacks" if count == 1 else "nodes lack"
            say(f"outside: {count} {nodes} the label {label}")


def _free(domain: "DomainCapacity") -> tuple[str, str, str]:
    """Free CPUs, memory and GPUs, rounded down."""
    gpus = sum(amount for name, amount in domain.free.items() if name.endswith("/gpu"))
    memory = domain.free["memory"]
    whole = f"{memory // _GIB}Gi" if memory >= _GIB else render("memory", memory)
    return f"{domain.free['cpu'] // 100 / 10:g}", whole, str(gpus)


def _document(shown: "Overview") -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "TopologyOverview",
        "topology": shown.topology,
        "levels": _levels(shown.levels),
        "nodes": shown.nodes,
        "domains": [
            {
                "level": shown.levels[each.depth].name,
                "path": each.path,
                "nodes": each.nodes,
                "ready": each.ready,
                "free": {name: render(name, amount) for name, amount in each.free.items()},
            }
            for each in shown.domains
        ],
        "more": dict(shown.more),
        "outside": dict(shown.outside),
    }


def _levels(levels: Sequence[Level]) -> list[dict[str, str]]:
    """The levels as in the API."""
    return [{"name": level.name, "nodeLabel": level.label} for level in levels]


# ── init ─────────────────────────────────────────────────────────────────────────────────────


@topology.command()
@click.option("--name", default="default", show_default=True, help="The name of the Topology.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=KEY",
    help="A level: its name and its node label. May be repeated, the outermost level first. "
    "Default: the known labels of clouds and fabrics.",
)
@click.option("--host", is_flag=True, help="Add an innermost level in which each node is a domain.")
@cluster_flags
def init(
    *,
    name: str,
    labels: tuple[str, ...],
    host: bool,
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """Generate a Topology from node labels.

    It goes to stdout, for review or for "kubectl apply -f -". Labels that are left out go to
    stderr, with the reason. Known labels are topology.kubernetes.io/region and zone, and those of
    EKS, GKE, OKE, CoreWeave, Nebius, Crusoe, Topograph and NVIDIA's GPU operator. A label is used
    if at least half of the nodes have it, and its domains lie within those of the label before.

    Exit code: 0 written, 1 the nodes have no such label, or cannot be read.
    """
    from enbloc.topology import HOST, chosen, guessed  # noqa: PLC0415  # not for `--help`

    if problem := object_name_problem(name):
        raise UsageError(f"--name: {problem}; write one such as fabric")
    levels = [*map(_level, labels), *([HOST] if labels and host else [])]
    _check(levels)
    nodes = run(_labels_of_nodes(kubeconfig, context))
    found = chosen(nodes, levels) if levels else guessed(nodes, host=host)
    for note in found.notes:
        say(f"warning: {note}", err=True)
    if not found.levels:
        raise EnblocError(
            f"no known label makes a level on the {len(nodes)} nodes; pass the labels that show "
            "which nodes are near each other, outermost first: --label zone=example.com/zone "
            "--label rack=example.com/rack"
        )
    print_document(_topology(name, found), "yaml")
    return OK


def _level(given: str) -> Level:
    """The level that a flag names.

    Raises:
        UsageError: the value is not a level.
    """
    level, equals, key = given.partition("=")
    if not equals or not LABEL.fullmatch(level):
        raise UsageError(
            f'--label: "{given}" is not NAME=KEY with lowercase letters, digits and "-" in NAME; '
            "write one such as rack=example.com/rack"
        )
    if problem := qualified_name_problem(key):
        raise UsageError(f"--label {level}: a node label {problem}")
    return Level(level, key)


def _check(levels: Sequence[Level]) -> None:
    """Check that one Topology can have all these levels.

    Raises:
        UsageError: it cannot.
    """
    if len(levels) > MOST_LEVELS:
        raise UsageError(f"--label: {len(levels)} levels; a Topology has at most {MOST_LEVELS}")
    for values in ([level.name for level in levels], [level.label for level in levels]):
        for value in values:
            if values.count(value) > 1:
                raise UsageError(
                    f"--label: {value} is there twice; each level needs its own name and node label"
                )


async def _labels_of_nodes(kubeconfig: Path | None, context: str | None) -> list[dict[str, str]]:
    # Imported here: `--help` needs none of it.
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415
    from enbloc.client.paths import NODES  # noqa: PLC0415
    from enbloc.client.permissions import TOPOLOGY  # noqa: PLC0415

    cluster = await load(kubeconfig, context)
    async with Client(cluster, component="topology", rules=TOPOLOGY) as client:
        return [node["metadata"].get("labels") or {} async for node in client.list(NODES)]


def _topology(name: str, found: "Found") -> Any:
    """The Topology as an object of the API."""
    return {
        "apiVersion": f"{names.API_GROUP}/{names.API_VERSION}",
        "kind": names.TOPOLOGY_KIND,
        "metadata": {"name": name},
        "spec": {"levels": _levels(found.levels)},
    }
