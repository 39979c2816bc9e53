# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What every test may count on."""

import asyncio

from hypothesis import HealthCheck, settings

# Else pytest-asyncio, by asking for the current loop around fixtures, makes one that nobody
# closes, and its ResourceWarning fails a run in which every test has passed.
asyncio.set_event_loop(None)

# A busy machine is no reason to fail: properties are asserted, times are not.
settings.register_profile("enbloc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("enbloc")
