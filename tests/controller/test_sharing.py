# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Controllers that make members of one PodGroup and have nothing to do with each other."""

import math
from dataclasses import replace

import pytest

from enbloc.controller.creators import JOB, REPLICA_SET, Creator
from enbloc.controller.members import Member
from enbloc.controller.sharing import sharing
from enbloc.model.groups import Group, Role
from enbloc.model.pods import PodUID
from tests.controller.statuses import KEY, NOW, pending, succeeded

GROUP = Group(KEY, uid="g", min_member=8, generation=1)
A = Creator(JOB, "a", "a", group=KEY, pods=8)
B = Creator(JOB, "b", "b", group=KEY, pods=8)


def note(
    *creators: Creator,
    group: Group = GROUP,
    member: Member = pending,
    idle: str = "",
    gathered: float = math.inf,
) -> str:
    """What is said of a group with one member of each of these."""
    made = [replace(member, uid=PodUID(c.uid), controller=c.uid) for c in creators if c.uid != idle]
    found = sharing(group, made, {creator.uid: creator for creator in creators}, gathered)
    return found.note if found else ""


def test_two_jobs_on_one_podgroup_are_named_with_what_to_do() -> None:
    """Semantics §7.4."""
    assert note(A, B) == (
        "Job a and Job b create members of this PodGroup: one that has the minimum alone is a gang "
        "of its own, and the others count as one gang; give each a PodGroup of its own (for Jobs: "
        "remove the key that names this one from the pod templates, and add the label "
        'enbloc.dev/auto-group: "true" there) or, if they are one gang, list a role for each in '
        "spec.roles"
    )


def test_who_gathered_into_one_gang_is_named_afterwards_too() -> None:
    """Semantics §7.4."""
    assert note(A, B, gathered=NOW + 1)


def test_of_many_a_few_are_named() -> None:
    """Semantics §7.4."""
    many = [replace(A, name=f"j{i}", uid=f"j{i}") for i in range(9)]
    assert note(*many).startswith("Job j0, Job j1, Job j2 and 6 more create members")


def of_jobset(creator: Creator) -> Creator:
    return replace(creator, above_kind="JobSet", above_name="js")


ROLES = replace(GROUP, roles=(Role("launcher", 1), Role("worker", 2)))
ROLLOUT = Creator(REPLICA_SET, "web-1", "r1", group=KEY, above_kind="Deployment", above_name="web")


@pytest.mark.parametrize(
    ("said"),
    [
        pytest.param(note(A), id="one Job"),
        pytest.param(note(of_jobset(A), of_jobset(B)), id="two of one JobSet"),
        pytest.param(note(ROLLOUT, replace(ROLLOUT, name="web-2", uid="r2")), id="a rollout"),
        pytest.param(
            note(replace(A, role="launcher"), replace(B, role="worker"), group=ROLES),
            id="each makes a role of its own",
        ),
        pytest.param(note(A, B, idle="b"), id="one has no pods"),
        pytest.param(note(A, B, member=succeeded), id="no pod is live"),
        pytest.param(note(A, replace(B, ended=True)), id="one has ended"),
        pytest.param(note(A, B, group=replace(GROUP, owner="MPIJob/x")), id="an owner meant it"),
        pytest.param(note(A, B, gathered=NOW - 1), id="they came when the gang was there"),
    ],
)
def test_what_belongs_together_is_no_sharing(said: str) -> None:
    """Semantics §7.4."""
    assert said == ""


def test_roles_that_two_jobs_share_set_nothing_apart() -> None:
    """Semantics §7.4."""
    assert note(replace(A, role="worker"), replace(B, role="worker"), group=ROLES)
