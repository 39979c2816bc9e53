# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""StatefulSets, Deployments, ReplicaSets and ReplicationControllers: their replicas.

Source: kubernetes v1.36 pkg/controller/statefulset/stateful_set_utils.go newStatefulSetPod;
pkg/controller/deployment/sync.go getNewReplicaSet.
"""

from typing import Final

from enbloc.model.names import POD_TEMPLATE_HASH_KEY
from enbloc.workloads.claim_templates import ClaimTemplate, own_claims
from enbloc.workloads.fields import Fields, Template, count, read
from enbloc.workloads.making import Maker, Owner

#: The suffix of the name of a Deployment's ReplicaSet; no real hash has any of these letters.
NEW_HASH: Final = "new"


class _Ordinals(Fields):
    start: int | None = None


class _Spec(Fields):
    template: Template
    replicas: int | None = None
    pod_management_policy: str | None = None
    ordinals: _Ordinals | None = None
    volume_claim_templates: tuple[ClaimTemplate, ...] | None = None


class _Set(Fields):
    spec: _Spec


def stateful_set(make: Maker, owner: Owner) -> None:
    """Add all replicas of a StatefulSet; if OrderedReady, all but the first come a wave later."""
    spec = read(owner.body, _Set, owner.where).spec
    number = count(spec.replicas, "spec.replicas", owner.where)
    make.check(number, owner, "spec.replicas")
    start = count(
        spec.ordinals.start if spec.ordinals else None, "spec.ordinals.start", owner.where, 0
    )
    parallel = spec.pod_management_policy == "Parallel"
    claims = spec.volume_claim_templates or ()
    make.weigh(number * len(claims), owner, "spec.volumeClaimTemplates")
    for index in range(start, start + number):
        name = f"{owner.name}-{index}"
        labels = {
            "apps.kubernetes.io/pod-index": str(index),
            "statefulset.kubernetes.io/pod-name": name,
        }
        make.pod(
            owner,
            spec.template,
            name,
            at="spec.template.spec",
            labels=labels,
            spec=own_claims(make, owner, name, spec.template, claims),
            wave=owner.wave if parallel else owner.wave + min(1, index - start),
        )


def replicas(make: Maker, owner: Owner) -> None:
    """Add the replicas of a ReplicaSet or a ReplicationController."""
    spec = read(owner.body, _Set, owner.where).spec
    number = count(spec.replicas, "spec.replicas", owner.where)
    make.check(number, owner, "spec.replicas")
    for index in range(number):
        make.pod(owner, spec.template, f"{owner.name}-{index:05}", at="spec.template.spec")


def deployment(make: Maker, owner: Owner) -> None:
    """Add a Deployment's ReplicaSet, and its replicas."""
    spec = read(owner.body, _Set, owner.where).spec
    template = owner.body["spec"]["template"]
    hashed = {POD_TEMPLATE_HASH_KEY: NEW_HASH}
    labels = {**spec.template.labels, **hashed}
    metadata = {**(template.get("metadata") or {}), "labels": labels}
    body = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": f"{owner.name}-{NEW_HASH}", "labels": labels},
        "spec": {"replicas": spec.replicas, "template": {**template, "metadata": metadata}},
    }
    make.child(owner, body)
