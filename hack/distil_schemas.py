# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Distil what the sandbox knows of the built-in kinds from a running kube-apiserver.

The sandbox serves the kinds listed in `KEPT` with the schemas, short names, categories, verbs and
table columns of the real API server; this script copies them, once per Kubernetes version, into
`sandbox/src/enbloc_sandbox/apiserver/schema/builtins.json.xz`. It needs any cluster of that
version:

    python hack/distil_schemas.py --kubeconfig real.kubeconfig

Standard library only.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "sandbox/src/enbloc_sandbox/apiserver/schema/builtins.json.xz"

#: Group version → the resources that are kept. Subresources follow `SUBRESOURCES`.
KEPT = {
    "v1": "bindings configmaps endpoints events limitranges namespaces nodes "
    "persistentvolumeclaims persistentvolumes pods replicationcontrollers resourcequotas secrets "
    "serviceaccounts services",
    "admissionregistration.k8s.io/v1": "mutatingwebhookconfigurations "
    "validatingadmissionpolicies validatingadmissionpolicybindings "
    "validatingwebhookconfigurations",
    "apiextensions.k8s.io/v1": "customresourcedefinitions",
    "apps/v1": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "authorization.k8s.io/v1": "selfsubjectaccessreviews",
    "batch/v1": "cronjobs jobs",
    "coordination.k8s.io/v1": "leases",
    "events.k8s.io/v1": "events",
    "policy/v1": "poddisruptionbudgets",
    "rbac.authorization.k8s.io/v1": "clusterrolebindings clusterroles rolebindings roles",
    "resource.k8s.io/v1": "deviceclasses resourceclaims resourceclaimtemplates resourceslices",
    "scheduling.k8s.io/v1": "priorityclasses",
    "storage.k8s.io/v1": "csidrivers csinodes csistoragecapacities storageclasses "
    "volumeattachments",
}
SUBRESOURCES = {"status", "scale", "binding", "eviction", "finalize"}

#: Kinds that only a subresource speaks of.
EXTRA_KINDS = {"v1": ["Binding"], "policy/v1": ["Eviction"], "autoscaling/v1": ["Scale"]}

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
REF = "#/components/schemas/"


class Proxy:
    """A `kubectl proxy` to the cluster, so that any kind of credential works."""

    def __init__(self, kubectl: str, kubeconfig: str) -> None:
        self._process = subprocess.Popen(
            [kubectl, "--kubeconfig", kubeconfig, "proxy", "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if found is None:
            raise SystemExit(f"kubectl proxy did not start: {line or 'no output'}")
        self._url = f"http://127.0.0.1:{found[1]}"

    def get(self, path: str, accept: str = "application/json") -> Any:
        """The JSON document at a path of the API server."""
        request = urllib.request.Request(self._url + path, headers={"Accept": accept})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def close(self) -> None:
        """End the proxy."""
        self._process.terminate()
        self._process.wait(timeout=10)


def base(group_version: str) -> str:
    """The path of a group version."""
    return f"/api/{group_version}" if group_version == "v1" else f"/apis/{group_version}"


def resources(proxy: Proxy, group_version: str) -> list[dict[str, Any]]:
    """The kept entries of a legacy discovery document, with their table columns."""
    kept = set(KEPT[group_version].split())
    entries: list[dict[str, Any]] = []
    for entry in proxy.get(base(group_version))["resources"]:
        plural, _, subresource = entry["name"].partition("/")
        if plural not in kept or (subresource and subresource not in SUBRESOURCES):
            continue
        entry.pop("storageVersionHash", None)
        if "list" in entry["verbs"] and not subresource:
            path = f"{base(group_version)}/{entry['name']}?limit=1"
            entry["columns"] = proxy.get(path, TABLE)["columnDefinitions"]
        entries.append(entry)
    return entries


def references(node: Any) -> set[str]:
    """The names of the definitions that a schema points at."""
    if isinstance(node, list):
        return {name for item in node for name in references(item)}
    if not isinstance(node, dict):
        return set()
    found = {name for value in node.values() for name in references(value)}
    reference = node.get("$ref")
    return found | {reference.removeprefix(REF)} if isinstance(reference, str) else found


def closure(roots: set[str], schemas: dict[str, Any]) -> dict[str, Any]:
    """The named definitions with all that they point at."""
    kept: dict[str, Any] = {}
    todo = list(roots)
    while todo:
        name = todo.pop()
        if name not in kept:
            kept[name] = schemas[name]
            todo.extend(references(schemas[name]))
    return kept


def distil(proxy: Proxy) -> dict[str, Any]:
    """The whole document: version, resources by group version, definitions."""
    paths = proxy.get("/openapi/v3")["paths"]
    found: dict[str, list[dict[str, Any]]] = {}
    definitions: dict[str, Any] = {}
    for group_version in sorted({*KEPT, *EXTRA_KINDS}):
        entries = resources(proxy, group_version) if group_version in KEPT else []
        found[group_version] = entries
        kinds = {e["kind"] for e in entries} | set(EXTRA_KINDS.get(group_version, ()))
        kinds |= {f"{kind}List" for kind in kinds} | {"DeleteOptions"}
        schemas = proxy.get(paths[base(group_version)[1:]]["serverRelativeURL"])["components"][
            "schemas"
        ]
        group, _, version = group_version.rpartition("/")
        roots = {
            name
            for name, schema in schemas.items()
            for gvk in schema.get("x-kubernetes-group-version-kind", ())
            if (gvk["group"], gvk["version"]) == (group, version) and gvk["kind"] in kinds
        }
        definitions.update(closure(roots, schemas))
    return {
        "version": proxy.get("/version"),
        "resources": {gv: entries for gv, entries in found.items() if entries},
        "definitions": dict(sorted(definitions.items())),
    }


def main() -> int:
    """Write the file; print what it holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--kubectl", default=shutil.which("kubectl") or "kubectl")
    arguments = parser.parse_args()
    proxy = Proxy(arguments.kubectl, arguments.kubeconfig)
    try:
        document = distil(proxy)
    finally:
        proxy.close()
    text = json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
    TARGET.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    count = sum(len(entries) for entries in document["resources"].values())
    print(
        f"{TARGET.name}: {document['version']['gitVersion']}, {count} resources, "
        f"{len(document['definitions'])} definitions, {TARGET.stat().st_size // 1024} KiB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
