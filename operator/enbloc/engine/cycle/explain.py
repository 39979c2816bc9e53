# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explain: a failed decision in one sentence for people."""

from collections.abc import Sequence

from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import Diagnosis


def unplaced(facts: GroupFacts, wanted: int, fitted: int, diagnoses: Sequence[Diagnosis]) -> str:
    """Why a plan of `wanted` members failed after `fitted` of them had found a node.

    A pod without a group gets kube-scheduler's own text; members of
    different kinds may each have a text of their own.
    """
    text = " Another kind of member: ".join(each.text() for each in diagnoses)
    if facts.solo or not wanted:
        return text
    if not fitted:
        if wanted == 1:
            return f"The 1 required member does not fit: {text}"
        return f"None of the {wanted} required members fits: {text}"
    return f"{fitted} of the {wanted} required members fit; the next one does not: {text}"
