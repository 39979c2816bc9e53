# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from aiohttp import web

from enbloc.client.errors import APIError, Fenced, Forbidden, NotFound, Unreachable
from enbloc.config import default_profiles
from enbloc.engine.effects import AskExtender
from enbloc.engine.events import BindRefused, Bound, Event, ExtenderAnswer
from enbloc.framework.act import Target
from enbloc.framework.extenders import Extender, NodeVictims
from enbloc.framework.profile import Profile
from enbloc.live import binding
from enbloc.live.binding import MemberApi
from enbloc.live.extenders import Extenders
from enbloc.model.binding import RefusalCause
from enbloc.model.credentials import URL
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from tests.client.extenders import FakeExtender
from tests.client.memory import MemoryClient, Store
from tests.live.objects import objects

KEY, UID = PodKey("ns", "p"), PodUID("u1")
TARGET = Target("plan-1", KEY, UID, "n1")
POD = Pod(KEY, UID, PodSpec())
VICTIM = Pod(PodKey("ns", "victim"), PodUID("u2"), PodSpec())
GONE = Pod(PodKey("ns", "gone"), PodUID("u3"), PodSpec())
#: The answer of a proxy that knows no API server.
NOTHING_THERE = NotFound("get", "pods", "default backend - 404", code=404)


def shown(node: str = "", uid: str = UID, **requests: str) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": requests}}
    metadata = {"name": "p", "namespace": "ns", "uid": uid, "resourceVersion": "1"}
    spec = {"nodeName": node, "containers": [container]}
    return {"metadata": {**metadata, "managedFields": [{"manager": "m"}]}, "spec": spec}


class World:
    """One pod, a profile whose extenders are given, and what was told of its Bind."""

    def __init__(self, *extenders: Extender) -> None:
        [given] = default_profiles().values()
        self.profile = Profile("enbloc", given.plugins, extenders=extenders)
        self.client = MemoryClient(Store())
        self.extenders = Extenders(self.client, {"enbloc": self.profile})
        self.unknown = 0
        self.show()

    def show(self, node: str = "", uid: str = UID, **requests: str) -> None:
        self.client.store.objects["pods", "p"] = shown(node, uid, **requests)

    def fail_once(self, error: APIError) -> None:
        """Fail the next read with this error."""
        failures = [error]

        def fail(verb: str) -> None:
            if verb == "get" and failures:
                raise failures.pop()

        self.client.before = fail

    async def ask(self, *, filter: bool = True, prioritize: bool = False) -> ExtenderAnswer:  # noqa: A002
        ask = AskExtender("q", "enbloc", 0, POD, ("n1", "n2"), filter, prioritize)
        return await self.extenders.answer(ask)

    async def preempt(self, *pods: Pod) -> ExtenderAnswer:
        named = NodeVictims("n1", tuple(pod.uid for pod in pods))
        ask = AskExtender("q", "enbloc", 0, POD, candidates=(named,), victims=pods)
        return await self.extenders.answer(ask)

    async def bind(self) -> Event:
        def unknown() -> None:
            self.unknown += 1

        member = MemberApi(self.client, unknown, objects(self.client), "plan-1")
        return await binding.bind(self.profile, TARGET, member, self.extenders)

    @property
    def bindings(self) -> int:
        """How many Bindings were sent to the API server."""
        return sum(verb == "create" for verb, _, _ in self.client.sent)


@asynccontextmanager
async def world(*fakes: FakeExtender, **more: Any) -> AsyncGenerator[World]:
    """A world with these extenders, all of the same options."""
    more.setdefault("node_cache_capable", True)
    opened = World(*(fake.extender(**more) for fake in fakes))
    async with opened.extenders:
        yield opened


# ── questions ────────────────────────────────────────────────────────────────────────────────


