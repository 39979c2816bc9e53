# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeRestrictions: disks and claims that only one pod may use."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class VolumeRestrictions:
    """A name that configurations may enable; it has no say yet.

    Pods with claims are refused by VolumeBinding until storage is supported.
    """

    name: ClassVar[str] = "VolumeRestrictions"
