# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What operators see: metrics, logs, troubles, health.

Nothing here knows what is measured, checked or in trouble.
"""

from enbloc.telemetry.beat import Beat
from enbloc.telemetry.health import Health, HealthServer
from enbloc.telemetry.logs import configure_logging
from enbloc.telemetry.troubles import Troubles

__all__ = ["Beat", "Health", "HealthServer", "Troubles", "configure_logging"]
