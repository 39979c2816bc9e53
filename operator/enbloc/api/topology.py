# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topology of enbloc.dev/v1alpha1, as defined by `crds/topologies.enbloc.dev.yaml`.

As for PodGroup, that file is the source of truth, and only the API server checks its rules across
fields (CEL).
"""

from typing import Annotated, Literal

from pydantic import Field

from enbloc.api.podgroup import LabelKey, Name, ObjectMeta, Strict


class TopologyLevel(Strict):
    """One level: its name for PodGroups, and the node label whose values identify its domains."""

    name: Name
    node_label: LabelKey


class TopologySpec(Strict):
    """The levels, outermost first: at least one, at most 8."""

    levels: Annotated[list[TopologyLevel], Field(min_length=1, max_length=8)]


class Topology(Strict):
    """The node labels that show which nodes are near each other, level by level."""

    api_version: Literal["enbloc.dev/v1alpha1"] = "enbloc.dev/v1alpha1"
    kind: Literal["Topology"] = "Topology"
    metadata: ObjectMeta = ObjectMeta()
    spec: TopologySpec
