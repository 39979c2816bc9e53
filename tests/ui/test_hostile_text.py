# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What tenants and nodes write stays text on every page, whatever the API server let through."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from enbloc.engine.events import Event, GroupSeen, NodeSeen, PodSeen, TopologySeen
from enbloc.model.groups import Group, GroupKey, Role
from enbloc.model.node import Node
from enbloc.model.pods import Owner, Pod, PodKey, PodUID
from enbloc.model.topology import Level, Topology, TopologyRequest
from enbloc.ui.attempts import GroupHistory, HistoryEntry
from enbloc.ui.group_page import explanation_page, group_page, under_way_page
from enbloc.ui.nodes_page import NodesQuery, block_page, listed, nodes_page
from enbloc.ui.pages import Status, message
from enbloc.ui.queue_page import QueueQuery, queue_page
from enbloc.ui.time_page import TimeQuery, time_page
from enbloc.ui.timeline import timeline
from enbloc.ui.view import ANYBODY, View, VisibleExplanation
from enbloc.ui.what_if_page import VisibleAnswer, WhatIfForm, what_if_page
from tests.ui.dom import Element, parsed
from tests.ui.world import gang, nodes, running, view
from tests.world import builders

#: Each would be an element, end an attribute, or lead away, where it is not escaped.
ATTACKS: Final = (
    "<script>evil()</script>",
    '"><img src=x onerror=evil()>',
    "' onmouseover='evil()",
    "</title></style></textarea><svg/onload=evil()>",
    "javascript:evil()",
    "<!--evil",
    "&lt;script&gt;evil()&lt;/script&gt;",
    "\u2028<iframe srcdoc=evil>\u202e",
)


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: What our pages are made of; anything else was somebody's text.
TAGS: Final = words(
    """
    a b body button caption dd desc details div dl dt figure form g h1 h2 h3 h4 head header html
    input label li link main meta nav ol p path rect script section span strong summary svg table
    tbody td text textarea th thead title tr ul
    """
)
ATTRIBUTES: Final = words(
    """
    action aria-current aria-hidden aria-label autocomplete charset class content d data-again
    data-events data-live data-load data-number defer for height href id inputmode lang
    maxlength method name placeholder preserveaspectratio rel required role rows scope spellcheck
    src tabindex type value viewbox width x y
    """
)


#: Groups that run, with all that is told of their time.
RUNNING: Final[Mapping[str, Mapping[str, float]]] = {
    "limited": {"started": 0.0, "limit": 2e9, "expected": 1.8e9},
    "late": {"started": 0.0, "limit": 1.0, "expected": 1.0},
    "bound": {},
}


def pod(name: str, group: GroupKey, attack: str, **of: Any) -> Event:
    return PodSeen(
        Pod(
            PodKey(group.namespace, f"{name}{attack}"),
            PodUID(f"{group}/{name}"),
            builders.spec(cpu=4, node_selector=((f"key{attack}", f"value{attack}"),)),
            scheduler="enbloc",
            group=group,
            owner=Owner(f"Job{attack}", f"owner{attack}", "uid"),
            role=f"role{attack}",
            labels=((f"label{attack}", attack),),
            annotations=((f"annotation{attack}", attack),),
            **of,
        )
    )


def world(attack: str) -> View:
    """A cluster in which every text of pods, groups, nodes and topologies holds the attack."""
    named = GroupKey(f"team{attack}", f"group{attack}")
    gated = GroupKey("team", "gated")
    node = Node(
        f"node{attack}",
        labels=(
            (f"key{attack}", "another"),
            ("node.kubernetes.io/instance-type", f"large{attack}"),
            (f"rack{attack}", f"r1{attack}"),
        ),
        allocatable=(
            *builders.amounts(cpu=8, memory="32Gi", pods=110),
            (f"example.com/{attack}", 4),
        ),
    )
    topology = Topology(f"topology{attack}", (Level(f"level{attack}", f"rack{attack}"),))
    group = Group(
        named,
        f"uid{attack}",
        2,
        roles=(Role(f"role{attack}", 2),),
        generation=1,
        topology=TopologyRequest(topology.name, required=f"level{attack}"),
        labels=((f"label{attack}", attack),),
    )
    return view(
        [TopologySeen(topology), NodeSeen(node), GroupSeen(group)],
        [pod(f"member-{n}", named, attack) for n in range(2)],
        gang("gated", 1)[:1],
        [pod("gated", gated, attack, gates=(f"gate{attack}",))],
        nodes(1),
        running("old", 2, "node-0"),
        running("there", 1, f"node{attack}"),
        [
            pod(
                f"{name}-",
                GroupKey(f"team{attack}", f"{name}{attack}"),
                attack,
                node="node-0",
                **of,
            )
            for name, of in RUNNING.items()
        ],
        gang("big", 3),
        [pod("evicts-", GroupKey(f"team{attack}", f"evicts{attack}"), attack, nominated="node-0")],
    )


