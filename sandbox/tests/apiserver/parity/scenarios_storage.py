# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: volumes, claims, classes, and what drivers say of nodes."""

from typing import Any

from sandbox.tests.apiserver.parity.recorder import MERGE, TABLE, Api
from sandbox.tests.apiserver.parity.talk import scenario

STORAGE = "/apis/storage.k8s.io/v1"
VOLUMES = "/api/v1/persistentvolumes"


def claims(api: Api) -> str:
    return f"/api/v1/namespaces/{api.namespace}/persistentvolumeclaims"


def claim(name: str, **spec: Any) -> dict[str, Any]:
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1024Mi"}},
        **spec,
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": wanted,
    }


def volume(name: str, **spec: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Gi"},
        "local": {"path": "/mnt/a"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        "storageClassName": "local",
        **spec,
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": given,
    }


def driver(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": name},
        "spec": {"storageCapacity": True},
    }


@scenario
async def a_claim_is_defaulted_protected_and_gets_its_volume_once(api: Api) -> None:
    path = claims(api)
    await api.call("POST", path, claim("data"))
    named = {"spec": {"volumeName": "pv-1"}}
    await api.call("PATCH", f"{path}/data", named, kind=MERGE)
    await api.call("PATCH", f"{path}/data", {"spec": {"volumeName": "pv-2"}}, kind=MERGE)
    await api.call("PATCH", f"{path}/data", {"spec": {"storageClassName": "x"}}, kind=MERGE)
    state = {
        "status": {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "10Gi"},
        }
    }
    await api.call("PATCH", f"{path}/data/status", state, kind=MERGE)
    await api.call("GET", path, accept=TABLE)
    await api.call("DELETE", f"{path}/data")
    await api.call("PATCH", f"{path}/data", {"metadata": {"finalizers": None}}, kind=MERGE)


@scenario
async def claims_that_make_no_sense_are_refused(api: Api) -> None:
    path = claims(api)
    await api.call("POST", path, claim("none", accessModes=None))
    await api.call("POST", path, claim("mode", accessModes=["ReadSometimes"]))
    both = ["ReadWriteOncePod", "ReadWriteMany"]
    await api.call("POST", path, claim("both", accessModes=both))
    await api.call("POST", path, claim("unsized", resources={}))
    zero = {"requests": {"storage": "0"}}
    await api.call("POST", path, claim("zero", resources=zero))


@scenario
async def a_volume_is_defaulted_protected_and_its_source_is_fixed(api: Api) -> None:
    name = f"v-{api.namespace}"
    await api.call("POST", VOLUMES, volume(name))
    await api.call("PATCH", f"{VOLUMES}/{name}", {"spec": {"local": {"path": "/b"}}}, kind=MERGE)
    owner = {"kind": "PersistentVolumeClaim", "namespace": api.namespace, "name": "data"}
    await api.call("PATCH", f"{VOLUMES}/{name}", {"spec": {"claimRef": owner}}, kind=MERGE)
    state = {"status": {"phase": "Bound"}}
    await api.call("PATCH", f"{VOLUMES}/{name}/status", state, kind=MERGE)
    await api.call("GET", f"{VOLUMES}/{name}", accept=TABLE)
    await api.call("DELETE", f"{VOLUMES}/{name}")
    released = {"metadata": {"finalizers": None}}
    await api.call("PATCH", f"{VOLUMES}/{name}", released, kind=MERGE)


@scenario
async def volumes_that_make_no_sense_are_refused(api: Api) -> None:
    await api.call("POST", VOLUMES, volume("modes", accessModes=[]))
    await api.call("POST", VOLUMES, volume("size", capacity=None))
    await api.call("POST", VOLUMES, volume("zero", capacity={"storage": "0"}))
    await api.call("POST", VOLUMES, volume("source", local=None))
    host = {"path": "/tmp", "type": ""}
    await api.call("POST", VOLUMES, volume("two", hostPath=host))
    await api.call("POST", VOLUMES, volume("anywhere", nodeAffinity=None))
    keep = volume("keep", persistentVolumeReclaimPolicy="Keep")
    await api.call("POST", VOLUMES, keep)


@scenario
async def classes_are_defaulted_and_one_may_be_the_default(api: Api) -> None:
    path, name = f"{STORAGE}/storageclasses", f"c-{api.namespace}"
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": name,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "example.com/p",
    }
    await api.call("POST", path, made)
    unclassed = claim("data")
    del unclassed["spec"]["storageClassName"]
    await api.call("POST", claims(api), unclassed)
    await api.call("PATCH", f"{path}/{name}", {"reclaimPolicy": "Retain"}, kind=MERGE)
    await api.call("GET", f"{path}/{name}", accept=TABLE)
    wrong = {**made, "metadata": {"name": "w"}, "volumeBindingMode": "Later"}
    await api.call("POST", path, {**wrong, "provisioner": ""})
    await api.call("DELETE", f"{path}/{name}")
    released = {"metadata": {"finalizers": None}}
    await api.call("PATCH", f"{claims(api)}/data", released, kind=MERGE)


@scenario
async def drivers_say_what_they_are_and_what_nodes_have_of_them(api: Api) -> None:
    name = f"{api.namespace}.example.com"
    await api.call("POST", f"{STORAGE}/csidrivers", driver(name))
    await api.call("GET", f"{STORAGE}/csidrivers/{name}", accept=TABLE)
    node = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": api.namespace},
        "spec": {"drivers": [{"name": name, "nodeID": "n", "allocatable": {"count": 2}}]},
    }
    await api.call("POST", f"{STORAGE}/csinodes", node)
    await api.call("GET", f"{STORAGE}/csinodes/{api.namespace}", accept=TABLE)
    room = f"{STORAGE}/namespaces/{api.namespace}/csistoragecapacities"
    capacity = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "a"},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {"zone": "a"}},
        "capacity": "100Gi",
    }
    await api.call("POST", room, capacity)
    await api.call("PATCH", f"{room}/a", {"capacity": "50Gi"}, kind=MERGE)
    await api.call("PATCH", f"{room}/a", {"storageClassName": "slow"}, kind=MERGE)
    await api.call("DELETE", f"{STORAGE}/csinodes/{api.namespace}")
    await api.call("DELETE", f"{STORAGE}/csidrivers/{name}")


@scenario
async def an_attachment_is_fixed_but_for_how_it_stands(api: Api) -> None:
    path, name = f"{STORAGE}/volumeattachments", f"a-{api.namespace}"
    made = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
    }
    await api.call("POST", path, made)
    await api.call("PATCH", f"{path}/{name}", {"spec": {"nodeName": "m"}}, kind=MERGE)
    await api.call("PATCH", f"{path}/{name}/status", {"status": {"attached": True}}, kind=MERGE)
    await api.call("GET", f"{path}/{name}", accept=TABLE)
    await api.call("DELETE", f"{path}/{name}")
