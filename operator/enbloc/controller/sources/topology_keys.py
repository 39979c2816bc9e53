# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The `spec.topology` that annotations of pods and pod templates set for a PodGroup."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

import msgspec

from enbloc.controller.sources import kueue
from enbloc.controller.sources.source import LARGEST, MOST_SLICES, Derived, RefusedGroup, label
from enbloc.model.names import (
    TOPOLOGY_KEY,
    TOPOLOGY_PREFERRED_KEY,
    TOPOLOGY_REQUIRED_KEY,
    TOPOLOGY_SLICES_KEY,
)
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.text import clipped, quoted
from enbloc.wire.auto_groups import role_name
from enbloc.wire.objects import Texts
from enbloc.wire.topologies import topology_name_problem

#: The field that each key sets.
FIELDS: Final[Mapping[str, str]] = {
    TOPOLOGY_KEY: "name",
    TOPOLOGY_REQUIRED_KEY: "required",
    TOPOLOGY_PREFERRED_KEY: "preferred",
    TOPOLOGY_SLICES_KEY: "slices",
}
_SLICE: Final = re.compile(r"([0-9]{1,6})@(.+)")
_FIELD: Final = "topology"
_NONE: Final[Mapping[str, str]] = {}


class PodMetadata(msgspec.Struct, gc=False):
    """`metadata` of a pod template; Spark's pods have the same fields."""

    labels: Texts | None = None
    annotations: Texts | None = None


#: The problem of a Topology without a level.
NO_LEVEL: Final = (
    f"{TOPOLOGY_KEY} names a Topology, and no level of it: add {TOPOLOGY_REQUIRED_KEY} or "
    f"{TOPOLOGY_PREFERRED_KEY}, or remove it"
)


def topology_said(
    labels: Mapping[str, str], annotations: Mapping[str, str], *, alone: bool = False
) -> dict[str, Any]:
    """The `spec.topology` that a pod's metadata sets, as JSON; empty = none.

    An annotation takes precedence over a label.

    Args:
        labels: of the pod.
        annotations: of the pod.
        alone: accept a Topology without a level.

    Raises:
        ValueError: no PodGroup can have it; the message names the key and the fix.
    """
    found: dict[str, Any] = {}
    for key, field in FIELDS.items():
        kind, pairs = ("annotation", annotations) if key in annotations else ("label", labels)
        if key not in pairs:
            continue
        value = pairs[key]
        try:
            found[field] = _slices(value) if field == "slices" else _checked(field, value)
        except ValueError as error:
            raise ValueError(f"{kind} {key}: {error}") from error
    if found.keys() == {"name"} and not alone:
        raise ValueError(NO_LEVEL)
    return found


def _checked(field: str, value: str) -> str:
    """The name of a Topology, or of a level, unchanged.

    Raises:
        ValueError: it is no valid name.
    """
    if field == "name":
        problem = topology_name_problem(value) if value else "is empty; write a name"
    else:
        problem = qualified_name_problem(value)
    if problem:
        raise ValueError(problem)
    return value


def _slices(text: str) -> list[dict[str, Any]]:
    """Slices such as "32@block,4@rack", as JSON.

    Raises:
        ValueError: the text is invalid.
    """
    parts = text.split(",")
    if len(parts) > MOST_SLICES:
        raise ValueError(f"lists {len(parts)} slices; list at most {MOST_SLICES}")
    slices: list[dict[str, Any]] = []
    for part in parts:
        found = _SLICE.fullmatch(part)
        if found is None or not 1 <= int(found[1]) <= LARGEST:
            raise ValueError(
                f'{quoted(part)} is no slice; write its size and a level, such as "4@rack", and '
                "several with commas, the outer ones first"
            )
        if problem := qualified_name_problem(found[2]):
            raise ValueError(f"a level {problem}")
        slices.append({"size": int(found[1]), "required": found[2]})
    return slices


