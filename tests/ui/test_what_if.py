# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if, on the page: what is answered, to whom, and what becomes of hostile forms."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import pytest

from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.engine.events import NamespaceSeen
from enbloc.ui.access import Access
from enbloc.ui.state import Keeper
from enbloc.ui.view import View, Viewer
from enbloc.ui.what_if_page import MOST_BODY
from enbloc.workloads import Admission, PriorityClass
from tests.ui.dom import Element
from tests.ui.site import Answer, Reader, reading
from tests.ui.world import gang, nodes, running, view

NAMESPACES = [NamespaceSeen("team", ()), NamespaceSeen("other", ())]
WORLD = view(
    NAMESPACES,
    nodes(2),
    running("old", 1, "node-0"),
    running("theirs", 1, "node-1", namespace="other"),
    gang("big", 3),
    gang("small", 1, namespace="other"),
)
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 1
  completions: 1
  template:
    spec:
      schedulerName: enbloc
      restartPolicy: Never
      priorityClassName: high
      containers: [{name: main, image: train, resources: {requests: {cpu: "CPUS"}}}]
"""
MINE = Viewer(namespaces=frozenset({"team"}))


class Only:
    """Everybody is this viewer."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer

    async def viewer(self, *_: Any, **__: Any) -> Viewer:
        return self._viewer

    async def close(self) -> None:
        pass


@asynccontextmanager
async def site(of: View = WORLD, access: Access | None = None) -> AsyncGenerator[Reader]:
    async with reading(of, access) as reader:
        _admits(reader.keeper)
        yield reader


def _admits(keeper: Keeper) -> None:
    async def admission(client: Client) -> Admission:
        del client
        return Admission({"high": PriorityClass(1000)}, "")

    keeper.read_admission = admission


async def ask(reader: Reader, **of: str) -> Answer:
    """What a browser gets that sends a form of the page."""
    return await sent(reader, urlencode({"namespace": "team", **of}).encode())


async def sent(reader: Reader, data: bytes, **more: str) -> Answer:
    """What a browser gets that sends this, with more headers."""
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Sec-Fetch-Site": "same-origin",
        "Sec-Fetch-Mode": "navigate",
        **more,
    }
    async with reader.session.post(reader.url + "/what-if", data=data, headers=headers) as response:
        return Answer(response.status, response.headers, await response.text())


async def answered(reader: Reader, **of: str) -> Element:
    answer = await ask(reader, **of)
    assert answer.code == 200, answer.text
    return answer.page.one("section", id="answer")


def job(cpus: int | str, replicas: int = 1) -> str:
    return JOB.replace("CPUS", str(cpus)).replace(": 1\n", f": {replicas}\n")


# ── what is answered ─────────────────────────────────────────────────────────────────────────


async def test_manifests_that_would_start_are_told_with_their_nodes() -> None:
    async with site() as reader:
        found = await answered(reader, manifests=job(4))
    assert found.one("p").text.startswith("Job team/train would start now: 1 pod on node-")


async def test_manifests_that_would_not_start_are_told_why() -> None:
    async with site() as reader:
        found = await answered(reader, manifests=job(100))
    assert "Job team/train would not start now: " in found.text
    assert "Insufficient cpu" in found.text


async def test_who_would_be_evicted_or_delayed_is_told() -> None:
    async with site() as reader:
        found = await answered(reader, manifests=job(8))
    assert "Evicted for it: " in found.text


async def test_a_group_of_another_size_and_other_nodes_can_be_asked_about() -> None:
    async with site() as reader:
        assert "team/big would run with 1 member" in (await answered(reader, scale="big=1")).text
        gone = await answered(reader, without="node-0")
        assert gone.text.startswith("Without node-0, ")
        more = await answered(reader, add="2", like="node-0")
        assert more.text.startswith("With 2 more nodes like node-0, team/big")


async def test_the_form_keeps_what_was_asked() -> None:
    async with site() as reader:
        answer = await ask(reader, manifests="a: 1\n  b: <2>\n", scale="big=3")
    page = answer.page
    assert page.one("textarea").text == "a: 1 b: <2>"
    assert "a: 1\n  b: &lt;2&gt;</textarea>" in answer.text
    assert page.one("input", name="scale")["value"] == "big=3"


@pytest.mark.parametrize("path", ["/", "/groups/team/big", "/what-if"])
async def test_there_is_a_box_for_it_where_somebody_reads_of_who_waits(path: str) -> None:
    async with site() as reader:
        form = next(
            form for form in (await reader.read(path)).every("form") if form["method"] == "post"
        )
    assert form["action"] == "/what-if"
    assert {each["name"] for each in form.every("input")} == {
        "namespace", "scale", "without", "add", "like",
    }  # fmt: skip


