# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What-if questions to a view: parses the form, simulates, and hides what may not be seen."""

from collections.abc import Iterator

from enbloc.errors import EnblocError, UsageError
from enbloc.model.groups import GroupKey
from enbloc.model.text import whole_number
from enbloc.simulation import GivenUpError, GoOn
from enbloc.ui.view import View, Viewer
from enbloc.ui.what_if_page import VisibleAnswer, WhatIfForm
from enbloc.what_if import MOST_NODES, WhatIfRequest, report, scale, text
from enbloc.workloads import Admission, Manifest, manifests


def what_if(
    view: View, go_on: GoOn, *, form: WhatIfForm, viewer: Viewer, admission: Admission
) -> VisibleAnswer:
    """Answer a what-if question; it changes the view, so run it in a copy.

    Args:
        view: the cluster.
        go_on: whether there is time left.
        form: the question.
        viewer: may see groups of the form's namespace, and nodes if it names some.
        admission: what the API server fills in at admission.
    """
    try:
        asked = _asked(form)
        if not viewer.everything:
            _seen_alone(asked, view)
        found = report(view.present, asked, admission, view.outlook.within(go_on).answer)
    except GivenUpError:
        return VisibleAnswer(
            problems=["It takes too long to work that out; ask with enbloc what-if."]
        )
    except (EnblocError, ExceptionGroup) as error:
        return VisibleAnswer(problems=[*_problems(error)])
    seen = found.seen(viewer.sees, nodes=viewer.nodes)
    return VisibleAnswer([*text(seen, wide=False)], seen.notes)


def _problems(error: Exception) -> Iterator[str]:
    if isinstance(error, ExceptionGroup):
        for each in error.exceptions:
            yield from _problems(each)
    else:
        yield f"There is no answer: {error}."


def _asked(form: WhatIfForm) -> WhatIfRequest:
    """The question, checked as far as possible without a cluster.

    Raises:
        UsageError: there is no question, or something is wrong.
    """
    if not (form.manifests.strip() or form.scale or form.of_nodes):
        raise UsageError("nothing is asked; give manifests, or a change")
    if bool(form.add) != bool(form.like):
        raise UsageError("say how many nodes are added, and which node they are like")
    given = manifests("manifests", form.manifests.encode()) if form.manifests.strip() else None
    for each in given or ():
        _within(each, form.namespace)
    return WhatIfRequest(
        given,
        tuple(dict.fromkeys(form.without.split())),
        _number(form.add),
        form.like,
        [_scaled(form.scale)] if form.scale else (),
        form.namespace,
        only=True,
    )


def _within(given: Manifest, namespace: str) -> None:
    """Check that an object names the form's namespace or none.

    Raises:
        UsageError: it names another namespace.
    """
    metadata = given.body.get("metadata")
    named = metadata.get("namespace") if isinstance(metadata, dict) else None
    if named not in (None, "", namespace):
        raise UsageError(
            f"{given.where}: its namespace is not {namespace}, which is asked about; ask about "
            "each namespace by itself"
        )


def _number(text: str) -> int:
    if not text:
        return 0
    number = whole_number(text, 8)
    if number is None or not 0 < number <= MOST_NODES:
        raise UsageError(f'"{text}" nodes cannot be added; write a number from 1 to {MOST_NODES}')
    return number


def _scaled(text: str) -> tuple[str, int]:
    name, number = scale(text)
    if "/" in name:
        raise UsageError(f'"{name}" names a namespace; write the group alone, as in train=8')
    return name, number


def _seen_alone(asked: WhatIfRequest, view: View) -> None:
    """Check that groups exist, without revealing groups that the viewer may not see.

    Raises:
        UsageError: a group does not exist.
    """
    for name, _ in asked.scales:
        key = GroupKey(asked.namespace, name)
        if key not in view.groups:
            raise UsageError(f"PodGroup {key} not found")
