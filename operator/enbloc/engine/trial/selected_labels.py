# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selected labels: by which of their labels pods may be told apart, namespace by namespace.

A label whose key no selector names tells nobody apart, nor does a value that none names: a Service
for rank 0 selects one of 512 alike members, and the other 511 stay alike.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Final

from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Labels, PodAffinityTerm, Selector

#: The values of a key that are named; None = every value is one of its own.
Values = frozenset[str] | None
#: By key.
Named = Mapping[str, Values]

#: Stands for every value that no selector names; no label can have it.
_OTHER: Final = "*"
#: Where a selector of all namespaces is entered.
_EVERYWHERE: Final = ""
_COMPARED: Final = (Operator.IN, Operator.NOT_IN)


class SelectedLabels:
    """The keys, and their values, that selectors name.

    Attributes:
        version: grows with each that is added.
        size: how many there are.
    """

    def __init__(self) -> None:
        self.version = 0
        self.size = 0
        self._named: dict[str, dict[str, set[str] | None]] = {}
        self._frozen: dict[str, Named] = {}

    def clear(self) -> None:
        """Forget them all."""
        self.version += 1
        self.size = 0
        self._named.clear()
        self._frozen.clear()

    def in_namespace(self, namespace: str) -> Named:
        """What may tell pods of a namespace apart; the same object until something is added."""
        found = self._frozen.get(namespace)
        if found is None:
            found = self._frozen[namespace] = self._joined(namespace)
        return found

    def _joined(self, namespace: str) -> Named:
        joined: dict[str, Values] = {}
        for scope in {_EVERYWHERE, namespace}:
            for key, values in self._named.get(scope, {}).items():
                known = joined.get(key, frozenset())
                joined[key] = None if values is None or known is None else known | values
        return joined

    # ── who names them ───────────────────────────────────────────────────────────────────────

    def notice(self, spec: PodSpec, namespace: str, *, hard: bool = False) -> None:
        """The selectors of a pod of this class and namespace; `hard` = those that it requires."""
        near, apart = spec.pod_affinity, spec.pod_anti_affinity
        wanted = (near.required, apart.required) if hard else (near.terms, apart.terms)
        for term in chain(*wanted):
            if term.selector is not None:
                for scope in _scopes(term, namespace):
                    self.select(term.selector, scope)
        for constraint in spec.spread:  # it counts pods of its own namespace
            if hard and not constraint.hard:
                continue
            for key in constraint.match_label_keys:
                self._add(namespace, key, None)
            if constraint.selector is not None:
                self.select(constraint.selector, namespace)

    def select(self, selector: Selector, namespace: str) -> None:
        """A selector of pods of this namespace."""
        for requirement in selector.requirements:
            self._add(namespace, requirement.key, _values(requirement))

    def enter(self, named: Named, namespace: str) -> None:
        """What `in_namespace` said elsewhere."""
        for key, values in named.items():
            self._add(namespace, key, values)

    def _add(self, scope: str, key: str, values: Collection[str] | None) -> None:
        named = self._named.setdefault(scope, {})
        new = key not in named
        known = named.setdefault(key, set())
        if not new and (known is None or (values is not None and known.issuperset(values))):
            return
        self.size += new
        if values is None or known is None:
            named[key] = None
        else:
            before = len(known)
            known.update(values)
            self.size += len(known) - before
        self.version += 1
        if scope == _EVERYWHERE:
            self._frozen.clear()
        else:
            self._frozen.pop(scope, None)


def required(pods: Iterable[Pod], placed: Placed, namespace: str, *, foreign: bool) -> Named:
    """By which labels pods of a namespace differ where they may go, whatever their scores are.

    Args:
        pods: that are to be placed.
        placed: those that are there.
        namespace: of `pods`.
        foreign: what pods of other namespaces require counts too.
    """
    selected = SelectedLabels()
    for spec in {id(pod.spec): pod.spec for pod in pods}.values():
        selected.notice(spec, namespace, hard=True)
    for spec, owner, _ in placed.classes(placed.specs_where(_keeps_others_away)):
        if foreign or owner == namespace:
            selected.notice(spec, owner, hard=True)
    return selected.in_namespace(namespace)


def _keeps_others_away(spec: PodSpec) -> bool:
    return bool(spec.pod_anti_affinity.required)


def telling(labels: Labels, named: Named) -> Labels:
    """What of a pod's labels may tell it apart from others."""
    return tuple(
        (key, value if (values := named[key]) is None or value in values else _OTHER)
        for key, value in labels
        if key in named
    )


def _values(requirement: Requirement) -> Collection[str] | None:
    """The values that a requirement names; none for whether there is a label at all."""
    if requirement.operator in _COMPARED:
        return requirement.values
    return None if requirement.operator in {Operator.GT, Operator.LT} else ()


def _scopes(term: PodAffinityTerm, namespace: str) -> Iterable[str]:
    """The namespaces whose pods a term may select."""
    if term.namespace_selector is not None:
        return (_EVERYWHERE,)
    return term.namespaces or (namespace,)
