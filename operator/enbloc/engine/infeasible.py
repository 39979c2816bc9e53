# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Infeasible: what no change of load could ever place on the present nodes, with the number."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from enbloc.engine import exact
from enbloc.engine.prospects import Prospects, Want
from enbloc.engine.search_classes import ClassSearch
from enbloc.engine.search_counts import Shortage, counting_decides, shortage
from enbloc.engine.search_model import Packing, packing_ever, room_ever
from enbloc.engine.tentative import Tentative
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Amounts, Nodes
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.model.resources import PODS

_ALLOWED: Final = " that its members may use"
_MOST_KNOWN: Final = 4096


def infeasible(facts: GroupFacts, held: Sequence[Pod], tentative: Tentative, steps: int) -> str:
    """Why the deficit could not be met even if the group were alone on the present nodes.

    Node objects alone count: what filters read in them, what they offer less what the group's
    bound members take, and who of the group excludes whom. What depends on other pods is taken
    to be as the group would wish.

    Args:
        facts: the group as it is.
        held: its bound members, which stay where they are.
        tentative: the nodes, and the plugins that are asked.
        steps: how much a search may cost where adding up shows nothing.

    Returns:
        One sentence with the number that shows it; "" = nothing shows it. A pod without a group
        has upstream's words for this.

    Raises:
        PluginError: a plugin raised or broke its contract.
    """
    if not _asks(facts):
        return ""
    return _answer(packing_ever(facts, held, tentative), held, tentative.snapshot.nodes, steps)


def _asks(facts: GroupFacts) -> bool:
    return not facts.solo and facts.deficit and facts.quorum


def _answer(packing: Packing, held: Sequence[Pod], nodes: Nodes, steps: int) -> str:
    short = shortage(packing)
    if short is not None:
        return _sentence(short, packing, held, nodes)
    if counting_decides(packing) or not _refuted(packing, steps):
        return ""
    return (
        f"its {packing.needs[0].members} missing members can be placed in no way on the "
        f"{len(packing.rows)} nodes that they may use, even if nobody else were there"
    )


def _refuted(packing: Packing, steps: int) -> bool:
    """Whether a search, or the solver, shows that there is no answer; half of the steps each."""
    searching = ClassSearch(packing, steps // 2)
    if next(searching.answers(), None) is not None:
        return False
    if searching.exhausted:
        return True
    return exact.available() and exact.solve(packing, steps // 2).refuted


def _sentence(short: Shortage, packing: Packing, held: Sequence[Pod], nodes: Nodes) -> str:
    """The shortage in words."""
    if short.resource:
        need, have = render(short.resource, short.need), render(short.resource, short.have)
        return f"needs {need} {short.resource}; the nodes that it may use have places for {have}"
    each = _each(short, packing, held, nodes)
    if short.apart is not None and (short.apart or each == _ALLOWED):
        what = f"values of node label {short.apart}" if short.apart else "nodes"
        return (
            f"needs {short.need} {what}{_ALLOWED}, for members that keep apart; "
            f"there are {short.have}"
        )
    most = packing.places[list(short.kinds)].max(initial=0)
    if most == 0 and each == _ALLOWED:
        return f"needs {short.need} places{each}; no node has any"
    if most <= 1:
        nodes_ = "node" if short.need == 1 else "nodes"
        return f"needs {short.need} {nodes_}{each}; the cluster has {short.have}"
    return f"needs {short.need} places{each}; the empty nodes have {short.have}"


def _each(short: Shortage, packing: Packing, held: Sequence[Pod], nodes: Nodes) -> str:
    """What each place must have: the requests that matter, and that it is allowed."""
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
    return f" with {' and '.join(said)} each{allowed}" if said else allowed


def _fit(places: Amounts, most: int) -> int:
    """How many members fit by these resources (int64[R, N]), at most so many on each node."""
    return int(places.min(axis=0, initial=most).sum())


class _Known(NamedTuple):
    """What was asked about a group, what the answer was, and what the group needs."""

    question: object
    answer: str
    want: Want


class Refutations:
    """What `infeasible` said of each group, kept while neither the group nor the nodes change.

    Args:
        prospects: learns what each group lacks.
    """

    def __init__(self, prospects: Prospects) -> None:
        self._prospects = prospects
        self._known: dict[GroupKey, _Known] = {}

    def of(
        self,
        epoch: object,
        facts: GroupFacts,
        held: Sequence[Pod],
        tentative: Tentative,
        steps: int,
    ) -> str:
        """As `infeasible`.

        Args:
            epoch: differs whenever what plugins see has changed other than by pods.
            facts: the group as it is.
            held: its bound members.
            tentative: the nodes, and the plugins that are asked.
            steps: how much a search may cost.
        """
        if not _asks(facts):
            return ""
        members = Counter((tentative.key(pod), pod.role) for pod in facts.pending)
        seats = frozenset((pod.uid, pod.node) for pod in held)
        deficits = tuple((floor.role, floor.deficit) for floor in facts.floors)
        question = epoch, frozenset(members.items()), deficits, seats, steps
        known = self._known.get(facts.key)
        if known is None or known.question != question:
            if len(self._known) >= _MOST_KNOWN:
                del self._known[next(iter(self._known))]
            packing = packing_ever(facts, held, tentative)
            answer = _answer(packing, held, tentative.snapshot.nodes, steps)
            known = _Known(question, answer, self._prospects.want(packing))
            self._known[facts.key] = known
        self._prospects.note(facts.key, epoch, known.want)
        return known.answer

    def forget(self, group: GroupKey) -> None:
        """The group is gone."""
        self._known.pop(group, None)
