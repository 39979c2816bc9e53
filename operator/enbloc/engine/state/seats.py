# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Seats: how the seat that a pod is to have differs from its present one."""

from collections.abc import Set as AbstractSet

from enbloc.engine.state.checkpoint import Seat
from enbloc.model.names import COPIED_TO_PODS
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod


def differs(seat: Seat | None, wanted: Seat | None) -> bool:
    """Whether a pod must be counted again: elsewhere, or with other properties."""
    if seat is None or wanted is None:
        return seat is not wanted
    return seat.pod.labels != wanted.pod.labels or _differs_beyond_labels(seat, wanted)


def copied_labels(seat: Seat | None, wanted: Seat | None, nodes: Nodes) -> AbstractSet[str] | None:
    """Return the keys of new labels, if an API server copied these from the node at a Binding.

    None if a seat differs in anything else.
    """
    if seat is None or wanted is None or _differs_beyond_labels(seat, wanted):
        return None
    node, before = nodes.node(seat.node), seat.pod.labels
    new = [label for label in wanted.pod.labels if label not in before]
    if len(wanted.pod.labels) - len(new) != len(before) or node is None:
        return None
    keys = {key for key, _ in new}
    copied = keys <= COPIED_TO_PODS and all(label in node.labels for label in new)
    return keys if copied else None


def names_others(old: Pod, new: Pod) -> bool:
    """Whether a pod names other claims than before."""
    return (
        old.claims != new.claims
        or old.resource_claims != new.resource_claims
        or old.extended_claim != new.extended_claim
    )


def _differs_beyond_labels(seat: Seat, wanted: Seat) -> bool:
    old, new = seat.pod, wanted.pod
    return (
        seat.node != wanted.node
        or (old.spec is not new.spec and old.spec != new.spec)
        or old.deleting != new.deleting
        or (new.spec.holds and names_others(old, new))
        or old.priority != new.priority
    )
