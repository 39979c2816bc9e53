# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The `spec.topology` that annotations of pods, and of pod templates, give a PodGroup."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from enbloc.controller.sources import kueue
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.model.names import TOPOLOGY_KEY, TOPOLOGY_PREFERRED_KEY, TOPOLOGY_REQUIRED_KEY
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.wire.objects import Texts
from enbloc.wire.topologies import topology_name_problem

#: The field that each key gives.
FIELDS: Final[Mapping[str, str]] = {
    TOPOLOGY_KEY: "name",
    TOPOLOGY_REQUIRED_KEY: "required",
    TOPOLOGY_PREFERRED_KEY: "preferred",
}
_FIELD: Final = "topology"
_NONE: Final[Mapping[str, str]] = {}


class PodMetadata(msgspec.Struct, gc=False):
    """`metadata` of a pod template; Spark's pods have the same fields."""

    labels: Texts | None = None
    annotations: Texts | None = None


def topology_said(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[str, str]:
    """The `spec.topology` that metadata of a pod gives, as JSON; empty = none.

    An annotation wins over a label.

    Raises:
        ValueError: no PodGroup can have it; the message names the key and the fix.
    """
    found: dict[str, str] = {}
    for key, field in FIELDS.items():
        kind, pairs = ("annotation", annotations) if key in annotations else ("label", labels)
        if key not in pairs:
            continue
        value = pairs[key]
        if field == "name":
            problem = topology_name_problem(value) if value else "is empty; write a name"
        else:
            problem = qualified_name_problem(value)
        if problem:
            raise ValueError(f"{kind} {key}: {problem}")
        found[field] = value
    if found.keys() == {"name"}:
        raise ValueError(
            f"{TOPOLOGY_KEY} names a Topology, and no level of it: add {TOPOLOGY_REQUIRED_KEY} or "
            f"{TOPOLOGY_PREFERRED_KEY}, or remove it"
        )
    return found


def with_topology(
    found: Derived, templates: Iterable[PodMetadata | None]
) -> Derived | RefusedGroup:
    """The PodGroup of a workload, with the topology that its pod templates give it.

    A template that says nothing of it leaves it to the others. Where none does, Kueue's annotations
    count.

    Args:
        found: the PodGroup without it.
        templates: the metadata of all pods that are its members.
    """
    said: list[Mapping[str, str]] = []
    known = [each for each in templates if each is not None]
    try:
        for each in known:
            given = topology_said(each.labels or _NONE, each.annotations or _NONE)
            if given and given not in said:
                said.append(given)
    except ValueError as error:
        return RefusedGroup(f"pod template: {error}", found.name)
    if len(said) > 1:
        first, second = (_words(each) for each in said[:2])
        return RefusedGroup(
            f"pod templates: one has {first}, another one {second}; write the same in both, or "
            "remove it from one",
            found.name,
        )
    if said:
        return replace(found, spec={**found.spec, _FIELD: said[0]})
    pods = [{**(each.labels or _NONE), **(each.annotations or _NONE)} for each in known]
    theirs = kueue.asked(pods)
    spec = {**found.spec, _FIELD: theirs.topology} if theirs.topology else found.spec
    ignored = "; ".join(filter(None, (found.ignored, *theirs.ignored)))
    return replace(found, spec=spec, ignored=ignored)


def _words(said: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={said[field]}" for key, field in FIELDS.items() if field in said)
