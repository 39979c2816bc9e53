# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations: what filter plugins declare for searches, after a check of its type.

All of these raise PluginError if the plugin raised, or if its answer is of another type.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.engine.trial import asked_each, asked_unchecked, checked, shape_of
from enbloc.errors import PluginError
from enbloc.framework import searching
from enbloc.framework.searching import OneDomain, SharedCapacity
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod

T = TypeVar("T")


def names(plugin: str, question: Callable[..., Iterable[object]], *arguments: Any) -> list[str]:
    """Return the names of resources, or keys of labels, that a plugin answers."""
    found: list[str] = []
    for name in asked_each(plugin, question, *arguments):
        if not isinstance(name, str):
            raise PluginError(plugin, "Filter", f"expected texts, got {shape_of(name)}")
        found.append(name)
    return found


def pools(
    plugin: searching.Pools, pods: Sequence[Pod], nodes: Nodes, *, ever: bool
) -> list[SharedCapacity]:
    """Return what a plugin says that nodes share."""
    return _each(plugin.name, partial(plugin.pools, ever=ever), _pool, pods, nodes)


def likeness(
    plugin: searching.TellsNodesApart, pods: Sequence[Pod], nodes: Nodes
) -> npt.NDArray[np.int64]:
    """Return int64[N]: nodes with equal numbers are equivalent, as a plugin says."""
    numbers = asked_unchecked(plugin.name, "Filter", plugin.likeness, pods, nodes)
    return checked(plugin.name, "Filter", _array, numbers, np.int64, len(nodes))


def sets(
    plugin: searching.GathersInSets, pods: Sequence[Pod], nodes: Nodes, *, ever: bool
) -> list[OneDomain]:
    """Return the sets of nodes in one of which pods may have to be, as a plugin says."""
    return _each(plugin.name, partial(plugin.sets, ever=ever), _domain, pods, nodes)


def _each(
    plugin: str,
    question: Callable[..., Iterable[object]],
    check: Callable[[object, int, int], T],
    pods: Sequence[Pod],
    nodes: Nodes,
) -> list[T]:
    """Return all that a plugin answers, each checked against the numbers of pods and nodes."""
    return [
        checked(plugin, "Filter", check, each, len(pods), len(nodes))
        for each in asked_each(plugin, question, pods, nodes)
    ]


def _pool(pool: object, pods: int, nodes: int) -> SharedCapacity:
    if not isinstance(pool, SharedCapacity):
        raise TypeError(f"expected a SharedCapacity, got {shape_of(pool)}")
    fields = pool.free, pool.unit, pool.name
    if not all(map(isinstance, fields, (int | np.integer, str, str))):
        got = ", ".join(map(shape_of, fields))
        raise TypeError(f"expected a SharedCapacity of an integer and two texts, got {got}")
    rows = _array(pool.rows, np.bool_, nodes)
    return SharedCapacity(rows, _array(pool.amounts, np.int64, pods), *fields)


def _domain(domain: object, pods: int, nodes: int) -> OneDomain:
    if not isinstance(domain, OneDomain):
        raise TypeError(f"expected a OneDomain, got {shape_of(domain)}")
    name: Any = domain.name
    if not isinstance(name, str):
        raise TypeError(f"expected a text as name of a OneDomain, got {shape_of(name)}")
    domains = _array(domain.domains, np.int64, nodes)
    if domains.min(initial=0) < 0:
        raise ValueError("a domain of a OneDomain is negative")
    return OneDomain(_array(domain.pods, np.bool_, pods), domains, name)


def _array(values: object, dtype: type[np.generic], count: int) -> npt.NDArray[Any]:
    found = np.asarray(values)
    if not np.can_cast(found.dtype, dtype) or found.shape != (count,):
        got = shape_of(values)
        raise TypeError(f"expected {np.dtype(dtype)}[{count}], got {got}")
    return found.astype(dtype, copy=False)
