# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of both servers: each scenario a short conversation in its own namespace."""

from sandbox.tests.apiserver.parity import (
    scenarios_apply,
    scenarios_custom,
    scenarios_custom_more,
    scenarios_deletion,
    scenarios_devices,
    scenarios_evicting,
    scenarios_kinds,
    scenarios_objects,
    scenarios_pods,
    scenarios_reading,
    scenarios_storage,
)
from sandbox.tests.apiserver.parity.talk import SCENARIOS

__all__ = [
    "SCENARIOS",
    "scenarios_apply",
    "scenarios_custom",
    "scenarios_custom_more",
    "scenarios_deletion",
    "scenarios_devices",
    "scenarios_evicting",
    "scenarios_kinds",
    "scenarios_objects",
    "scenarios_pods",
    "scenarios_reading",
    "scenarios_storage",
]
