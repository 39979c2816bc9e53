# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The what-if page: a form for manifests and changes, and the answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.text import clipped
from enbloc.ui.markup import Attribute, Markup, element, escaped
from enbloc.ui.pages import MESSAGE, Status, document

WHAT_IF: Final = "/what-if"
#: The longest form, as a browser sends it (bytes).
MOST_BODY: Final = 1 << 16
#: The most lines of an answer that are shown, and the most notes.
_MOST_LINES: Final = 60
_NAMES: Final = 253


@dataclass(frozen=True, slots=True)
class WhatIfForm:
    """The question as typed; "" = not given.

    Attributes:
        namespace: of the manifests, and of the group that is scaled.
        manifests: YAML or JSON, several documents.
        scale: GROUP=N.
        without: nodes that would be gone, separated by spaces.
        add: how many nodes would be added.
        like: the node that the added ones are like.
    """

    namespace: str = "default"
    manifests: str = ""
    scale: str = ""
    without: str = ""
    add: str = ""
    like: str = ""

    @property
    def of_nodes(self) -> bool:
        """Whether it names nodes."""
        return bool(self.without or self.add or self.like)


@dataclass(frozen=True, slots=True)
class VisibleAnswer:
    """An answer without what the viewer may not see.

    Attributes:
        lines: the answer in the first line, then details.
        notes: on the manifests.
        problems: why there is no answer.
    """

    lines: Sequence[str] = ()
    notes: Sequence[str] = ()
    problems: Sequence[str] = ()


def what_if_page(
    form: WhatIfForm, told: VisibleAnswer | None, status: Status, *, nodes: bool
) -> str:
    """The what-if page.

    Args:
        form: the question.
        told: the answer; None = there is no question yet.
        status: the age of the view that the answer is about.
        nodes: whether the viewer may ask about changes of nodes.
    """
    return document(
        "What if",
        "/",
        [_answer(told) if told is not None else None, what_if_form(form, nodes=nodes)],
        status,
    )


def what_if_box(namespace: str, *, nodes: bool) -> Markup:
    """The form within another page, collapsed."""
    return element(
        "details",
        element("summary", "What if"),
        what_if_form(WhatIfForm(namespace or "default"), nodes=nodes),
    )


def what_if_form(form: WhatIfForm, *, nodes: bool) -> Markup:
    """The form; its answer is a separate page."""
    return element(
        "form",
        element(
            "p",
            "What would happen if these objects were created, a group had another number of "
            "members, or nodes went or came. Nothing is written.",
        ),
        _field("namespace", "Namespace", form.namespace, required=True),
        element(
            "p",
            element("label", "Manifests, YAML or JSON", for_="what-if-manifests"),
            element(
                "textarea",
                _text(form.manifests),
                id="what-if-manifests",
                name="manifests",
                rows=12,
                spellcheck="false",
                autocomplete="off",
            ),
        ),
        _field("scale", "Scale a group", form.scale, placeholder="train=8"),
        _nodes(form) if nodes else None,
        element("p", element("button", "Answer", type="submit")),
        action=WHAT_IF,
        method="post",
        class_="what-if",
    )


def _nodes(form: WhatIfForm) -> Sequence[Markup]:
    return (
        _field("without", "Without nodes", form.without, placeholder="node-1 node-2"),
        _field("add", "Nodes to add", form.add, placeholder="2", inputmode="numeric"),
        _field("like", "Like node", form.like, placeholder="node-1"),
    )


def _field(name: str, title: str, value: str, **more: Attribute) -> Markup:
    at = f"what-if-{name}"
    length = 4 * _NAMES if name == "without" else _NAMES
    entry = element(
        "input", id=at, name=name, value=value, maxlength=length, autocomplete="off", **more
    )
    return element("p", element("label", title, for_=at), entry)


def _text(text: str) -> Markup:
    """The text of a text area as typed."""
    return Markup("\n".join(escaped(line) for line in text.splitlines()))


def _answer(told: VisibleAnswer) -> Markup:
    first, *others = told.problems or told.lines or ("Nothing is known of it.",)
    shown = others[:_MOST_LINES]
    left = len(others) - len(shown)
    return element(
        "section",
        element("p", clipped(first, MESSAGE), class_="lead"),
        element("ul", [element("li", clipped(each, MESSAGE // 8)) for each in shown])
        if shown
        else None,
        element("p", f"And {left} more.") if left else None,
        element("h2", "Notes") if told.notes else None,
        [element("p", clipped(each, MESSAGE // 8)) for each in told.notes[:_MOST_LINES]],
        id="answer",
    )
