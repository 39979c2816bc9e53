# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How controllers number the pods of a gang."""

import pytest

from enbloc.model.member_index import member_index
from tests.world.builders import pod

JOB, JOBSET = "batch.kubernetes.io/job-completion-index", "jobset.sigs.k8s.io/job-global-index"


@pytest.mark.parametrize(
    ("name", "labels", "index"),
    [
        ("job-abc12", {JOB: "3"}, (0, 3)),
        ("job-0-1-xyz", {JOB: "1", JOBSET: "4"}, (0, 4, 1)),
        ("set-11", {}, (0, 11)),
        ("set-11", {JOB: "2"}, (0, 2)),
        ("job-abc12", {JOB: "many"}, (1,)),
        ("job-abc12", {JOB: "9" * 40}, (1,)),
        ("bare", {}, (1,)),
    ],
)
def test_a_member_is_numbered_by_its_controller_or_by_its_name(
    name: str, labels: dict[str, str], index: tuple[int, ...]
) -> None:
    assert member_index(pod(name=name, labels=tuple(sorted(labels.items())))) == index


def test_members_without_a_number_come_last() -> None:
    numbered, bare = pod(name="set-11"), pod(name="bare")
    assert sorted((bare, numbered), key=member_index) == [numbered, bare]
