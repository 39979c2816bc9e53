# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random clusters full of pods of several priorities, and pods for which others must give way.

Within a node no two pods of one priority started at the same time: which of such is the more
important is chance in kube-scheduler.
"""

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from enbloc.client.paths import POD_DISRUPTION_BUDGETS, Resource
from tests.e2e.differential import clusters, pods
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.vocabulary import Json

PRIORITIES: Final = (-10, 0, 0, 0, 5, 5, 10, 20)
#: Of those for whom others give way.
HIGH: Final = (5, 10, 10, 15, 15, 30)
#: A label of pods that budgets select, and its values.
GUARD: Final = "guard"
GUARDS: Final = ("none", "none", "none", "one", "two", "pair", "listed")
#: A node, a priority and a start time.
Start = tuple[str, int, float | None]
#: Start times are so many seconds after this.
EPOCH: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def _budget(name: str, selector: Json | None, allowed: int, *disrupted: str, **spec: Any) -> Json:
    made: Json = {"metadata": {"name": name}, "spec": {"selector": selector, **spec}}
    made["status"] = {
        "disruptionsAllowed": allowed,
        "currentHealthy": allowed,
        "desiredHealthy": 0,
        "expectedPods": allowed,
        "observedGeneration": 1,
        "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
    }
    return made


def _guarding(*guards: str) -> Json:
    return {"matchExpressions": [{"key": GUARD, "operator": "In", "values": list(guards)}]}


#: What stands during the whole run, by namespace; a pod may be under several of these, or of none.
BUDGETS: Final[Mapping[str, Sequence[Json]]] = {
    "red": (
        _budget("none", _guarding("none"), 0, minAvailable="100%"),
        _budget("one", _guarding("one", "pair"), 1, maxUnavailable=1),
        _budget("two", _guarding("two"), 2, maxUnavailable="50%"),
        _budget("pair", {"matchLabels": {GUARD: "pair"}}, 1, minAvailable=1),
        _budget(
            "listed",
            _guarding("listed"),
            0,
            *(f"there-{number}" for number in range(0, 60, 2)),
            maxUnavailable=0,
            unhealthyPodEvictionPolicy="AlwaysAllow",
        ),
    ),
    "green": (
        _budget("everybody", {}, 0, minAvailable=1),
        _budget("web", {"matchLabels": {"app": "web"}}, 1, minAvailable="10%"),
        _budget("guarded", {"matchExpressions": [{"key": GUARD, "operator": "Exists"}]}, 0),
    ),
    "blue": (_budget("nobody", None, 0, minAvailable=0),),
}


def standing() -> list[tuple[Resource, str, Json]]:
    """The budgets, with their namespaces."""
    return [
        (POD_DISRUPTION_BUDGETS, namespace, body)
        for namespace, budgets in BUDGETS.items()
        for body in budgets
    ]


def cluster(seed: str, owners: Mapping[str, str]) -> Cluster:
    """A random cluster of 3 to 12 nodes that are rather full; `owners` as in `clusters`."""
    rng = random.Random(f"crowd {seed}")
    made = clusters.cluster(seed, owners)
    there = [*made.pods, *_fillers(rng, made.names, owners)]
    if rng.random() < 0.5:  # see `incoming`
        there = [pod for pod in there if "finalizers" not in pod["metadata"]]
    seen: set[Start] = set()
    return replace(
        made, pods=tuple(_ranked(rng, f"there-{i}", pod, seen) for i, pod in enumerate(there))
    )


def _fillers(rng: random.Random, nodes: Sequence[str], owners: Mapping[str, str]) -> list[Json]:
    """Plain pods that request much."""
    found: list[Json] = []
    most = rng.randint(2, 4)
    for node in nodes:
        for _ in range(rng.randint(1, most)):
            pod = pods.plain(rng, "filler", owners)
            requests = {"cpu": rng.choice(["1", "2", "3"]), "memory": rng.choice(["1Gi", "2Gi"])}
            pod["spec"]["containers"][0]["resources"] = {"requests": requests}
            pod["spec"]["nodeName"] = node
            found.append(pod)
    return found


def _ranked(rng: random.Random, name: str, pod: Json, seen: set[Start]) -> Json:
    """A pod with a priority, a start time of its own, and perhaps under a budget."""
    metadata: Json = {**pod["metadata"], "name": name, "labels": dict(pod["metadata"]["labels"])}
    if rng.random() < 0.7:
        metadata["labels"][GUARD] = rng.choice(GUARDS)
    spec: Json = {**pod["spec"], "priority": rng.choice(PRIORITIES)}
    status: Json = dict(pod.get("status", {}))
    started = _start(rng, spec, seen)
    if started is not None:
        status["startTime"] = (EPOCH + dt.timedelta(seconds=started)).isoformat()
    if "finalizers" in metadata and rng.random() < 0.5:
        status["conditions"] = [
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        ]
    return {"metadata": metadata, "spec": spec, **({"status": status} if status else {})}


def _start(rng: random.Random, spec: Json, seen: set[Start]) -> float | None:
    """A start time that no pod of this priority on this node has yet; None = it has not started."""
    latest = 2
    while True:
        started = None if rng.random() < 0.1 else float(rng.randint(0, latest))
        key: Start = (spec["nodeName"], spec["priority"], started)
        if key not in seen:
            seen.add(key)
            return started
        latest += 1


def incoming(seed: str, world: Cluster, owners: Mapping[str, str]) -> Json:
    """A pod that needs much, with a priority above that of many.

    Where pods terminate it has no hard spread constraint: kube-scheduler counts those pods of a
    domain down that it tries without, though it never counted them. With node affinity it is not
    nominated: of that node kube-scheduler says what Filter does, though PreFilter leaves it out.
    """
    rng = random.Random(f"incoming {seed}")
    pod = pods.pod(seed, world.names, owners)
    spec = pod["spec"]
    if rng.random() < 0.7:  # else it decides too often, and nobody can give way
        spec.get("affinity", {}).pop("nodeAffinity", None)
    spec["priority"] = rng.choice(HIGH)
    if rng.random() < 0.05:
        spec["preemptionPolicy"] = "Never"
    if rng.random() < 0.6:  # else taints decide too often
        spec["tolerations"] = [{"operator": "Exists"}]
    if rng.random() < 0.8 and "resources" not in spec:
        requests = spec["containers"][0]["resources"].setdefault("requests", {})
        requests["cpu"] = rng.choice(["2", "3", "4", "5", "6", "7"])
        spec["containers"][0]["resources"].get("limits", {}).pop("cpu", None)
    terminating = [pod for pod in world.pods if "finalizers" in pod["metadata"]]
    if terminating:
        spread = spec.get("topologySpreadConstraints", ())
        soft = [one for one in spread if one["whenUnsatisfiable"] != "DoNotSchedule"]
        spec["topologySpreadConstraints"] = soft
        chosen = rng.choice(terminating)["spec"]["nodeName"]
        if rng.random() < 0.4 and "nodeAffinity" not in spec.get("affinity", {}):
            pod["status"] = {"nominatedNodeName": chosen}
    return pod
