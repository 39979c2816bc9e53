# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of objects that are read as Topologies: ours and other projects'."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from enbloc.client.paths import (
    KAI_TOPOLOGIES,
    KOORDINATOR_TOPOLOGIES,
    KUEUE_TOPOLOGIES,
    TOPOLOGIES,
    Resource,
)
from enbloc.model import names
from enbloc.model.topology import Topology, foreign_name
from enbloc.wire.foreign_topologies import kais, koordinators, kueues
from enbloc.wire.topologies import TopologyObject, topology


@dataclass(frozen=True, slots=True)
class TopologyKind:
    """One kind of Topologies; the server may lack it.

    Attributes:
        resource: where its objects are, in the best version.
        read: makes a Topology from an object.
        versions: in which they can be read, the best one first.
        without: the consequence while they cannot be read, for the log.
        expendable: whether any failure to read them has that consequence: the webhook that converts
            another project's objects may be away for long.
    """

    resource: Resource
    read: Callable[[TopologyObject], Topology]
    versions: tuple[str, ...]
    without: str
    expendable: bool = True

    def called(self, name: str) -> str:
        """The name of the Topology that an object with this name becomes."""
        group = self.resource.group
        return name if group == names.API_GROUP else foreign_name(group, name)


def _others(
    resource: Resource, read: Callable[[TopologyObject], Topology], *older: str
) -> TopologyKind:
    versions = (resource.version, *older)
    return TopologyKind(resource, read, versions, "PodGroups can name none of them")


TOPOLOGY_KINDS: Final = (
    TopologyKind(
        TOPOLOGIES,
        topology,
        (TOPOLOGIES.version,),
        "spec.topology of PodGroups can name node labels only",
        expendable=False,
    ),
    _others(KUEUE_TOPOLOGIES, kueues, "v1beta1", "v1alpha1"),
    _others(KAI_TOPOLOGIES, kais),
    _others(KOORDINATOR_TOPOLOGIES, koordinators),
)
