# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topology from Kueue's annotations of pods and pod templates.

If Kueue has admitted the pods, it has also chosen their nodes and writes them into the pods; then
the annotations are ignored. Source of keys and their meaning: Kueue v0.20,
apis/kueue/v1beta2/topology_types.go and pkg/controller/constants/constants.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Final, NamedTuple

import msgspec

from enbloc.client.decoding import UNREADABLE, why
from enbloc.controller.sources.source import LARGEST, MOST_SLICES
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.text import quoted
from enbloc.model.topology import KUEUE_GROUP, foreign_name

_PODSET: Final = "kueue.x-k8s.io/podset-"
#: The annotations that are followed, by the field of `topology`.
_FIELDS: Final[Mapping[str, str]] = {
    "required": f"{_PODSET}required-topology",
    "preferred": f"{_PODSET}preferred-topology",
}
_TOGETHER: Final = f"{_PODSET}group-name"
_SLICE: Final = f"{_PODSET}slice-required-topology"
_SLICE_SIZE: Final = f"{_PODSET}slice-size"
_SLICES: Final = f"{_PODSET}slice-required-topology-constraints"
_SPREADING: Final = f"{_PODSET}topology-spreading"
#: Labels and annotations of which Kueue writes at least one when it admits a workload.
_ADMITTED: Final = ("kueue.x-k8s.io/workload", "kueue.x-k8s.io/managed", "kueue.x-k8s.io/tas")
#: Any Kueue Topology with these levels: the exact one depends on the ResourceFlavor.
NAME: Final = foreign_name(KUEUE_GROUP)
#: All keys that are read.
KEYS: Final = (
    *_FIELDS.values(), _TOGETHER, _SLICE, _SLICE_SIZE, _SLICES, _SPREADING, *_ADMITTED
)  # fmt: skip


class PodSetGroup(NamedTuple):
    """Pods that must be in one domain together.

    Attributes:
        name: the podset-group-name; "" = the pods of one template.
        templates: the names of their templates.
        near: `topology` of the role or sub-group, as JSON.
    """

    name: str
    templates: tuple[str, ...]
    near: Mapping[str, str]


class KueueTopology(NamedTuple):
    """The topology that the pods of a group ask for.

    Attributes:
        topology: `spec.topology` for all pods, as JSON; empty = none.
        parts: the pods of some templates, each with a topology of its own.
        everybody: the parts cover all templates.
        ignored: a note on each annotation that has no effect.
    """

    topology: Mapping[str, Any] = {}
    parts: tuple[PodSetGroup, ...] = ()
    everybody: bool = False
    ignored: tuple[str, ...] = ()


def asked(templates: Mapping[str, Mapping[str, str]]) -> KueueTopology:
    """The topology that the pods of a group ask for.

    A constraint applies to the pods of one template, or of all templates with the same
    podset-group-name.

    Args:
        templates: labels and annotations of each template, or of a pod, by name.
    """
    if any(key in pairs for pairs in templates.values() for key in _ADMITTED):
        return KueueTopology()
    parts = tuple(_together(templates))
    slices, note = _slices(templates)
    notes = [*_unusable(templates), note]
    if any(pairs.get(_SPREADING) for pairs in templates.values()):
        notes.append(
            f"annotation {_SPREADING} is ignored: a domain's share is not counted; use "
            "spec.topology.apart of a PodGroup"
        )
    if len(parts) == 1 and len(parts[0].templates) == len(templates):
        topology: dict[str, Any] = {**parts[0].near}
        if slices:
            topology["slices"] = slices
        if topology:
            topology["name"] = NAME
        return KueueTopology(topology, ignored=tuple(filter(None, notes)))
    notes.append(_disagreeing(templates))
    near = tuple(part for part in parts if part.near)
    return KueueTopology({}, near, len(near) == len(parts), tuple(filter(None, notes)))


