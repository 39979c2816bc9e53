# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a group: why it waits, its members and their nodes, and its explanation."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from enbloc.model.groups import GroupKey
from enbloc.model.pending import why
from enbloc.model.pods import Pod
from enbloc.model.text import clipped, several
from enbloc.model.times import span_text, time_text
from enbloc.simulation import INCOMPLETE, Remedy, Waiting, Whose, amounts
from enbloc.ui.attempts import GroupHistory, history_section
from enbloc.ui.charts import Piece, bar
from enbloc.ui.links import explanation_address, group_address
from enbloc.ui.markup import Child, Markup, element
from enbloc.ui.pages import (
    MESSAGE,
    OWNER,
    Column,
    ListPage,
    Status,
    document,
    facts,
    live,
    pager,
    table,
    with_query,
)
from enbloc.ui.view import Ahead, Row, View, Viewer, VisibleExplanation, own, start_text
from enbloc.ui.what_if_page import what_if_box

#: The most members on a page.
MEMBERS: Final = 100
#: The most other groups or pods that are named.
_MOST_NAMED: Final = 5
_MOST_AHEAD: Final = 20
_COLUMNS: Final = (
    Column("Pod", heads=True),
    Column("Role"),
    Column("State"),
    Column("Node"),
    Column("Priority", number=True),
    Column("Age", number=True),
)


def title_of(key: GroupKey) -> str:
    """The title of a group's page."""
    kind = "Pod" if key.name.startswith("/") else "Group"
    return f"{kind} {key.namespace}/{key.name.removeprefix('/')}"


def group_page(
    view: View,
    viewer: Viewer,
    key: GroupKey,
    page: int,
    status: Status,
    known: VisibleExplanation | None = None,
    history: GroupHistory | None = None,
) -> str:
    """The page of one group, or of a pod without one.

    Args:
        view: the cluster.
        viewer: what the viewer may see of others.
        key: of the group, which exists.
        page: of its members, from 1.
        status: the age of the view.
        known: its explanation, if there is one already.
        history: of the group; None = it was not read.
    """
    row, pods = view.row(key), view.members.get(key, ())
    waiting = own(row.waiting, viewer) if row is not None else None
    part = ListPage(len(pods), MEMBERS, page)
    lines = [_cells(pod, waiting, status.now, nodes=viewer.nodes) for pod in pods[part.items]]
    return document(
        title_of(key),
        "/",
        [
            live(
                "group",
                element("p", _sentence(row, waiting, pods), class_="lead"),
                facts(_facts(view, key, pods, status.now)),
                bar("Members", _pieces(pods, waiting)),
            ),
            _explanation(waiting, known, viewer),
            live(
                "members",
                element("h2", "Members"),
                table(_caption(part), _COLUMNS, lines, "No pod is a member of it yet."),
                pager(part, "Members", lambda n: with_query(group_address(key), page=n)),
            ),
            history_section(history, status.now) if history is not None else None,
            what_if_box(key.namespace, nodes=viewer.nodes),
        ],
        status,
    )


def _caption(part: ListPage) -> str:
    return "1 member" if part.total == 1 else f"{part.total} members, the oldest first"


def _sentence(row: Row | None, waiting: Waiting | None, pods: Sequence[Pod]) -> str:
    if row is not None and waiting is not None:
        turn = "" if row.place is None else f" It is number {row.place} in the order."
        if waiting.starts:
            return f"It starts as soon as the scheduler takes it.{turn}"
        return f"{clipped(why(waiting), MESSAGE).removesuffix('.')}.{turn}"
    if not pods:
        return "It has no pods; nothing waits."
    live_pods = [pod for pod in pods if pod.live]
    if not live_pods:
        return f"It has ended: none of its {len(pods)} pods runs any more."
    return "It does not wait."


def _facts(
    view: View, key: GroupKey, pods: Sequence[Pod], now: float
) -> Iterable[tuple[str, Child]]:
    group, row = view.groups.get(key), view.row(key)
    owners = dict.fromkeys(f"{p.owner.kind}/{p.owner.name}" for p in pods if p.owner is not None)
    named = (clipped(owner, OWNER) for owner in [*owners][:_MOST_NAMED])
    yield "Owner", ", ".join(named) or "none"
    yield "Members", sum(pod.live for pod in pods)
    yield "Needs at least", group.least if group is not None else 1
    if group is not None and group.roles:
        roles = (f"{role.name}: {role.min_member}" for role in group.roles)
        yield "Of its roles at least", ", ".join(roles)
    if group is not None and group.topology is not None and group.topology.required:
        yield "In one domain of", group.topology.required
    if pods:
        yield "Priority", row.waiting.priority if row else min(pod.priority for pod in pods)
    if row is not None:
        yield (
            "Waiting",
            f"{span_text(now - row.waiting.since)}, since {time_text(row.waiting.since)}",
        )
    if key in view.starts:
        by = "by the limits of those that run" if view.starts[key].latest else "as users expect"
        yield "Starts", f"{start_text(view, key, now)}, {by}, if nobody new comes"


