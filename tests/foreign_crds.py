# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions of other projects' kinds, which take any spec and any status."""

from typing import Any

from enbloc.client.paths import CRDS, Resource

#: Without it the API server takes no kind of a group under k8s.io.
_APPROVED = "api-approved.kubernetes.io"
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def crd(resource: Resource) -> dict[str, Any]:
    """The definition of a kind with a status of its own."""
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": _ANY, "status": _ANY}}
        },
    }
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": resource.label(), "annotations": {_APPROVED: "unapproved, for tests"}},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "kind": resource.kind,
                "plural": resource.plural,
                "singular": resource.kind.lower(),
            },
            "versions": [version],
        },
    }
