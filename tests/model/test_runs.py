# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from dataclasses import replace

import pytest

from enbloc.model.groups import GroupMemory
from enbloc.model.pods import Owner, Pod, PodKey, PodSpec, PodUID
from enbloc.model.runs import BARE, attempt_of, count_succeeded, joins, owner_of

BARE_POD = Pod(PodKey("n", "p"), PodUID("u"), PodSpec())
ROLLOUT = Owner("ReplicaSet", "web-5d4f", "uid-rs")


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(BARE_POD, BARE, id="pods without a controller share one"),
        pytest.param(replace(BARE_POD, restart="set/1"), "set/1", id="a JobSet's attempt"),
        pytest.param(replace(BARE_POD, owner=Owner("Job", "j", "uid-j")), "uid-j", id="its Job"),
        pytest.param(
            replace(BARE_POD, owner=ROLLOUT, labels=(("pod-template-hash", "5d4f"),)),
            "Deployment:web",
            id="its Deployment, whichever the ReplicaSet",
        ),
        pytest.param(replace(BARE_POD, owner=ROLLOUT), "uid-rs", id="a ReplicaSet by itself"),
    ],
)
def test_a_pod_is_of_the_run_that_its_labels_or_its_controller_name(pod: Pod, said: str) -> None:
    assert owner_of(pod) == said


def test_an_owner_is_never_longer_than_status_can_keep() -> None:
    long = replace(BARE_POD, owner=Owner("Job", "j", "u" * 5000))
    assert len(owner_of(long)) <= 200
    assert owner_of(long) != owner_of(replace(long, owner=Owner("Job", "j", "u" * 5001)))


@pytest.mark.parametrize(
    ("said", "attempt"),
    [
        ("set/3", ("set", 3)),
        ("set/", None),
        ("set/x", None),
        ("set/²", None),
        ("set/99999999999999", None),
        ("uid-of-a-job", None),
        ("Deployment:web", None),
    ],
)
def test_only_a_jobset_s_owner_names_an_attempt(said: str, attempt: tuple[str, int] | None) -> None:
    assert attempt_of(said) == attempt


@pytest.mark.parametrize(
    ("said", "owner", "one"),
    [
        pytest.param("job-2", "", False, id="nobody owns the PodGroup"),
        pytest.param("job-2", "MPIJob/m", True, id="an MPIJob makes one run"),
        pytest.param("job-2", "CronJob/c", False, id="a CronJob makes several"),
        pytest.param("set/1", "JobSet/s", False, id="and so does a JobSet that starts anew"),
    ],
)
def test_what_the_owner_of_a_podgroup_makes_is_one_run(said: str, owner: str, one: bool) -> None:
    assert joins(said, owner) is one


@pytest.mark.parametrize(
    ("seen", "memory", "counted"),
    [
        pytest.param({}, GroupMemory(succeeded=3), {"": 3}, id="all pods are gone"),
        pytest.param({"": 3}, GroupMemory(succeeded=2), {"": 3}, id="status lags behind"),
        pytest.param(
            {"worker": 1},
            GroupMemory(succeeded=3, roles=(("worker", 2),)),
            {"worker": 2, "": 1},
            id="one pod of a role and one without are gone",
        ),
        pytest.param(
            {"worker": 2},
            GroupMemory(succeeded=3, roles=(("worker", 1),)),
            {"worker": 2, "": 2},
            id="status lags behind in one role and knows of more without",
        ),
        pytest.param(
            {"unnamed": 2},
            GroupMemory(succeeded=2, roles=(("worker", 0),)),
            {"unnamed": 2},
            id="a role that the PodGroup does not name is counted once",
        ),
    ],
)
def test_what_succeeded_is_counted_once_whether_seen_or_remembered(
    seen: dict[str, int], memory: GroupMemory, counted: dict[str, int]
) -> None:
    assert +count_succeeded(Counter(seen), memory) == Counter(counted)