async def test_an_extender_is_asked_about_the_whole_pod_and_answers_the_engine() -> None:
    fake = FakeExtender(
        filter={
            "NodeNames": ["n2"],
            "FailedNodes": {"n1": "busy"},
            "FailedAndUnresolvableNodes": {"n3": "wrong"},
        },
        prioritize=[{"Host": "n2", "Score": 4}],
    )
    async with fake.serving(), world(fake) as here:
        answer = await here.ask(prioritize=True)
    assert answer == ExtenderAnswer(
        "q", ("n2",), (("n1", "busy"),), (("n3", "wrong"),), (("n2", 4),)
    )
    (_, filtered), (_, prioritized) = fake.asked
    pod = shown()
    del pod["metadata"]["managedFields"]
    assert filtered == {"Pod": pod, "Nodes": None, "NodeNames": ["n1", "n2"]}
    assert prioritized["NodeNames"] == ["n2"]


async def test_an_extender_that_does_not_know_the_nodes_is_sent_them() -> None:
    fake = FakeExtender(filter={"Nodes": {"items": [{"metadata": {"name": "n1"}}]}})
    async with fake.serving(), world(fake, node_cache_capable=False) as here:
        assert here.extenders.nodes is not None
        here.extenders.nodes["n1"] = msgspec.Raw(b'{"metadata":{"name":"n1"}}')
        assert (await here.ask()).feasible == ("n1",)
    assert fake.asked[0][1]["Nodes"]["items"] == [{"metadata": {"name": "n1"}}]


async def test_nodes_are_not_kept_for_extenders_that_know_them_or_do_not_ask() -> None:
    assert World().extenders.nodes is None
    knows = Extender(URL("http://x"), filter_verb="f", node_cache_capable=True)
    assert World(knows).extenders.nodes is None
    assert World(Extender(URL("http://x"), bind_verb="b")).extenders.nodes is None


async def test_a_filter_that_fails_is_a_problem() -> None:
    fake = FakeExtender(filter={"Error": "out of order"}, prioritize=[])
    async with fake.serving(), world(fake) as here:
        assert await here.ask(prioritize=True) == ExtenderAnswer(
            "q", problem="filter: out of order"
        )
    assert [verb for verb, _ in fake.asked] == ["filter"]


async def test_a_prioritize_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    fake = FakeExtender(filter={"NodeNames": ["n1"]}, prioritize="none")
    async with fake.serving(), world(fake) as here:
        assert await here.ask(prioritize=True) == ExtenderAnswer("q", ("n1",))
        assert await here.ask(filter=False, prioritize=True) == ExtenderAnswer("q")
    assert "gave no scores" in caplog.text


async def test_where_no_node_is_left_no_scores_are_asked_for() -> None:
    fake = FakeExtender(filter={"NodeNames": []}, prioritize=[])
    async with fake.serving(), world(fake) as here:
        assert await here.ask(prioritize=True) == ExtenderAnswer("q", ())
    assert [verb for verb, _ in fake.asked] == ["filter"]


async def test_nothing_is_asked_about_a_pod_that_is_gone_or_another() -> None:
    fake = FakeExtender(filter={"NodeNames": []})
    async with fake.serving(), world(fake) as here:
        here.show(uid="another")
        assert await here.ask() == ExtenderAnswer("q", problem="pod ns/p is gone")
        here.client.store.objects.clear()
        assert await here.ask() == ExtenderAnswer("q", problem="pod ns/p is gone")
    assert fake.asked == []


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Unreachable("get", "pods", "away", sent=False), id="the server is away"),
        pytest.param(NOTHING_THERE, id="a proxy finds nothing"),
    ],
)
async def test_a_server_that_does_not_answer_is_asked_again_for_the_pod(error: APIError) -> None:
    fake = FakeExtender(filter={"NodeNames": ["n1"]})
    async with fake.serving(), world(fake) as here:
        here.fail_once(error)
        assert (await here.ask()).feasible == ("n1",)


async def test_a_pod_that_may_not_be_read_is_a_problem() -> None:
    def refuse(verb: str) -> None:
        raise Forbidden(verb, "pods", "no")

    fake = FakeExtender(filter={})
    async with fake.serving(), world(fake) as here:
        here.client.before = refuse
        assert "cannot get pods" in (await here.ask()).problem


# ── who gives way ────────────────────────────────────────────────────────────────────────────


