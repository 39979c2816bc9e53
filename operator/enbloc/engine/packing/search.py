# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Search: a placement of the deficit after the ordered pass found none.

::

    counts ──► domains, other orders, one by one ──► search over classes ──► exact solver
    (it is hopeless, or                          (a quarter of the steps,     (a half, where it
    nothing to search)                            with one by one)             is installed)

Each stage has its share of the steps, whatever the others left: so more steps never lose what fewer
find, and the same steps find the same. Domains get more for many members.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing import highs
from enbloc.engine.packing.bounds import counting_decides, shortage
from enbloc.engine.packing.branch import ClassSearch
from enbloc.engine.packing.model import Counts, Packing, numbered, packing_now, together
from enbloc.engine.packing.one_by_one import MOST_MEMBERS, OneByOne
from enbloc.engine.packing.orders import other_orders
from enbloc.engine.trial import ClassKey, Outcome, Search, Trial, confining, place_deficit
from enbloc.framework.facts import GroupFacts
from enbloc.framework.searching import OneDomain
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod, PodUID

#: The cost in steps of placing one member with the plugins; a step is about 5 µs.
PLACING_STEPS: Final = 20

#: What domains are given for each member, if not all are alike: two of them can be searched, and
#: members placed in them.
_STEPS_IN_DOMAINS: Final = 80

#: How many rows are filtered in one step for members that a claim brings together.
_ROWS_FILTERED: Final = 4

#: How often members that plugins refuse are retried while others are placed.
_ROUNDS: Final = 8

#: How many rows are numbered by domain in one step.
_ROWS_NUMBERED: Final = 50

#: Steps of summing a part of a packing, for each kind, exclusion and resource.
_LOOKING: Final = 3


class Placement(NamedTuple):
    """A placement that the plugins accept.

    Attributes:
        members: with their rows, in the order of placement.
        trial: holds them.
    """

    members: Sequence[tuple[Pod, int]]
    trial: Trial


def find_placement(
    facts: GroupFacts, trial: Trial, steps: int, *, exactly: bool = True
) -> tuple[Outcome, Trial]:
    """Search for a placement of the deficit.

    Args:
        facts: the group as it is.
        trial: the cluster as it is; unchanged.
        steps: how much it may cost in all.
        exactly: also ask the exact solver, if it is installed.

    Returns:
        The outcome, and the fork that holds the placement; `trial` itself if there is none.
    """
    outcome = Outcome()
    if steps <= 0:
        return outcome, trial
    packing = packing_now(facts, trial, steps)
    if packing is None:
        outcome.search = Search.SPENT
        return outcome, trial
    outcome.steps = packing.steps
    short = shortage(packing)
    if short is not None:
        outcome.search = Search.INFEASIBLE
        outcome.lacks = short.text() if short.unit else ""
    elif not packing.complete:
        outcome.search = Search.SPENT
    else:
        for stage in _stages(facts, trial, packing, steps - packing.steps, exactly=exactly):
            outcome.steps += stage.steps
            outcome.search = stage.search or outcome.search
            outcome.lacks = stage.lacks or outcome.lacks
            if stage.placement is not None:
                outcome.needed = list(stage.placement.members)
                return outcome, stage.placement.trial
            if stage.search is Search.INFEASIBLE:
                break
    return outcome, trial


