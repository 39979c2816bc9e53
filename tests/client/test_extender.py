# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from enbloc.client import extender as kube
from enbloc.client.binding import Binding
from enbloc.client.errors import MOST_SAID
from enbloc.client.extender import ExtenderClient, ExtenderFailed, ExtenderRequest, Filtered
from enbloc.errors import ConfigError
from enbloc.framework.extenders import TLS, Extender, NodeVictims
from enbloc.model.credentials import URL
from enbloc.model.pods import PodUID
from tests.client.certificates import Authority
from tests.client.extenders import FakeExtender
from tests.client.fake import serving

POD = {"metadata": {"name": "p"}, "spec": {"schedulerName": "enbloc"}}
NODES = ("n1", "n2", "n3")
OBJECTS = {name: {"metadata": {"name": name}, "spec": {"x": 1}} for name in NODES}
QUESTION = ExtenderRequest(
    msgspec.Raw(msgspec.json.encode(POD)),
    NODES,
    {name: msgspec.Raw(msgspec.json.encode(node)) for name, node in OBJECTS.items()},
)


def victims(node: str, *uids: str, violations: int = 0) -> NodeVictims:
    return NodeVictims(node, tuple(map(PodUID, uids)), violations)


CANDIDATES = (victims("n1", "a", "b", violations=1), victims("n2", "c"))
BINDING = Binding("ns", "p", "u1", "n1")


@asynccontextmanager
async def calling(fake: FakeExtender, **more: Any) -> AsyncGenerator[ExtenderClient]:
    async with fake.serving(), ExtenderClient(fake.extender(**more)) as client:
        yield client


async def test_an_extender_that_knows_the_nodes_is_sent_and_answers_names() -> None:
    fake = FakeExtender(
        filter={
            "NodeNames": ["n2"],
            "FailedNodes": {"n1": "busy", "n3": "also busy"},
            "FailedAndUnresolvableNodes": {"n3": "wrong kind"},
        }
    )
    async with calling(fake, node_cache_capable=True) as client:
        found = await client.filter(QUESTION)
    assert found == Filtered(("n2",), (("n1", "busy"),), (("n3", "wrong kind"),))
    assert fake.asked == [("filter", {"Pod": POD, "Nodes": None, "NodeNames": list(NODES)})]


async def test_an_extender_that_does_not_is_sent_and_answers_nodes() -> None:
    fake = FakeExtender(filter={"Nodes": {"items": [OBJECTS["n3"]]}, "NodeNames": None})
    async with calling(fake) as client:
        assert await client.filter(QUESTION) == Filtered(("n3",))
    [(_, sent)] = fake.asked
    assert sent["NodeNames"] is None
    assert sent["Nodes"]["items"] == list(OBJECTS.values())


async def test_a_node_that_went_away_meanwhile_is_not_sent() -> None:
    fake = FakeExtender(filter={"Nodes": {"items": []}})
    objects = {"n1": QUESTION.objects["n1"]}
    async with calling(fake) as client:
        assert await client.filter(ExtenderRequest(QUESTION.pod, NODES, objects)) == Filtered(())
    assert fake.asked[0][1]["Nodes"]["items"] == [OBJECTS["n1"]]


async def test_an_answer_may_spell_its_names_in_any_case() -> None:
    fake = FakeExtender(
        filter={"nodenames": ["n1"], "failedNodes": {"n2": "no"}, "error": ""},
        prioritize=[{"host": "n1", "SCORE": 7}],
    )
    async with calling(fake, node_cache_capable=True) as client:
        assert await client.filter(QUESTION) == Filtered(("n1",), (("n2", "no"),))
        assert await client.prioritize(QUESTION) == (("n1", 7),)


@pytest.mark.parametrize("answer", [None, {}, {"NodeNames": None, "Nodes": None}])
async def test_a_filter_that_names_no_node_leaves_none(answer: Any) -> None:
    async with calling(FakeExtender(filter=answer), node_cache_capable=True) as client:
        assert await client.filter(QUESTION) == Filtered(())


async def test_scores_of_nodes_that_were_not_asked_about_are_left_out() -> None:
    scores = [{"Host": "n1", "Score": 10}, {"Host": "other", "Score": 3}, {"Host": "n2"}]
    async with calling(FakeExtender(prioritize=scores)) as client:
        assert await client.prioritize(QUESTION) == (("n1", 10), ("n2", 0))


async def test_no_scores_are_no_error() -> None:
    async with calling(FakeExtender(prioritize=None)) as client:
        assert await client.prioritize(QUESTION) == ()


async def test_a_bind_names_pod_and_node() -> None:
    fake = FakeExtender(bind={"Error": ""})
    async with calling(fake) as client:
        await client.bind(BINDING)
    named = {"PodName": "p", "PodNamespace": "ns", "PodUID": "u1", "Node": "n1"}
    assert fake.asked == [("bind", named)]


# ── who gives way ────────────────────────────────────────────────────────────────────────────


