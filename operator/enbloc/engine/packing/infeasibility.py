# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Infeasible: what no change of load could ever place on the present nodes, with the number."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np

from enbloc.engine.choices import MOST_CHOICES, choices, of_choice
from enbloc.engine.packing import highs
from enbloc.engine.packing.bounds import Shortage, counting_decides, shortage
from enbloc.engine.packing.branch import ClassSearch
from enbloc.engine.packing.model import Packing, packing_ever, room_ever
from enbloc.engine.trial import Trial
from enbloc.framework.facts import GroupFacts
from enbloc.model.nodes import Amounts, Nodes
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.model.resources import PODS

_ALLOWED: Final = " on eligible nodes"


def infeasible(facts: GroupFacts, held: Sequence[Pod], trial: Trial, steps: int) -> str:
    """Return why the deficit could not be met even if the group were alone on the present nodes.

    Only node objects count: what filters read in them, what they offer less what the group's bound
    members take, and which members of the group exclude each other. Whatever depends on other pods
    counts as favourable.

    Args:
        facts: the group as it is.
        held: its bound members, which stay where they are.
        trial: the nodes, and the plugins to ask.
        steps: how much a search may cost if sums show nothing.

    Returns:
        One sentence with the number that shows it; "" = nothing shows it. For a pod without a
        group, kube-scheduler's own words suffice.

    Raises:
        PluginError: a plugin raised or broke its contract.
    """
    packings = packings_ever(facts, held, trial)
    return answer(packings, held, trial.snapshot.nodes, steps) if packings else ""


def packings_ever(facts: GroupFacts, held: Sequence[Pod], trial: Trial) -> Sequence[Packing]:
    """Return the alternative needs of the group on empty nodes; empty = unknown.

    A group with a tree has one for each choice of children. Members of other children are included,
    so that what is refuted for each is refuted for the group.
    """
    if not may_be_infeasible(facts):
        return ()
    each = [facts]
    if facts.choice is not None:
        found = [*islice(choices(facts, trial.key), MOST_CHOICES + 1)]
        if len(found) > MOST_CHOICES:
            return ()
        each = [of_choice(facts, roles, everybody=True) for roles in found]
    packings = [packing_ever(one, held, trial) for one in each]
    known = [packing for packing in packings if packing is not None]
    return known if len(known) == len(each) else ()


def may_be_infeasible(facts: GroupFacts) -> bool:
    """Whether the question makes sense: a gang lacks members that exist."""
    return not facts.solo and facts.deficit and facts.quorum


def answer(packings: Sequence[Packing], held: Sequence[Pod], nodes: Nodes, steps: int) -> str:
    """Answer as `infeasible`, for a group that needs one of these on otherwise empty nodes."""
    first = ""
    for packing in packings:
        why = _answer(packing, held, nodes, steps // len(packings))
        if not why:
            return ""
        first = first or why
    others = len(packings) - 1
    return f"{first}; {others} other choices of sub-groups do not fit either" if others else first


def _answer(packing: Packing, held: Sequence[Pod], nodes: Nodes, steps: int) -> str:
    short = shortage(packing)
    if short is not None:
        return _sentence(short, packing, held, nodes)
    if not _open(packing) or not _refuted(packing, steps):
        return ""
    return (
        f"its {packing.needs[0].members} missing members do not fit on the {len(packing.rows)} "
        f"eligible nodes, even when those are empty"
    )


def undecided(packings: Sequence[Packing]) -> bool:
    """Whether only a search could give an answer."""
    return any(shortage(packing) is None and _open(packing) for packing in packings)


def _open(packing: Packing) -> bool:
    return packing.complete and not counting_decides(packing)


def _refuted(packing: Packing, steps: int) -> bool:
    """Whether a search, or the solver, shows that there is no answer; half of the steps each."""
    searching = ClassSearch(packing, steps // 2)
    if next(searching.answers(), None) is not None:
        return False
    if searching.exhausted:
        return True
    return highs.available() and highs.solve(packing, steps // 2).refuted


def _sentence(short: Shortage, packing: Packing, held: Sequence[Pod], nodes: Nodes) -> str:
    """Return the shortage in words."""
    if short.unit:
        return short.text()
    if short.resource:
        need, have = render(short.resource, short.need), render(short.resource, short.have)
        return f"needs {need} {short.resource}; the eligible nodes have {have} that it can use"
    each = _each(short, packing, held, nodes)
    if short.apart is not None and (short.apart or each == _ALLOWED):
        what = f"values of node label {short.apart}" if short.apart else "nodes"
        return (
            f"needs {short.need} {what} for members that exclude each other; "
            f"{short.have} are eligible"
        )
    most = packing.places[list(short.kinds)].max(initial=0)
    nodes_ = "node" if short.need == 1 else "nodes"
    members = "member" if short.need == 1 else "members"
    if most == 0 and each == _ALLOWED and held:  # these may fill nodes that are eligible
        return (
            f"needs capacity for {short.need} {members} on eligible nodes; there is none beside "
            "its members that are bound"
        )
    if most == 0 and each == _ALLOWED:
        exist = "exists" if short.need == 1 else "exist"
        return f"needs {short.need} eligible {nodes_}; none {exist}"
    if most <= 1:
        eligible = "eligible " if each.endswith(_ALLOWED) else ""
        shape = each.removesuffix(_ALLOWED)
        return f"needs {short.need} {eligible}{nodes_}{shape}; the cluster has {short.have}"
    return f"needs capacity for {short.need} {members}{each}; the empty nodes fit {short.have}"


def _each(short: Shortage, packing: Packing, held: Sequence[Pod], nodes: Nodes) -> str:
    """Return what each place must have: the relevant requests, and permission."""
    specs = {packing.kinds[kind].pods[0].spec.requests for kind in short.kinds}
    requests = min(specs)
    names = tuple(name for name, _ in requests)
    amounts = np.array([amount for _, amount in requests], np.int64)
    places = room_ever(names, held, nodes).clip(min=0) // amounts[:, None]
    have = _fit(places, short.need)
    if have >= short.need:
        return _ALLOWED
    if len(specs) > 1:
        return ""
    matter = [
        name
        for line, name in enumerate(names)
        if _fit(np.delete(places, line, axis=0), short.need) > have
    ]
    said = [
        f"{render(name, amount)} {name}"
        for name, amount in requests
        if name != PODS and name in (matter or names)
    ]
    allowed = _ALLOWED if have > short.have else ""
    each = " each" if short.need > 1 else ""
    return f" with {' and '.join(said)}{each}{allowed}" if said else allowed


def _fit(places: Amounts, most: int) -> int:
    """Return how many members fit by these resources (int64[R, N]), at most `most` per node."""
    return int(places.min(axis=0, initial=most).sum())