async def test_an_extender_is_asked_who_gives_way_and_answers_the_engine() -> None:
    left = {"n1": {"Pods": [{"UID": "u2"}], "NumPDBViolations": 1}}
    fake = FakeExtender(preempt={"NodeNameToMetaVictims": left})
    async with fake.serving(), world(fake) as here:
        answer = await here.preempt(VICTIM, GONE)
    assert answer == ExtenderAnswer("q", candidates=(NodeVictims("n1", (VICTIM.uid,), 1),))
    ((_, asked),) = fake.asked
    assert asked["NodeNameToMetaVictims"]["n1"]["Pods"] == [{"UID": "u2"}, {"UID": "u3"}]
    assert here.extenders.nodes is None


async def test_an_extender_that_does_not_know_the_pods_is_sent_those_that_are_there() -> None:
    fake = FakeExtender(preempt={"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u2"}]}}})
    async with fake.serving(), world(fake, node_cache_capable=False) as here:
        here.client.store.objects["pods", "victim"] = victim = shown("n1", VICTIM.uid)
        answer = await here.preempt(VICTIM, GONE)
    assert answer == ExtenderAnswer("q", candidates=(NodeVictims("n1", (VICTIM.uid,)),))
    ((_, asked),) = fake.asked
    del victim["metadata"]["managedFields"]
    assert asked["NodeNameToVictims"] == {"n1": {"Pods": [victim], "NumPDBViolations": 0}}


async def test_nobody_is_asked_who_gives_way_where_all_are_gone() -> None:
    fake = FakeExtender(preempt={})
    async with fake.serving(), world(fake, node_cache_capable=False) as here:
        assert await here.preempt(GONE) == ExtenderAnswer("q")
    assert fake.asked == []


async def test_an_extender_that_fails_to_say_who_gives_way_is_a_problem() -> None:
    fake = FakeExtender(preempt={"NodeNameToMetaVictims": {"n9": {}}})
    async with fake.serving(), world(fake) as here:
        answer = await here.preempt(VICTIM)
    assert answer.problem == "preempt: it names n9, about which it was not asked"


# ── binding ──────────────────────────────────────────────────────────────────────────────────


async def test_an_extender_that_binds_does_so_instead_of_the_plugins() -> None:
    fake = FakeExtender(bind={"Error": ""})
    async with fake.serving(), world(fake) as here:
        assert await here.bind() == Bound("plan-1", UID)
    named = {"PodName": "p", "PodNamespace": "ns", "PodUID": "u1", "Node": "n1"}
    assert fake.asked == [("bind", named)]
    assert here.client.sent == []


@pytest.mark.parametrize(
    ("requests", "by_extender"), [({"example.com/gpu": "1"}, True), ({"cpu": "1"}, False)]
)
async def test_a_pod_without_what_it_manages_is_bound_by_the_plugins(
    requests: dict[str, str],
    by_extender: bool,
) -> None:
    fake = FakeExtender(bind={})
    managed = {"example.com/gpu": True}
    async with fake.serving(), world(fake, managed=managed) as here:
        here.show(**requests)
        await here.bind()
    assert (len(fake.asked), here.bindings) == ((1, 0) if by_extender else (0, 1))


async def test_an_answer_that_shows_no_pod_is_asked_for_again() -> None:
    fake = FakeExtender(filter={"NodeNames": ["n2"]})
    async with fake.serving(), world(fake) as here:
        here.client.store.objects["pods", "p"] = {"metadata": None}
        here.client.after = lambda _: here.show()
        assert (await here.ask()).feasible == ("n2",)


async def test_a_proxy_that_finds_nothing_takes_no_pod_from_its_extender() -> None:
    fake = FakeExtender(bind={})
    async with fake.serving(), world(fake, managed={"example.com/gpu": True}) as here:
        here.show(**{"example.com/gpu": "1"})
        here.fail_once(NOTHING_THERE)
        assert await here.bind() == Bound("plan-1", UID)
    assert (len(fake.asked), here.bindings) == (1, 0)


