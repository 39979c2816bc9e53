# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions of other projects' kinds.

Those in `crds/dialects` are as shipped, so that tests that share an API server agree on whether a
kind has a status of its own; the others take any spec and any status.
"""

from pathlib import Path
from typing import Any, Final

import yaml

from enbloc.client.paths import CRDS, Resource

#: Where the project's own definitions are.
DIALECTS: Final = Path(__file__).parents[1] / "crds" / "dialects"

#: Without it the API server takes no kind of a group under k8s.io.
_APPROVED = "api-approved.kubernetes.io"
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def crd(resource: Resource) -> dict[str, Any]:
    """The definition of a kind: the shipped one, else with a status of its own."""
    shipped = DIALECTS / f"{resource.label()}.yaml"
    if shipped.exists():
        found: dict[str, Any] = yaml.safe_load(shipped.read_text("utf-8"))
        return found
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
