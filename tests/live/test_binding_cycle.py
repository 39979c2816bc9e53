# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from enbloc.client import binding as kube
from enbloc.client.errors import Fenced, Unreachable
from enbloc.config import default_profiles
from enbloc.engine.events import BindRefused, Bound, Event, PreBindFailed, PreBound
from enbloc.framework.act import Api, Target
from enbloc.framework.profile import Profile
from enbloc.framework.status import SUCCESS, Code, Status, refuse
from enbloc.live import binding
from enbloc.live.binding import MemberApi
from enbloc.live.extenders import Extenders
from enbloc.model.binding import RefusalCause
from enbloc.model.pods import PodKey, PodUID
from tests.client.memory import MemoryClient, Store
from tests.live.objects import objects

TARGET = Target("plan-1", PodKey("ns", "p"), PodUID("u1"), "n1", (("enbloc.dev/plan", "{}"),))


@dataclass
class Acting:
    """A plugin that answers as it is told, at every point of the binding cycle."""

    name: ClassVar[str] = "Acting"
    answer: Status | Exception = SUCCESS
    call_api: bool = False
    told: list[str] = field(default_factory=list)

    async def _act(self, point: str, target: Target, api: Api) -> Status:
        self.told.append(point)
        if self.call_api:
            await api.bind(target)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def pre_bind(self, target: Target, api: Api) -> Status:
        return await self._act("PreBind", target, api)

    async def bind(self, target: Target, api: Api) -> Status:
        return await self._act("Bind", target, api)

    async def post_bind(self, target: Target, api: Api) -> None:
        await self._act("PostBind", target, api)


def profile(*acting: Acting, default_binder: bool = False) -> Profile:
    [given] = default_profiles().values()
    kept = tuple(p for p in given.plugins if default_binder or p.name != "DefaultBinder")
    return Profile("enbloc", (*acting, *kept))


def api(client: MemoryClient | None = None, unknown: list[str] | None = None) -> MemberApi:
    seen = unknown if unknown is not None else []
    given = client or MemoryClient(Store())
    return MemberApi(given, lambda: seen.append("unknown"), objects(given), "plan-1")


async def bind(given: Profile, target: Target, api: MemberApi) -> Event:
    """Bind where no extender does."""
    none = Extenders(MemoryClient(Store()), {given.name: given})
    return await binding.bind(given, target, api, none)


class Answering(MemberApi):
    """Settles at once, as it is told."""

    def __init__(self, outcome: kube.Bound | kube.Refused) -> None:
        client = MemoryClient(Store())
        super().__init__(client, lambda: None, objects(client), "plan-1")
        self._settled = outcome

    async def bind(self, target: Target) -> Status:
        del target
        self.outcome = self._settled
        return SUCCESS if isinstance(self._settled, kube.Bound) else refuse(self._settled.message)


REFUSED = kube.Refused(RefusalCause.NAMESPACE_TERMINATING, "it ends")


async def test_every_pre_bind_that_succeeds_or_skips_lets_the_member_go_on() -> None:
    given = profile(Acting(), Acting(Status(Code.SKIP)))
    assert await binding.prepare(given, TARGET, api()) == PreBound("plan-1", PodUID("u1"))


@pytest.mark.parametrize(
    ("answer", "message", "who"),
    [
        pytest.param(refuse("no volume"), "Acting: no volume", "Acting", id="refuses"),
        pytest.param(Status(Code.ERROR, "down"), "Acting: down", "", id="cannot say"),
        pytest.param(
            ValueError("broken"),
            'plugin "Acting" failed at PreBind: ValueError: broken',
            "",
            id="breaks",
        ),
        pytest.param(
            TimeoutError(), 'plugin "Acting" failed at PreBind: TimeoutError: ', "", id="no words"
        ),
    ],
)
async def test_a_pre_bind_that_does_not_ends_the_plan(
    answer: Status | Exception, message: str, who: str
) -> None:
    event = await binding.prepare(profile(Acting(answer)), TARGET, api())
    assert event == PreBindFailed("plan-1", PodUID("u1"), message, who)


@dataclass
class Sharing(Acting):
    """Awaits a task that somebody else cancelled, at every point."""

    name: ClassVar[str] = "Sharing"

    async def _act(self, point: str, target: Target, api: Api) -> Status:
        del target, api
        self.told.append(point)
        shared = asyncio.ensure_future(asyncio.Event().wait())
        shared.cancel()
        await shared
        return SUCCESS


