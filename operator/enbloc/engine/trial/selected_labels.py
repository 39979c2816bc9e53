# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selected labels: which labels may distinguish pods, by namespace.

A label whose key no selector names distinguishes no pods, nor does a value that none names: a
Service for rank 0 selects one of 512 identical members, and the other 511 stay identical.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Final

from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Labels, PodAffinityTerm, Selector

#: The named values of a key; None = every value counts separately.
Values = frozenset[str] | None
#: By key.
Named = Mapping[str, Values]

#: Stands for every value that no selector names; no label can have it.
_OTHER: Final = "*"
#: The scope of selectors of all namespaces.
_EVERYWHERE: Final = ""
_COMPARED: Final = (Operator.IN, Operator.NOT_IN)


class SelectedLabels:
    """The keys, and their values, that selectors name.

    Attributes:
        version: grows with each addition.
        size: the number of them.
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
        """Return what may distinguish pods of a namespace; the same object until an addition."""
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

    # ── adding selectors ─────────────────────────────────────────────────────────────────────

    def notice(self, spec: PodSpec, namespace: str, *, hard: bool = False) -> None:
        """Add the selectors of a pod of this class and namespace; `hard` = only required ones."""
        near, apart = spec.pod_affinity, spec.pod_anti_affinity
        wanted = (near.required, apart.required) if hard else (near.terms, apart.terms)
        for term in chain(*wanted):
            if term.selector is not None:
                for scope in _scopes(term, namespace):
                    self.select(term.selector, scope)
        for constraint in spec.spread:  # these count pods of their own namespace
            if hard and not constraint.hard:
                continue
            for key in constraint.match_label_keys:
                self._add(namespace, key, None)
            if constraint.selector is not None:
                self.select(constraint.selector, namespace)

    def select(self, selector: Selector, namespace: str) -> None:
        """Add a selector of pods of this namespace."""
        for requirement in selector.requirements:
            self._add(namespace, requirement.key, _values(requirement))

    def enter(self, named: Named, namespace: str) -> None:
        """Add what `in_namespace` returned elsewhere."""
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


def required(pods: Iterable[Pod], placed: PlacedPods, namespace: str, *, foreign: bool) -> Named:
    """Return the labels by which pods of a namespace differ in where they may go, scores aside.

    Args:
        pods: to be placed.
        placed: those already placed.
        namespace: of `pods`.
        foreign: also count what pods of other namespaces require.
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
    """Return those of a pod's labels that may distinguish it from others."""
    return tuple(
        (key, value if (values := named[key]) is None or value in values else _OTHER)
        for key, value in labels
        if key in named
    )


def _values(requirement: Requirement) -> Collection[str] | None:
    """Return the values that a requirement names; none if only the key matters."""
    if requirement.operator in _COMPARED:
        return requirement.values
    return None if requirement.operator in {Operator.GT, Operator.LT} else ()


def _scopes(term: PodAffinityTerm, namespace: str) -> Iterable[str]:
    """Return the namespaces whose pods a term may select."""
    if term.namespace_selector is not None:
        return (_EVERYWHERE,)
    return term.namespaces or (namespace,)
