# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""LeaderWorkerSets: the leader and the workers of each group.

Source: lws v0.8 pkg/controllers/leaderworkerset_controller.go
constructLeaderStatefulSetApplyConfiguration; pkg/controllers/pod_controller.go
constructWorkerStatefulSetApplyConfiguration; pkg/webhooks/pod_webhook.go.
"""

from typing import Any, Final

from enbloc.wire.exclusive_placement import LEADER_WORKER_SET_KEY
from enbloc.workloads.claim_templates import ClaimTemplate, own_claims
from enbloc.workloads.fields import Fields, Template, count, read
from enbloc.workloads.making import Maker, Owner

_KEY: Final = "leaderworkerset.sigs.k8s.io/"
_LEADER_READY: Final = "LeaderReady"


class _Group(Fields):
    worker_template: Template
    leader_template: Template | None = None
    size: int | None = None
    volume_claim_templates: tuple[ClaimTemplate, ...] | None = None


class _Spec(Fields):
    leader_worker_template: _Group
    replicas: int | None = None
    startup_policy: str | None = None


class _LeaderWorkerSet(Fields):
    spec: _Spec


def leader_worker_set(make: Maker, owner: Owner) -> None:
    """Add all groups; with LeaderReady or exclusive placement, workers come after the leaders."""
    spec = read(owner.body, _LeaderWorkerSet, owner.where).spec
    group = spec.leader_worker_template
    replicas = count(spec.replicas, "spec.replicas", owner.where)
    size = count(group.size, "spec.leaderWorkerTemplate.size", owner.where)
    number = replicas * max(1, size)
    make.check(number, owner, "spec.replicas")
    claims, field = group.volume_claim_templates or (), "spec.leaderWorkerTemplate"
    make.weigh(number * len(claims), owner, f"{field}.volumeClaimTemplates")
    exclusive = LEADER_WORKER_SET_KEY in owner.annotations
    if exclusive:
        make.note(
            f"{owner.where}: annotation {LEADER_WORKER_SET_KEY} is not followed in this answer"
        )
    lead = "leaderTemplate" if group.leader_template is not None else "workerTemplate"
    sized = {f"{_KEY}size": str(size)}
    workers_wave = owner.wave + (exclusive or spec.startup_policy == _LEADER_READY)
    set_of_leaders = _stateful_set(owner.name, make.uid())
    for index in range(replicas):
        leader = f"{owner.name}-{index}"
        labels = {f"{_KEY}name": owner.name, f"{_KEY}group-index": str(index)}
        template = group.leader_template or group.worker_template
        make.pod(
            owner,
            template,
            leader,
            at=f"{field}.{lead}.spec",
            labels={**labels, f"{_KEY}worker-index": "0"},
            annotations=sized,
            spec=own_claims(make, owner, leader, template, claims),
            by=set_of_leaders,
        )
        set_of_workers = _stateful_set(leader, make.uid())
        for worker in range(1, size):
            name = f"{leader}-{worker}"
            make.pod(
                owner,
                group.worker_template,
                name,
                at=f"{field}.workerTemplate.spec",
                labels={**labels, f"{_KEY}worker-index": str(worker)},
                annotations={**sized, f"{_KEY}leader-name": leader},
                spec=own_claims(make, owner, name, group.worker_template, claims),
                wave=workers_wave,
                by=set_of_workers,
            )


def _stateful_set(name: str, uid: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
