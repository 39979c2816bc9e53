# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What binding plugins can ask of the API server, and what they are told."""

import asyncio
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import REGISTRY

from enbloc.client.errors import Fenced
from enbloc.client.paths import RESOURCE_CLAIMS, Resource
from enbloc.framework.act import Reply, Target
from enbloc.framework.changes import node_of
from enbloc.live.binding import MemberApi
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.objects import REQUESTS
from enbloc.model.pods import PodKey, PodUID
from tests.client.fake import HTML, Handler, Script, answer, pod, refusal, resets, says, talking_to
from tests.live.objects import objects

CLAIM = "PersistentVolumeClaim"
CLAIMS = "persistentvolumeclaims"
CLAIM_PATH = "/api/v1/namespaces/ns/persistentvolumeclaims/c"
#: A proxy that knows no API server.
NO_PAGE = says(lambda: web.Response(status=404, text="404 page not found"))


async def test_a_patch_is_a_merge_of_the_object_or_of_its_status() -> None:
    script = Script(says(lambda: answer({"metadata": {"resourceVersion": "7"}})))
    async with talking_to(script) as client:
        api = objects(client)
        reply = await api.patch("p", CLAIM, "ns", "c", {"metadata": {}}, status=False)
        await api.patch("p", "ResourceClaim", "ns", "r", {"status": {}}, status=True)
    assert reply == Reply(200, {"metadata": {"resourceVersion": "7"}})
    first, second = script.seen
    assert (first.method, first.path) == ("PATCH", CLAIM_PATH)
    assert first.headers["Content-Type"] == "application/merge-patch+json"
    assert second.path == "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/r/status"


async def test_an_object_is_deleted_if_it_is_the_one_that_was_meant() -> None:
    script = Script(says(lambda: answer({})))
    async with talking_to(script) as client:
        await objects(client).delete("p", "ResourceClaim", "ns", "r", "uid-r")
    assert script.bodies[0]["preconditions"] == {"uid": "uid-r"}


class Served:
    """A stream of ResourceClaims in the version that an older server has."""

    resource = Resource("resource.k8s.io", "v1beta2", "resourceclaims", RESOURCE_CLAIMS.kind)

    def has_passed(self, namespace: str, name: str, version: int) -> bool:
        raise AssertionError(namespace, name, version)


async def test_a_kind_is_written_in_the_version_in_which_it_is_watched() -> None:
    script, watches = Script(says(lambda: answer({}, 201))), ObjectWatches()
    watches.follow(Served())
    async with talking_to(script) as client:
        await objects(client, watches).create("p", "ResourceClaim", "ns", {"metadata": {}})
    assert script.seen[0].path == "/apis/resource.k8s.io/v1beta2/namespaces/ns/resourceclaims"
    assert script.bodies[0]["apiVersion"] == "resource.k8s.io/v1beta2"


