# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import logging
import math
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from enbloc.client.errors import Fenced
from enbloc.client.events import Recorder
from enbloc.config import default_profiles
from enbloc.engine.effects import (
    AskExtender,
    Bind,
    CancelPlan,
    Decided,
    Emit,
    EventType,
    Evict,
    PreBind,
    Related,
)
from enbloc.engine.events import Bound, Event, EvictRefused, ExtenderAnswer, PreBound, SlotsFree
from enbloc.framework.act import Api, Target
from enbloc.framework.extenders import Extender
from enbloc.framework.profile import Profile
from enbloc.framework.status import SUCCESS, Status
from enbloc.live.bind_slots import START, BindSlots
from enbloc.live.event_queue import EventQueue
from enbloc.live.executor import Executor
from enbloc.live.extenders import Extenders
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.model.credentials import URL
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.telemetry import ActiveProblems
from tests.client.memory import MemoryClient, Store


@dataclass
class Gate:
    """Prepares and binds members when it is opened."""

    name: ClassVar[str] = "Gate"
    open: asyncio.Event = field(default_factory=asyncio.Event)
    told: list[str] = field(default_factory=list)

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del api
        await self.open.wait()
        self.told.append(f"prepared {target.pod.name}")
        return SUCCESS

    async def bind(self, target: Target, api: Api) -> Status:
        del api
        await self.open.wait()
        self.told.append(f"bound {target.pod.name}")
        return SUCCESS

    async def post_bind(self, target: Target, api: Api) -> None:
        del api
        self.told.append(f"told of {target.pod.name}")


class World:
    def __init__(self) -> None:
        self.gate = Gate()
        self.queue = EventQueue()
        self.slots = BindSlots()
        self.client = MemoryClient(Store())
        problems = ActiveProblems()
        [given] = default_profiles().values()
        nobody = Extender(URL("http://127.0.0.1:9"), filter_verb="filter")
        profile = Profile("enbloc", (self.gate, *given.plugins), extenders=(nobody,))
        self.recorder = Recorder(self.client, "here")
        profiles = {"enbloc": profile}
        self.extenders = Extenders(self.client, profiles)
        self.executor = Executor(
            self.client,
            profiles,
            self.queue,
            GroupStatuses(self.client, lambda: 0.0, problems, "enbloc-scheduler:enbloc"),
            PodConditions(self.client, lambda: 0.0, problems),
            self.recorder,
            self.extenders,
            lambda: 0.0,
            watches=ObjectWatches(),
            places=lambda _group, _but: False,
            slots=self.slots,
        )

    async def events(self) -> list[Event]:
        for _ in range(10):
            await asyncio.sleep(0)
        return list(self.queue.take())


@pytest.fixture
async def world() -> World:
    return World()


def target(name: str, plan: str = "plan-1") -> Target:
    return Target(plan, PodKey("ns", name), PodUID(f"uid-{name}"), "n1")


async def test_it_offers_its_slots_once_and_each_again_when_its_bind_is_settled(
    world: World,
) -> None:
    assert await world.events() == [SlotsFree(START)]
    world.executor.start([Bind("enbloc", target("a")), Bind("enbloc", target("b"))], 0.0)
    assert await world.events() == []
    world.gate.open.set()
    told = await world.events()
    assert told == [
        Bound("plan-1", PodUID("uid-a")),
        SlotsFree(1),
        Bound("plan-1", PodUID("uid-b")),
        SlotsFree(1),
    ]
    assert world.gate.told == ["bound a", "told of a", "bound b", "told of b"]


async def test_slots_that_there_may_be_no_more_are_not_offered_again(world: World) -> None:
    names = "abcde"
    world.gate.open.set()
    world.executor.start([Bind("enbloc", target(name)) for name in names], 0.0)
    world.slots.limit = START - 2
    offered = [event for event in await world.events() if isinstance(event, SlotsFree)]
    assert offered == [SlotsFree(START), *[SlotsFree(1)] * (len(names) - 2)]
    world.executor.start([Bind("enbloc", target("f"))], 0.0)
    world.slots.limit = START + 10
    assert await world.events() == [Bound("plan-1", PodUID("uid-f")), SlotsFree(1 + 2 + 10)]


async def test_a_cancelled_plan_is_not_prepared_further_and_what_was_sent_goes_on(
    world: World,
) -> None:
    await world.events()
    world.executor.start(
        [
            PreBind("enbloc", GroupKey("ns", "g"), target("a")),
            PreBind("enbloc", GroupKey("ns", "h"), target("other", plan="plan-2")),
            Bind("enbloc", target("b")),
        ],
        0.0,
    )
    await world.events()
    world.executor.start([CancelPlan("plan-1")], 0.0)
    await world.events()
    world.gate.open.set()
    told = await world.events()
    assert PreBound("plan-2", PodUID("uid-other")) in told
    assert Bound("plan-1", PodUID("uid-b")) in told
    assert not any(isinstance(e, PreBound) and e.plan == "plan-1" for e in told)


