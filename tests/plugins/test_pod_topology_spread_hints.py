# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which events wake a pod that PodTopologySpread refused."""

from dataclasses import replace

import pytest
from msgspec import structs

from enbloc.framework.hints import Action, Happening, Hint, Resource
from enbloc.model.node import Node
from enbloc.model.pods import Pod
from enbloc.model.taints import Taint
from enbloc.plugins.pod_topology_spread.plugin import PodTopologySpread
from tests.plugins.spreading import (
    LISTED,
    SPREAD,
    web,
)
from tests.world.builders import labelled, waiting


def woken(member: Pod, event: Happening, plugin: PodTopologySpread | None = None) -> bool:
    """Whether the event is worth another try of a group of that one pod."""
    plugin = plugin or PodTopologySpread()
    assert any(event.matches(pattern) for pattern in plugin.events), "nobody would ask"
    return plugin.hint(event, waiting(member)) is Hint.QUEUE


def arrival(other: Pod) -> Happening:
    return Happening(Resource.POD, Action.ADD, pod=other)


SEATED = web(node="n")
OTHER = web(node="n", labels=(("app", "db"),))
RENAMED = Happening(Resource.POD, Action.UPDATE_LABEL, pod=OTHER, old_pod=SEATED)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(arrival(SEATED), True, id="a counted pod is placed: the minimum may rise"),
        pytest.param(arrival(web()), False, id="a pod waits as well"),
        pytest.param(arrival(OTHER), False, id="a pod that does not count is placed"),
        pytest.param(arrival(web(node="n", namespace="x")), False, id="in another namespace"),
        pytest.param(
            Happening(Resource.POD, Action.DELETE, pod=SEATED), True, id="a counted pod leaves"
        ),
        pytest.param(
            Happening(Resource.POD, Action.DELETE, pod=replace(SEATED, deleting=True)),
            True,
            id="a counted pod leaves that was terminating",
        ),
        pytest.param(
            Happening(Resource.POD, Action.DELETE, pod=web()),
            True,
            id="one that was assumed leaves",
        ),
        pytest.param(
            Happening(Resource.POD, Action.DELETE, pod=OTHER), False, id="somebody else leaves"
        ),
        pytest.param(Happening(Resource.POD, Action.DELETE), True, id="who is unknown"),
        pytest.param(RENAMED, True, id="a label makes it count no more"),
        pytest.param(
            structs.replace(RENAMED, old_pod=OTHER), False, id="a label that does not matter"
        ),
        pytest.param(structs.replace(RENAMED, old_pod=None), True, id="what it was is unknown"),
    ],
)
def test_a_pod_wakes_whom_it_could_help(event: Happening, *, expected: bool) -> None:
    assert woken(web(SPREAD), event) is expected


def moved(before: Node | None, after: Node | None) -> Happening:
    action = Action.UPDATE_LABEL | Action.UPDATE_TAINT if before else Action.ADD
    return Happening(Resource.NODE, action, node=after, old_node=before)


BARE, IN_ZONE = labelled("n"), labelled("n", zone="1")
TAINTED = replace(IN_ZONE, taints=(Taint("t"),))
SSD = labelled("n", zone="1", disk="ssd")
HONOURING = replace(SPREAD, honour_taints=True)


@pytest.mark.parametrize(
    ("member", "event", "expected"),
    [
        pytest.param(web(SPREAD), moved(None, IN_ZONE), True, id="a node in a zone"),
        pytest.param(web(SPREAD), moved(None, BARE), False, id="a node in no zone"),
        pytest.param(
            web(SPREAD),
            Happening(Resource.NODE, Action.DELETE, node=IN_ZONE),
            True,
            id="one leaves",
        ),
        pytest.param(
            web(SPREAD), Happening(Resource.NODE, Action.DELETE), True, id="which is unknown"
        ),
        pytest.param(web(SPREAD), moved(BARE, IN_ZONE), True, id="a zone appears"),
        pytest.param(web(SPREAD), moved(IN_ZONE, BARE), True, id="a zone disappears"),
        pytest.param(web(SPREAD), moved(IN_ZONE, labelled("n", zone="2")), True, id="it moves"),
        pytest.param(web(SPREAD), moved(BARE, labelled("n", x="1")), False, id="still in no zone"),
        pytest.param(web(SPREAD), moved(IN_ZONE, SSD), False, id="a label that does not matter"),
        pytest.param(
            web(SPREAD, spec={"node_selector": (("disk", "ssd"),)}),
            moved(IN_ZONE, SSD),
            True,
            id="a label that the pod selects nodes by",
        ),
        pytest.param(web(SPREAD), moved(TAINTED, IN_ZONE), False, id="a taint nobody honours"),
        pytest.param(web(HONOURING), moved(TAINTED, IN_ZONE), True, id="a taint that is honoured"),
    ],
)
def test_a_node_wakes_whom_it_could_help(member: Pod, event: Happening, *, expected: bool) -> None:
    assert woken(member, event) is expected


def test_what_defaults_select_is_not_known_to_a_hint() -> None:
    assert woken(web(), arrival(OTHER), LISTED)
    assert not woken(web(), arrival(web(node="n", namespace="x")), LISTED)
    assert woken(web(), moved(None, IN_ZONE), LISTED)
    assert not woken(web(), moved(None, BARE), LISTED)
