# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller's tests share."""

import asyncio

# looptime asks the policy for a loop in tests that have none; the policy would make one that
# nobody closes. Once told that there is none, it makes none.
asyncio.set_event_loop(None)
