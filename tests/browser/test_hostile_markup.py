# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Markup of tenants is text in a browser, too; the policy that would stop scripts is turned off."""

from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

import pytest
import pytest_asyncio

from enbloc.client.client import PatchType
from enbloc.client.errors import APIError
from enbloc.client.paths import NODES, POD_GROUPS, PODS
from enbloc.ui.pages import VIEWS
from tests.browser.chromium import BROWSER, Chromium, Tab
from tests.browser.sites import Served, process, recorded
from tests.e2e import manifests
from tests.ui.site import reading
from tests.ui.test_hostile_text import ATTRIBUTES, TAGS, world

pytestmark = BROWSER

#: Each runs where it becomes markup, an attribute or an address.
ATTACKS: Final = (
    "<script>window.xss=1</script>",
    '"><img src=x onerror=window.xss=1>',
    "' autofocus tabindex=1 onfocus='window.xss=1' x='",
    "</title></style></textarea></noscript><svg/onload=window.xss=1>",
    "</script><iframe srcdoc='<script>parent.xss=1</script>'>",
    "<details open ontoggle=window.xss=1><meta http-equiv=refresh content=900>",
    "javascript:window.xss=1",
    "<base href=//x><form action=//x><input autofocus onfocus=window.xss=1>",
    "&lt;script&gt;window.xss=1&lt;/script&gt;",
    "<a id=explanation data-again data-load=//x href=javascript:window.xss=1>",
)
#: What the script of the page and the browser add to ours.
ADDED: Final = {"open", "data-was", "data-loaded"}
#: Elements, attributes and addresses that are none of ours.
STRANGERS: Final = """([tags, attributes]) =>
[...document.querySelectorAll("*")].flatMap((each) => [
  ...tags.includes(each.localName) ? [] : [each.localName],
  ...each.getAttributeNames().filter((name) => !attributes.includes(name.toLowerCase())),
  ...["href", "src", "action", "data-load"].map((name) => each.getAttribute(name) ?? "/").filter(
    (address) => !/^[/#](?![/])/.test(`${address} `)),
])"""


async def harmless(tab: Tab) -> None:
    """Nothing of what is shown has become more than text."""
    assert await tab.run(STRANGERS, [sorted(TAGS), sorted(ATTRIBUTES | ADDED)]) == []
    assert await tab.run("typeof window.xss") == "undefined"
    assert await tab.run("location.origin") == tab.url
    assert tab.complaints == []


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if "&" not in attack])
async def test_an_attack_that_is_not_escaped_would_be_noticed(
    chromium: Chromium, site: Served, attack: str
) -> None:
    async with chromium.tab(site.url, bypass_csp=True) as tab:
        await tab.open("/")
        await harmless(tab)
        put = "(text) => { document.querySelector('h1').outerHTML = text; }"
        await tab.run(put, f"""<a href="{attack}" title='{attack}'>{attack}</a>""")
        with pytest.raises(AssertionError):
            await harmless(tab)


# ── what an API server lets through ──────────────────────────────────────────────────────────


