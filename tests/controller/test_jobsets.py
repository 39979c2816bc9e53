# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The PodGroups of JobSets: waves, exclusive placement, and the domains of their parts."""

from typing import Any

import pytest

from tests.controller.test_workloads import (
    TEMPLATE,
    after,
    called_for,
    derived,
    job,
    near,
    replicated,
    roles,
)


def test_a_jobset_is_one_gang() -> None:
    jobs = [replicated("driver", 1), replicated("workers", 2)]
    expected = {"minMember": 6, "roles": roles(driver=2, workers=4)}
    assert derived("JobSet", {"replicatedJobs": jobs}) == {"": expected}


@pytest.mark.parametrize(
    ("waits", "reserved"),
    [
        ({"startupPolicy": {"startupPolicyOrder": "InOrder"}}, {"cpu": "12", "memory": "6Gi"}),
        (after("driver", "Ready"), {"cpu": "12", "memory": "6Gi"}),
        (after("driver", "Complete"), {"cpu": "8", "memory": "4Gi"}),
    ],
    ids=["InOrder", "Ready", "Complete"],
)
def test_a_jobset_in_order_reserves_for_all_and_has_a_podgroup_for_what_comes_later(
    waits: dict[str, Any], reserved: dict[str, str]
) -> None:
    depends = {"dependsOn": waits.pop("dependsOn")} if "dependsOn" in waits else {}
    jobs = [replicated("driver", 1), replicated("workers", 2, **depends)]
    assert derived("JobSet", {"replicatedJobs": jobs, **waits}) == {
        "": {"minMember": 2, "roles": roles(driver=2), "minResources": reserved},
        "workers": {"minMember": 4, "roles": roles(workers=4)},
    }


def test_a_jobset_in_three_waves_reserves_for_the_largest() -> None:
    """Semantics §5.2."""
    jobs = [
        replicated("driver", 1),
        replicated("workers", 3, **after("driver", "Complete")),
        replicated("helper", 1, **after("workers", "Ready")),
        replicated("check", 1, **after("workers", "Complete")),
    ]
    first = called_for("JobSet", {"replicatedJobs": jobs})[0]
    assert first.spec["minResources"] == {"cpu": "16", "memory": "8Gi"}


def test_a_job_that_no_other_waits_for_counts_beside_all_later_ones() -> None:
    """Semantics §5.2."""
    jobs = [
        replicated("server", 2),
        replicated("prepare", 1),
        replicated("train", 3, **after("prepare", "Complete")),
    ]
    first = called_for("JobSet", {"replicatedJobs": jobs})[0]
    assert first.spec["minResources"] == {"cpu": "20", "memory": "10Gi"}


EXCLUSIVE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
BY_SELECTOR = {"alpha.jobset.sigs.k8s.io/node-selector": "true"}


def test_of_a_jobset_with_exclusive_placement_one_pod_of_each_job_is_needed() -> None:
    """Semantics §5.2."""
    jobs = [replicated("workers", 2)]
    reserved = {"cpu": "8", "memory": "4Gi"}
    led = {"minMember": 2, "roles": roles(workers=2), "minResources": reserved}
    assert derived("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE) == {"": led}
    whole = {"minMember": 4, "roles": roles(workers=4)}
    assert derived("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE | BY_SELECTOR) == {"": whole}


def test_pods_may_have_exclusive_placement_of_their_own() -> None:
    """Semantics §5.2."""
    # The webhook of JobSet reads only the annotations of pods.
    jobs = [replicated("workers", 2)]
    jobs[0]["template"]["spec"]["template"] = TEMPLATE | {"metadata": {"annotations": EXCLUSIVE}}
    assert derived("JobSet", {"replicatedJobs": jobs})[""]["minMember"] == 2
    jobs[0]["template"]["spec"]["template"] = TEMPLATE | {"metadata": {"annotations": BY_SELECTOR}}
    assert derived("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE)[""]["minMember"] == 4


def test_a_replicated_job_may_have_exclusive_placement_of_its_own() -> None:
    """Semantics §5.2."""
    jobs = [replicated("driver", 1), replicated("workers", 2), replicated("single", 3)]
    jobs[1]["template"]["metadata"] = {"annotations": EXCLUSIVE}
    jobs[2]["template"] = {"metadata": {"annotations": EXCLUSIVE}, "spec": job(1, 1)}
    assert derived("JobSet", {"replicatedJobs": jobs}, BY_SELECTOR) == {
        "": {
            "minMember": 7,
            "roles": roles(driver=2, workers=2, single=3),
            "minResources": {"cpu": "18", "memory": "9Gi"},
        }
    }
    later = [jobs[0], jobs[1] | after("driver", "Ready")]
    assert derived("JobSet", {"replicatedJobs": later}) == {
        "": {
            "minMember": 2,
            "roles": roles(driver=2),
            "minResources": {"cpu": "12", "memory": "6Gi"},
        },
        "workers": {"minMember": 2, "roles": roles(workers=2)},
    }


def test_each_part_of_a_jobset_that_is_created_later_has_the_topology_of_its_own_template() -> None:
    def part(name: str, template: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"name": name, "template": {"spec": {"template": template}}, **more}

    rack = near(required="rack")
    jobs = [part("driver", TEMPLATE), part("workers", rack, **after("driver", "Ready"))]

    first, later = called_for("JobSet", {"replicatedJobs": jobs})

    assert "topology" not in first.spec
    assert later.spec["topology"] == {"required": "rack"}


def in_rack(name: str, **more: Any) -> dict[str, Any]:
    """A replicatedJob with one pod, which requires a rack."""
    template = near(required="rack", name="default")
    return {"name": name, "template": {"spec": {"template": template}}, **more}


def test_the_first_part_of_a_jobset_requires_a_domain_for_its_own_pods_alone() -> None:
    """Semantics §6.6: capacity for the later ones need not be in that domain."""
    jobs = [in_rack("driver"), in_rack("workers", **after("driver", "Ready"))]

    first, later = called_for("JobSet", {"replicatedJobs": jobs})

    assert first.spec["topology"] == {"name": "default"}
    assert first.spec["roles"] == [
        {"name": "driver", "minMember": 1, "topology": {"required": "rack"}}
    ]
    assert first.spec["minResources"] == {"cpu": "4", "memory": "2Gi"}
    assert later.spec["topology"] == {"name": "default", "required": "rack"}


def test_pods_that_wait_for_the_first_of_their_job_are_reserved_for_in_its_domain() -> None:
    """Semantics §5.2, §6.6: though other jobs follow."""
    workers = {"spec": {"parallelism": 8, "template": near(required="rack", name="default")}}
    jobs = [
        {"name": "workers", "replicas": 1, "template": workers},
        in_rack("check", **after("workers", "Complete")),
    ]

    first = called_for("JobSet", {"replicatedJobs": jobs}, EXCLUSIVE)[0]

    assert first.spec["roles"] == roles(workers=1)
    assert first.spec["topology"] == {"name": "default", "required": "rack"}


def test_jobs_that_a_jobset_creates_at_once_stay_in_one_domain_if_others_follow() -> None:
    """Semantics §6.6."""
    jobs = [in_rack("together"), in_rack("b"), in_rack("c", **after("b", "Ready"))]

    first = called_for("JobSet", {"replicatedJobs": jobs})[0]

    assert first.spec["topology"] == {"name": "default"}
    [part] = first.spec["subGroups"]
    assert part["topology"] == {"required": "rack"}
    assert part["name"] not in {"together", "b"}
    assert {role["name"]: role["parent"] for role in first.spec["roles"]} == {
        "together": part["name"],
        "b": part["name"],
    }
