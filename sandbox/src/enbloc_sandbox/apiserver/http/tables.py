# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables for `kubectl get`: a row for each object, in the columns of the real API server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from enbloc.model.times import seconds_of
from enbloc_sandbox.apiserver.schema import jsonpath
from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.storage.store import Item, decode
from enbloc_sandbox.apiserver.storage.views import viewed

Document = Mapping[str, Any]
Cells = Callable[[Document, float], list[Any]]

_NAME: Final = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace.",
    "priority": 0,
}

#: Column → the field that it shows, and what it shows without.
_SIMPLE: Final = {
    "Name": ("metadata.name", ""),
    "Created At": ("metadata.creationTimestamp", ""),
    "Status": ("status.phase", ""),
    "State": ("status.phase", "pending"),
    "Type": ("type", ""),
    "Holder": ("spec.holderIdentity", ""),
    "Value": ("value", 0),
    "Provisioner": ("provisioner", ""),
    "Global-Default": ("globalDefault", False),
    "PreemptionPolicy": ("preemptionPolicy", ""),
    "ReclaimPolicy": ("reclaimPolicy", ""),
    "VolumeBindingMode": ("volumeBindingMode", ""),
    "Min Available": ("spec.minAvailable", "N/A"),
    "Max Unavailable": ("spec.maxUnavailable", "N/A"),
    "Allowed Disruptions": ("status.disruptionsAllowed", 0),
    "Node": ("spec.nodeName", "<none>"),
    "Driver": ("spec.driver", ""),
    "Pool": ("spec.pool.name", ""),
}


def table(
    resource: Resource,
    items: Iterable[Item],
    now: float,
    metadata: Mapping[str, Any],
    include: str,
) -> dict[str, Any]:
    """The Table of some objects.

    `now` (seconds since the epoch) is for ages, `metadata` that of the list or the only object;
    `include` says what each row carries of its object: None, Metadata or Object.
    """
    definitions, cells = _columns(resource)
    rows: list[dict[str, Any]] = []
    for stored in items:
        item = viewed(resource, stored)
        row: dict[str, Any] = {"cells": cells(item.obj, now)}
        if include == "Object":
            row["object"] = decode(item.data)
        elif include == "Metadata":
            row["object"] = partial(item)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def partial(item: Item) -> dict[str, Any]:
    """The PartialObjectMetadata of an object."""
    metadata = dict(item.obj["metadata"])
    if item.managed:
        metadata["managedFields"] = [one.entry() for one in item.managed]
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}


def age(text: str | None, now: float) -> str:
    """The time since then as kubectl prints it: 5s, 2m3s, 4h, 7d."""
    since = seconds_of(text or "")
    if since is None:
        return "<unknown>"
    return duration(now - since)


def duration(seconds: float) -> str:
    """A duration in two units at most, fewer the longer it is."""
    total = max(int(seconds), 0)
    minutes, hours, days = total // 60, total // 3600, total // 86400
    if total < 120:
        return f"{total}s"
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    return f"{days}d" if days < 730 else f"{days // 365}y{days % 365}d"


def _columns(resource: Resource) -> tuple[Sequence[Mapping[str, Any]], Cells]:
    """The column definitions of a kind and how to fill them."""
    if resource.custom is not None:
        return _custom(resource)
    special = _SPECIAL.get(resource.storage)
    if special is not None and resource.columns:
        return resource.columns, special
    return resource.columns, _plain(resource.columns)


def _custom(resource: Resource) -> tuple[Sequence[Mapping[str, Any]], Cells]:
    readers: list[tuple[jsonpath.Path, str]] = []
    definitions: list[Mapping[str, Any]] = [_NAME]
    for column in resource.columns:
        path = jsonpath.parse(column["jsonPath"])
        readers.append((path, column["type"]))
        definitions.append(
            {
                "name": column["name"],
                "type": column["type"],
                "format": column.get("format", ""),
                "description": column.get("description")
                or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
                "priority": column.get("priority", 0),
            }
        )

    def cells(obj: Document, now: float) -> list[Any]:
        row: list[Any] = [obj["metadata"]["name"]]
        for path, kind in readers:
            found = jsonpath.first(path, obj)
            row.append(age(found, now) if kind == "date" and found is not None else found)
        return row

    return definitions, cells


def _plain(columns: Sequence[Mapping[str, Any]]) -> Cells:
    """Name and age; what we do not compute is shown as unknown rather than made up."""

    def cells(obj: Document, now: float) -> list[Any]:
        return [_generic(column["name"], obj, now) for column in columns]

    return cells


def _generic(column: str, obj: Document, now: float) -> Any:
    if column == "Age":
        return age(obj["metadata"]["creationTimestamp"], now)
    if column == "Data":
        return len(obj.get("data") or {}) + len(obj.get("binaryData") or {})
    found = _SIMPLE.get(column)
    if found is None:
        return "<unknown>"
    path, absent = found
    value: Any = obj
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return absent if value is None else str(value) if absent == "N/A" else value


