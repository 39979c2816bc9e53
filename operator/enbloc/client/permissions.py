# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The permissions of each process: the table behind its RBAC roles.

The manifests and the chart are rendered from ``ROLES``. A client made with ``rules=`` refuses to
send a request that its role does not allow, so that a test finds a missing rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from enbloc.model import names
from enbloc.model.topology import KAI_GROUP, KOORDINATOR_GROUP, KUEUE_GROUP, VOLCANO_GROUP


@dataclass(frozen=True, slots=True)
class Rule:
    """One RBAC rule.

    Attributes:
        group: the API group; "" for the core group.
        resources: resources and subresources ("pods", "pods/binding").
        verbs: RBAC verbs.
        names: object names that the rule is limited to; empty for all.
        scope: "cluster" for a ClusterRole, "namespace" for a Role in the release namespace.
        why: what needs it.
    """

    group: str
    resources: Sequence[str]
    verbs: Sequence[str]
    names: Sequence[str] = ()
    scope: Literal["cluster", "namespace"] = "cluster"
    why: str = ""

    def allows(self, group: str, resource: str, verb: str, name: str) -> bool:
        """Whether this rule covers a request (``name`` is "" for collections and create)."""
        return (
            group == self.group
            and resource in self.resources
            and verb in self.verbs
            and (not self.names or name in self.names)
        )


def _lease(name: str) -> tuple[Rule, ...]:
    group = "coordination.k8s.io"
    return (
        # RBAC cannot restrict create by name, because the name is in the body.
        Rule(
            group,
            ["leases"],
            ["create"],
            scope="namespace",
            why="creating its Lease for leader election",
        ),
        Rule(
            group,
            ["leases"],
            ["get", "update"],
            names=[name],
            scope="namespace",
            why="acquiring and renewing its Lease",
        ),
    )


_EVENTS: Final = Rule("events.k8s.io", ["events"], ["create", "patch"], why="recording events")

#: For the secure port: authenticates a client, and authorizes it to read metrics.
_DELEGATION: Final = (
    Rule(
        "authentication.k8s.io",
        ["tokenreviews"],
        ["create"],
        why="authenticating requests to the secure port",
    ),
    Rule(
        "authorization.k8s.io",
        ["subjectaccessreviews"],
        ["create"],
        why="authorizing requests to the secure port",
    ),
)

#: For pods with PersistentVolumeClaims.
_VOLUMES: Final = (
    Rule(
        "",
        ["persistentvolumes", "persistentvolumeclaims"],
        ["list", "watch"],
        why="volumes that pods use, and volumes that they can get",
    ),
    Rule(
        "",
        ["persistentvolumes", "persistentvolumeclaims"],
        ["get", "patch"],
        why="binding the claims of a pod before the pod",
    ),
    Rule("", ["nodes"], ["get"], why="checking that a new volume can be used on its pod's node"),
    Rule(
        "storage.k8s.io",
        ["storageclasses", "csidrivers", "csistoragecapacities"],
        ["list", "watch"],
        why="where volumes can be provisioned",
    ),
    Rule(
        "storage.k8s.io",
        ["csinodes", "volumeattachments"],
        ["list", "watch"],
        why="how many volumes a node can attach",
    ),
)

#: For pods with ResourceClaims.
_DEVICES: Final = (
    Rule(
        "resource.k8s.io",
        ["resourceclaims", "resourceslices", "deviceclasses"],
        ["list", "watch"],
        why="devices, and what they are allocated to",
    ),
    Rule(
        "resource.k8s.io",
        ["resourceclaims"],
        ["get", "patch"],
        why="adding the finalizer to a claim that gets devices",
    ),
    Rule(
        "resource.k8s.io",
        ["resourceclaims/status"],
        ["patch"],
        why="allocating and reserving the claims of a pod before the pod is bound",
    ),
    # No such endpoint exists: from 1.36 on the API server requires this permission for such a
    # status.
    Rule(
        "resource.k8s.io",
        ["resourceclaims/binding"],
        ["patch"],
        why="the same, from Kubernetes 1.36 on",
    ),
    Rule(
        "resource.k8s.io",
        ["resourceclaims"],
        ["create", "delete"],
        why="creating and deleting claims for extended resources",
    ),
    Rule(
        "scheduling.k8s.io",
        ["podgroups"],
        ["get"],
        why="reserving a claim for the Kubernetes PodGroup that lists it",
    ),
)

