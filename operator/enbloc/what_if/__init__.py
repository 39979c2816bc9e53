# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if: what would become of manifests, nodes and groups, and what is said of that.

For the command and for the page. All of it is pure; nothing is written.
"""

from enbloc.what_if.asking import MOST_MEMBERS, MOST_NODES, WhatIfRequest, report, scale
from enbloc.what_if.report import Report, Subject, text

__all__ = [
    "MOST_MEMBERS",
    "MOST_NODES",
    "Report",
    "Subject",
    "WhatIfRequest",
    "report",
    "scale",
    "text",
]