async def test_a_plugin_that_awaits_what_was_cancelled_fails_and_its_member_is_settled() -> None:
    given = profile(Sharing())
    text = 'plugin "Sharing" failed at {}: CancelledError: '
    uid = PodUID("u1")
    expected = PreBindFailed("plan-1", uid, text.format("PreBind"), "")
    assert await binding.prepare(given, TARGET, api()) == expected
    refused = BindRefused("plan-1", uid, RefusalCause.SCHEDULER_ERROR, text.format("Bind"))
    assert await bind(given, TARGET, api()) == refused
    await binding.after(given, TARGET, api())


@dataclass
class Hanging(Acting):
    """Never answers."""

    name: ClassVar[str] = "Hanging"
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def _act(self, point: str, target: Target, api: Api) -> Status:
        del point, target, api
        self.begun.set()
        await asyncio.Event().wait()
        return SUCCESS


async def test_a_call_that_is_cancelled_ends_as_cancelled() -> None:
    hanging = Hanging()
    task = asyncio.create_task(binding.prepare(profile(hanging), TARGET, api()))
    await hanging.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_first_bind_plugin_that_does_not_skip_decides() -> None:
    skips, binds, never = Acting(Status(Code.SKIP)), Acting(), Acting()
    assert await bind(profile(skips, binds, never), TARGET, api()) == Bound("plan-1", PodUID("u1"))
    assert (skips.told, binds.told, never.told) == (["Bind"], ["Bind"], [])


async def test_the_default_binder_sends_the_binding() -> None:
    answering = Answering(kube.Bound())
    event = await bind(profile(default_binder=True), TARGET, answering)
    assert event == Bound("plan-1", PodUID("u1"))


@pytest.mark.parametrize("cause", RefusalCause)
async def test_a_refusal_keeps_its_cause(cause: RefusalCause) -> None:
    answering = Answering(kube.Refused(cause, "why"))
    event = await bind(profile(default_binder=True), TARGET, answering)
    assert event == BindRefused("plan-1", PodUID("u1"), cause, "why")


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        pytest.param((Acting(refuse("no")),), "no", id="a plugin refuses without asking the API"),
        pytest.param(
            (Acting(ValueError("broken")),),
            'plugin "Acting" failed at Bind: ValueError: broken',
            id="a plugin breaks",
        ),
        pytest.param(
            (Acting(Status(Code.SKIP)),),
            "every Bind plugin skipped the pod; enable DefaultBinder",
            id="all skip",
        ),
    ],
)
async def test_a_member_that_was_not_sent_is_refused_as_our_error(
    plugins: tuple[Acting, ...], message: str
) -> None:
    event = await bind(profile(*plugins), TARGET, api())
    assert event == BindRefused("plan-1", PodUID("u1"), RefusalCause.SCHEDULER_ERROR, message)


async def test_what_the_server_answered_wins_over_what_a_plugin_makes_of_it() -> None:
    breaks = profile(Acting(ValueError("late"), call_api=True))
    assert isinstance(await bind(breaks, TARGET, Answering(kube.Bound())), Bound)
    glosses = profile(Acting(SUCCESS, call_api=True))
    event = await bind(glosses, TARGET, Answering(REFUSED))
    assert isinstance(event, BindRefused)


async def test_who_is_no_longer_the_leader_says_nothing_of_the_outcome() -> None:
    client = MemoryClient(Store())

    def fence(verb: str) -> None:
        raise Fenced(verb, "pods/binding", "no longer the leader")

    client.before = fence
    with pytest.raises(Fenced):
        await bind(profile(default_binder=True), TARGET, api(client))


async def test_an_unknown_outcome_is_told_at_once_and_settled_by_sending_again() -> None:
    class Bindings(MemoryClient):
        async def request(self, verb: str, *args: Any, **options: Any) -> bytes:
            self.sent.append((verb, args[0].plural, options.get("body")))
            if len(self.sent) == 1:
                raise Unreachable(verb, "pods/binding", "reset", sent=True)
            await asyncio.sleep(0)
            return b'{"kind":"Status","status":"Success"}'

    client, unknown = Bindings(Store()), list[str]()
    event = await bind(profile(default_binder=True), TARGET, api(client, unknown))
    assert event == Bound("plan-1", PodUID("u1"))
    assert unknown == ["unknown"]
    first, second = client.sent
    assert first == second
    assert first[2]["metadata"]["annotations"] == {"enbloc.dev/plan": "{}"}


async def test_post_bind_plugins_are_all_told_whatever_one_of_them_does() -> None:
    breaks, other = Acting(ValueError("broken")), Acting()
    await binding.after(profile(breaks, other), TARGET, api())
    assert breaks.told == other.told == ["PostBind"]