_THEIR_TOPOLOGIES: Final = tuple(
    Rule(
        group, [resource], ["list", "watch"], why=f"topology levels that PodGroups of {whose} name"
    )
    for group, resource, whose in (
        (KUEUE_GROUP, "topologies", "Kueue's workloads"),
        (KAI_GROUP, "topologies", "KAI"),
        (KOORDINATOR_GROUP, "clusternetworktopologies", "Koordinator"),
        (VOLCANO_GROUP, "hypernodes", "Volcano"),
    )
)

ROLES: Final[Mapping[str, Sequence[Rule]]] = {
    "scheduler": (
        Rule(
            "",
            ["pods"],
            ["list", "watch"],
            why="pending pods to schedule, and bound pods that use capacity",
        ),
        Rule("", ["pods"], ["get"], why="checking the outcome of a Binding or an eviction"),
        Rule("", ["pods/binding"], ["create"], why="binding pods to nodes"),
        Rule(
            "",
            ["pods"],
            ["delete"],
            why="deleting pods that have not started, or that are preempted",
        ),
        Rule(
            "", ["pods/eviction"], ["create"], why="evicting running members, to release capacity"
        ),
        Rule(
            "",
            ["pods/status"],
            ["patch"],
            why="PodScheduled, DisruptionTarget, GangRunning; nominated nodes; extended resources",
        ),
        Rule(
            "", ["nodes"], ["list", "watch"], why="capacity, labels, taints and readiness of nodes"
        ),
        *_VOLUMES,
        *_DEVICES,
        Rule("", ["namespaces"], ["list", "watch"], why="namespace selectors of pod affinity"),
        Rule(
            "",
            ["services", "replicationcontrollers"],
            ["list", "watch"],
            why="default topology spread constraints",
        ),
        Rule(
            "apps",
            ["replicasets", "statefulsets"],
            ["list", "watch"],
            why="default topology spread constraints",
        ),
        Rule(
            "scheduling.k8s.io",
            ["priorityclasses"],
            ["list", "watch"],
            why="resolving spec.priorityClassName of PodGroups",
        ),
        Rule(
            "policy",
            ["poddisruptionbudgets"],
            ["list", "watch"],
            why="which pods may be preempted",
        ),
        Rule(names.API_GROUP, ["podgroups"], ["list", "watch"], why="reading PodGroups"),
        Rule(
            names.API_GROUP, ["podgroups/status"], ["patch"], why="writing decisions to the status"
        ),
        Rule(
            names.API_GROUP,
            ["topologies"],
            ["list", "watch"],
            why="topology of the nodes, for PodGroups that ask for it",
        ),
        *_THEIR_TOPOLOGIES,
        _EVENTS,
        *_DELEGATION,
        *_lease(names.SCHEDULER_LEASE),
        Rule(
            "coordination.k8s.io",
            ["leases"],
            ["list"],
            why="detecting other schedulers of the same schedulerName",
        ),
        Rule(
            "rbac.authorization.k8s.io",
            ["clusterrolebindings"],
            ["list"],
            why="finding the namespaces in which a scheduler can hold a Lease",
        ),
    ),
    "controller": (
        Rule("", ["pods"], ["list", "watch"], why="counting the members of each group"),
        Rule(
            "batch",
            ["jobs"],
            ["list", "watch"],
            why="whether the owner of a group has finished, and which members it can still create",
        ),
        Rule(
            "apps",
            ["replicasets", "statefulsets"],
            ["list", "watch"],
            why="which members the owner of a group can still create",
        ),
        Rule(names.API_GROUP, ["podgroups"], ["list", "watch"], why="reading PodGroups"),
        Rule(
            names.API_GROUP,
            ["podgroups/status"],
            ["patch"],
            why="writing counters and the summary to the status",
        ),
        Rule(
            names.API_GROUP,
            ["podgroups"],
            ["create", "patch", "delete"],
            why="creating PodGroups for those of other projects, and for workloads",
        ),
        Rule(
            "scheduling.k8s.io",
            ["podgroups", "compositepodgroups"],
            ["list", "watch"],
            why="reading PodGroups of Kubernetes itself, and trees of them",
        ),
        Rule(
            "scheduling.k8s.io",
            ["podgroups/status", "compositepodgroups/status"],
            ["patch"],
            why="writing the condition that kube-scheduler would write",
        ),
        Rule(
            "", ["namespaces"], ["list", "watch"], why="labels that request PodGroups for workloads"
        ),
        *(
            Rule(
                group,
                resources,
                ["list", "watch"],
                why="reading workloads that PodGroups are created for",
            )
            for group, resources in (
                ("jobset.x-k8s.io", ["jobsets"]),
                ("leaderworkerset.x-k8s.io", ["leaderworkersets"]),
                ("ray.io", ["rayclusters"]),
                ("sparkoperator.k8s.io", ["sparkapplications"]),
                (
                    "kubeflow.org",
                    ["jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"],
                ),
            )
        ),
        Rule(
            "scheduling.x-k8s.io",
            ["podgroups"],
            ["list", "watch"],
            why="reading PodGroups of the coscheduling plugin",
        ),
        Rule(
            "scheduling.run.ai",
            ["podgroups"],
            ["list", "watch"],
            why="reading PodGroups of KAI",
        ),
        Rule(
            "scheduling.godel.kubewharf.io",
            ["podgroups"],
            ["list", "watch"],
            why="reading PodGroups of Gödel",
        ),
        Rule(
            "scheduler.grove.io",
            ["podgangs"],
            ["list", "watch"],
            why="reading PodGangs of Grove",
        ),
        Rule(
            "scheduling.x-k8s.io",
            ["podgroups/status"],
            ["patch"],
            why="writing the phase and the counters that its clients read",
        ),
        Rule(
            "scheduling.volcano.sh",
            ["podgroups"],
            ["list", "watch", "patch"],
            why="reading PodGroups of Volcano, and writing their status, which is no subresource",
        ),
        Rule(
            "scheduling.volcano.sh",
            ["queues"],
            ["create"],
            why="creating the queue default, which clients of Volcano look for",
        ),
        _EVENTS,
        *_DELEGATION,
        *_lease(names.CONTROLLER_LEASE),
    ),
}

