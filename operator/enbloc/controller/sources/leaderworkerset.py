# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""LeaderWorkerSets: one PodGroup for each group of a leader and its workers.

Source of the meaning of fields: LeaderWorkerSet v0.7,
api/leaderworkerset/v1/leaderworkerset_types.go; of the order of creation:
pkg/controllers/pod_controller.go Reconcile.
"""

from dataclasses import replace
from typing import Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.source import (
    MOST_GROUPS,
    Derived,
    RefusedGroup,
    Source,
    SourceObject,
)
from enbloc.controller.sources.topology_keys import with_topology
from enbloc.controller.sources.workloads import (
    Template,
    WorkloadPart,
    bounded,
    metadata_of,
    minimum_of,
    requests,
)
from enbloc.model.text import whole_number
from enbloc.wire.auto_groups import LEADER, LEADER_WORKER_SET, WORKER, group_name
from enbloc.wire.exclusive_placement import LEADER_WORKER_SET_KEY

RESOURCE: Final = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", LEADER_WORKER_SET)
_LEADER_READY: Final = "LeaderReady"


class _RollingUpdate(WorkloadPart):
    max_surge: int | str | None = None


class _Rollout(WorkloadPart):
    rolling_update_configuration: _RollingUpdate | None = None


class _Group(WorkloadPart):
    size: int | None = None
    leader_template: Template | None = None
    worker_template: Template | None = None


class _Spec(WorkloadPart):
    replicas: int | None = None
    startup_policy: str | None = None
    rollout_strategy: _Rollout | None = None
    leader_worker_template: _Group = msgspec.field(default_factory=_Group)


class LeaderWorkerSet(SourceObject):
    """A LeaderWorkerSet."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: LeaderWorkerSet) -> tuple[Derived, ...] | RefusedGroup:
    """One PodGroup for each group, including those of a rollout's surge.

    Workers that are created once their leader is ready, or with exclusive placement once it has a
    node, are not counted; their capacity is reserved.
    """
    spec, of = found.spec, found.spec.leader_worker_template
    replicas = bounded(spec.replicas)
    groups = replicas + _surge(spec, replicas)
    if groups > MOST_GROUPS:
        return RefusedGroup(
            f"spec.replicas: with the surge of a rollout these are {groups} groups; at most "
            f"{MOST_GROUPS} are supported: use several LeaderWorkerSets",
            _name(found, 0),
        )
    workers = max(0, bounded(of.size) - 1)
    exclusive = LEADER_WORKER_SET_KEY in (found.metadata.annotations or {})
    if exclusive or spec.startup_policy == _LEADER_READY:
        leader = requests(of.leader_template or of.worker_template)
        reserved = leader + requests(of.worker_template, workers)
        wanted = minimum_of([(LEADER, 1), (WORKER, 0)], reserved)
    else:
        wanted = minimum_of([(LEADER, 1), (WORKER, workers)])
    metadata = [(WORKER, metadata_of(of.worker_template))]
    if of.leader_template is not None:
        metadata.append((LEADER, metadata_of(of.leader_template)))
    one = with_topology(Derived(wanted, _name(found, 0)), metadata)
    if isinstance(one, RefusedGroup):
        return one
    return tuple(replace(one, name=_name(found, index)) for index in range(groups))


def _name(found: LeaderWorkerSet, index: int) -> str:
    """The name of the PodGroup of one of its groups."""
    return group_name(LEADER_WORKER_SET, found.metadata.name, part=str(index))


def _surge(spec: _Spec, replicas: int) -> int:
    """How many more groups a rollout makes temporarily; a percentage is rounded up."""
    rollout = spec.rollout_strategy and spec.rollout_strategy.rolling_update_configuration
    surge = rollout.max_surge if rollout else None
    if isinstance(surge, str):
        percent = whole_number(surge.removesuffix("%"), 4) or 0
        return -(-replicas * percent // 100)
    return bounded(surge, 0)


LEADER_WORKER_SET_SOURCE: Final = Source(
    "LeaderWorkerSet", (RESOURCE,), LeaderWorkerSet, derive, controls=True
)
