# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The Common Expression Language of device selectors, evaluated within bounds."""

from enbloc.cel.patterns import instructions, searching
from enbloc.cel.program import (
    COST_LIMIT,
    CelError,
    DeviceView,
    Evaluation,
    Program,
    compile,  # noqa: A004
)
from enbloc.cel.reads import reads
from enbloc.cel.versions import SemanticVersion, exact

__all__ = [
    "COST_LIMIT",
    "CelError",
    "DeviceView",
    "Evaluation",
    "Program",
    "SemanticVersion",
    "compile",
    "exact",
    "instructions",
    "reads",
    "searching",
]