#: The resources that the cluster's own role system:kube-scheduler does not cover.
_BEYOND: Final = {
    ("", "pods/eviction"),
    (names.API_GROUP, "podgroups"),
    (names.API_GROUP, "podgroups/status"),
    (names.API_GROUP, "topologies"),
    *((rule.group, rule.resources[0]) for rule in _THEIR_TOPOLOGIES),
    ("coordination.k8s.io", "leases"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("scheduling.k8s.io", "priorityclasses"),
}
#: What the scheduler needs cluster-wide in addition to system:kube-scheduler.
BEYOND_KUBE_SCHEDULER: Final[Sequence[Rule]] = [
    rule
    for rule in ROLES["scheduler"]
    if rule.scope == "cluster" and (rule.group, rule.resources[0]) in _BEYOND
]

_CONFIGURATION: Final = Rule(
    "",
    ["configmaps"],
    ["get"],
    names=[names.CONFIG_MAP],
    scope="namespace",
    why="the scheduler's configuration; without it and --config, defaults apply",
)


def _followed(*verbs: str) -> Sequence[Rule]:
    """These verbs on each resource that the scheduler watches."""
    followed = (rule for rule in ROLES["scheduler"] if "watch" in rule.verbs)
    return [replace(rule, verbs=verbs) for rule in followed]


#: What users of simulating commands need: to list what the scheduler lists.
SIMULATION: Final[Sequence[Rule]] = (*_followed("list"), _CONFIGURATION)

#: What `enbloc ui` needs in the cluster that it shows: to watch what the scheduler watches.
VIEWING: Final[Sequence[Rule]] = (
    *_followed("list", "watch"),
    Rule(
        "",
        ["events"],
        ["list"],
        why="events of a group, and nodes in quarantine; neither is shown without this",
    ),
)
#: What the role for users of either grants.
VIEWER: Final[Sequence[Rule]] = (*VIEWING, _CONFIGURATION)
#: What `enbloc ui` also needs if others can reach it: to authenticate and authorize them.
REVIEWING: Final[Sequence[Rule]] = (
    replace(_DELEGATION[0], why="authenticating requests for a page"),
    replace(
        _DELEGATION[1], why="authorizing users to get PodGroups of a namespace, and to list nodes"
    ),
)

#: What users of `enbloc topology show` need; `init` lists only nodes.
TOPOLOGY: Final[Sequence[Rule]] = (
    Rule("", ["nodes"], ["list"], why="labels, capacity and readiness of nodes"),
    Rule("", ["pods"], ["list"], why="requests of placed pods"),
    Rule(names.API_GROUP, ["topologies"], ["list"], why="the levels to show"),
    *(replace(rule, verbs=["list"]) for rule in _THEIR_TOPOLOGIES),
)


def allowed(rules: Sequence[Rule], group: str, resource: str, verb: str, name: str = "") -> bool:
    """Whether any of the rules covers the request."""
    return any(rule.allows(group, resource, verb, name) for rule in rules)
