# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The `spec.topology` that other projects' objects, and annotations of any object, call for.

Other projects' levels are node labels: Kubernetes', KAI's and Grove's objects hold the label keys.
For Kubernetes and Grove, each value of such a label is a domain; KAI, Koordinator and Volcano have
objects that say how levels nest, which the scheduler reads. Source of keys and their meaning:
KAI-Scheduler v0.15, pkg/podgrouper/podgrouper/plugins/constants/constants.go; Koordinator v1.7,
apis/extension/network_topology.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from enbloc.client.decoding import UNREADABLE, why
from enbloc.controller.sources.source import Called, Derived, RefusedGroup, TreeNode
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
#: The annotation that `koordinators` reads.
KOORDINATORS_KEY: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
_FIELD: Final = "topology"
#: The fields of a spec whose items may have a topology of their own.
_PARTS: Final = ("roles", "subGroups")
_NAME: Final = frozenset({"name"})
#: The topology fields of a role or a sub-group; the others are only the group's.
_OF_A_PART: Final = frozenset({"required", "preferred"})


def levels(required: str | None, preferred: str | None = None) -> dict[str, str]:
    """`topology` with these node labels, as JSON; empty if there are none."""
    asked = {"required": required, "preferred": preferred}
    return {field: label for field, label in asked.items() if label}


def instead(field: str, why: str, *, hard: bool, annotations: Mapping[str, str]) -> str:
    """The note on a field whose levels are unknown here; "" = an annotation of ours names them.

    Args:
        field: the ignored field.
        why: the reason, for the note.
        hard: the field requires one domain; else it only prefers one.
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
    """A spec with the name of the Topology that has its levels; unchanged if it has no topology."""
    return {**spec, _FIELD: {"name": name, **spec.get(_FIELD, {})}} if _says(spec) else {**spec}


def in_hyper_nodes(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with the Topology of HyperNodes' tiers; it may be missing if none is required."""
    parts = (spec, *(each for part in _PARTS for each in spec.get(part, ())))
    required = any("required" in each.get(_FIELD, {}) for each in parts)
    return in_topology(spec, foreign_name(VOLCANO_GROUP, HYPER_NODES if required else WHICHEVER))


def kais_topology(named: Iterable[str]) -> str:
    """KAI's Topology of this name; if there are several names or none, whichever has the level."""
    names = {each for each in named if each}
    return foreign_name(KAI_GROUP, names.pop() if len(names) == 1 else WHICHEVER)


# ── Koordinator ──────────────────────────────────────────────────────────────────────────────


class _Rule(msgspec.Struct, gc=False):
    layer: str = ""
    strategy: str = ""


class _Gathering(msgspec.Struct, gc=False, rename="camel"):
    gather_strategy: tuple[_Rule, ...] = ()


_GATHERING: Final = msgspec.json.Decoder(_Gathering).decode
#: Our topology field for each of Koordinator's strategies.
_STRATEGIES: Final[Mapping[str, str]] = {"MustGather": "required", "PreferGather": "preferred"}


def koordinators(annotations: Mapping[str, str]) -> dict[str, str]:
    """The `topology` of Koordinator's annotation; empty = there is none, or ours takes precedence.

    Of several preferred layers, the last one counts.

    Raises:
        ValueError: it is unreadable or unsupported; the message has the key and the fix.
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


def as_annotated(found: Called, metadata: Metadata) -> Called:
    """What an object calls for, with the topology of its own annotations.

    Our annotations take precedence; one that names only a Topology applies to the levels given
    elsewhere. KAI's annotations, which its pod grouper copies into a PodGroup, count only if there
    is no other topology.
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
        return _placed(found, ours, kais, {})
    if isinstance(found, tuple):
        specs: dict[int, Mapping[str, Any]] = {}
        return tuple(_placed(each, ours, kais, specs) for each in found)
    if isinstance(found, TreeNode) and ours:
        return _of_node(found, ours)
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
    # PodGroups that share a spec continue to share one.
    spec = specs.setdefault(id(found.spec), {**spec, _FIELD: wanted})
    return replace(found, spec=spec)


def _has_levels(found: Called) -> bool:
    """Whether an object has a topology without its annotations, or calls for nothing."""
    if isinstance(found, Derived):
        return _says(found.spec)
    if isinstance(found, tuple):
        return any(_says(each.spec) for each in found)
    return not isinstance(found, TreeNode) or bool(found.near) or _says(found.spec)


def _says(spec: Mapping[str, Any]) -> bool:
    """Whether a spec has a topology, for all members or for a part."""
    return _FIELD in spec or any(_FIELD in each for part in _PARTS for each in spec.get(part, ()))


def _silent(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without the topologies of its parts."""
    parts = {
        part: [{name: each[name] for name in each if name != _FIELD} for each in spec[part]]
        for part in _PARTS
        if part in spec
    }
    return {**spec, **parts}


def _of_node(found: TreeNode, ours: Mapping[str, Any]) -> TreeNode:
    """A node with the topology of its annotations; for the root, it is the PodGroup's."""
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


def _refused(found: Called, problem: str) -> Called:
    """A refusal with this problem, unless the object calls for nothing or is refused already."""
    if found is None or isinstance(found, RefusedGroup):
        return found
    first = found[0] if isinstance(found, tuple) and found else found
    name = first.name if isinstance(first, Derived) else ""
    return RefusedGroup(problem, name, keeps=True)
