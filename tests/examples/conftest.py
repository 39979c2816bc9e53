# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A desk for each test: without kubectl in every run, with it in `make e2e`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.desk import ROOT, Desk


@pytest.fixture(scope="session")
def kubectl_program() -> Path:
    command = [sys.executable, "hack/build_controlplane.py", "--only", "kubectl"]
    built = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Path(built.stdout.strip()) / "kubectl"


@pytest.fixture
def lonely_desk(tmp_path: Path) -> Iterator[Desk]:
    """For what asks no API server."""
    with Desk(tmp_path) as found:
        yield found


@pytest.fixture(params=["stand-in", pytest.param("kubectl", marks=pytest.mark.kubectl)])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    real = request.param == "kubectl"
    program: Path | None = request.getfixturevalue("kubectl_program") if real else None
    with Desk(tmp_path, program) as found:
        yield found
