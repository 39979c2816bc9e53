# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Report: what users are told, each thing once.

`reporter` remembers what stands where, `conditions` has the words of a group's conditions,
`missing_groups` those whose PodGroup does not exist.
"""

from enbloc.engine.report.conditions import PENDING, Explanation
from enbloc.engine.report.missing_groups import Missing
from enbloc.engine.report.reporter import Reporter

__all__ = ["PENDING", "Explanation", "Missing", "Reporter"]
