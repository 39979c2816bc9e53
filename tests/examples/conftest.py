# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A desk for each test: without kubectl in every run, with it in `make e2e`."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import ControlPlane
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


BOTH = ["stand-in", pytest.param("kubectl", marks=pytest.mark.kubectl)]


def kubectl_of(request: pytest.FixtureRequest) -> Path | None:
    real = request.param == "kubectl"
    program: Path | None = request.getfixturevalue("kubectl_program") if real else None
    return program


@pytest.fixture(params=BOTH)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    with Desk(tmp_path, kubectl_of(request)) as found:
        yield found


@pytest.fixture(params=BOTH)
def clone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    """In a clone of the repository, as the pages begin."""
    with Desk(tmp_path, kubectl_of(request), clone=True) as found:
        yield found


@pytest.fixture
def clone_with_kubectl(kubectl_program: Path, tmp_path: Path) -> Iterator[Desk]:
    """For pages that use more of kubectl than the stand-in knows."""
    with Desk(tmp_path, kubectl_program, clone=True) as found:
        yield found


@pytest.fixture
def clone_on_a_cluster(tmp_path: Path) -> Iterator[Desk]:
    """With kubectl and helm, and the kubeconfig of a cluster on which nothing is installed."""
    with ControlPlane(controller_manager=True) as cluster:
        variables = cluster.kubectl_environment()
        with Desk(tmp_path, cluster.bin("kubectl"), clone=True, variables=variables) as found:
            (tmp_path / "programs" / "helm").symlink_to(cluster.bin("helm"))
            yield found
