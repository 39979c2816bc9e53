# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes, classes of pods, pods and groups, in one line each.

Quantities and fields stand side by side: `node("n1", cpu=8, unschedulable=True)`. Quantities are
Kubernetes' own: `cpu=8` and `cpu="8"` are eight CPUs, `memory="64Gi"`. In a resource's name, `__`
stands for `/` and `_` for `.` beside it, else for `-`: `example_com__port`; `gpu` is
`nvidia.com/gpu`.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

from enbloc.engine.effects import SetGroupStatus
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.model.budgets import Budget
from enbloc.model.groups import Group, GroupKey, GroupMemory, Role
from enbloc.model.names import Condition
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.quantity import amount
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector

Quantity = str | int

_NODE_FIELDS: Final = frozenset(field.name for field in dataclasses.fields(Node))
_SPEC_FIELDS: Final = frozenset(field.name for field in dataclasses.fields(PodSpec))


def amounts(**quantities: Quantity) -> tuple[tuple[str, int], ...]:
    """Amounts as the model has them, in name order."""
    named = {_resource(name): value for name, value in quantities.items()}
    return tuple(sorted((name, amount(name, value)) for name, value in named.items()))


def node(name: str, **of: Any) -> Node:
    """A node that offers these quantities, and 110 pods unless it says otherwise."""
    fields, quantities = _parted(of, _NODE_FIELDS)
    offered = amounts(**{"pods": 110, **quantities})
    given: dict[str, Any] = {"name": name, "allocatable": _nonzero(offered), **fields}
    return Node(**given)


def labelled(name: str, **labels: str) -> Node:
    """A node with these labels, and room for 110 pods."""
    return node(name, labels=tuple(sorted(labels.items())))


def spec(**of: Any) -> PodSpec:
    """A class of pods that requests these quantities, in one container that names them all."""
    fields, quantities = _parted(of, _SPEC_FIELDS)
    asked = amounts(**{"pods": 1, **quantities})
    named = dict(asked)
    given: dict[str, Any] = {
        "requests": _nonzero(asked),
        "nonzero_cpu": named.get("cpu", 100),
        "nonzero_memory": named.get("memory", 200 * 1024 * 1024),
        **fields,
    }
    return PodSpec(**given)


def pod(of: PodSpec | None = None, name: str = "pod", **facts: Any) -> Pod:
    """A pod of that class in namespace "default"."""
    return Pod(PodKey("default", name), PodUID(name), of or PodSpec(), **facts)


def group(
    name: str, minimum: int = 1, *, roles: Iterable[tuple[str, int]] = (), **of: Any
) -> Group:
    """A PodGroup in namespace "ns", whose roles have these names and minimums."""
    given: dict[str, Any] = {
        "key": GroupKey("ns", name),
        "uid": f"pg-{name}",
        "min_member": minimum,
        "roles": tuple(Role(*role) for role in roles),
        "generation": 1,
        **of,
    }
    return Group(**given)


def waiting(*pods: Pod) -> GroupFacts:
    """The facts of a group whose pending members are these."""
    key, count = GroupKey("default", "group"), len(pods)
    return GroupFacts(
        key=key, group=Group(key, min_member=count), solo=False, pending=pods,
        total=Floor("", count, count, 0, 0), roles=(), members=count, gated=0, foreign=0, running=0,
        started=False, run_name="", priority=0, queue_time=0.0,
    )  # fmt: skip


def remembered(status: SetGroupStatus) -> GroupMemory:
    """What is read back from a status that was written."""
    holds = {each.type: each.message for each in status.conditions if each.status}
    return GroupMemory(
        run_name=status.run_name,
        started=status.started,
        succeeded=status.succeeded,
        roles=tuple((role.name, role.succeeded) for role in status.roles),
        attempts=status.attempts,
        initially_scheduled=Condition.INITIALLY_SCHEDULED in holds,
        runs=status.runs,
        preempted=holds.get(Condition.DISRUPTION_TARGET, ""),
        last_attempt=status.last_attempt,
    )


def _resource(name: str) -> str:
    if name == "gpu":
        return "nvidia.com/gpu"
    return name.replace("__", "/").replace("_", "." if "__" in name else "-")


def _parted(
    of: Mapping[str, Any], known: frozenset[str]
) -> tuple[dict[str, Any], dict[str, Quantity]]:
    """Fields of the model's class, and quantities."""
    fields = {name: value for name, value in of.items() if name in known}
    return fields, {name: value for name, value in of.items() if name not in known}


def _nonzero(given: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    return tuple((name, value) for name, value in given if value)


def budget(app: str, allowed: int = 0) -> Budget:
    """The PodDisruptionBudget of an app, of which so many pods may be evicted now."""
    selector = Selector((Requirement("app", Operator.IN, (app,)),))
    return Budget(f"ns/{app}", "ns", selector, allowed)
