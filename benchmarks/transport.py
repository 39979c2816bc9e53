# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a pod costs around the engine: CPU of this process for each request and each watch event.

A server in another process answers at once (`benchmarks/fake_api.py`), over TLS, on the event loop
that enbloc runs on. CPU time, the least of several rounds, and as a ratio to a loop of plain Python
that is measured in the same run: so a busy or a slower machine changes little.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from benchmarks.engine import Figure
from benchmarks.fake_api import fake_api
from enbloc.cli.servers import loop_factory
from enbloc.client import binding, items
from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.events import Notice, ObjectReference, Recorder
from enbloc.client.group_status import apply_group_status
from enbloc.client.paths import PODS
from enbloc.config import default_profiles
from enbloc.engine.effects import Bind
from enbloc.framework.act import Target
from enbloc.live.bind_slots import BindSlots
from enbloc.live.event_queue import EventQueue
from enbloc.live.executor import Executor
from enbloc.live.extenders import Extenders
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey, PodUID
from enbloc.telemetry import ActiveProblems

COUNT: Final = 2000
ROUNDS: Final = 5
PARALLEL: Final = 32
_RECORD: Final = '{"run":"5a1c","node":"n1","plan":"0f3b5c7d9e1a-12345","rank":3}'


def reference() -> None:
    """A loop of plain Python: calls, attributes, a dict."""
    seen: dict[str, int] = {}
    for number in range(20000):
        key = f"k{number % 97}"
        seen[key] = seen.get(key, 0) + len(key)


