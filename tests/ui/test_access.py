# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Where others reach the page: whose token it is, and what of the cluster they may see."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.config import Cluster
from enbloc.ui.access import MOST_NAMESPACES, RefusedError, ReviewedAccess
from enbloc.ui.view import Viewer
from tests.client.fake import answer, refusal, serving
from tests.ui.dom import lines
from tests.ui.site import Reader, reading
from tests.ui.world import NOW, gang, lone, nodes, running, view

WORLD = view(
    nodes(1),
    running("old", 2, "node-0", namespace="red"),
    gang("first", 1, namespace="red", created=NOW - 600.0),
    gang("second", 1, namespace="blue"),
    lone("alone", "blue", cpu=100),
)


@dataclass
class Judge:
    """An API server that knows who bears which token, and what they may.

    Attributes:
        may: by user, the namespaces whose PodGroups they may get, "*" for all; and "nodes".
    """

    may: dict[str, set[str]] = field(
        default_factory=lambda: {
            "admin": {"*", "nodes"},
            "red": {"red"},
            "blue": {"blue", "nodes"},
            "nobody": set(),
        }
    )
    asked: list[dict[str, Any]] = field(default_factory=list)
    tokens: int = 0
    broken: bool = False

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.broken:
            return refusal(500, "InternalError", "no")
        body = await request.json()
        spec = body["spec"]
        if body["kind"] == "TokenReview":
            self.tokens += 1
            name = spec["token"].removeprefix("token-of-")
            known = name in self.may
            status: dict[str, Any] = {"authenticated": known}
            return answer({"status": {**status, **({"user": {"username": name}} if known else {})}})
        self.asked.append(spec["resourceAttributes"])
        return answer({"status": {"allowed": self._allowed(spec)}})

    def _allowed(self, spec: Any) -> bool:
        asked, may = spec["resourceAttributes"], self.may[spec["user"]]
        if asked["resource"] == "nodes":
            return asked == {"group": "", "resource": "nodes", "verb": "list"} and "nodes" in may
        assert (asked["group"], asked["resource"]) == ("enbloc.dev", "podgroups")
        assert asked["verb"] == "get"
        return bool({asked.get("namespace", "*"), "*"} & may)


@asynccontextmanager
async def asking(
    judge: Judge, clock: Callable[[], float] = lambda: 0.0
) -> AsyncGenerator[ReviewedAccess]:
    async with serving(judge) as url:

        async def find() -> Cluster:
            return Cluster(url)

        access = ReviewedAccess(find, clock)
        try:
            yield access
        finally:
            await access.close()


@asynccontextmanager
async def site(judge: Judge) -> AsyncGenerator[Reader]:
    async with asking(judge) as access, reading(WORLD, access, local=False) as reader:
        yield reader


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{name}"}


# ── pages ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path", ["/", "/nodes", "/time", "/groups/red/first", "/static/enbloc.css", "/events"]
)
@pytest.mark.parametrize(
    "header", ["", "Bearer ", "Bearer token-of-stranger", "Basic YWRtaW46YWRtaW4=", "Bearer ä"]
)
async def test_who_bears_no_valid_token_sees_nothing(path: str, header: str) -> None:
    async with site(Judge()) as reader:
        shown = await reader.ask(path, **({"Authorization": header} if header else {}))
    assert shown.code == 401
    assert shown.headers["WWW-Authenticate"] == "Bearer"
    assert "first" not in shown.text


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
async def test_probes_bear_no_token(path: str) -> None:
    judge = Judge()
    async with site(judge) as reader:
        assert (await reader.ask(path)).code == 200
    assert (judge.tokens, judge.asked) == (0, [])


@pytest.mark.parametrize(
    ("who", "names"),
    [
        ("admin", ["first", "second", "pod/alone"]),
        ("red", ["first"]),
        ("blue", ["second", "pod/alone"]),
        ("nobody", []),
    ],
)
async def test_the_queue_has_the_groups_that_somebody_may_get(who: str, names: list[str]) -> None:
    async with site(Judge()) as reader:
        page = await reader.read("/", **bearer(who))
    shown = [row[2] for row in lines(page)[1:]] if list(page.every("table")) else []
    assert shown == names


async def test_a_namespace_that_somebody_names_is_the_only_one_that_is_asked_about() -> None:
    judge = Judge()
    async with site(judge) as reader:
        page = await reader.read("/?namespace=red", **bearer("blue"))
        await reader.read("/?namespace=" + "%3Cevil%3E", **bearer("blue"))
    assert "first" not in page.text
    assert [each.get("namespace") for each in judge.asked] == [None, None, "red"]


