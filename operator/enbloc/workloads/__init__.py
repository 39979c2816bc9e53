# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads: the pods that controllers would make of manifests, as the API server would store them.

All of it is pure: text and JSON go in, JSON comes out. PodGroups for the pods are made elsewhere.
"""

from enbloc.workloads.admission import (
    Admission,
    PriorityClass,
    default_storage_class,
    priority_classes,
)
from enbloc.workloads.claims import Claimed, claimed
from enbloc.workloads.expand import EXPANDERS, Expansion, expand
from enbloc.workloads.fields import read
from enbloc.workloads.making import MOST_PODS, Json, PlannedPod
from enbloc.workloads.manifests import MOST_BYTES, Manifest, manifests

__all__ = [
    "EXPANDERS",
    "MOST_BYTES",
    "MOST_PODS",
    "Admission",
    "Claimed",
    "Expansion",
    "Json",
    "Manifest",
    "PlannedPod",
    "PriorityClass",
    "claimed",
    "default_storage_class",
    "expand",
    "manifests",
    "priority_classes",
    "read",
]
