# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies of other projects, read as ours.

Source of the fields: Kueue v0.20, apis/kueue/v1beta2/topology_types.go; KAI-Scheduler v0.15,
pkg/apis/kai/v1alpha1/topology_types.go; Koordinator v1.7,
apis/scheduling/v1alpha1/cluster_network_topology_types.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from enbloc.model.pins import HOSTNAME
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.text import quoted
from enbloc.model.topology import (
    KAI_GROUP,
    KOORDINATOR_GROUP,
    KUEUE_GROUP,
    Level,
    Topology,
    foreign_name,
)
from enbloc.wire.problems import Problems
from enbloc.wire.topologies import TopologyObject

#: How many levels other projects allow; ours have fewer.
MOST_LEVELS: Final = 16
#: Koordinator's built-in layers: of the whole cluster, and of each node.
_CLUSTER: Final = "ClusterTopologyLayer"
_NODE: Final = "NodeTopologyLayer"


class _LabelLevel(msgspec.Struct, gc=False, rename="camel"):
    node_label: str = ""


class _LabelSpec(msgspec.Struct, gc=False):
    levels: tuple[_LabelLevel, ...] = ()


class _Layer(msgspec.Struct, gc=False, rename="camel"):
    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: tuple[str, ...] = ()


class _LayerSpec(msgspec.Struct, gc=False, rename="camel"):
    network_topology_spec: tuple[_Layer, ...] = ()


_Spec = TypeVar("_Spec", _LabelSpec, _LayerSpec)


def kueues(obj: TopologyObject) -> Topology:
    """A Topology of Kueue's."""
    return _of_labels(KUEUE_GROUP, obj)


def kais(obj: TopologyObject) -> Topology:
    """A Topology of KAI's."""
    return _of_labels(KAI_GROUP, obj)


def koordinators(obj: TopologyObject) -> Topology:
    """A ClusterNetworkTopology of Koordinator's."""
    problems = Problems()
    given = _given(obj.spec, _LayerSpec, "spec.networkTopologySpec", problems)
    levels = _nested(given.network_topology_spec, problems)
    return _read(KOORDINATOR_GROUP, obj, levels, problems)


def _of_labels(group: str, obj: TopologyObject) -> Topology:
    """A Topology whose levels are node labels, without other names."""
    problems = Problems()
    given = _given(obj.spec, _LabelSpec, "spec.levels", problems)
    levels = [Level(each.node_label, each.node_label) for each in given.levels]
    return _read(group, obj, levels, problems)


def _given(spec: Any, shape: type[_Spec], field: str, problems: Problems) -> _Spec:
    """A spec as given; an empty one if it is malformed."""
    try:
        return msgspec.convert(spec, shape)
    except msgspec.ValidationError as error:
        problems.append(f"{field}: {error}")
        return shape()


def _read(group: str, obj: TopologyObject, levels: Sequence[Level], problems: Problems) -> Topology:
    """A Topology with these levels; without any if something is wrong."""
    if not problems:
        if not 1 <= len(levels) <= MOST_LEVELS:
            problems.append(f"it has {len(levels)} levels; 1 to {MOST_LEVELS} are read")
        elif len({each.label for each in levels}) < len(levels):
            problems.append("two levels have the same node label")
        elif len({each.name for each in levels}) < len(levels):
            problems.append("two levels have the same name")
        else:
            for level in levels:
                if problem := qualified_name_problem(level.label):
                    problems.append(f"the node label of a level {problem}")
                elif problem := qualified_name_problem(level.name):
                    problems.append(f"the name of a level {problem}")
    name = foreign_name(group, obj.metadata.name)
    return Topology(name, () if problems else tuple(levels), problems.text())


def _nested(layers: Sequence[_Layer], problems: Problems) -> Sequence[Level]:
    """Koordinator's layers, the outermost first, without those that are within no other."""
    if len(layers) > MOST_LEVELS:
        problems.append(f"it has {len(layers)} layers; {MOST_LEVELS} are read")
        return ()
    within: Mapping[str, _Layer] = {each.parent_topology_layer or _CLUSTER: each for each in layers}
    if len(within) < len(layers):
        problems.append("two layers have the same parentTopologyLayer; only a chain is read")
        return ()
    found: list[Level] = []
    layer = within.get(_CLUSTER)
    while layer is not None and len(found) < len(layers):
        keys = layer.label_key or ((HOSTNAME,) if layer.topology_layer == _NODE else ())
        if len(keys) != 1:
            problems.append(
                f"layer {quoted(layer.topology_layer)} has {len(keys)} labelKeys; one is read"
            )
            return ()
        found.append(Level(layer.topology_layer, keys[0]))
        layer = within.get(layer.topology_layer)
    return found
