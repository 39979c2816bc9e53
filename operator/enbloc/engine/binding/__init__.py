# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Binding: open plans, from the reservation to the last settled member.

`plans` holds them and decides when to release a group and which Binds to send; `open_plan` is one
of them.
"""

from enbloc.engine.binding.plans import Plans, ledgers_over

__all__ = ["Plans", "ledgers_over"]
