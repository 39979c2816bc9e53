# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Admission: whether a group may be tried, where it waits, and why it is not scheduled.

`gate` asks the PreEnqueue plugins and the quorum, `admission` keeps the outcome.
"""

from enbloc.engine.admission.admission import Admission
from enbloc.engine.admission.gate import group_action

__all__ = ["Admission", "group_action"]