# ── what cannot be answered ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ({}, "nothing is asked; give manifests, or a change"),
        ({"manifests": "a: ["}, "manifests"),
        ({"manifests": "{apiVersion: v1, kind: Nothing}"}, "kind Nothing of v1 is not known"),
        ({"manifests": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}, "no pod is made"),
        ({"manifests": job(1, 10**6)}, "pods"),
        ({"manifests": job(1).replace("name: train", "name: a, namespace: other")}, "namespace"),
        ({"scale": "big"}, '"big" is not GROUP=N'),
        ({"scale": "other/small=2"}, "write the group alone"),
        ({"scale": "bigg=2"}, "PodGroup team/bigg not found"),
        ({"without": "node-9"}, "node node-9 not found"),
        ({"add": "2"}, "say how many nodes are added, and which node they are like"),
        ({"add": "-1", "like": "node-0"}, '"-1" nodes cannot be added'),
        ({"add": "99999", "like": "node-0"}, "from 1 to 10000"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_told_why(
    of: dict[str, str], said: str
) -> None:
    async with site() as reader:
        found = await answered(reader, **of)
    assert found.text.startswith("There is no answer: ")
    assert said in found.text


async def test_a_bomb_of_aliases_is_refused_before_it_is_unfolded() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for n in range(1, 30):
        bomb += f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n"
    async with site() as reader:
        assert "There is no answer" in (await answered(reader, manifests=bomb)).text


async def test_a_form_of_one_byte_too_much_is_refused() -> None:
    rest = b"namespace=team&scale=big%3D1&manifests="
    async with site() as reader:
        most = await sent(reader, rest + b"x" * (MOST_BODY - len(rest)))
        assert most.code == 200
        answer = await sent(reader, rest + b"x" * (MOST_BODY - len(rest) + 1))
    assert (answer.code, "send at most 64 KiB" in answer.text.lower()) == (413, False)
    assert "Send at most 64 KiB" in answer.text


async def test_markup_in_manifests_stays_text() -> None:
    evil = "</textarea><script>evil()</script>"
    text = job(4).replace("name: train", f'name: "{evil}"')
    async with site() as reader:
        answer = await ask(reader, manifests=text, scale=evil, namespace="team")
    assert "<script>evil" not in answer.text
    assert not list(answer.page.one("main").every("script"))


@pytest.mark.parametrize(
    "body", [b"\xff\xfe=\x00", b"%ff%fe=%00&namespace=%ff", b"namespace=team&&=&"]
)
async def test_a_form_of_nonsense_is_answered(body: bytes) -> None:
    async with site() as reader:
        assert (await sent(reader, body)).code in (200, 400, 403)


async def test_classes_that_cannot_be_read_are_told() -> None:
    async with reading(WORLD) as reader:

        async def refused(client: Client) -> Admission:
            del client
            raise APIError("list", "priorityclasses", "forbidden")

        reader.keeper.read_admission = refused
        assert "classes cannot be read" in (await answered(reader, scale="big=1")).text


# ── who may ask ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_a_form_of_another_site_is_refused(headers: dict[str, str]) -> None:
    async with site() as reader:
        url = reader.url + "/what-if"
        async with reader.session.post(url, data={"scale": "big=1"}, headers=headers) as response:
            assert response.status == 403


async def test_a_browser_that_tells_the_origin_alone_is_answered() -> None:
    async with site() as reader:
        data = {"namespace": "team", "scale": "big=1"}
        url = reader.url + "/what-if"
        async with reader.session.post(url, data=data, headers={"Origin": reader.url}) as response:
            assert response.status == 200


async def test_nobody_asks_about_a_namespace_that_they_may_not_see() -> None:
    async with site(access=Only(MINE)) as reader:
        for namespace in ("other", "nothing", "NO NAMESPACE", ""):
            answer = await ask(reader, namespace=namespace, scale="small=1")
            assert answer.code == 403
            assert "There is no such namespace, or you may not see its groups" in answer.text


async def test_nobody_asks_about_nodes_that_they_may_not_see() -> None:
    async with site(access=Only(MINE)) as reader:
        for of in ({"without": "node-0"}, {"add": "1", "like": "node-0"}):
            assert (await ask(reader, **of)).code == 403
        assert not list((await reader.read("/what-if")).every("input", name="without"))


async def test_an_answer_names_no_node_and_no_other_group_that_somebody_may_not_see() -> None:
    async with site(access=Only(MINE)) as reader:
        starts = await answered(reader, manifests=job(4))
        assert "train would start now: 1 pod on 1 node" in starts.text
        evicting = await answered(reader, manifests=job(8, 2))
        scaled = await answered(reader, scale="nothing=2")
    assert "node-" not in starts.text + evicting.text
    for text in (starts.text, evicting.text, scaled.text):
        assert "theirs" not in text
        assert "small" not in text
    assert "of namespaces that you may not see" in evicting.text


async def test_one_question_is_answered_at_a_time() -> None:
    async with site() as reader:
        going, go_on = asyncio.Event(), asyncio.Event()

        async def slow(client: Client) -> Admission:
            del client
            going.set()
            await go_on.wait()
            return Admission({}, "")

        reader.keeper.read_admission = slow
        first = asyncio.create_task(ask(reader, scale="big=1"))
        await going.wait()
        second = await ask(reader, scale="big=1")
        assert (second.code, "Another question is being answered" in second.text) == (503, True)
        go_on.set()
        assert (await first).code == 200
        assert (await ask(reader, scale="big=1")).code == 200


async def test_a_form_that_is_not_packed_as_it_says_is_refused() -> None:
    async with site() as reader:
        answer = await sent(reader, b"garbage", **{"Content-Encoding": "gzip"})
    assert (answer.code, "The form cannot be read" in answer.text) == (400, True)
