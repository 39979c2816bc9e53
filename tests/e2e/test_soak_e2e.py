# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A minute of `make soak`: too short to see memory grow, long enough for each kind of fault."""

from pathlib import Path

import pytest

from tests.e2e.soak import soaked
from tests.e2e.targets import ControlPlaneTarget
from tests.effort import slow

pytestmark = [slow("a minute of faults, and the time to recover"), pytest.mark.controlplane]

SECONDS, SEED = 60.0, 1


async def test_a_minute_of_faults_and_kills_breaks_nothing(
    controlplane_target: ControlPlaneTarget, tmp_path: Path
) -> None:
    problems = await soaked(controlplane_target, tmp_path, SECONDS, SEED)
    assert not problems, "\n".join(problems)
