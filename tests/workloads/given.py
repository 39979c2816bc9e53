# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Manifests as people write them, and what is made of them."""

from textwrap import dedent
from typing import Any

from enbloc.workloads import Expansion, PlannedPod, expand, manifests

#: PodGroups of other projects, as an example.
GROUPS = frozenset({("scheduling.volcano.sh", "PodGroup"), ("scheduling.x-k8s.io", "PodGroup")})
#: A template of pods, for a document in which it stands alone on its line.
TEMPLATE = "{spec: {schedulerName: enbloc, containers: [{name: main, image: i}]}}"


def expanded(text: str, namespace: str = "default", *, only: bool = False) -> Expansion:
    """What is made of a file with this text."""
    found = manifests("file.yaml", dedent(text).replace("TEMPLATE", TEMPLATE).encode())
    return expand(found, GROUPS, namespace, only=only)


def names(expansion: Expansion) -> list[str]:
    """Of the pods."""
    return [each.pod["metadata"]["name"] for each in expansion.pods]


def waves(expansion: Expansion) -> list[list[str]]:
    """The names of the pods of each wave."""
    found: dict[int, list[str]] = {}
    for each in expansion.pods:
        found.setdefault(each.wave, []).append(each.pod["metadata"]["name"])
    return [found[wave] for wave in sorted(found)]


def owner(planned: PlannedPod) -> str:
    """What controls a pod, as "Job/train"; "" = nothing."""
    references: list[dict[str, Any]] = planned.pod["metadata"].get("ownerReferences") or []
    return next((f"{each['kind']}/{each['name']}" for each in references if each["controller"]), "")
