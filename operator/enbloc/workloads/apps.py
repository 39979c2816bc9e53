# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""StatefulSets, Deployments, ReplicaSets and ReplicationControllers: their replicas.

Source: kubernetes v1.36 pkg/controller/statefulset/stateful_set_utils.go newStatefulSetPod;
pkg/controller/deployment/sync.go getNewReplicaSet.
"""

from typing import Any, Final

from enbloc.model.names import POD_TEMPLATE_HASH_KEY
from enbloc.workloads.fields import Fields, MetadataFields, Template, count, read
from enbloc.workloads.making import Maker, Owner

#: The suffix of the name of a Deployment's ReplicaSet; no real hash has any of these letters.
NEW_HASH: Final = "new"


class _Ordinals(Fields):
    start: int | None = None


class _ClaimTemplate(Fields):
    metadata: MetadataFields
    spec: dict[str, Any]


class _Spec(Fields):
    template: Template
    replicas: int | None = None
    pod_management_policy: str | None = None
    ordinals: _Ordinals | None = None
    volume_claim_templates: tuple[_ClaimTemplate, ...] | None = None


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
    make.weigh(number * len(spec.volume_claim_templates or ()), owner, "spec.volumeClaimTemplates")
    listed: Any = spec.template.spec.get("volumes")
    known = listed if isinstance(listed, list) else []
    own = {str(each.get("name")): each for each in known if isinstance(each, dict)}
    for index in range(start, start + number):
        name = f"{owner.name}-{index}"
        labels = {
            "apps.kubernetes.io/pod-index": str(index),
            "statefulset.kubernetes.io/pod-name": name,
        }
        volumes = dict(own)
        for claim in spec.volume_claim_templates or ():
            volume = claim.metadata.name or ""
            claimed = f"{volume}-{name}"
            volumes[volume] = {"name": volume, "persistentVolumeClaim": {"claimName": claimed}}
            make.claims.append(_claim(make, owner, claimed, claim))
        make.pod(
            owner,
            spec.template,
            name,
            at="spec.template.spec",
            labels=labels,
            spec={"volumes": [*volumes.values()]} if volumes else None,
            wave=owner.wave if parallel else owner.wave + min(1, index - start),
        )


def _claim(make: Maker, owner: Owner, name: str, template: _ClaimTemplate) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": owner.namespace,
        "uid": make.uid(),
        "labels": template.metadata.labels or {},
        "annotations": template.metadata.annotations or {},
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": template.spec,
    }


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