async def test_a_stop_waits_for_binds_and_gives_up_those_that_do_not_end(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.executor.start([Bind("enbloc", target("a"))], 0.0)
    await world.events()
    await world.executor.finish(0.01)
    assert "Stopping with 1 Bindings" in caplog.text
    world.executor.start([Bind("enbloc", target("b"))], 0.0)
    asyncio.get_running_loop().call_later(0.01, world.gate.open.set)
    await world.executor.finish(5.0)
    assert world.gate.told == ["bound b", "told of b"]


async def test_each_decision_is_one_log_line_with_fixed_keys(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    decided = Decided(GroupKey("ns", "g"), "enbloc", 2, "unschedulable", 0, "0/1 nodes", "plan-9")
    world.executor.start([decided], 0.25)
    [record] = caplog.records
    assert record.message == "Pod group does not fit"
    assert (
        vars(record).items()
        >= {
            "podGroup": "ns/g",
            "profile": "enbloc",
            "cycle": 1,
            "attempts": 2,
            "result": "unschedulable",
            "duration": 0.25,
            "reason": "0/1 nodes",
        }.items()
    )


async def test_who_preempts_is_in_the_event_of_a_victim_and_a_second_one_is_no_repetition(
    world: World,
) -> None:
    def emit(by: Related) -> Emit:
        return Emit(
            type=EventType.NORMAL,
            reason=EventReason.PREEMPTED,
            action="Scheduling",
            note=f"preempted by {by.pod or by.group}",
            reporter="enbloc",
            uid="u",
            group=GroupKey("ns", "g"),
            related=by,
        )

    pod, group = Related("u1", pod=PodKey("a", "p")), Related("u2", group=GroupKey("b", "h"))
    world.executor.start([emit(pod), emit(group), emit(pod)], 0.0)
    await world.recorder.flush(10)
    bodies = [body for verb, _, body in world.client.sent if verb == "create"]
    assert [(body["note"], body["related"]) for body in bodies] == [
        (
            "preempted by a/p",
            {"apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "p", "uid": "u1"},
        ),
        (
            "preempted by b/h",
            {
                "apiVersion": "enbloc.dev/v1alpha1",
                "kind": "PodGroup",
                "namespace": "b",
                "name": "h",
                "uid": "u2",
            },
        ),
    ]
    assert len(world.client.sent) == 3  # the third is one more of the first


async def test_an_event_goes_to_its_pod_its_group_or_its_node(world: World) -> None:
    def emit(*, pod: PodKey | None = None, group: GroupKey | None = None, node: str = "") -> Emit:
        return Emit(
            type=EventType.NORMAL,
            reason=EventReason.SCHEDULED,
            action="Binding",
            note="done",
            reporter="enbloc",
            uid=node or "u",
            pod=pod,
            group=group,
            node=node,
        )

    effects = [
        emit(pod=PodKey("ns", "p")),
        emit(group=GroupKey("ns", "g")),
        emit(node="n1"),
    ]
    world.executor.start(effects, 0.0)
    await world.recorder.flush(10)
    bodies = [body for _, _, body in world.client.sent]
    # Namespaces take turns, so the order tells nothing.
    said = {
        body["regarding"]["kind"]: (body["regarding"]["name"], body["metadata"]["namespace"])
        for body in bodies
    }
    assert said == {"Pod": ("p", "ns"), "PodGroup": ("g", "ns"), "Node": ("n1", "default")}
    assert {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"} in [
        body["regarding"] for body in bodies
    ]


async def test_a_question_to_an_extender_is_answered(world: World) -> None:
    pod = Pod(PodKey("ns", "a"), PodUID("uid-a"), PodSpec())
    async with world.extenders:
        world.executor.start([AskExtender("q", "enbloc", 0, pod, ("n1",), True, False)], 0.0)
        assert await world.events() == [
            SlotsFree(START),
            ExtenderAnswer("q", problem="pod ns/a is gone"),
        ]


async def test_an_eviction_is_answered(world: World) -> None:
    effect = Evict(
        PodKey("ns", "a"), PodUID("uid-a"), GroupKey("ns", "g"), Reason.BELOW_MINIMUM, "3 of 8"
    )
    world.executor.start([effect], 0.0)
    told = await world.events()
    refused = told[-1]
    assert isinstance(refused, EvictRefused)
    assert (refused.uid, refused.retry_at) == ("uid-a", math.inf)


async def test_an_eviction_under_way_is_given_up_when_it_stops(world: World) -> None:
    world.client.latency = math.inf
    effect = Evict(
        PodKey("ns", "a"), PodUID("uid-a"), GroupKey("ns", "g"), Reason.BELOW_MINIMUM, "3 of 8"
    )
    world.executor.start([effect], 0.0)
    await world.events()
    await world.executor.finish(5.0)
    assert await world.events() == []
    assert [verb for verb, _, _ in world.client.sent] == ["get"]


async def test_a_plugin_that_writes_after_a_bind_while_the_lease_is_lost_ends_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def post_bind(gate: Gate, target: Target, api: Api) -> None:
        gate.told.append(f"told of {target.pod.name}")
        await api.patch("Pod", "ns", target.pod.name, {"status": {}}, status=True)

    def fence(verb: str) -> None:
        raise Fenced(verb, "pods", "not sent: this process may no longer hold the Lease")

    monkeypatch.setattr(Gate, "post_bind", post_bind)
    world.client.before = fence
    world.gate.open.set()
    running = asyncio.create_task(world.executor.run())
    world.executor.start([Bind("enbloc", target("a"))], 0.0)
    assert Bound("plan-1", PodUID("uid-a")) in await world.events()
    assert world.gate.told == ["bound a", "told of a"]
    assert not running.done()
    running.cancel()


async def test_a_bind_that_breaks_by_a_bug_of_ours_is_raised_to_end_the_process() -> None:
    world = World()
    world.executor.start([Bind("no such profile", target("a"))], 0.0)
    with pytest.raises(KeyError, match="no such profile"):
        async with asyncio.timeout(5.0):
            await world.executor.run()
