# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What operators see: metrics, logs, problems, health.

Nothing here knows what is measured, checked or in trouble.
"""

from enbloc.telemetry.certificates import Certificates
from enbloc.telemetry.health import Health
from enbloc.telemetry.heartbeat import Heartbeat
from enbloc.telemetry.logs import configure_logging, level_of
from enbloc.telemetry.problems import ActiveProblems
from enbloc.telemetry.server import AccessRequest, Guarding, RequestRefusal, Server, listening

__all__ = [
    "AccessRequest",
    "ActiveProblems",
    "Certificates",
    "Guarding",
    "Health",
    "Heartbeat",
    "RequestRefusal",
    "Server",
    "configure_logging",
    "level_of",
    "listening",
]
