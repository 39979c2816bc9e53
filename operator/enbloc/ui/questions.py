# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Questions: the functions that workers run on facts and on views."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from enbloc.config import Configuration
from enbloc.engine.events import Event
from enbloc.model.groups import GroupKey
from enbloc.simulation import GoOn, InCopy
from enbloc.ui.facts import Facts
from enbloc.ui.nodes_page import NodesQuery, block_of, block_page, listed, nodes_page
from enbloc.ui.pages import Status
from enbloc.ui.places import MemberNodes
from enbloc.ui.time_page import TimeQuery, time_page
from enbloc.ui.view import Explained, View, Viewer, view_of


@dataclass(frozen=True, slots=True)
class Head:
    """A summary of a view.

    Attributes:
        number: of the view; each next view has a larger one.
        now: server time of the cluster's state.
        namespaces: those with waiting groups or pods, in the order of the first of each.
        complete: whether the simulation ended before its time limit.
    """

    number: int
    now: float
    namespaces: Sequence[str]
    complete: bool


# ── on facts ─────────────────────────────────────────────────────────────────────────────────


def take(facts: Facts, *, events: Sequence[Event]) -> None:
    """Take in these events."""
    for event in events:
        facts.take(event)


def made(
    facts: Facts,
    go_on: GoOn,
    *,
    configuration: Configuration,
    now: float,
    number: int,
    in_copy: InCopy | None,
) -> View:
    """A view of the current cluster; for the arguments see `view_of`."""
    present = facts.present(configuration.profiles, configuration.settings, now)
    return view_of(present, number, go_on, in_copy)


# ── on a view ────────────────────────────────────────────────────────────────────────────────


def head(view: View) -> Head:
    """The summary of a view."""
    return Head(view.number, view.present.now, view.namespaces(), view.outlook.complete)


def knows(view: View, *, key: GroupKey) -> bool:
    """Whether the group, or pod without one, exists."""
    return key in view.members or key in view.groups


def members(view: View, *, key: GroupKey) -> Collection[str]:
    """The names of a group's pods."""
    return [pod.key.name for pod in view.members.get(key, ())]


def waits(view: View, *, key: GroupKey) -> bool:
    """Whether the group, or pod without one, waits."""
    return view.row(key) is not None


def explained(view: View, go_on: GoOn, *, key: GroupKey) -> Explained | None:
    """Why a group waits; None = it does not wait."""
    row = view.row(key)
    return None if row is None else view.explained(row.waiting, go_on)


def in_order(view: View, *, viewer: Viewer) -> Sequence[GroupKey]:
    """The groups beside the map of nodes, in queue order."""
    return [row.waiting.key for row in listed(view, viewer)]


def of_time(view: View) -> Collection[str]:
    """The namespaces with running or waiting groups or pods."""
    return tuple(dict.fromkeys((*view.times.namespaces, *view.namespaces())))


def time(view: View, *, viewer: Viewer, query: TimeQuery, status: Status) -> str:
    """The page of what ends when, and what starts when."""
    return time_page(view, view.times, viewer, query, status)


def places(
    view: View, go_on: GoOn, *, keys: Collection[GroupKey]
) -> Mapping[GroupKey, MemberNodes]:
    """The places of members of these waiting groups."""
    del go_on
    rows = {key: view.row(key) for key in keys}
    return {key: view.finder.places(row.waiting) for key, row in rows.items() if row is not None}


def nodes(
    view: View,
    *,
    viewer: Viewer,
    found: Mapping[GroupKey, MemberNodes],
    query: NodesQuery,
    status: Status,
    quarantined: Collection[str] | None,
) -> str | None:
    """The page of the nodes; None = the queried block does not exist."""
    gangs = [(row, found.get(row.waiting.key, MemberNodes())) for row in listed(view, viewer)]
    if not query.shape:
        return nodes_page(view, gangs, query, status, quarantined)
    block = block_of(view.nodes, query)
    return None if block is None else block_page(block, viewer, gangs, query, status, quarantined)
