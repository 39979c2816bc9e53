# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explain: a failed decision in one sentence for people."""

from collections.abc import Sequence

from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import Diagnosis
from enbloc.model.quantity import render


def unplaced(facts: GroupFacts, wanted: int, fitted: int, diagnoses: Sequence[Diagnosis]) -> str:
    """Why a plan of `wanted` members failed after `fitted` of them had found a node.

    A pod without a group gets kube-scheduler's own text (framework.md §12.1); members of
    different kinds may each have a text of their own.
    """
    text = " Another kind of member: ".join(each.text() for each in diagnoses)
    if facts.solo or not wanted:
        return text
    if not fitted:
        return f"None of the {wanted} members needed fits: {text}"
    return f"{fitted} of the {wanted} members needed fit, for the next {text}"


def beyond(resource: str, needed: int, offered: int) -> str:
    """MinResources can never be met on the nodes that there are, with the number that shows it."""
    return (
        f"minResources needs {render(resource, needed)} {resource}; all nodes together have "
        f"{render(resource, offered)}"
    )


def short_of(resource: str, needed: int, free: int) -> str:
    """MinResources cannot be met now, with the number that shows it."""
    return (
        f"minResources needs {render(resource, needed)} {resource} free in the cluster, "
        f"{render(resource, free)} is"
    )
