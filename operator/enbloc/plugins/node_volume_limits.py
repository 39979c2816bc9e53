# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeVolumeLimits: how many volumes a node can attach."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class NodeVolumeLimits:
    """A name that configurations may enable; it has no say yet.

    Pods with claims are refused by VolumeBinding until storage is supported.
    """

    name: ClassVar[str] = "NodeVolumeLimits"
