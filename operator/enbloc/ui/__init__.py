# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page for people: who waits, why, with what they would start, and what nodes have left.

It reads the cluster and writes nothing to it: what is sent to it is a question. What pages show is
worked out by the simulation, in workers; `view`, `node_map`, `places`, `questions` and the pages
are pure.
"""

from enbloc.ui.page import serve_ui, started
from enbloc.ui.server import Address

__all__ = ["Address", "serve_ui", "started"]
