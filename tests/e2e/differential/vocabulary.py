# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The names that the random objects share, and the objects that stand during a whole run.

What does not change is made before the schedulers start, so both know it from their first list.
"""

from typing import Any, Final

from enbloc.client.paths import NAMESPACES, Resource

Json = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
RACK: Final = "rack"
DISK: Final = "disk"
CORES: Final = "cores"
#: Labels of nodes and the values that they take; HOSTNAME is the node's name.
NODE_LABELS: Final = {
    ZONE: ("a", "b", "c"),
    RACK: ("r1", "r2"),
    DISK: ("ssd", "hdd"),
    CORES: ("4", "16", "64", "many"),
}
#: Labels of pods and the values that they take.
POD_LABELS: Final = {
    "app": ("web", "db"),
    "tier": ("front", "back"),
    "version": ("1", "2"),
}
TAINT_KEYS: Final = ("dedicated", "spot", "example.com/broken")
TAINT_VALUES: Final = ("", "yes", "team-a")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
GPU: Final = "example.com/gpu"
HUGEPAGES: Final = "hugepages-2Mi"
#: A RuntimeClass with overhead.
HEAVY: Final = "heavy"
#: What a node must declare for pods that restart all their containers when one ends.
RESTART_ALL: Final = "RestartAllContainersOnContainerExits"

#: Most are in one, so that they meet.
NAMESPACES_OF_PODS: Final = ("red", "red", "red", "green", "blue")
NAMESPACE_LABELS: Final = {
    "red": {"team": "a", "env": "prod"},
    "green": {"team": "b", "env": "prod"},
    "blue": {"team": "a"},
}

SERVICES: Final = Resource("", "v1", "services", "Service")
REPLICATION_CONTROLLERS: Final = Resource(
    "", "v1", "replicationcontrollers", "ReplicationController"
)
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")
RUNTIME_CLASSES: Final = Resource(
    "node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False
)


def _template(labels: Json) -> Json:
    container = {"name": "main", "image": "example.com/none"}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container]}}


#: (what, where, the object), in the order in which they can be made.
STANDING: Final[tuple[tuple[Resource, str | None, Json], ...]] = (
    *(
        (NAMESPACES, None, {"metadata": {"name": name, "labels": labels}})
        for name, labels in NAMESPACE_LABELS.items()
    ),
    (
        RUNTIME_CLASSES,
        None,
        {
            "metadata": {"name": HEAVY},
            "handler": "heavy",
            "overhead": {"podFixed": {"cpu": "250m", "memory": "128Mi"}},
        },
    ),
    *(
        (
            SERVICES,
            namespace,
            {"metadata": {"name": name}, "spec": {"selector": selector, "ports": [{"port": 80}]}},
        )
        for namespace, name, selector in (
            ("red", "web", {"app": "web"}),
            ("red", "front", {"tier": "front"}),
            ("green", "db", {"app": "db"}),
        )
    ),
    (
        REPLICATION_CONTROLLERS,
        "blue",
        {
            "metadata": {"name": "owner"},
            "spec": {
                "replicas": 0,
                "selector": {"version": "1"},
                "template": _template({"version": "1"}),
            },
        },
    ),
    (
        REPLICA_SETS,
        "red",
        {
            "metadata": {"name": "owner"},
            "spec": {
                "replicas": 0,
                "selector": {
                    "matchExpressions": [
                        {"key": "app", "operator": "In", "values": ["web", "db"]},
                        {"key": "tier", "operator": "Exists"},
                    ]
                },
                "template": _template({"app": "web", "tier": "front"}),
            },
        },
    ),
    (
        STATEFUL_SETS,
        "green",
        {
            "metadata": {"name": "owner"},
            "spec": {
                "replicas": 0,
                "serviceName": "db",
                "selector": {"matchLabels": {"tier": "back"}},
                "template": _template({"tier": "back"}),
            },
        },
    ),
)
#: Who owns pods of a namespace, if somebody does; `uid` is filled in once it is known.
OWNERS: Final = {
    "blue": REPLICATION_CONTROLLERS,
    "red": REPLICA_SETS,
    "green": STATEFUL_SETS,
}
