# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What PodGroups of ours are made for: other projects' PodGroups, and workloads.

`source.py` says what a source is, and each further module is one; `follow.py` watches them all and
writes, `derived_groups.py` keeps the PodGroups. Nothing outside knows a source.
"""

from typing import Any, Final

from enbloc.controller.sources.coscheduling import COSCHEDULING
from enbloc.controller.sources.native import NATIVE
from enbloc.controller.sources.source import Source

#: In order of precedence, where several call for a PodGroup of one name.
SOURCES: Final[tuple[Source[Any], ...]] = (NATIVE, COSCHEDULING)