def affinity(value: str) -> dict[str, Any]:
    """Of a pod that wants nodes with a label of this value."""
    wanted = {"key": "example.com/disk", "operator": "In", "values": [value]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def pods(attack: str, group: str) -> Iterator[dict[str, Any]]:
    """Members of a group, each with the attack in another field."""
    owner = {"apiVersion": "example.com/v1", "kind": "Work", "metadata": {"name": "w", "uid": "u"}}
    named = {**owner, "metadata": {"name": attack, "uid": "u"}}
    fields: dict[str, dict[str, Any]] = {
        "owner": {"owner": named},
        "kind": {"owner": {**owner, "kind": attack}},
        "note": {"annotations": {"example.com/note": attack}},
        "minimum": {"annotations": {"enbloc.dev/min-member": attack}},
        "role": {"annotations": {"enbloc.dev/role": attack}},
        "level": {"annotations": {"enbloc.dev/topology-required": attack}},
        "seconds": {"annotations": {"enbloc.dev/expected-seconds": attack}},
        "affinity": {"affinity": affinity(attack)},
        "label": {"labels": {"example.com/note": attack}},
        "selector": {"node_selector": {"example.com/note": attack}},
        "class": {"priority_class": attack},
        "gate": {"schedulingGates": [{"name": attack}]},
        "toleration": {"tolerations": [{"key": "example.com/t", "value": attack}]},
        "image": {"containers": [{"name": "c", "image": attack}]},
    }
    for field, of in fields.items():
        yield manifests.pod(f"{group}-{field}", group, **of)


#: Which of them an API server takes; the others cannot reach a page.
TAKEN: Final = {
    *("owner", "kind", "note", "minimum", "role", "level", "seconds", "affinity"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def attacked(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    """A site of a cluster with every attack."""
    async with recorded(runs=True) as (sandbox, recording):
        for number, text in enumerate(ATTACKS):
            assert await attack_with(recording.client, text, f"attack-{number}") >= TAKEN
        async with process(sandbox, tmp_path_factory.mktemp("attacked")) as url:
            yield Served(url, recording)


async def attack_with(client: Any, text: str, group: str) -> set[str]:
    """Create a group whose pods hold an attack in each field that can; in which it was taken."""
    body = manifests.group(group, 40)
    body["metadata"]["annotations"] = {"example.com/note": text}
    await client.create(POD_GROUPS, body, "vision")
    taken: set[str] = set()
    for pod in pods(text, group):
        name = pod["metadata"]["name"]
        try:
            await client.create(PODS, pod, "vision")
        except APIError:
            continue
        taken.add(name.removeprefix(f"{group}-"))
        told = {"type": "PodScheduled", "status": "False", "reason": text, "message": text}
        status = {"conditions": [told], "message": text, "reason": text, "nominatedNodeName": text}
        await client.patch(
            PODS, name, {"status": status}, "vision", kind=PatchType.MERGE, subresource="status"
        )
    lone = manifests.pod(f"{group}-alone", affinity=affinity(text))
    await client.create(PODS, lone, "vision")
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": text}
    await client.patch(
        NODES,
        "cpu-0",
        {"status": {"conditions": [ready]}},
        kind=PatchType.MERGE,
        subresource="status",
    )
    return taken


@pytest.mark.parametrize("number", range(len(ATTACKS)))
async def test_what_an_api_server_takes_stays_text(
    chromium: Chromium, attacked: Served, number: int
) -> None:
    group, seen = f"attack-{number}", ""
    async with chromium.tab(attacked.url, bypass_csp=True) as tab:
        for path in (f"/?name={group}", f"/groups/vision/{group}", f"/pods/vision/{group}-alone"):
            await tab.open(path)
            await harmless(tab)
            seen += await tab.text()
        assert ATTACKS[number][:20] in seen
        if await tab.page.locator("details[data-load] > summary").count():
            await tab.page.locator("details[data-load] > summary").click()
        await tab.page.locator("main section h2").wait_for()
        await harmless(tab)


async def test_what_comes_as_an_update_stays_text(chromium: Chromium, attacked: Served) -> None:
    async with chromium.tab(attacked.url, bypass_csp=True) as tab:
        await tab.open("/?name=late")
        for number, text in enumerate(ATTACKS):
            await attack_with(attacked.recording.client, text, f"late-{number}")
        await tab.shows(f"late-{len(ATTACKS) - 1}-alone", "table")
        await harmless(tab)


# ── whatever comes ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_text_of_a_view_becomes_more_than_text(chromium: Chromium, attack: str) -> None:
    async with (
        reading(world(attack)) as reader,
        chromium.tab(reader.url, bypass_csp=True) as tab,
    ):
        reader.keeper.problems.report("test", f"problem {attack}")
        for path in (*(path for _, path in VIEWS), "/groups/team/big", "/groups/team/gated"):
            await tab.open(path)
            assert attack[:20] in await tab.text("#state")
            await harmless(tab)


@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_part_of_an_address_becomes_more_than_text(
    chromium: Chromium, site: Served, attack: str
) -> None:
    async with chromium.tab(site.url, bypass_csp=True) as tab:
        for path in ("/?namespace=", "/?name=", "/?page=", "/nodes?page=", "/time?namespace="):
            await tab.open(path + attack.replace("&", "%26").replace("#", "%23"))
            await harmless(tab)
        for path in ("/nodes?shape=", "/groups/team/", "/pods/", "/"):
            await tab.open(path + attack.replace("&", "%26").replace("#", "%23"))
            assert tab.complaints, "there is no such page"
            tab.complaints.clear()
            await harmless(tab)