def _pod(obj: Document, now: float) -> list[Any]:
    metadata, spec, state = obj["metadata"], obj["spec"], obj.get("status") or {}
    statuses = state.get("containerStatuses") or []
    ready = sum(1 for one in statuses if one.get("ready"))
    phase = state.get("reason") or state.get("phase", "")
    gated = any(
        one["type"] == "PodScheduled" and one.get("reason") == "SchedulingGated"
        for one in state.get("conditions") or ()
    )
    if gated:
        phase = "SchedulingGated"
    elif statuses and all((one.get("state") or {}).get("terminated") for one in statuses):
        phase = statuses[0]["state"]["terminated"].get("reason") or phase
        phase = {"Succeeded": "Completed"}.get(phase, phase)
    elif state.get("phase") == "Succeeded":
        phase = "Completed"
    elif state.get("phase") == "Failed" and not state.get("reason"):
        phase = "Error"
    if "deletionTimestamp" in metadata:
        phase = "Terminating"
    return [
        metadata["name"],
        f"{ready}/{len(spec['containers'])}",
        phase,
        str(sum(one.get("restartCount", 0) for one in statuses)),
        age(metadata["creationTimestamp"], now),
        state.get("podIP", "<none>"),
        spec.get("nodeName", "<none>"),
        state.get("nominatedNodeName", "<none>"),
        _gates(spec, state),
    ]


def _gates(spec: Document, state: Document) -> str:
    """How many of a pod's readiness gates are True, of how many."""
    gates = [one["conditionType"] for one in spec.get("readinessGates") or ()]
    conditions = state.get("conditions") or ()
    true = {one["type"] for one in conditions if one["status"] == "True"}
    return f"{sum(gate in true for gate in gates)}/{len(gates)}" if gates else "<none>"


