# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`volumeClaimTemplates` of StatefulSets: each pod has claims of its own.

Source: kubernetes v1.36 pkg/controller/statefulset/stateful_set_utils.go
getPersistentVolumeClaims, updateStorage.
"""

from collections.abc import Sequence
from typing import Any

from enbloc.workloads.fields import Fields, MetadataFields, Template
from enbloc.workloads.making import Maker, Owner


class ClaimTemplate(Fields):
    """`volumeClaimTemplates[]`."""

    metadata: MetadataFields
    spec: dict[str, Any]


def own_claims(
    make: Maker, owner: Owner, name: str, template: Template, claims: Sequence[ClaimTemplate]
) -> dict[str, Any] | None:
    """Add the claims of a pod; returns the fields of its spec that refer to them, None = none.

    Args:
        make: collects the claims.
        owner: the object that has the templates.
        name: of the pod.
        template: of the pod; claims take the place of its volumes of the same names.
        claims: the templates of the claims.
    """
    if not claims:
        return None
    listed: Any = template.spec.get("volumes")
    known = listed if isinstance(listed, list) else []
    volumes = {str(each.get("name")): each for each in known if isinstance(each, dict)}
    for claim in claims:
        volume = claim.metadata.name or ""
        claimed = f"{volume}-{name}"
        volumes[volume] = {"name": volume, "persistentVolumeClaim": {"claimName": claimed}}
        make.claims.append(_claim(make, owner, claimed, claim))
    return {"volumes": [*volumes.values()]}


def _claim(make: Maker, owner: Owner, name: str, template: ClaimTemplate) -> dict[str, Any]:
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
