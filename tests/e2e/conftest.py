# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The world that every end-to-end test gets, once on each target."""

import os
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path

import pytest

from tests.controlplane import ControlPlane
from tests.e2e import incidents
from tests.e2e.bare import bare_control_plane
from tests.e2e.claims import Claims, claims_of
from tests.e2e.evictions import Evictions, watched
from tests.e2e.fault_proxy import FaultProxy
from tests.e2e.requests import Requests
from tests.e2e.targets import ControlPlaneTarget, SandboxTarget, Target
from tests.e2e.world import World, opened

_PASSED = pytest.StashKey[bool]()
HERE = Path(__file__).parent
#: These look back at what all the others did.
LAST = "test_permissions_e2e.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("processes")
    items.sort(key=lambda item: item.path.name == LAST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    return report


@pytest.fixture(scope="session")
def sandbox_target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxTarget]:
    with SandboxTarget(tmp_path_factory.mktemp("sandbox")) as target:
        yield target


@pytest.fixture(scope="session")
def controlplane_target(request: pytest.FixtureRequest) -> Iterator[ControlPlaneTarget]:
    with ControlPlane() as cp:
        target = ControlPlaneTarget(cp)
        yield target
        folder = request.config.getoption("requests")
        if folder is not None:
            Requests.of(target).keep(folder, os.environ.get("PYTEST_XDIST_WORKER", "alone"))


@pytest.fixture(scope="session")
def plain_target() -> Iterator[ControlPlaneTarget]:
    """An API server, and beside it the controllers of the sandbox: no more has to be built."""
    with ControlPlane(controller_manager=False) as cp:
        yield ControlPlaneTarget(cp, complete=False)


@pytest.fixture(scope="session")
def bare_target() -> Iterator[ControlPlaneTarget]:
    with bare_control_plane() as cp:
        yield ControlPlaneTarget(cp)


@pytest.fixture(
    params=[
        "sandbox",
        pytest.param("controlplane", marks=pytest.mark.controlplane),
    ]
)
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(f"{request.param}_target")
    return found


@pytest.fixture
async def world(
    target: Target, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncGenerator[World]:
    forks = not any(request.node.iter_markers("smoke"))
    async with opened(target, tmp_path, forks=forks) as world:
        yield world
        world.failed = not request.node.stash.get(_PASSED, False)


@pytest.fixture
async def claims(world: World) -> AsyncGenerator[Claims]:
    async with claims_of(world) as claims:
        yield claims


@pytest.fixture
async def proxy(world: World) -> FaultProxy:
    """Between the scheduler and the API server."""
    return await incidents.fault_proxy(world)


@pytest.fixture
async def evictions(
    world: World, proxy: FaultProxy, request: pytest.FixtureRequest
) -> AsyncGenerator[Evictions]:
    """Who is made to leave, judged at the end unless the test failed."""
    async with watched(world, proxy) as found:
        yield found
        if request.node.stash.get(_PASSED, False):
            await found.judge()
