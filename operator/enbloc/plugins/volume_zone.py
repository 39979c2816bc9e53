# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeZone: volumes that only some zones can reach."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class VolumeZone:
    """A name that configurations may enable; it has no say yet.

    Pods with claims are refused by VolumeBinding until storage is supported.
    """

    name: ClassVar[str] = "VolumeZone"