def _near(pairs: Mapping[str, str]) -> dict[str, str]:
    """The constraints that a PodGroup can have, as `topology`."""
    return {
        field: value
        for field, key in _FIELDS.items()
        if (value := pairs.get(key)) and not qualified_name_problem(value)
    }


def _unusable(templates: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Notes on the constraints that no PodGroup can have."""
    for key in _FIELDS.values():
        values = [value for pairs in templates.values() if (value := pairs.get(key))]
        problem = next(filter(None, map(qualified_name_problem, values)), "")
        if problem:
            yield f"annotation {key} is ignored: a node label {problem}"


def _together(templates: Mapping[str, Mapping[str, str]]) -> Iterator[PodSetGroup]:
    """The templates grouped by domain; each template is in exactly one group."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, pairs in templates.items():
        group = pairs.get(_TOGETHER, "")
        groups.setdefault((group, "" if group else name), []).append(name)
    for (group, _), names in groups.items():
        near = [_near(templates[name]) for name in names]
        if all(each == near[0] for each in near):
            yield PodSetGroup(group, tuple(names), near[0])
        else:
            yield from (
                PodSetGroup("", (name,), own) for name, own in zip(names, near, strict=True)
            )


def _disagreeing(templates: Mapping[str, Mapping[str, str]]) -> str:
    """The note on templates of one podset-group-name with different topologies; "" = none."""
    said: dict[str, dict[str, str]] = {}
    for pairs in templates.values():
        group = pairs.get(_TOGETHER)
        if group and said.setdefault(group, _near(pairs)) != _near(pairs):
            return (
                f"annotation {_TOGETHER} is ignored: pod templates of {quoted(group)} ask for "
                "different topologies; write the same in all of them"
            )
    return ""


# ── slices ───────────────────────────────────────────────────────────────────────────────────────


def _slices(templates: Mapping[str, Mapping[str, str]]) -> tuple[Sequence[Any], str]:
    """`slices` of the only template, as JSON; and a note if requested slices are ignored."""
    cut = {key for pairs in templates.values() for key in (_SLICE, _SLICES) if pairs.get(key)}
    if not cut:
        return (), ""
    key = _SLICES if _SLICES in cut else _SLICE
    ignored = f"annotation {key} is ignored"
    if len(templates) > 1:
        return (), f"{ignored}: slices are followed where all pods are of one template"
    [pairs] = templates.values()
    try:
        layers = _LAYERS(pairs[_SLICES]) if key == _SLICES else _layer(pairs)
    except UNREADABLE as error:
        beside = f", and {_SLICE_SIZE}" if key == _SLICE else ""
        return (), f"{ignored}: it{beside} cannot be read: {why(error)}"
    fit = all(
        1 <= each.size <= LARGEST and not qualified_name_problem(each.topology) for each in layers
    )
    if not fit or not 1 <= len(layers) <= MOST_SLICES:
        return (), (
            f"{ignored}: list 1 to {MOST_SLICES} slices, each with a node label and a size "
            f"between 1 and {LARGEST}"
        )
    # Of nested slices of one size, only the inner ones matter.
    layers = tuple(
        each
        for each, inner in zip_longest(layers, layers[1:])
        if inner is None or each.size != inner.size
    )
    if any(outer.size % inner.size for outer, inner in pairwise(layers)):
        return (), f"{ignored}: the size of a slice must divide that of the slices around it"
    return [{"size": each.size, "required": each.topology} for each in layers], ""


class _Layer(msgspec.Struct, gc=False):
    topology: str = ""
    size: int = 0


_LAYERS: Final = msgspec.json.Decoder(tuple[_Layer, ...], strict=False).decode


def _layer(pairs: Mapping[str, str]) -> tuple[_Layer, ...]:
    """The slices of one level.

    Raises:
        msgspec.ValidationError: the size is not a number.
    """
    return (_Layer(pairs[_SLICE], msgspec.convert(pairs.get(_SLICE_SIZE, ""), int, strict=False)),)
