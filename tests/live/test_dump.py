# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A scheduler writes a dump when it is asked to, and when it breaks; `enbloc replay` reads it."""

import asyncio
import gzip
import json
import stat
import time
from pathlib import Path

import pytest

from enbloc.cli import main
from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.config import Source, configure, default_configuration, effective
from enbloc.engine import Settings
from enbloc.engine.replay.file import decoded
from enbloc.engine.state.reservations import PLAN, Against, Reservation
from enbloc.live.dump import Dumper, without_secrets
from enbloc.live.scheduler import Scheduler
from enbloc.process.options import Options
from enbloc.telemetry import Health
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, Running, World
from tests.world.cluster import Cluster as Memory
from tests.world.virtual_time import time_source


async def written(directory: Path) -> Path:
    """The one dump that is written there, when it is complete."""
    async with asyncio.timeout(20):
        while True:
            for path in directory.glob("enbloc-*.json.gz"):
                try:
                    gzip.decompress(path.read_bytes())
                except EOFError:
                    continue
                return path
            await asyncio.sleep(0.02)


async def test_a_plan_is_found_by_the_binding_record_of_a_pod_and_decided_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stop, dump, health = asyncio.Event(), asyncio.Event(), Health()
    options = Options(
        lease_namespace=NAMESPACE, health=health, stop=stop, dump=dump, dump_dir=tmp_path
    )
    async with Sandbox(clock=time_source().wall) as sandbox, World(Cluster(sandbox.url)) as world:
        await world.nodes("n1 n2", cpu=2)
        async with Client(world.cluster, component="scheduler", clock=time_source()) as client:
            running = Running(client, options)
            await world.gang("g", 4)
            await world.until_bound("g", 4)
            [plan] = await world.plans("g")
            dump.set()
            path = await written(tmp_path)
            assert await running.end() == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert main(["replay", plan, "--dump", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "Group:    default/g\n" in printed
    assert "MEMBER        NODE   PART\ndefault/g-0   n" in printed
    assert printed.endswith("The replay decided the same.\n")


async def test_a_scheduler_that_breaks_leaves_a_dump_behind(tmp_path: Path) -> None:
    options = Options(leader_elect=False, health=Health(), dump_dir=tmp_path)
    async with Sandbox(clock=time_source().wall) as sandbox, World(Cluster(sandbox.url)) as world:
        await world.nodes("n1", cpu=2)
        async with Client(world.cluster, component="scheduler", clock=time_source()) as client:
            scheduler = Scheduler(client, options, settings=Settings(validate=True))
            scheduler._engine._state.reservations.plans["nobody"] = Reservation(
                "nobody", PLAN, Against.EVERYONE
            )
            async with asyncio.timeout(20):
                assert await scheduler.run() == 1
    [path] = tmp_path.iterdir()
    dump = decoded(gzip.decompress(path.read_bytes())).dump
    assert [node.name for node in dump.present().nodes] == ["n1"]


async def test_a_directory_that_cannot_be_written_to_is_said_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = tmp_path / "gone"
    dumper = Dumper(Memory().engine, default_configuration(), gone, asyncio.Event(), time.time)
    await dumper.write()
    assert caplog.messages == [f"Could not write a dump to {gone}: No such file or directory"]


async def test_a_dump_that_cannot_be_made_is_said_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Memory()
    cluster.gang("no text: \ud800", 2)
    dumper = Dumper(cluster.engine, default_configuration(), tmp_path, asyncio.Event(), time.time)
    await dumper.write()
    assert caplog.messages == [f"Could not write a dump to {tmp_path}"]
    assert list(tmp_path.iterdir()) == []


EXTENDED = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: /etc/secret/kubeconfig}
extenders:
- urlPrefix: https://extender.example.com/scheduler
  filterVerb: filter
  tlsConfig: {insecure: true, serverName: its-own}
"""


def test_what_only_a_connection_needs_is_not_in_a_dump_and_the_rest_can_be_read_again() -> None:
    documents = effective(configure([Source("config.yaml", EXTENDED)]))
    [scheduler, ours] = without_secrets(documents)
    assert "secret" not in str(scheduler)
    assert "tlsConfig" not in str(scheduler)
    again = configure([Source("dump", json.dumps(each)) for each in (scheduler, ours)])
    assert without_secrets(effective(again)) == [scheduler, ours]


def test_credentials_in_the_address_of_an_extender_are_left_out() -> None:
    extender = {"urlPrefix": "https://user:password@example.com:8443/x"}
    [document] = without_secrets([{"extenders": [extender]}])
    assert document["extenders"] == [{"urlPrefix": "https://***@example.com:8443/x"}]
