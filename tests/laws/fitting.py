# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a group fits, found by trying everything: for a handful of pods on a handful of nodes."""

from collections import Counter
from collections.abc import Sequence

from enbloc.model.pods import Pod, PodSpec
from tests.laws.naive import NOTHING, RESOURCES, Floors, View, cost, pinned, usable

Room = tuple[int, ...]


def _takes(pod: Pod) -> Room:
    return tuple(cost(pod.spec, resource) for resource in RESOURCES)


def cheapest(pods: Sequence[Pod], deficit: Floors) -> list[Pod] | None:
    """The members that meet a deficit with the least room; None if there are not enough.

    Sizes differ in CPU only, so that the smallest of each role dominate all other choices.
    """
    left = sorted(pods, key=_takes)
    chosen: list[Pod] = []
    for role, wanted in deficit.items():
        if not role:
            continue
        ours = [pod for pod in left if pod.role == role][:wanted]
        if len(ours) < wanted:
            return None
        chosen += ours
        left = [pod for pod in left if pod not in ours]
    more = max(0, deficit.get("", 0) - len(chosen))
    if len(left) < more:
        return None
    return chosen + left[:more]


def packs(pods: Sequence[Pod], rooms: Sequence[Room]) -> bool:
    """Whether these pods fit into these rooms together."""
    todo = sorted((_takes(pod) for pod in pods), reverse=True)
    dead: set[tuple[int, tuple[Room, ...]]] = set()

    def place(index: int, left: tuple[Room, ...]) -> bool:
        if index == len(todo):
            return True
        state = (index, left)
        if state in dead:
            return False
        for room in sorted(set(left)):
            if all(have >= need for have, need in zip(room, todo[index], strict=True)):
                rest = list(left)
                rest.remove(room)
                rest.append(tuple(h - n for h, n in zip(room, todo[index], strict=True)))
                if place(index + 1, tuple(sorted(rest))):
                    return True
        dead.add(state)
        return False

    return place(0, tuple(sorted(rooms)))


def _expected(view: View) -> list[Pod]:
    """Pods that will sit on a certain node, and count there already."""
    return [p for p in view.pods.values() if pinned(p) in view.nodes and not p.node and p.live]


def free_rooms(view: View, spec: PodSpec = NOTHING) -> list[Room]:
    """What is left on each node that may be used by such pods; DaemonSets' will sit there."""
    expected = _expected(view)

    def left(name: str, resource: str) -> int:
        coming = sum(cost(pod.spec, resource) for pod in expected if pinned(pod) == name)
        return max(0, view.room(name, resource) - view.used(name, resource) - coming)

    return [
        tuple(left(name, resource) for resource in RESOURCES)
        for name, node in view.nodes.items()
        if usable(node, spec)
    ]


def lacks_min_resources(view: View, wanted: Counter[str], held: Sequence[Pod]) -> bool:
    """Whether minResources, beyond what held members ask for, exceed the free room.

    That is what is free on nodes that may be used; what an overcommitted one lacks is its own.
    """
    rooms = free_rooms(view)
    for index, resource in enumerate(RESOURCES):
        need = wanted[resource] - sum(cost(pod.spec, resource) for pod in held)
        if need > sum(room[index] for room in rooms):
            return True
    return False
