# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The `spec.topology` that other projects' objects, and annotations of any object, call for.

Levels of others are labels of nodes: Kubernetes', KAI's and Grove's objects hold their keys. Of
Kubernetes' and Grove's the value of such a label alone is a domain; KAI, Koordinator and Volcano
have objects that say how levels nest, which the scheduler reads. Source of keys and their meaning:
KAI-Scheduler v0.15, pkg/podgrouper/podgrouper/plugins/constants/constants.go; Koordinator v1.7,
apis/extension/network_topology.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

import msgspec

from enbloc.client.decoding import UNREADABLE, why
from enbloc.controller.sources.source import Derived, RefusedGroup, TreeNode
from enbloc.controller.sources.topology_keys import FIELDS, NO_LEVEL, topology_said
from enbloc.model.names import (
    TOPOLOGY_KEY,
    TOPOLOGY_PREFERRED_KEY,
    TOPOLOGY_REQUIRED_KEY,
    TOPOLOGY_SLICES_KEY,
)
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.text import quoted
from enbloc.model.topology import (
    HYPER_NODES,
    KAI_GROUP,
    KOORDINATOR_GROUP,
    VOLCANO_GROUP,
    WHICHEVER,
    foreign_name,
)
from enbloc.wire.objects import Metadata

_TOPOLOGY: Final = "kai.scheduler/topology"
_REQUIRED: Final = "kai.scheduler/topology-required-placement"
_PREFERRED: Final = "kai.scheduler/topology-preferred-placement"
#: The annotation that `koordinators` looks at.
KOORDINATORS_KEY: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
_FIELD: Final = "topology"
#: What of a spec may say where its own members lie.
_PARTS: Final = ("roles", "subGroups")
_NAME: Final = frozenset({"name"})
#: What a role or a sub-group may say; the rest is of the group.
_OF_A_PART: Final = frozenset({"required", "preferred"})

_Found = TypeVar("_Found", bound="Derived | tuple[Derived, ...] | RefusedGroup | TreeNode | None")


def levels(required: str | None, preferred: str | None = None) -> dict[str, str]:
    """`topology` with these labels of nodes, as JSON; empty where there are none."""
    asked = {"required": required, "preferred": preferred}
    return {field: label for field, label in asked.items() if label}


def instead(field: str, why: str, *, hard: bool, annotations: Mapping[str, str]) -> str:
    """The note on a field whose levels are not known here; "" = an annotation of ours says them.

    Args:
        field: that is ignored.
        why: what is not read.
        hard: members must be in one domain, and not only where that can be.
        annotations: of the object.
    """
    if not annotations.keys().isdisjoint(FIELDS):
        return ""
    key = TOPOLOGY_REQUIRED_KEY if hard else TOPOLOGY_PREFERRED_KEY
    return (
        f"{field} is ignored: {why}; use annotation {key} with a node label, or a level of a "
        "Topology"
    )


