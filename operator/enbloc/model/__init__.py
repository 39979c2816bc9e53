# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is: frozen facts about pods, groups and nodes, and the tables that hold them.

Only facts live here, with the exact arithmetic that they need. No decision, no I/O, no clock.
"""
