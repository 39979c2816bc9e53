# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controllers of other projects create from their objects, as a scheduler sees it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.e2e.manifests import reference

Object = dict[str, Any]
JOBSET_KEYS = "jobset.sigs.k8s.io"


def kind(group: str, version: str, name: str) -> Object:
    """A CRD that takes every object of a kind."""
    plural = f"{name.lower()}s"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # These groups are protected; the annotation says that nobody has approved.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": name, "plural": plural, "listKind": f"{name}List"},
            "versions": [{**served, "schema": {"openAPIV3Schema": anything}}],
        },
    }


def pod(owner: Mapping[str, Any], name: str, template: Mapping[str, Any]) -> Object:
    """A pod of a template that an object controls."""
    metadata = {**template.get("metadata", {}), "name": name, "ownerReferences": [reference(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def job(owner: Mapping[str, Any], name: str, spec: Mapping[str, Any]) -> Object:
    """A Job that an object controls."""
    metadata = {"name": name, "ownerReferences": [reference(owner)]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def of_job_set(
    owner: Mapping[str, Any], replicated: Sequence[Mapping[str, Any]]
) -> Iterator[Object]:
    """The Jobs of a JobSet, whose pods carry its UID and the number of the attempt."""
    for each in replicated:
        for index in range(each.get("replicas", 1)):
            spec = each["template"]["spec"]
            labels = {
                f"{JOBSET_KEYS}/jobset-uid": owner["metadata"]["uid"],
                f"{JOBSET_KEYS}/restart-attempt": "0",
            }
            template = {
                "metadata": {**spec["template"]["metadata"], "labels": labels},
                "spec": {"restartPolicy": "OnFailure", **spec["template"]["spec"]},
            }
            name = f"{owner['metadata']['name']}-{each['name']}-{index}"
            yield job(owner, name, {**spec, "completionMode": "Indexed", "template": template})


def of_train_job(owner: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Object]:
    """The Jobs of a TrainJob, by way of a JobSet: as many pods as there are nodes."""
    nodes = runtime["spec"]["mlPolicy"]["numNodes"]
    for each in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        spec = {**each["template"]["spec"], "completions": nodes, "parallelism": nodes}
        yield from of_job_set(owner, [{**each, "template": {"spec": spec}}])


def of_ray_cluster(owner: Mapping[str, Any]) -> Iterator[Object]:
    """The pods of a RayCluster."""
    name, spec = owner["metadata"]["name"], owner["spec"]
    yield pod(owner, f"{name}-head", spec["headGroupSpec"]["template"])
    for group in spec["workerGroupSpecs"]:
        for index in range(group["replicas"]):
            yield pod(owner, f"{name}-{group['groupName']}-worker-{index}", group["template"])


def of_mpi_job(owner: Mapping[str, Any]) -> Iterator[Object]:
    """The launcher's Job and the workers of an MPIJob."""
    name, replicas = owner["metadata"]["name"], owner["spec"]["mpiReplicaSpecs"]
    for index in range(replicas["Worker"]["replicas"]):
        yield pod(owner, f"{name}-worker-{index}", replicas["Worker"]["template"])
    yield job(owner, f"{name}-launcher", {"template": replicas["Launcher"]["template"]})


def of_spark(owner: Mapping[str, Any], role: str, count: int) -> Iterator[Object]:
    """The driver of a SparkApplication, or the executors that the driver creates."""
    application = owner.get("spec", {}) if role == "driver" else owner["application"]["spec"]
    part = application[role]
    requests = {"cpu": str(part["cores"]), "memory": f"{part['memory'][:-1]}Mi"}
    container = {"name": role, "image": application["image"], "resources": {"requests": requests}}
    template = {
        "metadata": {"annotations": part["annotations"]},
        "spec": {"schedulerName": part["schedulerName"], "containers": [container]},
    }
    for index in range(count):
        yield pod(owner, f"{owner['metadata']['name']}-{role}-{index}", template)