async def test_an_extender_that_knows_the_pods_is_sent_who_would_have_to_go_by_uid() -> None:
    left = {"n2": {"Pods": [{"UID": "c"}, {"UID": "d"}], "NumPDBViolations": 2}}
    fake = FakeExtender(preempt={"NodeNameToMetaVictims": left})
    async with calling(fake, node_cache_capable=True) as client:
        found = await client.preempt(QUESTION.pod, CANDIDATES, {})
    assert found == (victims("n2", "c", "d", violations=2),)
    named = {
        "n1": {"Pods": [{"UID": "a"}, {"UID": "b"}], "NumPDBViolations": 1},
        "n2": {"Pods": [{"UID": "c"}], "NumPDBViolations": 0},
    }
    sent = {"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": named}
    assert fake.asked == [("preempt", sent)]


async def test_an_extender_that_does_not_is_sent_those_pods_and_answers_uids() -> None:
    pods = {uid: {"metadata": {"uid": uid}} for uid in "abc"}
    objects = {PodUID(uid): msgspec.Raw(msgspec.json.encode(pod)) for uid, pod in pods.items()}
    fake = FakeExtender(preempt={"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "b"}]}}})
    async with calling(fake) as client:
        found = await client.preempt(QUESTION.pod, CANDIDATES, objects)
    assert found == (victims("n1", "b"),)
    ((_, sent),) = fake.asked
    assert sent["NodeNameToMetaVictims"] is None
    assert sent["NodeNameToVictims"] == {
        "n1": {"Pods": [pods["a"], pods["b"]], "NumPDBViolations": 1},
        "n2": {"Pods": [pods["c"]], "NumPDBViolations": 0},
    }


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (None, ()),
        ({"NodeNameToMetaVictims": None}, ()),
        ({"nodenametometavictims": {"n1": {"pods": [{"uid": "a"}]}}}, (("n1", ("a",), 0),)),
        ({"NodeNameToMetaVictims": {"n1": None}}, (("n1", (), 0),)),
        ({"NodeNameToMetaVictims": {"n1": {"Pods": [None, {}]}}}, (("n1", ("", ""), 0),)),
    ],
)
async def test_an_answer_about_victims_may_leave_things_out(
    answer: Any, found: tuple[Any, ...]
) -> None:
    async with calling(FakeExtender(preempt=answer), node_cache_capable=True) as client:
        assert await client.preempt(QUESTION.pod, CANDIDATES, {}) == found


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"NodeNameToMetaVictims": {"n9": {"Pods": [{"UID": "a"}]}}}, "it names n9, about which"),
        ({"NodeNameToMetaVictims": ["n1"]}, "cannot read the answer"),
        ({"NodeNameToMetaVictims": {"n1": "a"}}, "cannot read the answer"),
        ({"NodeNameToMetaVictims": {"n1": {"Pods": ["a"]}}}, "cannot read the answer"),
        ({"NodeNameToMetaVictims": {"n1": {"NumPDBViolations": 2**70}}}, "cannot read the answer"),
    ],
)
async def test_an_answer_about_victims_that_is_none_says_why(answer: Any, message: str) -> None:
    async with calling(FakeExtender(preempt=answer), node_cache_capable=True) as client:
        with pytest.raises(ExtenderFailed, match=f"preempt: {message}"):
            await client.preempt(QUESTION.pod, CANDIDATES, {})


async def _hangs(_: Any) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError


async def _breaks(_: Any) -> web.StreamResponse:
    return web.Response(status=503, text="later")


async def _denies(_: Any) -> web.StreamResponse:
    return web.Response(status=401, text="who are you")


async def _page(_: Any) -> web.StreamResponse:
    return web.Response(text="<html>")


@pytest.mark.parametrize(
    ("answer", "message", "unknown"),
    [
        ({"Error": "out of order"}, "out of order", False),
        ({"NodeNames": ["other"]}, "it names other, about which it was not asked", False),
        ({"NodeNames": "n1"}, "cannot read the answer", True),
        (["n1"], "cannot read the answer", True),
        (_page, "cannot read the answer", True),
        (_breaks, "answered 503 later", True),
        (_denies, "answered 401 who are you", False),
        (_hangs, "timed out", True),
    ],
)
async def test_an_answer_that_is_none_says_why(answer: Any, message: str, unknown: bool) -> None:
    fake = FakeExtender(filter=answer)
    async with calling(fake, node_cache_capable=True, timeout=0.2) as client:
        with pytest.raises(ExtenderFailed) as failed:
            await client.filter(QUESTION)
    assert str(failed.value).startswith("filter: ")
    assert message in str(failed.value)
    assert failed.value.unknown is unknown
    assert len(fake.asked) == 1


async def test_questions_that_wait_for_their_turn_do_not_time_out() -> None:
    one_at_a_time = asyncio.Lock()

    async def answer(_: Any) -> web.StreamResponse:
        async with one_at_a_time:
            await asyncio.sleep(0.01)
        return web.json_response({"NodeNames": ["n1"]})

    fake = FakeExtender(filter=answer)
    async with calling(fake, node_cache_capable=True, timeout=0.5) as client:
        found = await asyncio.gather(*(client.filter(QUESTION) for _ in range(100)))
    assert found == [Filtered(("n1",))] * 100