def pod(index: int) -> dict[str, Any]:
    """A pod as a Job controller makes it and the API server stores it."""
    name = f"job-{index // 8}-{index % 8}-x7k2p"
    labels = {
        "batch.kubernetes.io/controller-uid": f"4f6e8a1c-0b2d-4c3e-8f5a-{index // 8:012d}",
        "batch.kubernetes.io/job-completion-index": str(index % 8),
        "batch.kubernetes.io/job-name": f"job-{index // 8}",
        "enbloc.dev/pod-group": f"job-{index // 8}",
    }
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": f"job-{index // 8}",
        "uid": labels["batch.kubernetes.io/controller-uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    fields: dict[str, Any] = {
        f"f:{key}": {".": {}, "f:name": {}, "f:value": {}} for key in "abcdefghijklmnopqrst"
    }
    managed = {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": fields}
    tokens = {
        "name": "kube-api-access-8qz5j",
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {
                    "configMap": {
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        "name": "kube-root-ca.crt",
                    }
                },
            ],
        },
    }
    container = {
        "name": "worker",
        "image": "registry.example/team/worker:1.4.2",
        "command": ["python", "-m", "worker", "--index", str(index % 8)],
        "env": [{"name": f"SETTING_{number}", "value": "x" * 24} for number in range(12)],
        "resources": {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}},
        "volumeMounts": [
            {"name": tokens["name"], "mountPath": "/var/run/secrets", "readOnly": True}
        ],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    tolerated = [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute"}
        for what in ("not-ready", "unreachable")
    ]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "generateName": f"job-{index // 8}-{index % 8}-",
            "namespace": "batch",
            "uid": f"0f3b5c7d-9e1a-4c3e-8f5a-{index:012d}",
            "resourceVersion": str(1000 + index),
            "creationTimestamp": "2026-11-01T10:00:00Z",
            "labels": labels,
            "annotations": {"batch.kubernetes.io/job-completion-index": str(index % 8)},
            "ownerReferences": [owner],
            "managedFields": [managed],
        },
        "spec": {
            "volumes": [tokens],
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {},
            "schedulerName": "enbloc",
            "tolerations": tolerated,
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def _bound(index: int) -> dict[str, Any]:
    shown = pod(index)
    shown["metadata"]["resourceVersion"] = str(100_000 + index)
    shown["metadata"]["annotations"]["enbloc.dev/plan"] = _RECORD
    shown["spec"]["nodeName"] = f"node-{index % 100}"
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    shown["status"]["conditions"] = [{**scheduled, "lastTransitionTime": "2026-11-01T10:00:01Z"}]
    return shown


def _started(index: int, step: int) -> dict[str, Any]:
    """As its kubelet shows it: first that it runs (step 1), then that it is ready (2)."""
    shown = _bound(index)
    shown["metadata"]["resourceVersion"] = str(100_000 * (step + 1) + index)
    status = shown["status"]
    ready = "True" if step == 2 else "False"
    status["phase"] = "Running"
    status["hostIP"], status["podIP"] = "10.0.0.1", "10.1.0.1"
    status["conditions"] += [
        {"type": kind, "status": ready, "lastTransitionTime": "2026-11-01T10:00:02Z"}
        for kind in ("Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers")
    ]
    image = shown["spec"]["containers"][0]["image"]
    status["containerStatuses"] = [
        {"name": "worker", "image": image, "ready": step == 2, "restartCount": 0}
    ]
    return shown


def _lines(kind: str, shown: Callable[[int], dict[str, Any]]) -> bytes:
    made = ({"type": kind, "object": shown(index)} for index in range(COUNT))
    return b"".join(msgspec.json.encode(each) + b"\n" for each in made)


#: The states of a pod that a watch brings.
PARTS: Final = (
    ("pod-added", "ADDED", pod),
    ("pod-bound", "MODIFIED", _bound),
    ("pod-running", "MODIFIED", partial(_started, step=1)),
    ("pod-ready", "MODIFIED", partial(_started, step=2)),
)


class Meter:
    """CPU seconds of this process for one of COUNT things, in multiples of the reference too."""

    def __init__(self) -> None:
        self.reference = float("inf")

    @staticmethod
    def _cpu(work: Callable[[], object]) -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    def figures(self, name: str, seconds: float) -> Iterator[Figure]:
        """Microseconds, and thousandths of the reference."""
        self.reference = min(self.reference, *(self._cpu(reference) for _ in range(ROUNDS)))
        yield f"transport/{name}", 1e6 * seconds
        yield f"transport/{name}-ratio", 1e3 * seconds / self.reference


async def _each(work: Callable[[int], Awaitable[object]]) -> float:
    """CPU seconds for one of COUNT, PARALLEL at a time; the least of the rounds."""
    best = float("inf")
    for number in range(ROUNDS + 1):
        indices = iter(range(number * COUNT, (number + 1) * COUNT))

        async def worker(mine: Iterator[int] = indices) -> None:
            for index in mine:
                await work(index)

        began = time.process_time()
        await asyncio.gather(*(worker() for _ in range(PARALLEL)))
        if number:  # the first makes the connections
            best = min(best, time.process_time() - began)
    return best / COUNT


async def _binding(client: Client) -> float:
    async def bind(index: int) -> None:
        made = binding.Binding(
            "batch", f"p-{index}", f"u-{index}", "n1", {"enbloc.dev/plan": _RECORD}
        )
        assert isinstance(await binding.bind(client, made), binding.Bound)

    return await _each(bind)


async def _executed(client: Client) -> float:
    """A Bind from the engine's effect to its outcome in the queue."""
    profiles, problems, queue = default_profiles(), ActiveProblems(), EventQueue()
    name = next(iter(profiles))
    async with Extenders(client, profiles) as extenders:
        executor = Executor(
            client,
            profiles,
            queue,
            GroupStatuses(client, time.time, problems, "m"),
            PodConditions(client, time.time, problems),
            Recorder(client, "here"),
            extenders,
            time.time,
            watches=ObjectWatches(),
            places=lambda *_: False,
            slots=BindSlots(),
        )
        best = float("inf")
        for number in range(ROUNDS + 1):
            began, done, sent = time.process_time(), 0, 0
            queue.wake()
            while done < COUNT:
                await queue.wait(None)
                done += sum(type(event).__name__ == "Bound" for event in queue.take())
                binds = []
                while sent < COUNT and sent - done < PARALLEL:
                    key = PodKey("batch", f"p-{number}-{sent}")
                    uid = PodUID(f"u-{number}-{sent}")
                    target = Target(
                        "plan-1", key, uid, "n1", annotations=(("enbloc.dev/plan", _RECORD),)
                    )
                    binds.append(Bind(name, target))
                    sent += 1
                executor.start(binds, 0.0)
            if number:
                best = min(best, time.process_time() - began)
        executor.close()
    return best / COUNT


async def _events(client: Client) -> float:
    recorder = Recorder(client, "here")

    async def post(index: int) -> None:
        about = ObjectReference(PODS, "batch", f"p-{index}", f"u-{index}")
        note = f"Successfully assigned batch/p-{index} to n1"
        notice = Notice("Normal", "Scheduled", "Binding", note, "enbloc", about)
        await recorder._record(notice, 0.0)  # `emit` has a pace of its own

    return await _each(post)


async def _status(client: Client) -> float:
    async def apply(_: int) -> None:
        await apply_group_status(client, GroupKey("b", "g"), "u", {"attempts": 1}, "m")

    return await _each(apply)


class Counted:
    """Tells when COUNT items of each part have been taken in."""

    def __init__(self) -> None:
        self.passed = [asyncio.Event() for _ in PARTS]
        self._taken = 0

    def __call__(self, item: items.Item[Any]) -> None:
        """Count an item."""
        if not isinstance(item, items.Synced):
            self._taken += 1
            if self._taken % COUNT == 0:
                self.passed[self._taken // COUNT - 1].set()


async def _intake(cluster: Cluster) -> list[float]:
    """CPU seconds for one event of each of PARTS, from the socket into the queue."""
    best = [float("inf")] * len(PARTS)
    for _ in range(ROUNDS):
        async with Client(cluster, component="benchmark") as client:
            queue, problems, counted = EventQueue(), ActiveProblems(), Counted()
            malformed = MalformedObjects(lambda *_: None)
            informers = Informers(client, queue, malformed, default_profiles(), problems)
            informer = informers.pods(PodConditions(client, time.time, problems), counted)
            running = asyncio.create_task(informer.run())
            await informer.synced.wait()
            for part, done in enumerate(counted.passed):
                began = time.process_time()
                await done.wait()
                best[part] = min(best[part], (time.process_time() - began) / COUNT)
                queue.take(COUNT)
            running.cancel()
            await asyncio.wait([running])
    return best


def transport() -> Iterator[Figure]:
    """Every part that a pod passes on its way from the watch to its node."""
    meter = Meter()
    runs: tuple[tuple[str, Callable[[Client], Awaitable[float]]], ...] = (
        ("binding", _binding),
        ("executed-binding", _executed),
        ("event", _events),
        ("group-status", _status),
    )
    with fake_api() as cluster:
        for name, run in runs:
            yield from meter.figures(name, _run(partial(_with_client, cluster, run)))
    watched = b"".join(_lines(kind, shown) for _, kind, shown in PARTS)
    with fake_api(watched) as cluster:
        for (name, *_), seconds in zip(PARTS, _run(partial(_intake, cluster)), strict=True):
            yield from meter.figures(name, seconds)


async def _with_client(cluster: Cluster, run: Callable[[Client], Awaitable[float]]) -> float:
    async with Client(cluster, component="benchmark") as client:
        return await run(client)


def _run(main: Callable[[], Any]) -> Any:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main())
