# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What importing the package costs."""

import subprocess
import sys

import pytest


@pytest.mark.processes
def test_the_fixed_names_cost_no_numpy() -> None:
    code = "import sys, enbloc.model.names; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
