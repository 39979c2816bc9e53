# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Stands in for kubectl where there is none: the few commands that the documentation uses.

kubectl apply -f FILE
kubectl label|annotate KIND NAME|--all KEY=VALUE|KEY- [--overwrite]
kubectl patch KIND NAME -p JSON
kubectl delete KIND NAME...
kubectl cordon|uncordon NODE...
kubectl taint nodes NAME KEY=VALUE:EFFECT|KEY-
kubectl get KIND [-o wide|custom-columns=TITLE:PATH,...]
"""

import json
import os
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from enbloc_sandbox.apiserver.schema.jsonpath import first, parse

#: As people write it → where it is.
PATHS: Final = {
    "nodes": "/api/v1/nodes",
    "namespaces": "/api/v1/namespaces",
    "pods": "/api/v1/namespaces/default/pods",
    "events": "/api/v1/namespaces/default/events",
    "services": "/api/v1/namespaces/default/services",
    "persistentvolumeclaims": "/api/v1/namespaces/default/persistentvolumeclaims",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "resourceclaims.resource.k8s.io": "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
    "resourceclaimtemplates": (
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
    ),
    "jobs.batch": "/apis/batch/v1/namespaces/default/jobs",
    "podgroups.enbloc.dev": "/apis/enbloc.dev/v1alpha1/namespaces/default/podgroups",
    "topologies.enbloc.dev": "/apis/enbloc.dev/v1alpha1/topologies",
    "podgroups.scheduling.k8s.io": "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups",
    "podgroups.scheduling.x-k8s.io": (
        "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
    ),
    "podgroups.scheduling.volcano.sh": (
        "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
    ),
    "podgroups.scheduling.run.ai": "/apis/scheduling.run.ai/v2alpha2/namespaces/default/podgroups",
    "crds": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
}
#: By apiVersion and kind.
KINDS: Final = {
    "v1 Pod": "pods",
    "v1 Service": "services",
    "batch/v1 Job": "jobs.batch",
    "storage.k8s.io/v1 StorageClass": "storageclasses",
    "scheduling.k8s.io/v1 PriorityClass": "priorityclasses",
    "resource.k8s.io/v1 ResourceClaimTemplate": "resourceclaimtemplates",
    "enbloc.dev/v1alpha1 PodGroup": "podgroups.enbloc.dev",
    "enbloc.dev/v1alpha1 Topology": "topologies.enbloc.dev",
    "scheduling.k8s.io/v1alpha2 PodGroup": "podgroups.scheduling.k8s.io",
    "scheduling.x-k8s.io/v1alpha1 PodGroup": "podgroups.scheduling.x-k8s.io",
    "scheduling.volcano.sh/v1beta1 PodGroup": "podgroups.scheduling.volcano.sh",
    "scheduling.run.ai/v2alpha2 PodGroup": "podgroups.scheduling.run.ai",
    "apiextensions.k8s.io/v1 CustomResourceDefinition": "crds",
}
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"


def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
    """Send a request to the server of $KUBECONFIG; the JSON that it answers."""
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    request = urllib.request.Request(
        config["clusters"][0]["cluster"]["server"] + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={name.replace("_", "-"): text for name, text in headers.items()},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def apply(file: str) -> None:
    """Create what the file holds."""
    for document in yaml.safe_load_all(Path(file).read_text()):
        path = PATHS[KINDS[f"{document['apiVersion']} {document['kind']}"]]
        ask("POST", path, document, Content_Type="application/json")


def mark(field: str, kind: str, which: str, change: str) -> None:
    """Set or take away a label or an annotation."""
    key, _, value = change.removesuffix("-").partition("=")
    body = {"metadata": {field: {key: None if change.endswith("-") else value}}}
    found = ask("GET", PATHS[kind])["items"]
    names = [item["metadata"]["name"] for item in found] if which == "--all" else [which]
    for name in names:
        patch(kind, name, body)


def patch(kind: str, name: str, body: Any) -> None:
    """Merge this into an object."""
    ask("PATCH", f"{PATHS[kind]}/{name}", body, Content_Type="application/merge-patch+json")


def delete(kind: str, names: Sequence[str]) -> None:
    """Delete these, and what they own."""
    policy = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    for name in names:
        ask("DELETE", f"{PATHS[kind]}/{name}", policy, Content_Type="application/json")


def taint(node: str, change: str) -> None:
    """Add a taint to a node, or take those with this key away."""
    key, _, rest = change.removesuffix("-").partition("=")
    value, _, effect = rest.partition(":")
    taints = ask("GET", f"{PATHS['nodes']}/{node}")["spec"].get("taints", [])
    taints = [one for one in taints if one["key"] != key]
    if effect:
        taints.append({"key": key, "value": value, "effect": effect})
    patch("nodes", node, {"spec": {"taints": taints}})


def columns_of(kind: str, columns: str) -> None:
    """Print these columns of each object."""
    paths = [parse(column.partition(":")[2]) for column in columns.split(",")]
    for item in ask("GET", PATHS[kind])["items"]:
        found = [first(path, item) for path in paths]
        print(*("<none>" if value is None else value for value in found))


def get(kind: str, *, wide: bool) -> None:
    """Print the table that the server makes."""
    table = ask("GET", PATHS[kind], Accept=TABLE)
    columns = table["columnDefinitions"]
    shown = [index for index, column in enumerate(columns) if wide or not column["priority"]]
    print(*(columns[index]["name"].upper() for index in shown))
    for row in table["rows"]:
        print(*(row["cells"][index] for index in shown))


def main(arguments: Sequence[str]) -> None:
    """Do as kubectl does."""
    match [each for each in arguments if each != "--overwrite"]:
        case ["apply", "-f", file]:
            apply(file)
        case ["label" | "annotate" as verb, kind, which, change]:
            mark("labels" if verb == "label" else "annotations", kind, which, change)
        case ["patch", kind, name, "-p", body]:
            patch(kind, name, json.loads(body))
        case ["delete", kind, *names]:
            delete(kind, names)
        case ["cordon" | "uncordon" as verb, *names]:
            for name in names:
                patch("nodes", name, {"spec": {"unschedulable": verb == "cordon" or None}})
        case ["taint", "nodes", name, change]:
            taint(name, change)
        case ["get", kind, "-o", how] if how.startswith("custom-columns="):
            columns_of(kind, how.partition("=")[2])
        case ["get", kind, *how]:
            get(kind, wide=how == ["-o", "wide"])
        case _:
            raise SystemExit(f"this stand-in knows no kubectl {' '.join(arguments)}")


if __name__ == "__main__":
    main(sys.argv[1:])
