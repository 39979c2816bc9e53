# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept of pods that came and went is bounded by bytes, not by their number alone."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from enbloc.config import default_profiles
from enbloc.controller.creator_objects import JobObject, job
from enbloc.controller.members import Members
from enbloc.engine import Engine, Settings
from enbloc.engine.events import NodeSeen, PodGone, PodSeen, Stream, Synced
from enbloc.model.names import PLAN_KEY, POD_GROUP_KEY, ROLE_KEY
from enbloc.wire import codec
from enbloc.wire.objects import NodeObject, PodObject
from tests.effort import slow
from tests.world.cluster import Cluster

#: Bytes of one text: the API server takes 1.5 MiB in all.
LARGE = 600_000
ANNOTATION = 250_000
PODS = 150
#: What may stay of 90 MB; what one cache may keep of what pods were read from is 16 MiB.
MOST = 40 * 2**20

NODE = {
    "metadata": {"name": "n1", "uid": "n1", "resourceVersion": "1"},
    "status": {
        "allocatable": {"cpu": "100", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


def text(number: int, size: int = LARGE) -> str:
    return f"{number}".ljust(size, "x")


def many(number: int) -> list[str]:
    return [f"{number}-{each}".ljust(60) for each in range(5000)]


def noted(key: str, **more: str) -> Callable[[int], dict[str, Any]]:
    """A pod with a long annotation."""
    return lambda i: {"metadata": {"annotations": {**more, key: text(i, ANNOTATION)}}}


def owned(number: int) -> dict[str, Any]:
    owner = {"kind": "Job", "controller": True, "name": text(number), "uid": f"o{number}"}
    return {"metadata": {"ownerReferences": [owner]}}


LONG: dict[str, Callable[[int], dict[str, Any]]] = {
    "schedulerName": lambda i: {"spec": {"schedulerName": text(i)}},
    "image": lambda i: {"spec": {"containers": [{"name": "c", "image": text(i)}]}},
    "toleration": lambda i: {"spec": {"tolerations": [{"key": text(i), "operator": "Exists"}]}},
    "group": noted(POD_GROUP_KEY),
    "role": noted(ROLE_KEY, **{POD_GROUP_KEY: "g"}),
    "plan": noted(PLAN_KEY, **{POD_GROUP_KEY: "g"}),
    "owner": owned,
    "phase": lambda i: {"status": {"conditions": [{"lastTransitionTime": text(i)}]}},
    "nominated": lambda i: {"status": {"nominatedNodeName": text(i)}},
    "labels": lambda i: {"metadata": {"labels": dict.fromkeys(many(i), "v")}},
    "gates": lambda i: {
        "spec": {"schedulingGates": [{"name": f"{i}-{n}".ljust(60)} for n in range(5000)]}
    },
    "time": lambda i: {"metadata": {"creationTimestamp": text(i)}},
    "version": lambda i: {"metadata": {"resourceVersion": text(i)}},
}


#: Of these a pod has 5 000.
SHORT = ("labels", "gates")


def pod(number: int, more: dict[str, Any]) -> PodObject:
    metadata = {"name": f"p{number}", "namespace": "n", "uid": f"u{number}", "resourceVersion": "1"}
    spec = {"schedulerName": "enbloc", "containers": [{"name": "c"}]}
    parts: dict[str, dict[str, Any]] = {"metadata": metadata, "spec": spec}
    made = {part: {**parts.get(part, {}), **more.get(part, {})} for part in {**parts, **more}}
    return msgspec.json.decode(msgspec.json.encode(made), type=PodObject)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=slow("750 000 short texts") if kind in SHORT else ())
        for kind in LONG
    ],
)
def test_what_is_kept_of_large_pods_that_came_and_went_is_bounded(kind: str) -> None:
    engine, members = Engine(default_profiles(), Settings()), Members()
    engine.apply(NodeSeen(codec.node(msgspec.convert(NODE, NodeObject))))
    for stream in Stream:
        engine.apply(Synced(stream))
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(PODS):
            seen = codec.pod(pod(number, LONG[kind](number)))
            members.put(seen, ready=False)
            engine.apply(PodSeen(seen))
            engine.step(float(2 * number + 1))
            members.remove(seen.uid)
            engine.apply(PodGone(seen.key, seen.uid))
            engine.step(float(2 * number + 2))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < MOST


def test_what_is_kept_of_jobs_that_ended_is_bounded() -> None:
    members = Members()
    tracemalloc.start()
    try:
        for number in range(PODS):
            template = {"metadata": {"annotations": {POD_GROUP_KEY: text(number, ANNOTATION)}}}
            owner = {"kind": text(number), "controller": True, "name": text(number)}
            found = {
                "metadata": {"name": "j", "uid": f"j{number}", "ownerReferences": [owner]},
                "spec": {"template": template},
                "status": {"conditions": [{"type": "Complete", "status": "True"}]},
            }
            members.put_creator(job(msgspec.convert(found, JobObject)))
            members.remove_creator(f"j{number}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 4 * 2**20  # the last one is still there


def test_nothing_is_kept_of_what_was_said_of_podgroups_that_came_and_went() -> None:
    world = Cluster()
    world.nodes("n1 n2", cpu=4)
    for number in range(20):
        job = f"job-{number}"
        world.gang(job, 2)
        world.settle()
        for pod in world.where(job):
            world.delete(pod)
        world.drop_group(job)
        world.settle()
    assert len(world.sent) == 40
    said = vars(world.engine._reporter).items()
    assert not {name: kept for name, kept in said if isinstance(kept, dict | set) and kept}