def pages(of: View, attack: str) -> Iterator[str]:
    """Every page of it."""
    status = Status(1, of.present.now, of.present.now, f"problem{attack}")
    yield queue_page(of, ANYBODY, QueueQuery(), status)
    yield queue_page(of, ANYBODY, QueueQuery(f"ns{attack}", f"name{attack}"), status)
    gangs = [(row, of.finder.places(row.waiting)) for row in listed(of, ANYBODY)]
    yield nodes_page(of, gangs, NodesQuery(), status)
    for block in of.nodes.blocks:
        yield block_page(block, ANYBODY, gangs, NodesQuery(block.rack, block.shape), status)
    times = timeline(of.members, [row.waiting for row in of.rows], of.starts, of.present.now)
    for query in (TimeQuery(), TimeQuery(f"team{attack}"), TimeQuery(f"none{attack}")):
        yield time_page(of, times, ANYBODY, query, status)
    for key in of.members:
        yield group_page(of, ANYBODY, key, 1, status)
    entries = [HistoryEntry(1.0, f"about{attack}", f"reason{attack}", f"text{attack}")]
    history = GroupHistory(entries, f"problem{attack}")
    yield group_page(of, ANYBODY, next(iter(of.members)), 1, status, history=history)
    for waiting in (row.waiting for row in of.rows):
        told = dataclasses.replace(waiting, message=f"{waiting.message} {attack}")
        found = of.explained(waiting)
        shown = VisibleExplanation(
            dataclasses.replace(found.explanation, waiting=told), found.ahead
        )
        yield explanation_page(shown, ANYBODY, status)
        yield group_page(of, ANYBODY, waiting.key, 1, status, shown)
        yield under_way_page(waiting.key, status)
    form = WhatIfForm(*(f"{field.name}{attack}" for field in dataclasses.fields(WhatIfForm)))
    answer = VisibleAnswer([f"line{attack}"] * 3, [f"note{attack}"])
    yield what_if_page(form, answer, status, nodes=True)
    yield what_if_page(form, VisibleAnswer(problems=[attack, attack]), status, nodes=True)
    yield message(f"title{attack}", f"text{attack}")


def strangers(of: Element) -> Sequence[str]:
    """Elements and attributes that are none of ours."""
    found = [each.tag for each in of.every() if each.tag not in TAGS]
    found += [name for each in of.every() for name in each.attributes if name not in ATTRIBUTES]
    for each in of.every():
        for name in ("href", "src", "action"):
            address = each.attributes.get(name)
            if address is not None and not (address[:1] in "/#" and address[:2] != "//"):
                found.append(f"{name}={address}")
    scripts = [each for each in of.every("script") if each.attributes.get("src") is None]
    return found + [each.text for each in scripts]


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_becomes_an_element_an_attribute_or_an_address(attack: str) -> None:
    of = world(attack)
    seen = 0
    for page in pages(of, attack):
        assert strangers(parsed(page)) == []
        seen += "evil" in page
    assert seen > 5, "the attack was shown, as text"


def test_text_that_turns_its_direction_or_hides_is_shown_as_numbers() -> None:
    attack = "\u202egnp.exe\x00\u200b"
    for page in pages(world(attack), attack):
        assert not {"\u202e", "\x00", "\u200b"} & set(page)