async def test_a_bind_does_not_wait_for_questions() -> None:
    asked, bound = asyncio.Event(), asyncio.Event()

    async def answer(_: Any) -> web.StreamResponse:
        asked.set()
        await bound.wait()
        return web.json_response({"NodeNames": ["n1"]})

    fake = FakeExtender(filter=answer, bind={"Error": ""})
    async with calling(fake, node_cache_capable=True) as client:
        questions = [asyncio.create_task(client.filter(QUESTION)) for _ in range(100)]
        await asked.wait()
        await client.bind(BINDING)
        bound.set()
        assert await asyncio.gather(*questions) == [Filtered(("n1",))] * 100
    assert [verb for verb, _ in fake.asked].count("bind") == 1


async def test_a_list_of_scores_must_be_a_list() -> None:
    async with calling(FakeExtender(prioritize={"n1": 3})) as client:
        with pytest.raises(ExtenderFailed, match="cannot read the answer"):
            await client.prioritize(QUESTION)


async def test_a_bind_that_is_refused_says_why() -> None:
    async with calling(FakeExtender(bind={"Error": "no disk"})) as client:
        with pytest.raises(ExtenderFailed, match="bind: no disk"):
            await client.bind(BINDING)


async def test_what_an_extender_says_is_escaped_and_cut() -> None:
    said = "\x1b[31m\n" + "x" * 10**6
    fake = FakeExtender(filter={"NodeNames": [], "FailedNodes": {"n1": said}}, bind={"Error": said})
    async with calling(fake, node_cache_capable=True) as client:
        [(_, why)] = (await client.filter(QUESTION)).refused
        with pytest.raises(ExtenderFailed) as failed:
            await client.bind(BINDING)
    for text in (why, str(failed.value)):
        assert r"\x1b[31m\nxxx" in text
        assert len(text) <= MOST_SAID


async def test_the_user_of_its_url_is_sent_and_never_shown() -> None:
    seen: list[str | None] = []

    async def denies(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        return web.Response(status=401, text="who are you")

    async with serving(denies) as url:
        address = URL(url.replace("http://", "http://user:s3cret@") + "/x")
        async with ExtenderClient(Extender(address, filter_verb="filter")) as client:
            with pytest.raises(ExtenderFailed) as failed:
                await client.filter(QUESTION)
    assert seen == ["Basic dXNlcjpzM2NyZXQ="]
    assert "s3cret" not in f"{failed.value} {client.extender} {client.extender!r}"


async def test_nobody_there_has_done_nothing() -> None:
    async with ExtenderClient(Extender(URL("http://127.0.0.1:9"), bind_verb="bind")) as client:
        with pytest.raises(ExtenderFailed) as failed:
            await client.bind(BINDING)
    assert not failed.value.unknown


async def test_an_answer_without_end_is_cut() -> None:
    async def endless(_: Any) -> web.StreamResponse:
        return web.Response(body=b" " * (kube.ANSWER_BYTES + 1), content_type="application/json")

    async with calling(FakeExtender(filter=endless)) as client:
        with pytest.raises(ExtenderFailed, match="the answer is longer than"):
            await client.filter(QUESTION)


# ── TLS ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_an_extender_is_trusted_and_trusts_by_certificates(authority: Authority) -> None:
    cert, key = authority.issue("enbloc")
    ca = authority.ca
    fake = FakeExtender(filter={"NodeNames": ["n1"]})
    async with fake.serving(authority.server_context("ext.only", ask_client=True)):
        for tls in (
            TLS(server_name="ext.only", ca_file=str(ca), cert_file=str(cert), key_file=str(key)),
            TLS(
                server_name="ext.only",
                ca_data=ca.read_text(),
                cert_data=cert.read_text(),
                key_data=key.read_text(),
                ca_file="/none",  # texts win
            ),
        ):
            async with ExtenderClient(fake.extender(tls=tls, node_cache_capable=True)) as client:
                assert await client.filter(QUESTION) == Filtered(("n1",))


@pytest.mark.parametrize(
    ("tls", "trusted"),
    [(None, False), (TLS(), False), (TLS(insecure=True), True), (TLS(server_name="a"), False)],
)
async def test_an_unknown_certificate_is_trusted_only_where_that_is_asked(
    authority: Authority,
    tls: TLS | None,
    trusted: bool,
) -> None:
    fake = FakeExtender(filter={"NodeNames": ["n1"]})
    async with (
        fake.serving(authority.server_context("localhost")),
        ExtenderClient(fake.extender(tls=tls, node_cache_capable=True)) as client,
    ):
        if trusted:
            assert await client.filter(QUESTION) == Filtered(("n1",))
        else:
            with pytest.raises(ExtenderFailed, match="certificate"):
                await client.filter(QUESTION)
    assert bool(fake.asked) is trusted


async def test_a_certificate_that_cannot_be_used_is_named() -> None:
    extender = Extender(URL("https://127.0.0.1:9"), tls=TLS(ca_file="/none/ca.crt"))
    with pytest.raises(ConfigError, match="cannot use /none/ca"):
        async with ExtenderClient(extender):
            pass