def _stages(
    facts: GroupFacts, trial: Trial, packing: Packing, steps: int, *, exactly: bool
) -> Iterator["_Stage"]:
    """Yield each stage's result, in order; the last one counts unless one of them settles it."""
    sets = list(together(trial, [kind.pods[0] for kind in packing.kinds]))
    alike = counting_decides(packing)
    share = steps // 8
    if sets:
        enough = _STEPS_IN_DOMAINS * packing.needs[0].members + len(trial.nodes)
        given = steps if alike else max(share, min(steps // 2, enough))
        yield _domains(facts, packing, trial, sets, given)
        share = (steps - given) // 7
    if alike:  # then any order finds a placement if there is one
        return
    told_apart = packing.likeness is not None
    yield _orders(facts, trial, share if sets or told_apart else steps // 4)
    if told_apart:
        yield _one_by_one(packing, trial, share)
    yield _classes(packing, trial, share if told_apart else 2 * share)
    if exactly and highs.available():
        yield _solver(packing, trial, 4 * share)


class _Stage(NamedTuple):
    """The result of one stage.

    Attributes:
        search: NONE = no result.
        lacks: what there is too little of, in words; "" = unknown.
    """

    search: Search
    steps: int
    placement: Placement | None = None
    lacks: str = ""


def _domains(
    facts: GroupFacts, packing: Packing, trial: Trial, sets: Sequence[OneDomain], budget: int
) -> _Stage:
    """Try one domain after the other, smallest first, if members must be together."""
    steps = 0
    looking = _LOOKING * (len(packing.kinds) * (1 + len(packing.apart)) + len(packing.resources))
    looking += packing.places.size // 1000
    members = packing.needs[0].members
    most, rooms = dict[bytes, int](), list[tuple[bytes, str, int]]()
    for kinds, domains, name in sets:
        steps += len(packing.rows) // _ROWS_NUMBERED
        if steps > budget:
            return _Stage(Search.SPENT, budget)
        codes = numbered(domains[packing.rows])
        sizes = np.bincount(codes, packing.places[kinds].sum(axis=0))
        others = sum(n for n, mine in zip(packing.counts, kinds.tolist(), strict=True) if not mine)
        least, largest = max(1, members - others), int(sizes[1:].max(initial=0))
        if members > others:
            of = kinds.tobytes()
            rooms.append((of, name, least))
            most[of] = max(largest, most.get(of, 0))
        for domain in np.argsort(sizes, kind="stable").tolist():
            if not domain or sizes[domain] < least:
                continue
            if steps + looking > budget:
                return _Stage(Search.SPENT, steps)
            inside = codes == domain
            stage = _domain(facts, packing, trial, (kinds, inside), budget - steps - looking)
            steps += looking + stage.steps
            if stage.placement is not None:
                return stage._replace(steps=steps)
    said = [
        f"no {name} have room for more than {most[of]} of {least} members"
        for of, name, least in dict.fromkeys(rooms)
        if name and most[of] < least
    ]
    return _Stage(Search.NONE, steps, lacks="; ".join(said))


def _domain(
    facts: GroupFacts, packing: Packing, trial: Trial, part: tuple[Mask, Mask], budget: int
) -> _Stage:
    """Try to place some kinds (bool[C]) inside of one domain, on some of the rows (bool[M])."""
    kinds, inside = part
    within, rows = packing.confined(kinds, inside)
    if shortage(within) is not None:
        return _Stage(Search.NONE, 0)
    searching = ClassSearch(within, budget)
    answer = next(searching.answers(), None)
    placing = PLACING_STEPS * packing.needs[0].members
    filtering = len(trial.nodes) // _ROWS_FILTERED
    if answer is None or not searching.charge(placing + filtering):
        return _Stage(Search.NONE, searching.steps)
    counts = np.zeros_like(packing.places)
    counts[:, rows] = answer
    placement = _accepted(packing, counts, trial)
    if placement is None and searching.charge(2 * placing + filtering):
        placement = _in_turn(facts, within, kinds, packing.rows[inside], trial)
    return _Stage(Search.DOMAIN if placement else Search.NONE, searching.steps, placement)


def _in_turn(
    facts: GroupFacts,
    within: Packing,
    kinds: Mask,
    domain: npt.NDArray[np.intp],
    trial: Trial,
) -> Placement | None:
    """Place the members in order, those with the fewest places in a packing first, and only there.

    It finds what an answer misses that counts no more than upper bounds.

    Args:
        facts: the group as it is.
        within: the packing.
        kinds: bool[C]: those that must be in the domain.
        domain: the rows of it.
        trial: the cluster as it is; unchanged.
    """
    able, choice = dict[ClassKey, Mask](), dict[PodUID, int]()
    for kind, places in zip(within.kinds, within.places, strict=True):
        none = np.zeros(len(trial.nodes), np.bool_)
        able.setdefault(kind.key._replace(host=""), none)[within.rows[places > 0]] = True
        choice.update(dict.fromkeys((pod.uid for pod in kind.pods), int(places.sum())))

    def rows(pod: Pod) -> Mask:
        return able[trial.key(pod)._replace(host="")]

    tried, outcome = trial.fork(confining("domain", rows, len(trial.nodes))), Outcome()
    users = [kind.pods[0] for kind, mine in zip(within.kinds, kinds, strict=True) if mine]
    tried.expect((pod, row) for pod in users for row in domain.tolist())
    order = sorted(facts.pending, key=lambda pod: choice[pod.uid])
    place_deficit(facts, order, tried, outcome)
    if outcome.failed:
        return None
    found, refused = _put(outcome.needed, trial)
    return None if refused else found


def _orders(facts: GroupFacts, trial: Trial, budget: int) -> _Stage:
    """Try the orders that matter, all through the plugins."""
    steps, cost = 0, PLACING_STEPS * len(facts.pending)
    if cost > budget:
        return _Stage(Search.SPENT, 0)
    for order in other_orders(facts, trial):
        if steps + cost > budget:
            return _Stage(Search.SPENT, steps)
        steps += cost
        outcome, tried = Outcome(), trial.fork()
        place_deficit(facts, order, tried, outcome)
        if not outcome.failed:
            return _Stage(Search.ORDER, steps, Placement(outcome.needed, tried))
    return _Stage(Search.NONE, steps)


def _one_by_one(packing: Packing, trial: Trial, budget: int) -> _Stage:
    """Place members in turn, if they hold what only plugins can judge."""
    members = packing.needs[0].members
    if members != sum(packing.counts) or members > MOST_MEMBERS:
        return _Stage(Search.NONE, 0)
    steps = 0

    def charge() -> bool:
        nonlocal steps
        steps += PLACING_STEPS
        return steps <= budget

    found = OneByOne(packing, trial, charge).find()
    if found is None:
        return _Stage(Search.NONE, min(steps, budget))
    return _Stage(Search.ORDER, steps, Placement(*found))


def _classes(packing: Packing, trial: Trial, budget: int) -> _Stage:
    """Search completely; go on after an answer that plugins refuse."""
    searching = ClassSearch(packing, budget)
    refused = False
    for counts in searching.answers():
        if not searching.charge(PLACING_STEPS * packing.needs[0].members):
            break
        if placement := _accepted(packing, counts, trial):
            return _Stage(Search.CLASSES, searching.steps, placement)
        refused = True
    if not searching.exhausted:
        return _Stage(Search.SPENT, searching.steps)
    return _Stage(Search.REFUSED if refused else Search.INFEASIBLE, searching.steps)


def _solver(packing: Packing, trial: Trial, budget: int) -> _Stage:
    """Try the exact solver's one answer."""
    answer = highs.solve(packing, budget)
    placed = answer.steps + PLACING_STEPS * packing.needs[0].members
    if answer.counts is not None and placed <= budget:
        placement = _accepted(packing, answer.counts, trial)
        return _Stage(Search.SOLVER if placement else Search.NONE, placed, placement)
    return _Stage(Search.INFEASIBLE if answer.refuted else Search.NONE, answer.steps)


def _accepted(packing: Packing, counts: Counts, trial: Trial) -> Placement | None:
    """Place what an answer says, members of a kind by age; None if plugins refuse it.

    If some are refused for good, those go first in a second try: the order in which the domains of
    a spread constraint are filled may decide.
    """
    proposed = [
        (pod, row)
        for kind, line in zip(packing.kinds, counts, strict=True)
        for pod, row in zip(kind.pods, np.repeat(packing.rows, line).tolist(), strict=False)
    ]
    found, refused = _put(proposed, trial)
    if refused:
        found, refused = _put([*refused, *found.members], trial)
    return None if refused else found


def _put(
    proposed: Sequence[tuple[Pod, int]], trial: Trial
) -> tuple[Placement, Sequence[tuple[Pod, int]]]:
    """Place members one after the other on a fork; return those that plugins refuse, too.

    A refused member is retried once others are placed, since it may want to be near them.
    """
    tried = trial.fork()
    tried.expect(proposed)
    placed: list[tuple[Pod, int]] = []
    waiting, refused = proposed, list[tuple[Pod, int]]()
    for _ in range(_ROUNDS):
        refused = []
        for pod, row in waiting:
            if not tried.ranking(pod).feasible(row):
                refused.append((pod, row))
                continue
            tried.add(pod, row)
            if not tried.stands(pod):
                return Placement(placed, tried), [(pod, row)]
            placed.append((pod, row))
        if not refused or len(refused) == len(waiting):
            break
        waiting = refused
    return Placement(placed, tried), refused
