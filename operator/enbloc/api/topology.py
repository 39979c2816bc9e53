# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topology of enbloc.dev/v1alpha1, as `crds/topologies.enbloc.dev.yaml` says it.

As of PodGroup, the text is the source of truth, and its rules across fields (CEL) are the API
server's alone.
"""

from typing import Annotated, Literal

from pydantic import Field

from enbloc.api.podgroup import LabelKey, Name, ObjectMeta, Strict


class TopologyLevel(Strict):
    """One level: what PodGroups call it, and the node label that tells its domains apart."""

    name: Name
    node_label: LabelKey


class TopologySpec(Strict):
    """The levels, outermost first: at least one, at most 8."""

    levels: Annotated[list[TopologyLevel], Field(min_length=1, max_length=8)]


class Topology(Strict):
    """By which labels of nodes it is known which of them are near each other."""

    api_version: Literal["enbloc.dev/v1alpha1"] = "enbloc.dev/v1alpha1"
    kind: Literal["Topology"] = "Topology"
    metadata: ObjectMeta = ObjectMeta()
    spec: TopologySpec
