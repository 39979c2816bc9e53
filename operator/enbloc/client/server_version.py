# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The versions of Kubernetes that enbloc works with, and the version of a server."""

import re
from collections.abc import Mapping
from typing import Final

Minor = tuple[int, int]
"""Major and minor version."""

#: The oldest that has all that enbloc needs (`selectableFields` of CRDs).
OLDEST: Final[Minor] = (1, 32)
#: The newest that the end-to-end tests run on: the one of hack/controlplane.
NEWEST: Final[Minor] = (1, 36)


def minor(info: Mapping[str, str]) -> Minor | None:
    """Major and minor version ("36+" counts as 36); None = the server does not give them.

    Args:
        info: the server's answer at /version.
    """
    found = [re.match(r"[0-9]{1,4}", info.get(part, "")) for part in ("major", "minor")]
    first, second = (int(each[0]) if each else None for each in found)
    return None if first is None or second is None else (first, second)


def written(version: Minor) -> str:
    """The version as text, such as "1.36"."""
    return ".".join(map(str, version))
