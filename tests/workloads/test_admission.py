# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the API server fills in when pods and claims are created."""

from typing import Any

import pytest

from enbloc.errors import UsageError
from enbloc.workloads import (
    Admission,
    PriorityClass,
    claimed,
    default_storage_class,
    priority_classes,
)


def admitted(admission: Admission | None = None, /, **spec: Any) -> dict[str, Any]:
    """The spec of a pod as it is stored."""
    found: dict[str, Any] = (admission or Admission()).pod(
        {"spec": spec}, "Job default/train: spec"
    )["spec"]
    return found


def test_a_pod_that_names_no_scheduler_is_the_default_one_s() -> None:
    assert admitted()["schedulerName"] == "default-scheduler"


def test_what_is_limited_is_requested_where_nothing_is_said() -> None:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    [container] = admitted(containers=[{"resources": resources}])["containers"]
    assert container["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert admitted(resources={"limits": {"cpu": 1}})["resources"]["requests"] == {"cpu": 1}


def test_what_a_pod_is_limited_to_is_requested_unless_a_container_requests_some() -> None:
    limits = {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "8Mi"}
    own = {"requests": {"cpu": "1"}, "limits": {"hugepages-2Mi": "4Mi"}}
    stored = admitted(containers=[{"resources": own}], resources={"limits": limits})
    assert stored["resources"]["requests"] == {"memory": "1Gi", "hugepages-2Mi": "8Mi"}
    listed: list[Any] = ["?", {"resources": "?"}, {"resources": {"requests": ["cpu"]}}]
    unread = admitted(containers=listed, initContainers="?", resources={"limits": limits})
    assert unread["resources"]["requests"] == limits


def test_on_the_network_of_the_node_a_port_is_one_of_the_node_s() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}]
    [container] = admitted(hostNetwork=True, containers=[{"ports": ports}])["containers"]
    assert [port["hostPort"] for port in container["ports"]] == [80, 8081]


CLASSES = priority_classes(
    [
        {"metadata": {"name": "high"}, "value": 1000},
        {"metadata": {"name": "polite"}, "value": 500, "preemptionPolicy": "Never"},
        {"metadata": {"name": "usual"}, "value": 10, "globalDefault": True},
        {"metadata": {"name": "broken"}},
    ]
)


def test_the_priority_of_a_pod_is_that_of_its_class() -> None:
    admission = Admission(CLASSES)
    assert admitted(admission, priorityClassName="high")["priority"] == 1000
    polite = admitted(admission, priorityClassName="polite")
    assert (polite["priority"], polite["preemptionPolicy"]) == (500, "Never")
    assert admitted(admission)["priorityClassName"] == "usual"
    assert admitted(Admission())["priority"] == 0
    assert admitted(priorityClassName="system-node-critical")["priority"] == 2_000_001_000


def test_of_several_default_classes_the_lowest_counts() -> None:
    classes = {"b": PriorityClass(5, default=True), "a": PriorityClass(9, default=True)}
    assert admitted(Admission(classes))["priority"] == 5


def test_a_class_that_does_not_exist_is_named_with_those_that_are_nearly_called_so() -> None:
    with pytest.raises(UsageError) as raised:
        admitted(Admission(CLASSES), priorityClassName="hihg")
    assert str(raised.value) == (
        'Job default/train: spec.priorityClassName: PriorityClass "hihg" not found (did you mean '
        "high?); create it, or name one that exists"
    )


def test_a_claim_that_names_no_class_gets_the_default_one() -> None:
    admission = Admission(storage_class="fast")
    assert admission.claim({"spec": {}})["spec"] == {"storageClassName": "fast"}
    assert admission.claim({"spec": {"storageClassName": ""}})["spec"] == {"storageClassName": ""}
    assert Admission().claim({"spec": {}}) == {"spec": {}}


def test_of_several_default_storage_classes_the_newest_counts() -> None:
    def marked(name: str, day: str) -> dict[str, Any]:
        key = "storageclass.kubernetes.io/is-default-class"
        metadata = {"name": name, "annotations": {key: "true"}, "creationTimestamp": day}
        return {"metadata": metadata}

    found = [marked("a", "2026-01-01"), marked("c", "2026-02-01"), marked("b", "2026-02-01")]
    assert default_storage_class(found) == "b"
    assert default_storage_class([{"metadata": {"name": "a"}}]) == ""


def test_claims_are_made_for_ephemeral_volumes_and_from_templates() -> None:
    template = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    pod = {
        "metadata": {"namespace": "default", "name": "a", "uid": "u"},
        "spec": {
            "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}],
            "resourceClaims": [
                {"name": "gpu", "resourceClaimTemplateName": "gpus"},
                {"name": "nic", "resourceClaimTemplateName": "nics"},
            ],
        },
    }
    gpus = {"apiVersion": "resource.k8s.io/v1", "spec": {"spec": {"devices": {}}}}
    found = claimed(pod, {("default", "gpus"): gpus})
    assert [each["metadata"]["name"] for each in found.volumes] == ["a-scratch"]
    assert found.volumes[0]["spec"] == template["spec"]
    assert [each["metadata"]["name"] for each in found.devices] == ["a-gpu-0"]
    assert found.pod["status"] == {
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "a-gpu-0"}]
    }
    assert found.lacking == ("nics",)