class Versions:
    """A server that has PodGroups of Kubernetes in one version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.asked: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.removeprefix("/apis/scheduling.k8s.io/")
        self.asked.append(path)
        version, _, rest = path.partition("/")
        if version != self.version:
            return refusal(404, "NotFound", "no such version")
        return answer({"kind": "PodGroup"} if rest else {"resources": [{"name": "podgroups"}]})


async def test_a_pod_group_of_kubernetes_is_read_in_the_version_that_is_served() -> None:
    """It is looked for once, and again where it is not found."""
    server = Versions("v1beta1")
    async with talking_to(server) as client:
        api = objects(client)
        read = [api.read("p", "PodGroup", "ns", "g") for _ in range(3)]
        assert {reply.code for reply in await asyncio.gather(*read)} == {200}
        group = "namespaces/ns/podgroups/g"
        assert server.asked == ["v1", "v1beta1", *[f"v1beta1/{group}"] * 3]

        server.version, server.asked = "v1alpha2", []
        assert (await api.read("p", "PodGroup", "ns", "g")).code == 404
        assert (await api.read("p", "PodGroup", "ns", "g")).code == 200
        assert server.asked[-1] == f"v1alpha2/{group}"

        server.version = "none"
        await api.read("p", "PodGroup", "ns", "g")
        reply = await api.read("p", "PodGroup", "ns", "g")
    assert (reply.code, reply.message) == (
        404,
        "the API server does not serve podgroups.scheduling.k8s.io",
    )


@pytest.mark.parametrize(
    ("answers", "code", "passing", "words"),
    [
        pytest.param(
            says(lambda: refusal(409, "Conflict", "it was modified")),
            409,
            False,
            "cannot get persistentvolumeclaims: 409 Conflict: it was modified",
            id="a conflict",
        ),
        pytest.param(
            says(lambda: refusal(404, "NotFound", 'claims "c" not found', name="c")),
            404,
            False,
            'claims "c" not found',
            id="not there",
        ),
        pytest.param(
            says(lambda: refusal(503, "Unavailable", "etcd is down")),
            503,
            True,
            "etcd is down",
            id="the server fails",
        ),
        pytest.param(
            says(lambda: answer({}, 429, **{"Retry-After": "3600"})), 429, True, "429", id="busy"
        ),
        pytest.param(
            NO_PAGE,
            0,
            True,
            "cannot get persistentvolumeclaims: 404: 404 page not found",
            id="a proxy finds nothing",
        ),
        pytest.param(resets, 0, True, "cannot get persistentvolumeclaims", id="a reset"),
        pytest.param(HTML, 0, True, "unreadable answer", id="a proxy's page"),
        pytest.param(says(lambda: web.Response(body=b"[]")), 0, True, "unreadable", id="a list"),
    ],
)
async def test_whatever_comes_is_an_answer_and_no_exception(
    answers: Handler, code: int, passing: bool, words: str
) -> None:
    async with talking_to(answers) as client:
        reply = await objects(client).read("p", CLAIM, "ns", "c")
    assert (reply.ok, reply.code, reply.passing) == (False, code, passing)
    assert words in reply.message


@pytest.mark.parametrize("code", [404, 409, 429, 503])
async def test_what_a_webhook_denies_is_forbidden_whatever_the_code(code: int) -> None:
    """semantics §3.4"""
    text = 'admission webhook "policy.test" denied the request: queues.test "a" not found'
    async with talking_to(says(lambda: refusal(code, "Denied", text, name="a"))) as client:
        reply = await objects(client).patch("p", CLAIM, "ns", "c", {}, status=False)
    assert (reply.code, reply.passing, reply.retry_after) == (403, False, 0.0)
    assert reply.message == f"cannot patch persistentvolumeclaims: {code} Denied: {text}"


@pytest.mark.parametrize("kind", ["Node", "Pod", "PersistentVolume", "ResourceClaim"])
async def test_nothing_is_gone_because_a_proxy_does_not_find_it(kind: str) -> None:
    """semantics §3.4"""
    async with talking_to(NO_PAGE) as client:
        reply = await objects(client).read("p", kind, "ns", "x")
    assert (reply.code, reply.passing) == (0, True)


async def test_a_bound_pod_that_a_proxy_does_not_find_is_bound() -> None:
    """semantics §3.4"""
    script = Script(NO_PAGE, says(lambda: answer(pod("p", 1, "u1", nodeName="n1"))))
    target = Target("plan-1", PodKey("default", "p"), PodUID("u1"), "n1")
    async with talking_to(script) as client:
        member = MemberApi(client, lambda: None, objects(client), "plan-1")
        assert await node_of(member, target) == "n1"


def asks(code: int, seconds: str) -> Handler:
    return says(lambda: answer({}, code, **{"Retry-After": seconds}))


@pytest.mark.parametrize(
    ("answers", "least", "most"),
    [
        pytest.param(asks(429, "20"), 20, 24, id="busy"),
        pytest.param(asks(429, "3600"), 24, 30, id="busy for an hour"),
        pytest.param(asks(503, "20"), 20, 24, id="down"),
        pytest.param(says(lambda: answer({}, 503)), 0, 0, id="down, and asks for nothing"),
        pytest.param(says(lambda: refusal(409, "Conflict")), 0, 0, id="a conflict"),
    ],
)
async def test_plugins_are_told_for_how_long_the_server_asks_to_wait(
    answers: Handler, least: float, most: float, caplog: pytest.LogCaptureFixture
) -> None:
    """semantics §3.4"""

    def count() -> float:
        labels = {"verb": "patch", "resource": CLAIMS}
        return REGISTRY.get_sample_value("enbloc_throttled_requests_total", labels) or 0.0

    before = count()
    async with talking_to(answers) as client:
        reply = await objects(client).patch("p", CLAIM, "ns", "c", {}, status=False)
    assert least <= reply.retry_after <= most
    assert count() - before == (reply.code == 429)
    assert ("API server asks to wait" in caplog.text) == (most > 0)


async def test_plugins_are_told_so_where_the_version_of_a_kind_is_looked_for() -> None:
    async with talking_to(asks(429, "20")) as client:
        reply = await objects(client).read("p", "PodGroup", "ns", "g")
    assert (reply.code, reply.retry_after >= 20) == (429, True)


@pytest.mark.parametrize(
    ("kind", "verb"),
    [
        pytest.param("Secret", "read", id="a kind that scheduling does not write"),
        pytest.param("Pod", "delete", id="a verb that it does not need"),
    ],
)
async def test_what_plugins_may_not_do_is_not_sent(kind: str, verb: str) -> None:
    script = Script(says(lambda: answer({})))
    async with talking_to(script) as client:
        api = objects(client)
        arguments = ("p", kind, "ns", "x")
        reply = await (api.read(*arguments) if verb == "read" else api.delete(*arguments, "u"))
    assert reply.code == 400
    assert f"the kind {kind}" in reply.message
    assert script.seen == []


async def test_who_is_no_longer_the_leader_sends_no_write() -> None:
    script = Script(says(lambda: answer({})))
    async with talking_to(script) as client:
        api = objects(client.fenced(lambda: False))
        with pytest.raises(Fenced):
            await api.patch("p", CLAIM, "ns", "c", {}, status=False)
    assert script.seen == []


class Slow:
    """Answers when told to, and counts what is in flight."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun = asyncio.Event()
        self.now = self.most = self.done = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        del request
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.set()
        await self.open.wait()
        self.now -= 1
        self.done += 1
        return answer({})