def _node(obj: Document, now: float) -> list[Any]:
    metadata, spec, state = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    ready = next((c for c in state.get("conditions") or () if c["type"] == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready["status"] == "True" else "NotReady"]
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    prefix = "node-role.kubernetes.io/"
    labels: Mapping[str, str] = metadata.get("labels") or {}
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))
    info = state.get("nodeInfo") or {}
    addresses = {one["type"]: one["address"] for one in state.get("addresses") or ()}
    return [
        metadata["name"],
        ",".join(words),
        ",".join(roles) or "<none>",
        age(metadata["creationTimestamp"], now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", "<none>"),
        addresses.get("ExternalIP", "<none>"),
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]


def _event(obj: Document, now: float) -> list[Any]:
    involved = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    series = obj.get("series") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    last = series.get("lastObservedTime") or last or first
    component = source.get("component") or obj.get("reportingComponent") or ""
    return [
        age(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{involved.get('kind', '').lower()}/{involved.get('name', '')}",
        involved.get("fieldPath", ""),
        ", ".join(filter(None, [component, source.get("host")])),
        (obj.get("message") or obj.get("note") or "").strip(),
        age(first, now),
        series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1,
        obj["metadata"]["name"],
    ]


def _images(obj: Document) -> list[str]:
    containers = obj["spec"]["template"]["spec"].get("containers") or []
    return [
        ",".join(c["name"] for c in containers),
        ",".join(c.get("image", "") for c in containers),
    ]


def _selector(obj: Document) -> str:
    selector = obj["spec"].get("selector") or {}
    labels = selector.get("matchLabels", {}) if "matchExpressions" not in selector else {}
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        labels = selector
    return ",".join(f"{k}={v}" for k, v in sorted(labels.items())) or "<none>"


def _job(obj: Document, now: float) -> list[Any]:
    spec, state = obj["spec"], obj.get("status") or {}
    true = {c["type"] for c in state.get("conditions") or () if c["status"] == "True"}
    word = next((w for w in ("Complete", "Failed", "Suspended") if w in true), "Running")
    if word == "Running" and "deletionTimestamp" in obj["metadata"]:
        word = "Terminating"
    start = seconds_of(state.get("startTime") or "")
    end = seconds_of(state.get("completionTime") or "")
    length = "" if start is None else duration((now if end is None else end) - start)
    done = f"{state.get('succeeded', 0)}/{spec.get('completions', spec.get('parallelism', 1))}"
    created = age(obj["metadata"]["creationTimestamp"], now)
    return [obj["metadata"]["name"], word, done, length, created, *_images(obj), _selector(obj)]


def _workload(*counts: str) -> Cells:
    def cells(obj: Document, now: float) -> list[Any]:
        spec, state = obj["spec"], obj.get("status") or {}
        wanted = spec.get("replicas", 1)
        shown: list[Any] = []
        for count in counts:
            if count == "wanted":
                shown.append(wanted)
            elif count == "ready/wanted":
                shown.append(f"{state.get('readyReplicas', 0)}/{wanted}")
            else:
                shown.append(state.get(count, 0))
        created = age(obj["metadata"]["creationTimestamp"], now)
        return [obj["metadata"]["name"], *shown, created, *_images(obj), _selector(obj)]

    return cells


def _service(obj: Document, now: float) -> list[Any]:
    spec = obj["spec"]
    ports = ",".join(f"{p['port']}/{p.get('protocol', 'TCP')}" for p in spec.get("ports") or ())
    created = age(obj["metadata"]["creationTimestamp"], now)
    selector = _selector(obj)
    kind, address = spec.get("type", "ClusterIP"), spec.get("clusterIP") or "<none>"
    return [obj["metadata"]["name"], kind, address, "<none>", ports or "<none>", created, selector]


_MODES: Final = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _volume(obj: Document, now: float) -> list[Any]:
    metadata, spec, state = obj["metadata"], obj["spec"], obj.get("status") or {}
    claim = spec.get("claimRef")
    return [
        metadata["name"],
        (spec.get("capacity") or {}).get("storage", "0"),
        _access_modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if "deletionTimestamp" in metadata else state.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        state.get("reason", ""),
        age(metadata["creationTimestamp"], now),
        spec.get("volumeMode", "<unset>"),
    ]


def _claim(obj: Document, now: float) -> list[Any]:
    metadata, spec, state = obj["metadata"], obj["spec"], obj.get("status") or {}
    volume = spec.get("volumeName", "")
    return [
        metadata["name"],
        "Terminating" if "deletionTimestamp" in metadata else state.get("phase", ""),
        volume,
        (state.get("capacity") or {}).get("storage", "0") if volume else "",
        _access_modes(state) if volume else "",
        spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", "<unset>"),
        age(metadata["creationTimestamp"], now),
        spec.get("volumeMode", "<unset>"),
    ]


def _access_modes(holder: Document) -> str:
    given: Sequence[str] = holder.get("accessModes") or ()
    return ",".join(short for mode, short in _MODES.items() if mode in given)


def _storage_class(obj: Document, now: float) -> list[Any]:
    metadata = obj["metadata"]
    marked = (metadata.get("annotations") or {}).get("storageclass.kubernetes.io/is-default-class")
    return [
        f"{metadata['name']} (default)" if marked == "true" else metadata["name"],
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        obj.get("allowVolumeExpansion", False),
        age(metadata["creationTimestamp"], now),
    ]


def _csi_driver(obj: Document, now: float) -> list[Any]:
    metadata, spec = obj["metadata"], obj["spec"]
    audiences = [one.get("audience", "") for one in spec.get("tokenRequests") or ()]
    return [
        metadata["name"],
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        ",".join(audiences) if "tokenRequests" in spec else "<unset>",
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>",
        age(metadata["creationTimestamp"], now),
    ]


def _csi_node(obj: Document, now: float) -> list[Any]:
    metadata, drivers = obj["metadata"], (obj.get("spec") or {}).get("drivers") or ()
    return [metadata["name"], len(drivers), age(metadata["creationTimestamp"], now)]


def _attachment(obj: Document, now: float) -> list[Any]:
    metadata, spec, state = obj["metadata"], obj["spec"], obj.get("status") or {}
    return [
        metadata["name"],
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        state.get("attached", False),
        age(metadata["creationTimestamp"], now),
    ]


def _resource_claim(obj: Document, now: float) -> list[Any]:
    metadata, state = obj["metadata"], obj.get("status") or {}
    words = ["deleted"] if "deletionTimestamp" in metadata else []
    if "allocation" in state:
        words += ["allocated", *(["reserved"] if state.get("reservedFor") else ())]
    elif not words:
        words.append("pending")
    return [metadata["name"], ",".join(words), age(metadata["creationTimestamp"], now)]


def _slice(obj: Document, now: float) -> list[Any]:
    metadata, spec = obj["metadata"], obj["spec"]
    pool = spec.get("pool") or {}
    created = age(metadata["creationTimestamp"], now)
    node, driver = spec.get("nodeName", ""), spec.get("driver", "")
    return [metadata["name"], node, driver, pool.get("name", ""), created]


_SPECIAL: Final[Mapping[str, Cells]] = {
    "csidrivers.storage.k8s.io": _csi_driver,
    "csinodes.storage.k8s.io": _csi_node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "resourceclaims.resource.k8s.io": _resource_claim,
    "resourceslices.resource.k8s.io": _slice,
    "storageclasses.storage.k8s.io": _storage_class,
    "volumeattachments.storage.k8s.io": _attachment,
    "pods": _pod,
    "nodes": _node,
    "events": _event,
    "jobs.batch": _job,
    "services": _service,
    "deployments.apps": _workload("ready/wanted", "updatedReplicas", "availableReplicas"),
    "replicasets.apps": _workload("wanted", "replicas", "readyReplicas"),
    "replicationcontrollers": _workload("wanted", "replicas", "readyReplicas"),
    "statefulsets.apps": lambda obj, now: _workload("ready/wanted")(obj, now)[:5],
}
