# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A small cluster as plain objects: what the reference reads, and our tables made from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property

from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels, Selector
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey, Workloads


@dataclass(frozen=True)
class Host:
    """One node and the pods that sit on it."""

    node: Node
    pods: tuple[Pod, ...]

    @cached_property
    def labels(self) -> dict[str, str]:
        return dict(self.node.labels)

    @cached_property
    def allocatable(self) -> dict[str, int]:
        return dict(self.node.allocatable)

    def requested(self, resource: str) -> int:
        return sum(dict(pod.spec.requests).get(resource, 0) for pod in self.pods)


@dataclass(frozen=True)
class Hosts:
    """Hosts, the labels of each namespace, and what Services and controllers select."""

    hosts: tuple[Host, ...]
    namespaces: Mapping[str, Labels] = field(default_factory=dict[str, Labels])
    workloads: tuple[tuple[WorkloadKey, Selector], ...] = ()

    def snapshot(self) -> Snapshot:
        """The same as our tables, one row per host in their order."""
        nodes, placed, workloads = Nodes(ResourceSpace(), Ledgers()), PlacedPods(), Workloads()
        for host in self.hosts:  # all that is offered is known before anybody is counted
            nodes.put(host.node)
        for row, host in enumerate(self.hosts):
            for pod in host.pods:
                nodes.place(row, pod.spec)
                placed.put(pod, row)
        for key, selector in self.workloads:
            workloads.put(key, selector)
        return Snapshot(nodes.snapshot(), placed.snapshot(), self.namespaces, workloads)

    def placed(self, pod: Pod, row: int) -> "Hosts":
        """The world after this pod came to a host."""
        host = self.hosts[row]
        return self._with(row, (*host.pods, replace(pod, node=host.node.name)))

    def removed(self, pod: Pod, row: int) -> "Hosts":
        """The world after this pod left a host."""
        return self._with(row, tuple(p for p in self.hosts[row].pods if p.uid != pod.uid))

    def _with(self, row: int, pods: tuple[Pod, ...]) -> "Hosts":
        host = Host(self.hosts[row].node, pods)
        return replace(self, hosts=(*self.hosts[:row], host, *self.hosts[row + 1 :]))

    def about(self, pod: Pod, settings: object = None) -> str:
        """What a failed assertion says: everything there is, a pod a line."""
        lines = ["", *(f"  namespace {name}: {dict(at)}" for name, at in self.namespaces.items())]
        lines += [f"  {kind} {space}/{name}: {short(selector)}"
                  for (kind, space, name), selector in self.workloads]  # fmt: skip
        for row, host in enumerate(self.hosts):
            lines.append(f"  row {row}: {short(host.node)}")
            lines += [f"    {short(each)}" for each in host.pods]
        lines += [f"  {short(settings)}"] if settings else []
        return "\n".join((*lines, f"  asked about {short(pod)}"))


def short(value: object) -> str:
    """As repr, without the fields that have their default."""
    if is_dataclass(value) and not isinstance(value, type):
        told = [
            f"{each.name}={short(getattr(value, each.name))}"
            for each in fields(value)
            if getattr(value, each.name) != each.default
        ]
        return f"{type(value).__name__}({', '.join(told)})"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        inner = ", ".join(short(each) for each in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return value.name if isinstance(value, Enum) else repr(value)
