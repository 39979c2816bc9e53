# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Small manifests that ask for much, and objects that are not what they should be."""

import re

import pytest

from enbloc.errors import UsageError
from tests.workloads.given import expanded


def test_what_all_pods_are_made_of_is_bounded() -> None:
    containers = ", ".join(f"{{name: c{at}, image: i}}" for at in range(2000))
    text = f"""
        apiVersion: batch/v1
        kind: Job
        metadata: {{name: wide}}
        spec:
          parallelism: 10000
          completions: 10000
          template: {{spec: {{containers: [{containers}]}}}}
    """
    with pytest.raises(UsageError, match="more than 200000 containers, volumes and claims"):
        expanded(text)


CLAIMS = ", ".join(f"{{metadata: {{name: v{at}}}, spec: {{}}}}" for at in range(600))


@pytest.mark.parametrize(
    ("version", "kind", "spec", "field"),
    [
        (
            "apps/v1",
            "StatefulSet",
            f"{{replicas: 10000, volumeClaimTemplates: [{CLAIMS}], template: TEMPLATE}}",
            "spec.volumeClaimTemplates",
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            (
                "{replicas: 100, leaderWorkerTemplate: "
                f"{{size: 100, volumeClaimTemplates: [{CLAIMS}], workerTemplate: TEMPLATE}}}}"
            ),
            "spec.leaderWorkerTemplate.volumeClaimTemplates",
        ),
    ],
)
def test_the_claims_of_all_pods_are_bounded_before_any_is_made(
    version: str, kind: str, spec: str, field: str
) -> None:
    text = f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: wide}}, spec: {spec}}}"
    with pytest.raises(UsageError, match=f"{re.escape(field)}: its pods have more than"):
        expanded(text)


def test_an_object_beside_the_pods_has_to_have_a_name() -> None:
    with pytest.raises(UsageError, match=r"Namespace: metadata\.name is missing"):
        expanded("{apiVersion: v1, kind: Namespace, metadata: {}}")


def test_volumes_that_are_no_list_are_told_of_where_the_pod_is_read() -> None:
    text = """
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {name: odd}
        spec: {template: {spec: {volumes: true, containers: [{name: c, image: i}]}}}
    """
    [planned] = expanded(text).pods
    assert planned.pod["spec"]["volumes"] is True
