# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The topology that Kueue's annotations of pod templates call for, and what of it is noted."""

from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import WORKLOADS, kueue
from enbloc.controller.sources.reading import called_for
from enbloc.controller.sources.source import Derived

KUEUE = "kueue.x-k8s.io/"
REQUIRED, PREFERRED = f"{KUEUE}podset-required-topology", f"{KUEUE}podset-preferred-topology"
RACK = {"required": "example.com/rack"}


def workload(kind: str, spec: dict[str, Any]) -> list[Derived]:
    """The PodGroups of a workload."""
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    metadata = {"name": "w", "namespace": "n", "uid": "u"}
    found = called_for(source, msgspec.convert({"metadata": metadata, "spec": spec}, source.shape))
    made = found if isinstance(found, tuple) else (found,)
    return [each for each in made if isinstance(each, Derived)]


def template(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("annotations", "topology"),
    [
        ({REQUIRED: "example.com/rack"}, RACK),
        ({PREFERRED: "example.com/rack"}, {"preferred": "example.com/rack"}),
        ({f"{KUEUE}podset-unconstrained-topology": "true"}, None),
        ({REQUIRED: "example.com/rack", f"{KUEUE}workload": "job-w"}, None),
    ],
    ids=["required", "preferred", "unconstrained", "admitted by Kueue"],
)
def test_the_template_of_a_job_says_its_topology_in_words_of_kueue(
    annotations: dict[str, str], topology: dict[str, str] | None
) -> None:
    """Where Kueue has admitted the Job it chooses the nodes, and nothing is added to that."""
    [found] = workload("Job", {"parallelism": 2, "template": template(**annotations)})
    assert found.spec.get("topology") == topology
    assert not found.ignored


def test_templates_that_say_the_same_keep_all_members_in_one_domain() -> None:
    one = template(**{REQUIRED: "example.com/rack"})
    jobs = [
        {"name": name, "replicas": 1, "template": {"spec": {"parallelism": 2, "template": one}}}
        for name in ("driver", "workers")
    ]
    [found] = workload("JobSet", {"replicatedJobs": jobs})
    assert found.spec["topology"] == RACK
    assert not found.ignored


def test_templates_of_which_some_say_nothing_are_noted() -> None:
    replicas = {
        "Master": {"replicas": 1, "template": template()},
        "Worker": {"replicas": 2, "template": template(**{REQUIRED: "example.com/rack"})},
    }
    [found] = workload("PyTorchJob", {"pytorchReplicaSpecs": replicas})
    assert "topology" not in found.spec
    assert f"annotation {REQUIRED} of some pod templates is ignored" in found.ignored
    assert "use annotation enbloc.dev/topology-required" in found.ignored


def test_each_group_of_a_leaderworkerset_hears_of_what_is_not_followed() -> None:
    slices = {f"{KUEUE}podset-slice-required-topology": "example.com/rack"}
    group = {"size": 2, "workerTemplate": template(**{REQUIRED: "example.com/block"}, **slices)}
    found = workload("LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": group})
    assert [each.spec["topology"] for each in found] == [{"required": "example.com/block"}] * 2
    assert found[0].spec is found[1].spec
    assert "podset-slice-required-topology is ignored" in found[0].ignored


def test_templates_that_are_to_be_together_are_noted_unless_all_are() -> None:
    group = {f"{KUEUE}podset-group-name": "g", REQUIRED: "example.com/rack"}
    assert kueue.asked([group, group]) == kueue.Asked(RACK)
    [note] = kueue.asked([group, {REQUIRED: "example.com/rack"}]).ignored
    assert f"annotation {KUEUE}podset-group-name of some pod templates is ignored" in note
