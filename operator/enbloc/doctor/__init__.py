# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What in a cluster would clash with an installation of enbloc, or keeps one from working.

It reads, and writes nothing but access reviews, which the API server does not keep.
"""

from enbloc.doctor.examination import CHECKS, examine
from enbloc.doctor.finding import Finding, Installation, Verdict

__all__ = ["CHECKS", "Finding", "Installation", "Verdict", "examine"]
