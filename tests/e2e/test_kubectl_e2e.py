# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the README and the examples tell people to type, with an unmodified kubectl."""

import asyncio
import re

import pytest

from tests.e2e.targets import ROOT
from tests.e2e.world import World

pytestmark = pytest.mark.kubectl
EXAMPLES = ROOT / "manifests" / "examples"


def example(name: str, **replaced: str) -> str:
    """An example's text; each keyword's value replaces that of the field, wherever it stands."""
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    for field, value in replaced.items():
        text, count = re.subn(rf"({field.replace('_', '-')}: ).*", rf"\g<1>{value}", text)
        assert count, f"{name}.yaml has no {field}"
    return text


def table(text: str) -> list[list[str]]:
    """The cells of what kubectl prints."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


async def test_the_readmes_three_commands_run_a_gang(world: World) -> None:
    await world.nodes(1, cpu=4)
    world.watch_over("train", 8)
    await world.kubectl("apply", "-f", str(ROOT / "crds"))
    await world.kubectl("wait", "--for=condition=Established", "crd/podgroups.enbloc.dev")
    await world.kubectl("apply", "-f", str(EXAMPLES / "gang.yaml"))
    await world.bound("train", 8)
    await world.kubectl("wait", "--for=condition=Ready", "epg/train", "--timeout=60s")
    head, row = table(await world.kubectl("get", "epg"))
    assert head == ["NAME", "STATUS", "MIN", "SCHEDULED", "READY", "AGE"]
    assert row[:-1] == ["train", "Running", "8", "8", "8"]
    head, row = table(await world.kubectl("get", "podgroups.enbloc.dev", "-o", "wide"))
    assert head[5:] == ["PRIORITY", "ATTEMPTS", "TOPOLOGY", "MESSAGE", "AGE"]
    assert row[5:-1] == ["0", "1", "8 of 8 members run"]
    pods = table(await world.kubectl("get", "pods", "--no-headers"))
    assert [row[1:3] for row in pods] == [["1/1", "Running"]] * 8


async def test_a_gang_with_a_higher_minimum_says_how_many_members_exist(world: World) -> None:
    await world.nodes(1, cpu=4)
    world.watch_over("train", 9)
    await world.kubectl("apply", "-f", "-", stdin=example("gang", minMember="9"))
    await world.condition("train", "Ready", "False", reason="WaitingForMembers")
    said = await world.kubectl("describe", "epg", "train")
    assert "8 of 9 members exist" in said
    await world.pod("ninth", "train")
    await world.bound("train", 8)
    await world.bound("ninth", 1)


async def test_an_indexed_job_of_the_examples_starts_together_and_succeeds(world: World) -> None:
    await world.nodes(1, cpu=4)
    world.watch_over("epochs", 8)
    text = example("indexed-job", run_seconds='"2"')
    await world.kubectl("apply", "-f", "-", stdin=text)
    await world.bound("epochs", 8)
    await world.kubectl("wait", "--for=condition=Complete", "job/epochs", "--timeout=60s")
    await world.kubectl("wait", "--for=condition=Finished", "epg/epochs", "--timeout=60s")
    _, row = table(await world.kubectl("get", "epg", "epochs"))
    assert row[1] == "Succeeded"


async def test_of_the_two_gangs_of_the_examples_one_runs_and_the_other_says_why(
    world: World,
) -> None:
    await world.nodes(4, cpu=32, gpus=8)
    world.watch_over("left", 6)
    world.watch_over("right", 6)
    await world.kubectl("apply", "-f", "-", stdin=example("two-gangs", run_seconds='"6"'))
    first = await world.either_bound({"left": 6, "right": 6})
    second = "right" if first == "left" else "left"
    await world.condition(second, "Ready", "False", reason="Unschedulable")
    rows = {row[0]: row[1] for row in table(await world.kubectl("get", "epg"))[1:]}
    assert rows[second] == "Unschedulable"
    said = await world.kubectl("describe", "epg", second)
    assert "Insufficient nvidia.com/gpu" in said
    assert re.search(r"Warning\s+GangUnschedulable", said), "the events are part of it"
    await world.bound(second, 6)
    await world.kubectl("wait", "--for=condition=Finished", f"epg/{first}", "--timeout=60s")


async def test_a_watch_shows_a_gang_from_its_first_wait_to_its_run(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.group("train", 2)
    await world.pod("train-0", "train")
    await world.condition("train", "Ready", "False", reason="WaitingForMembers")
    watching = asyncio.create_task(
        world.kubectl_until("Running", "get", "epg", "train", "--watch", "--no-headers")
    )
    await world.pod("train-1", "train")
    states = [line.split()[1] for line in (await watching).splitlines()]
    assert states[0] == "WaitingForMembers"
    assert states[-1] == "Running"
