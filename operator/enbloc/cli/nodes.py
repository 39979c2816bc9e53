# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc nodes`: show what is free on nodes of each shape, and who gets it next."""

from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import ERROR, OK
from enbloc.cli.failures import say_each
from enbloc.cli.flags import DOCUMENTS, document_flag
from enbloc.cli.present import Access, access_flags, outlook
from enbloc.cli.tables import print_document, print_table, say
from enbloc.model import names
from enbloc.model.quantity import render
from enbloc.model.text import several

if TYPE_CHECKING:
    from enbloc.simulation import NodeShape

_GIB: Final = 2**30
_MOST_NAMED: Final = 3
_HEADERS: Final = (
    "LIKE", "NODES", "USABLE", "CPU", "MEMORY", "GPUS", "PODS", "TAINTS", "STARTING", "RESERVED",
)  # fmt: skip


@click.command(short_help="Show free capacity by node shape, and the groups that get it next.")
@document_flag
@access_flags
def nodes(*, output: str, access: Access) -> int:
    """Show free capacity by node shape, and the groups that get it next.

    Nodes of one shape offer the same resources and have the same taints. CPU, MEMORY and GPUS
    (resources whose names end in /gpu) show how much is free on the nodes that are Ready and not
    cordoned, of how much they offer. A large sum may still be too little on each node. STARTING
    lists the groups that get nodes at their next turn, found by a simulation on the objects that
    the scheduler lists; nothing is written. RESERVED lists the groups that nodes are reserved for
    while pods of lower priority are evicted from them.

    Exit code: 0 shown, 1 the cluster cannot be read, 2 the command line, a --config file, the
    dump or the kubeconfig is invalid.
    """
    try:
        found, _ = outlook(access)
    except ExceptionGroup as group:  # an error for each resource that cannot be listed
        say_each(group)
        return ERROR
    shapes = found.node_shapes()
    if output in DOCUMENTS:
        items = [_document(shape) for shape in shapes]
        document = {"apiVersion": names.CLI_API_VERSION, "kind": "NodeShapes", "items": items}
        print_document(document, output)
    elif not shapes:
        say("There are no nodes.", err=True)
    else:
        print_table(_HEADERS, [_line(shape, wide=output == "wide") for shape in shapes])
    return OK


def _line(shape: "NodeShape", *, wide: bool) -> tuple[str, ...]:
    gpus = sorted(name for name in shape.offered if name.endswith("/gpu"))
    return (
        shape.nodes[0],
        str(len(shape.nodes)),
        str(len(shape.usable)),
        f"{_cpus(shape.free('cpu'))}/{_cpus(shape.offered['cpu'])}",
        f"{shape.free('memory') // _GIB}/{shape.offered['memory'] // _GIB}Gi",
        f"{sum(map(shape.free, gpus))}/{sum(shape.offered[name] for name in gpus)}",
        str(shape.pods),
        ", ".join(f"{t.key}{'=' + t.value if t.value else ''}:{t.effect}" for t in shape.taints)
        or "-",
        *(_named(list(names), wide=wide) for names in (shape.starting, shape.reserved)),
    )


def _named(groups: list[str], *, wide: bool) -> str:
    return several(groups, len(groups) if wide else _MOST_NAMED) or "-"


def _cpus(milli: int) -> str:
    """CPUs, rounded down to tenths."""
    return f"{milli // 100 / 10:g}"


def _document(shape: "NodeShape") -> Any:
    """One shape, for programs."""
    resources = [name for name in sorted(shape.offered) if name != "pods"]
    return {
        "like": shape.nodes[0],
        "nodes": shape.nodes,
        "usable": shape.usable,
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": str(taint.effect)}
            for taint in shape.taints
        ],
        "offered": {name: render(name, shape.offered[name]) for name in resources},
        "free": {name: render(name, shape.free(name)) for name in resources},
        "pods": shape.pods,
        "starting": list(shape.starting),
        "reserved": list(shape.reserved),
    }