def with_topology(
    found: Derived, templates: Iterable[tuple[str, PodMetadata | None]]
) -> Derived | RefusedGroup:
    """The PodGroup of a workload, with the topology that its pod templates set.

    A template without a topology accepts that of the others. If none has one, Kueue's annotations
    count.

    Args:
        found: the PodGroup without topology.
        templates: for each template of members, the workload's name of its role, and its metadata.
    """
    said: list[Mapping[str, Any]] = []
    pairs: dict[str, Mapping[str, str]] = {}
    try:
        for name, each in templates:
            labels, annotations = (
                (each.labels or _NONE, each.annotations or _NONE) if each else (_NONE, _NONE)
            )
            given = topology_said(labels, annotations)
            if given and len(said) < 2 and given not in said:
                said.append(given)
            # Two templates of one name have no role of their own; keep them apart.
            pairs[name if name not in pairs else f"{name} #{len(pairs)}"] = {
                **labels,
                **annotations,
            }
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
    return _of_others(found, kueue.asked(pairs))


def with_own_domain(found: Derived) -> Derived:
    """The PodGroup with the domain that it requires for its members alone.

    Not for what its minResources reserve for others besides them, as `spec.topology` would. It is
    unchanged if it requires none, has slices, or has no role for each template.
    """
    topology, roles = found.spec.get(_FIELD, _NONE), found.spec.get("roles", ())
    if not roles or "required" not in topology or "slices" in topology:
        return found
    near = {field: topology[field] for field in ("required", "preferred") if field in topology}
    names = tuple(role["name"] for role in roles)
    spec = {field: value for field, value in found.spec.items() if field != _FIELD}
    if "name" in topology:
        spec[_FIELD] = {"name": topology["name"]}
    part = kueue.PodSetGroup(_beside(names), names, near)
    parted, _ = _parted(spec, [part], everybody=True)
    return replace(found, spec=parted)


def _beside(names: Sequence[str]) -> str:
    """A name that none of these is."""
    return next(name for at in count() if (name := f"first-{at}") not in names)


def _of_others(found: Derived, asked: kueue.KueueTopology) -> Derived:
    """The PodGroup with the topology that Kueue's annotations ask for."""
    spec = {**found.spec, _FIELD: asked.topology} if asked.topology else found.spec
    notes: tuple[str, ...] = asked.ignored
    if asked.parts:
        spec, more = _parted(spec, asked.parts, everybody=asked.everybody)
        notes += tuple(more)
        if not more:
            spec = {**spec, _FIELD: {"name": kueue.NAME, **spec.get(_FIELD, _NONE)}}
    ignored = clipped("; ".join(filter(None, (found.ignored, *notes))))
    return replace(found, spec=spec, ignored=ignored)


def _parted(
    spec: Mapping[str, Any], parts: Sequence[kueue.PodSetGroup], *, everybody: bool
) -> tuple[Mapping[str, Any], Sequence[str]]:
    """The spec with the topologies of parts, and notes on those that have no effect.

    Args:
        spec: without topology.
        parts: the pods that must be in a domain of their own.
        everybody: the parts cover all members.
    """
    roles = {role["name"]: role for role in spec.get("roles", ())}
    named = [each._replace(templates=tuple(map(role_name, each.templates))) for each in parts]
    if not all(name in roles for each in named for name in each.templates):
        if everybody and all(each.near == parts[0].near for each in parts):
            return {**spec, _FIELD: parts[0].near}, ()  # one domain for all satisfies each
        note = (
            "annotations of Kueue about topology on some pod templates are ignored: the PodGroup "
            "has no role for each template"
        )
        return spec, (note,)
    groups: list[Mapping[str, Any]] = []
    for each in named:
        more: Mapping[str, Any] = {_FIELD: each.near}
        if len(each.templates) > 1:
            name = label(each.name)
            groups.append({"name": name, _FIELD: each.near})
            more = {"parent": name}
        roles |= {name: {**roles[name], **more} for name in each.templates}
    return {**spec, "roles": [*roles.values()], **({"subGroups": groups} if groups else {})}, ()


def _words(said: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key}={_text(said[field])}" for key, field in FIELDS.items() if field in said
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return ",".join(f"{each['size']}@{each['required']}" for each in value)