def in_topology(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A spec with the name of the Topology that has its levels; as it is if it names none."""
    return {**spec, _FIELD: {"name": name, **spec.get(_FIELD, {})}} if _says(spec) else {**spec}


def in_hyper_nodes(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The same for tiers of HyperNodes: without any, what is only preferred is no condition."""
    parts = (spec, *(each for part in _PARTS for each in spec.get(part, ())))
    required = any("required" in each.get(_FIELD, {}) for each in parts)
    return in_topology(spec, foreign_name(VOLCANO_GROUP, HYPER_NODES if required else WHICHEVER))


def kais_topology(named: Iterable[str]) -> str:
    """The Topology of KAI's with these names; if there are several, each level's own."""
    names = {each for each in named if each}
    return foreign_name(KAI_GROUP, names.pop() if len(names) == 1 else WHICHEVER)


# ── Koordinator ──────────────────────────────────────────────────────────────────────────────


class _Rule(msgspec.Struct, gc=False):
    layer: str = ""
    strategy: str = ""


class _Gathering(msgspec.Struct, gc=False, rename="camel"):
    gather_strategy: tuple[_Rule, ...] = ()


_GATHERING: Final = msgspec.json.Decoder(_Gathering).decode
#: The field of ours for each of Koordinator's strategies.
_STRATEGIES: Final[Mapping[str, str]] = {"MustGather": "required", "PreferGather": "preferred"}


def koordinators(annotations: Mapping[str, str]) -> dict[str, str]:
    """The `topology` of Koordinator's annotation; empty = there is none, or ours stands beside it.

    Of several layers that had better hold all, the last one counts.

    Raises:
        ValueError: it cannot be read, or not be followed; the message has the key and the fix.
    """
    said = annotations.get(KOORDINATORS_KEY)
    if not said or not annotations.keys().isdisjoint(FIELDS):
        return {}
    key = f"annotation {KOORDINATORS_KEY}"
    try:
        rules = _GATHERING(said.encode()).gather_strategy
    except UNREADABLE as error:
        raise ValueError(f"{key}: {why(error)}") from error
    found: dict[str, str] = {}
    for rule in rules:
        field = _STRATEGIES.get(rule.strategy)
        if field is None:
            known = " or ".join(_STRATEGIES)
            raise ValueError(f"{key}: strategy {quoted(rule.strategy)} is unknown; use {known}")
        if problem := qualified_name_problem(rule.layer):
            raise ValueError(f"{key}: a layer {problem}")
        if field == "required" and field in found:
            raise ValueError(
                f"{key}: {found[field]} and {rule.layer} are both MustGather; keep the inner one"
            )
        found[field] = rule.layer
    return {"name": foreign_name(KOORDINATOR_GROUP), **found} if found else {}


# ── annotations of the object itself ─────────────────────────────────────────────────────────


def as_annotated(found: _Found, metadata: Metadata) -> _Found | RefusedGroup:
    """What an object calls for, with the topology of its own annotations.

    Ours count whatever else is said; a Topology alone is that of the levels which are said. KAI's,
    of which its pod grouper makes the field of a PodGroup, count where nothing else is said.
    """
    annotations = metadata.annotations or {}
    kais = levels(annotations.get(_REQUIRED), annotations.get(_PREFERRED))
    if kais:
        kais = {"name": kais_topology((annotations.get(_TOPOLOGY, ""),)), **kais}
    try:
        ours = topology_said({}, annotations, alone=True)
    except ValueError as error:
        return _refused(found, str(error))
    if not ours and not kais:
        return found
    if ours.keys() == _NAME and not kais and not _has_levels(found):
        return _refused(found, NO_LEVEL)
    if isinstance(found, Derived):
        return _placed(found, ours, kais, {})  # type: ignore[return-value]  # of the same type
    if isinstance(found, tuple):
        specs: dict[int, Mapping[str, Any]] = {}
        return tuple(_placed(each, ours, kais, specs) for each in found)  # type: ignore[return-value]
    if isinstance(found, TreeNode) and ours:
        return _of_node(found, ours)  # type: ignore[return-value]
    return found


def _placed(
    found: Derived,
    ours: Mapping[str, Any],
    kais: Mapping[str, str],
    specs: dict[int, Mapping[str, Any]],
) -> Derived:
    said, spec = _says(found.spec), found.spec
    if ours.keys() - _NAME:
        spec, wanted = _silent(spec), {**ours}
    elif not (ours if said else kais):
        return found
    else:
        wanted = {**(spec.get(_FIELD, {}) if said else kais), **ours}
    # Groups that share a spec go on sharing one.
    spec = specs.setdefault(id(found.spec), {**spec, _FIELD: wanted})
    return replace(found, spec=spec)


def _has_levels(found: Derived | tuple[Derived, ...] | RefusedGroup | TreeNode | None) -> bool:
    """Whether an object says without its annotations where members lie, or calls for nothing."""
    if isinstance(found, Derived):
        return _says(found.spec)
    if isinstance(found, tuple):
        return any(_says(each.spec) for each in found)
    return not isinstance(found, TreeNode) or bool(found.near) or _says(found.spec)


def _says(spec: Mapping[str, Any]) -> bool:
    """Whether a spec says where any of its members lie."""
    return _FIELD in spec or any(_FIELD in each for part in _PARTS for each in spec.get(part, ()))


def _silent(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The same spec without saying so of any of its parts."""
    parts = {
        part: [{name: each[name] for name in each if name != _FIELD} for each in spec[part]]
        for part in _PARTS
        if part in spec
    }
    return {**spec, **parts}


def _of_node(found: TreeNode, ours: Mapping[str, Any]) -> TreeNode:
    """The PodGroup has what its root says; any other node, what it says of its own members."""
    near = {field: level for field, level in ours.items() if field in _OF_A_PART}
    notes = [found.ignored]
    if "slices" in ours:
        notes.append(f"annotation {TOPOLOGY_SLICES_KEY} is ignored: a tree is not cut into slices")
    if "name" in ours and not found.root:
        notes.append(f"annotation {TOPOLOGY_KEY} is ignored: that of the root of its tree counts")
    found = replace(found, near=near or found.near, ignored="; ".join(filter(None, notes)))
    near = near or found.spec.get(_FIELD, {})
    if not found.root or not near:
        return found
    name = {"name": ours["name"]} if "name" in ours else {}
    return replace(found, spec={**found.spec, _FIELD: {**near, **name}})


def _refused(found: _Found, problem: str) -> _Found | RefusedGroup:
    """None can be made, unless the object calls for none, or says so already."""
    if found is None or isinstance(found, RefusedGroup):
        return found
    first = found[0] if isinstance(found, tuple) and found else found
    name = first.name if isinstance(first, Derived) else ""
    return RefusedGroup(problem, name, keeps=True)
