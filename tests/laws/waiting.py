# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of those who wait: each is found by something, and none waits for what is there already."""

from collections import Counter

from enbloc.engine import Engine
from enbloc.engine.queue.item import Item, QueuePlace
from enbloc.engine.state.reservations import HELD
from enbloc.model.groups import GroupKey
from enbloc.model.names import Condition
from tests.laws.fitting import cheapest, free_rooms, lacks_min_resources, packs
from tests.laws.judge import Judge, reservations, stands
from tests.laws.naive import missing


def nobody_is_lost(judge: Judge) -> None:
    """Every group is in one place of the queue, and who may be tried can be found there."""
    engine = judge.engine
    for members in engine._groups:
        key = members.key
        if key in engine._next.changed or engine._groups.over(members):
            continue
        item = engine._queue.get(key)
        assert item is not None, f"{key} is lost"
        places = _places(engine, item)
        assert len(places) <= 1, f"{key} is in {places}"
        facts = engine._groups.facts(members)
        kept_out = bool(engine._victims.staying(key)) or key in judge.terminating
        kept_out = kept_out or not facts.quorum or bool(facts.problem)
        kept_out = kept_out or facts.superseded or facts.crowded
        if engine._plans.of(key) is None and facts.pending and not kept_out:
            assert places, f"{key} may be tried, and nothing finds it ({item.place})"


def _places(engine: Engine, item: Item) -> list[str]:
    """Where something can find a group, and wake it."""
    queue = engine._queue
    found: list[str] = []
    if item.place is QueuePlace.ACTIVE:
        entries = (*queue._active, *queue._called_up)
        assert any(entry.group == item.key for entry in entries)
        found.append("active")
    in_time = item.key in queue._timers
    if item.place is QueuePlace.BACKOFF:
        assert in_time, f"{item.key} waits out a pause that never ends"
        found.append("backoff")
    waits = {name for name, keys in queue._listeners._waiting.items() if item.key in keys}
    if item.place is QueuePlace.WAITING:
        assert waits == item.rejectors, f"{item.key} waits for {item.rejectors}, hears of {waits}"
        assert waits, f"{item.key} waits for nothing"
        assert in_time, f"{item.key} is forgotten if a hint is wrong"
        found.append("waiting")
    else:
        assert not waits, f"{item.key} is {item.place} and waits for {waits}"
    return found


def fits_and_waits(judge: Judge) -> list[GroupKey]:
    """Groups that could be placed on what is free, and are not."""
    view = judge.view
    found: list[GroupKey] = []
    for key, run in view.runs.items():
        if run.group is None or not run.pending or run.doubtful or key in judge.terminating:
            continue
        wanted = Counter(dict(run.group.min_resources))
        deficit = missing(run.held, run.floor)
        chosen = cheapest(run.pending, deficit or {"": 1})
        if chosen is None or (deficit and lacks_min_resources(view, wanted, run.bound)):
            continue
        picky = max(chosen, key=lambda pod: len(pod.spec.node_selector))
        if packs(chosen, free_rooms(view, picky.spec)):
            found.append(key)
    return found


def only_room_is_lacking(judge: Judge) -> bool:
    """Nothing that time would end can keep anybody from free room."""
    engine, runs = judge.engine, judge.view.runs.values()
    reserved = any(
        run.group is not None and run.group.min_resources and (run.bound or run.succeeded)
        for run in runs
    )
    held = engine._state.reservations.open_to_some() or engine._victims
    paused = judge.paused or any(item.held for item in engine._queue._items.values())
    return not (paused or judge.blamed or reserved or held)


def statuses_say_what_is(judge: Judge) -> None:
    for key, run in judge.view.runs.items():
        if run.group is None or run.doubtful or run.least_floor != run.floor:
            continue
        status = judge.told.get(key)
        if status is not None:
            whole = not missing(run.held, run.floor)
            assert stands(status, Condition.SCHEDULED) == whole, f"{key}: {status.conditions}"


def nothing_is_kept(judge: Judge, slots: int) -> None:
    """Conservation: when all is settled, no room, slot or request is held for anybody."""
    engine = judge.engine
    assert not reservations(engine), "a plan holds room for ever"
    assert not engine._state.reservations.plans, "room is reserved without a plan"
    assert not judge.sent, "a Bind was never settled"
    assert engine._plans.slots == judge.free == slots, f"{slots} slots became {judge.free}"
    assert not engine._state.reservations.with_purpose(HELD), "lost room is held for ever"
