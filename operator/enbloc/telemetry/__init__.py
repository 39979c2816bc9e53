# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What operators see: metrics, logs, health. Nothing here knows what is measured or checked."""

from enbloc.telemetry.health import Health, HealthServer
from enbloc.telemetry.logs import configure_logging

__all__ = ["Health", "HealthServer", "configure_logging"]
