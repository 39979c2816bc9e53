# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Claims that controllers make for pods: for ephemeral volumes, and from ResourceClaimTemplates.

Source: kubernetes v1.36 pkg/controller/volume/ephemeral/controller.go handleVolume;
pkg/controller/resourceclaim/controller.go handleClaim.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from enbloc.workloads.making import Json


class Claimed(NamedTuple):
    """A pod with its claims.

    Attributes:
        pod: with a status that names its ResourceClaims.
        volumes: PersistentVolumeClaims that are made for it.
        devices: ResourceClaims that are made for it.
        lacking: names of ResourceClaimTemplates that are unknown.
    """

    pod: dict[str, Any]
    volumes: tuple[Json, ...] = ()
    devices: tuple[Json, ...] = ()
    lacking: tuple[str, ...] = ()


def claimed(pod: Mapping[str, Any], templates: Mapping[tuple[str, str], Json]) -> Claimed:
    """A pod with the claims that are made for it.

    Args:
        pod: as JSON.
        templates: ResourceClaimTemplates, by namespace and name.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    namespace, name = metadata["namespace"], metadata["name"]
    by = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": name,
        "uid": metadata["uid"],
        "controller": True,
    }
    volumes: list[Json] = []
    for volume in _objects(spec.get("volumes")):
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
        if isinstance(template, dict):
            own = f"{name}-{volume.get('name')}"
            volumes.append(_claim("v1", "PersistentVolumeClaim", own, namespace, by, template))
    devices: list[Json] = []
    statuses: list[Json] = []
    lacking: list[str] = []
    for claim in _objects(spec.get("resourceClaims")):
        named = claim.get("resourceClaimTemplateName")
        if not isinstance(named, str):
            continue
        found = templates.get((namespace, named))
        if found is None:
            lacking.append(named)
            continue
        own = f"{name}-{claim.get('name')}-0"
        template = found.get("spec")
        of = template if isinstance(template, dict) else {}
        api = str(found.get("apiVersion"))
        devices.append(_claim(api, "ResourceClaim", own, namespace, by, of))
        statuses.append({"name": claim.get("name"), "resourceClaimName": own})
    made = {**pod, "status": {"resourceClaimStatuses": statuses}} if statuses else {**pod}
    return Claimed(made, tuple(volumes), tuple(devices), tuple(lacking))


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _claim(  # what an object is
    api_version: str, kind: str, name: str, namespace: str, by: Json, template: Json
) -> Json:
    given = template.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"{by['uid']}-{name}",
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [by],
        },
        "spec": template.get("spec") or {},
    }