async def test_a_group_of_a_namespace_that_somebody_may_not_see_is_as_one_that_is_not_there() -> (
    None
):
    async with site(Judge()) as reader:
        assert (await reader.ask("/groups/red/first", **bearer("red"))).code == 200
        theirs = await reader.ask("/groups/red/first", **bearer("blue"))
        none = await reader.ask("/groups/red/none", **bearer("blue"))
        why = await reader.ask("/groups/red/first/explanation", **bearer("blue"))
    assert theirs.code == none.code == why.code == 404
    assert theirs.text == none.text == why.text


@pytest.mark.parametrize(("who", "code"), [("admin", 200), ("blue", 200), ("red", 403)])
async def test_nodes_are_shown_to_who_may_list_them(who: str, code: int) -> None:
    async with site(Judge()) as reader:
        page = await reader.ask("/nodes", **bearer(who))
    assert page.code == code
    assert ("node-0" in page.text) is (code == 200)
    assert ("/groups/red/first" in page.text) is (who == "admin")


@pytest.mark.parametrize(
    ("who", "names"), [("admin", ["old"]), ("red", ["old"]), ("blue", []), ("nobody", [])]
)
async def test_time_has_the_groups_that_somebody_may_get(who: str, names: list[str]) -> None:
    judge = Judge()
    async with site(judge) as reader:
        page = await reader.read("/time", **bearer(who))
        await reader.read("/time?namespace=blue", **bearer(who))
    shown = [row[1] for row in lines(page)[1:]] if list(page.every("table")) else []
    assert shown == names
    assert ("red" in page.text) is bool(names)
    everywhere = [None] if who == "admin" else [None, "blue", "red"]
    assert sorted((each.get("namespace") for each in judge.asked), key=str) == everywhere


async def test_an_explanation_names_nothing_that_somebody_may_not_see() -> None:
    async with site(Judge()) as reader:
        everything = await reader.read("/groups/blue/second/explanation", **bearer("admin"))
        own = await reader.read("/groups/blue/second/explanation", **bearer("blue"))
    assert "the end of red/old" in everything.text
    assert "red/" not in own.text
    assert "node-0" in own.text


async def test_what_is_wrong_is_told_in_full_to_who_may_see_all() -> None:
    async with site(Judge()) as reader:
        reader.keeper.problems.report("pods", "https://10.0.0.1 refuses ui@enbloc-system")
        everything = await reader.read("/", **bearer("admin"))
        own = await reader.read("/", **bearer("red"))
    assert "refuses ui@enbloc-system" in everything.one("header").text
    assert "refuses" not in own.text
    assert "the cluster cannot be read in full at present" in own.one("header").text


# ── what is asked, and how often ─────────────────────────────────────────────────────────────


async def test_answers_are_kept_for_ten_seconds_and_no_longer() -> None:
    judge, now = Judge(), [0.0]
    async with asking(judge, lambda: now[0]) as access:
        for now[0] in (0.0, 9.9):
            seen = await access.viewer("Bearer token-of-red", ["red", "blue"], nodes=True)
            assert seen == Viewer(namespaces=frozenset({"red"}))
        assert (judge.tokens, len(judge.asked)) == (1, 4)
        judge.may["red"] = {"blue"}
        now[0] = 10.1
        seen = await access.viewer("Bearer token-of-red", ["red", "blue"])
        assert seen == Viewer(namespaces=frozenset({"blue"}))
        assert judge.tokens == 2


async def test_who_may_see_all_is_asked_about_once() -> None:
    judge = Judge()
    async with asking(judge) as access:
        seen = await access.viewer("Bearer token-of-admin", ["red", "blue"], nodes=True)
    assert seen == Viewer(everything=True, nodes=True)
    assert [each.get("namespace") for each in judge.asked] == [None, None]


async def test_of_many_namespaces_some_are_asked_about_and_that_is_said() -> None:
    judge = Judge()
    judge.may["red"] = {f"ns-{n}" for n in range(MOST_NAMESPACES + 5)}
    async with asking(judge) as access:
        names = [f"ns-{n}" for n in range(MOST_NAMESPACES + 5)]
        seen = await access.viewer("Bearer token-of-red", names)
    assert seen.namespaces == frozenset(names[:MOST_NAMESPACES])
    assert not seen.complete


async def test_while_nobody_can_say_who_may_nobody_may() -> None:
    judge = Judge(broken=True)
    async with asking(judge) as access:
        with pytest.raises(RefusedError, match="access cannot be reviewed now") as refused:
            await access.viewer("Bearer token-of-admin", ["red"])
        assert refused.value.code == 503
        judge.broken = False
        assert (await access.viewer("Bearer token-of-admin", ["red"])).everything