async def test_a_pod_that_may_not_be_read_is_bound_by_nobody() -> None:
    fake = FakeExtender(bind={})
    async with fake.serving(), world(fake, managed={"example.com/gpu": True}) as here:
        here.show(**{"example.com/gpu": "1"})
        here.fail_once(Forbidden("get", "pods", "the authorizer is away", code=403))
        refused = await here.bind()
    assert (len(fake.asked), here.bindings) == (0, 0)
    assert isinstance(refused, BindRefused)
    assert refused.cause is RefusalCause.SCHEDULER_ERROR
    assert refused.message == "cannot get pods: 403: the authorizer is away"


async def test_a_pod_whose_spec_is_unreadable_is_bound_by_nobody() -> None:
    fake = FakeExtender(bind={})
    async with fake.serving(), world(fake, managed={"example.com/gpu": True}) as here:
        here.client.store.objects["pods", "p"] = {**shown(), "spec": 3}
        here.client.after = lambda _: here.show()
        refused = await here.bind()
    assert (len(fake.asked), here.bindings) == (0, 0)
    assert isinstance(refused, BindRefused)
    assert refused.cause is RefusalCause.SCHEDULER_ERROR
    assert "unreadable answer" in refused.message


async def test_the_binding_shows_that_a_pod_is_gone() -> None:
    fake = FakeExtender(bind={})
    async with fake.serving(), world(fake, managed={"example.com/gpu": True}) as here:
        here.show(uid="another")
        await here.bind()
    assert (len(fake.asked), here.bindings) == (0, 1)


async def test_a_bind_that_is_refused_leaves_the_pod_to_a_new_plan() -> None:
    fake = FakeExtender(bind={"Error": "no disk"})
    async with fake.serving(), world(fake) as here:
        refused = await here.bind()
    assert isinstance(refused, BindRefused)
    assert refused.cause is RefusalCause.SCHEDULER_ERROR
    assert refused.message.endswith("bind: no disk")
    assert here.bindings == 0


@pytest.mark.parametrize(("node", "bound"), [("n1", True), ("n2", False)])
async def test_what_the_pod_shows_wins_over_what_the_extender_says(
    node: str,
    bound: bool,
) -> None:
    fake = FakeExtender(bind={"Error": "no disk"})
    async with fake.serving(), world(fake) as here:
        here.show(node=node)
        event = await here.bind()
    if bound:
        assert event == Bound("plan-1", UID)
    else:
        assert isinstance(event, BindRefused)
        assert event.cause is RefusalCause.MEMBER_CHANGED


async def test_a_bind_whose_outcome_is_unknown_gets_time_to_show() -> None:
    fake = FakeExtender(bind=None)

    async def late(_: Any) -> web.StreamResponse:
        await asyncio.sleep(0.15)
        opened.show(node="n1")
        return web.json_response({})

    fake.answers["bind"] = late
    async with fake.serving(), world(fake, timeout=0.1) as opened:
        assert await opened.bind() == Bound("plan-1", UID)
    assert opened.unknown == 1


async def test_a_bind_that_never_shows_is_refused_in_the_end() -> None:
    async def hangs(_: Any) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    fake = FakeExtender(bind=hangs)
    async with fake.serving(), world(fake, timeout=0.05) as here:
        event = await here.bind()
    assert isinstance(event, BindRefused)
    assert event.cause is RefusalCause.SCHEDULER_ERROR
    assert here.unknown == 1


async def test_where_an_extender_may_be_ignored_the_plugins_bind_after_it_failed() -> None:
    fake = FakeExtender(bind={"Error": "no disk"})
    async with fake.serving(), world(fake, ignorable=True) as here:
        await here.bind()
    assert here.bindings == 1


async def test_no_extender_is_told_to_bind_by_a_deposed_leader() -> None:
    fake = FakeExtender(bind={})
    async with fake.serving():
        opened = World(fake.extender())
        fenced = opened.client.fenced(lambda: False)
        async with Extenders(fenced, {"enbloc": opened.profile}) as extenders:
            member = MemberApi(fenced, lambda: None, objects(fenced), "plan-1")
            with pytest.raises(Fenced):
                await binding.bind(opened.profile, TARGET, member, extenders)
    assert fake.asked == []