async def test_a_large_gang_has_a_bounded_number_of_requests_in_flight() -> None:
    slow = Slow()
    async with talking_to(slow) as client:
        api = objects(client)
        reading = [asyncio.create_task(api.read("p", CLAIM, "ns", f"c{i}")) for i in range(512)]
        await slow.begun.wait()
        await asyncio.sleep(0.1)
        slow.open.set()
        replies = await asyncio.gather(*reading)
    assert all(reply.ok for reply in replies)
    assert slow.most == REQUESTS


async def test_what_was_sent_is_settled_before_a_cancellation_takes_effect() -> None:
    slow = Slow()
    async with talking_to(slow) as client:
        work = objects(client).patch("p", CLAIM, "ns", "c", {}, status=False)
        writing = asyncio.create_task(work)
        await slow.begun.wait()
        writing.cancel()
        await asyncio.sleep(0.02)
        assert not writing.done()
        slow.open.set()
        await asyncio.wait([writing])
    assert writing.cancelled()
    assert slow.done == 1


async def test_members_change_an_object_one_after_the_other() -> None:
    order: list[Any] = []
    async with talking_to(says(lambda: answer({}))) as client:
        api = objects(client)

        async def change(name: str, of: str) -> None:
            async with api.alone("ResourceClaim", "ns", of):
                order.append(name)
                await asyncio.sleep(0)
                order.append(name)

        await asyncio.gather(change("a", "r"), change("b", "r"), change("c", "other"))
    assert [each for each in order if each != "c"] == ["a", "a", "b", "b"]
    assert api._alone == {}