def _pieces(pods: Sequence[Pod], waiting: Waiting | None) -> Sequence[Piece]:
    """The numbers of members by state."""
    placed = len(waiting.placed) if waiting is not None else 0
    pending = sum(pod.live and not pod.node for pod in pods)
    bound = sum(pod.bound for pod in pods)
    return (
        Piece("have a node", bound, "bound"),
        Piece("get a node now", placed, "starts"),
        Piece("have none", max(0, pending - placed), "capacity"),
        Piece("have ended, or are being deleted", len(pods) - bound - pending, "other"),
    )


def _cells(pod: Pod, waiting: Waiting | None, now: float, *, nodes: bool) -> Sequence[Child]:
    """A row; without `nodes`, it shows the node that a pod has, but not the one it would get."""
    going = waiting.placed.get(pod.key, "") if waiting is not None else ""
    if pod.node or not going:
        node: Child = pod.node or "–"
    else:
        node = [element("span", "goes to "), going if nodes else "a node"]
    return (pod.key.name, pod.role or "–", _state(pod), node, pod.priority, _age(pod, now))


def _age(pod: Pod, now: float) -> str:
    return span_text(now - pod.created)


def _state(pod: Pod) -> str:
    if pod.finished:
        return str(pod.phase)
    if pod.deleting:
        return "Terminating"
    if pod.gates:
        return f"Gated: {', '.join(pod.gates[:_MOST_NAMED])}"
    return str(pod.phase) if pod.node else "Waiting"


# ── the explanation ──────────────────────────────────────────────────────────────────────────


def _explanation(
    waiting: Waiting | None, known: VisibleExplanation | None, viewer: Viewer
) -> Markup | None:
    """The explanation if it is known, else a link to the page that computes it."""
    if waiting is None or waiting.starts:
        return None
    if known is not None:
        return explanation_section(known, viewer)
    address = explanation_address(waiting.key)
    return element(
        "details",
        element("summary", "What would make it run"),
        element("p", element("a", "Work it out", href=address)),
        data_load=address,
    )


def explanation_page(shown: VisibleExplanation, viewer: Viewer, status: Status) -> str:
    """The page of an explanation."""
    key = shown.explanation.waiting.key
    return document(
        f"What would make {title_of(key).lower()} run",
        "/",
        [
            explanation_section(shown, viewer),
            element("p", element("a", title_of(key), href=group_address(key))),
        ],
        status,
    )


def under_way_page(key: GroupKey, status: Status) -> str:
    """The page while an explanation is computed; the browser reloads it by itself."""
    text = "Changes are tried, one after the other. This page loads again by itself."
    return document(
        f"What would make {title_of(key).lower()} run",
        "/",
        [
            element("p", text, id="explanation", data_again=True),
            element("p", element("a", "Load again", href=explanation_address(key))),
        ],
        status,
    )


def explanation_section(shown: VisibleExplanation, viewer: Viewer) -> Markup:
    """Why a group waits, what comes before it, and which changes would start it."""
    explanation = shown.explanation
    return element(
        "section",
        element("h2", "What would make it run"),
        element("p", clipped(explanation.sentence, MESSAGE)),
        _ahead(shown.ahead, viewer, shown.withheld[1]),
        _remedies("It would start with any one of these", explanation.remedies),
        _remedies("It would fit, once others have ended, with any one of these", explanation.later),
        _no_remedy(shown),
        _withheld(shown.withheld[0]),
        None if explanation.complete else element("p", INCOMPLETE),
        id="explanation",
    )


def _ahead(rows: Sequence[Ahead], viewer: Viewer, hidden: int) -> Markup | None:
    if not rows:
        return None
    listed = [
        element("li", element("a", each.name, href=group_address(each.key)))
        for each in rows[:_MOST_AHEAD]
    ]
    more = len(rows) - len(listed) + hidden
    return element(
        "div",
        element("h3", "Ahead of it, and starting now"),
        element("ul", listed, element("li", f"and {more} more") if more else None),
        element("p", f"They take {amounts(_together(rows))}.") if viewer.everything else None,
    )


def _together(rows: Sequence[Ahead]) -> Counter[str]:
    total = Counter[str]()
    for each in rows:
        total.update(each.requests)
    return total


def _remedies(title: str, remedies: Sequence[Remedy]) -> Markup | None:
    if not remedies:
        return None
    parts: list[Child] = [element("h3", title)]
    for whose in Whose:
        mine = [each for each in remedies if each.whose is whose]
        if mine:
            parts.append(element("h4", whose.heading))
            parts.append(element("ul", [element("li", _told(each)) for each in mine]))
    return element("div", parts)


def _told(remedy: Remedy) -> str:
    """A change, and the pods that would be evicted."""
    text = clipped(remedy.text, MESSAGE // 4)
    named = several([str(pod) for pod in remedy.victims], _MOST_NAMED)
    return f"{text} (evicts {named})" if named else text


def _no_remedy(shown: VisibleExplanation) -> Markup | None:
    if shown.withheld[0] or not shown.explanation.nothing_helps:
        return None
    return element("p", "No single change of those that were tried is enough.")


def _withheld(changes: int) -> Markup | None:
    if not changes:
        return None
    one = "1 more change" if changes == 1 else f"{changes} more changes"
    of = "nodes, or of groups, that you may not see"
    text = f"{one} would be enough, of {of}: ask who runs the cluster."
    return element("p", text)
