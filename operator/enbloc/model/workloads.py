# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads: the pods that Services and controllers of a namespace select."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from enbloc.model.grouped import Grouped
from enbloc.model.pods import Pod
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector

#: Kinds of owners whose selector says which pods belong together.
SPREADING_KINDS: Final = ("ReplicationController", "ReplicaSet", "StatefulSet")


class WorkloadKey(NamedTuple):
    """The key of an object with a selector: kind, namespace and name."""

    kind: str
    namespace: str
    name: str


class Workloads:
    """The selectors of Services, ReplicationControllers, ReplicaSets and StatefulSets.

    Attributes:
        version: grows with each change.
    """

    __slots__ = ("_controllers", "_services", "version")

    def __init__(self) -> None:
        self._services: Grouped[str, str, Selector] = Grouped()
        self._controllers: dict[WorkloadKey, Selector] = {}
        self.version = 0

    def items(self) -> Iterator[tuple[WorkloadKey, Selector]]:
        """Every object, with what it selects."""
        for namespace, services in self._services.items():
            for name, selector in services.items():
                yield WorkloadKey("Service", namespace, name), selector
        yield from self._controllers.items()

    def get(self, key: WorkloadKey) -> Selector | None:
        """The selector of an object; None = it selects nothing, or is not known."""
        if key.kind == "Service":
            return self._services.get(key.namespace, {}).get(key.name)
        return self._controllers.get(key)

    def put(self, key: WorkloadKey, selector: Selector | None) -> bool:
        """Add or update an object (selector None = selects nothing); returns whether it changed."""
        if selector is None:
            return self.drop(key)
        if key.kind == "Service":
            changed = self._services.get(key.namespace, {}).get(key.name) != selector
            self._services.put(key.namespace, key.name, selector)
        else:
            changed = self._controllers.get(key) != selector
            self._controllers[key] = selector
        self.version += changed
        return changed

    def drop(self, key: WorkloadKey) -> bool:
        """Remove an object; returns whether it was known."""
        if key.kind == "Service":
            gone = self._services.drop(key.namespace, key.name) is not None
        else:
            gone = self._controllers.pop(key, None) is not None
        self.version += gone
        return gone

    def selector_of(self, pod: Pod) -> Selector | None:
        """The selector of the pods among which this one should be spread; None = none.

        It joins the labels by which the Services of its namespace select it with the selector of
        the ReplicationController, ReplicaSet or StatefulSet that owns it. If a
        ReplicationController requires another value than a Service, the ReplicationController's
        value counts. Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/helper/spread.go
        DefaultSelector.
        """
        labels = dict(pod.labels)
        by_label: dict[str, Requirement] = {}
        for selector in self._services.get(pod.key.namespace, {}).values():
            if selector.matches(labels):
                by_label |= {each.key: each for each in selector.requirements}
        more = self._of_owner(pod)
        if pod.owner is not None and pod.owner.kind == "ReplicationController":
            by_label |= {each.key: each for each in more}
            more = ()
        wanted = (*by_label.values(), *more)
        return Selector(tuple(dict.fromkeys(wanted))) if wanted else None

    def _of_owner(self, pod: Pod) -> tuple[Requirement, ...]:
        owner = pod.owner
        if owner is None or owner.kind not in SPREADING_KINDS:
            return ()
        found = self._controllers.get(WorkloadKey(owner.kind, pod.key.namespace, owner.name))
        return found.requirements if found is not None else ()


def equals(labels: Mapping[str, str]) -> Selector:
    """The selector that requires exactly these labels, as Services and controllers write it."""
    return Selector(tuple(Requirement(key, Operator.IN, (labels[key],)) for key in sorted(labels)))
