# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The `spec.topology` that other projects' objects, and annotations of any object, call for.

Levels of others are labels of nodes: Kubernetes', KAI's and Grove's objects hold their keys. Here
the value of such a label alone is a domain, and the name of their topology is left out, for no
Topology of enbloc has it. Volcano's tiers and Koordinator's layers are names of objects that are
not read. Source of keys and their meaning: KAI-Scheduler v0.15,
pkg/podgrouper/podgrouper/plugins/constants/constants.go; Koordinator v1.7,
apis/extension/network_topology.go.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from enbloc.controller.sources.source import Derived, RefusedGroup, TreeNode
from enbloc.controller.sources.topology_keys import FIELDS, topology_said
from enbloc.model.names import (
    TOPOLOGY_KEY,
    TOPOLOGY_PREFERRED_KEY,
    TOPOLOGY_REQUIRED_KEY,
    TOPOLOGY_SLICES_KEY,
)
from enbloc.wire.objects import Metadata

_REQUIRED: Final = "kai.scheduler/topology-required-placement"
_PREFERRED: Final = "kai.scheduler/topology-preferred-placement"
#: The annotation that `koordinators` looks at.
KOORDINATORS_KEY: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
_MUST: Final = "MustGather"
_FIELD: Final = "topology"
#: What of a spec may say where its own members lie.
_PARTS: Final = ("roles", "subGroups")
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


def koordinators(annotations: Mapping[str, str]) -> str:
    """The note on Koordinator's annotation; "" = there is none, or ours stands beside it."""
    said = annotations.get(KOORDINATORS_KEY)
    if not said:
        return ""
    return instead(
        f"annotation {KOORDINATORS_KEY}",
        "its layers are those of a ClusterNetworkTopology, which is not read",
        hard=_MUST in said,
        annotations=annotations,
    )


# ── annotations of the object itself ─────────────────────────────────────────────────────────


def as_annotated(found: _Found, metadata: Metadata) -> _Found | RefusedGroup:
    """What an object calls for, with the topology of its own annotations.

    Ours count whatever else is said. KAI's, of which its pod grouper makes the field of a PodGroup,
    count where nothing else is said.
    """
    annotations = metadata.annotations or {}
    kais = levels(annotations.get(_REQUIRED), annotations.get(_PREFERRED))
    try:
        ours = topology_said({}, annotations)
    except ValueError as error:
        return _refused(found, str(error))
    if not ours and not kais:
        return found
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
    wanted = ours or ({} if _says(found.spec) else kais)
    if not wanted:
        return found
    # Groups that share a spec go on sharing one.
    spec = specs.setdefault(id(found.spec), {**_silent(found.spec), _FIELD: wanted})
    return replace(found, spec=spec)


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
    if not found.root or not near:
        return found
    name = {"name": ours["name"]} if "name" in ours else {}
    return replace(found, spec={**found.spec, _FIELD: {**name, **near}})


def _refused(found: _Found, problem: str) -> _Found | RefusedGroup:
    """None can be made, unless the object calls for none, or says so already."""
    if found is None or isinstance(found, RefusedGroup):
        return found
    first = found[0] if isinstance(found, tuple) and found else found
    name = first.name if isinstance(first, Derived) else ""
    return RefusedGroup(problem, name, keeps=True)
