# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""ImageLocality: prefer nodes that already have the pod's images."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from enbloc.framework.decide import MAX_NODE_SCORE, Scores
from enbloc.framework.reads import Reads
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot

_MIB = 1024 * 1024
_LEAST = 23 * _MIB
_MOST_PER_CONTAINER = 1000 * _MIB


class _Present:
    """Scores by the image bytes that a node need not pull, scaled down for images on few nodes.

    Attributes:
        images: `(name, share of the nodes that have it)`, once for each use.
        most: bytes that earn the full score.
    """

    reads: ClassVar[Reads] = Reads.SPEC

    def __init__(self, images: tuple[tuple[str, float], ...], most: int) -> None:
        self.images = images
        self.most = most

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """0 to 100."""
        del pod
        total = np.zeros(len(nodes), np.int64)
        for image, share in self.images:
            total += np.minimum(nodes.image_bytes(image) * share, self.most).astype(np.int64)
            np.minimum(total, self.most, out=total)  # nodes may claim any size
        counted = np.maximum(total, _LEAST) - _LEAST
        return counted * MAX_NODE_SCORE // (self.most - _LEAST)


@dataclass(frozen=True)
class ImageLocality:
    """Score nodes that have a pod's images, by size and by how many nodes have them.

    The number of nodes that have an image is exact.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/imagelocality/image_locality.go
    Score.
    """

    name: ClassVar[str] = "ImageLocality"

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> _Present | None:
        """None if no node has any of the images."""
        nodes, images = snapshot.nodes, (*pod.spec.images, *pod.spec.image_volumes)
        shares = {
            image: int(np.count_nonzero(nodes.image_bytes(image))) / max(len(nodes), 1)
            for image in images
        }
        known = tuple((image, shares[image]) for image in images if shares[image])
        if not known:
            return None
        return _Present(known, _MOST_PER_CONTAINER * max(len(pod.spec.images), 1))
