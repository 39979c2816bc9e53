# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from approval import Approval
from enbloc import (
    Action,
    Code,
    Floor,
    Group,
    GroupFacts,
    GroupKey,
    Happening,
    Hint,
    Pod,
    Resource,
)
from enbloc.testing import check_plugin


class Plan:
    """A plan with nothing in it: the answer does not depend on it."""

    id = "plan-1"
    nodes: tuple[tuple[Pod, str], ...] = ()


TRAIN = GroupKey("default", "train")


def facts(*, approved: str = "", solo: bool = False, key: GroupKey = TRAIN) -> GroupFacts:
    annotations = (("example.com/approved", approved),) if approved else ()
    return GroupFacts(
        key=key,
        group=Group(key.podgroup, annotations=annotations),
        solo=solo,
        pending=(),
        total=Floor("", minimum=1, pending=1, bound=0, succeeded=0),
    )


def answer(facts: GroupFacts) -> Code:
    return Approval().permit(Plan(), facts).code


def test_it_keeps_the_contract() -> None:
    check_plugin(Approval())


def test_a_gang_waits_until_somebody_says_yes_or_no() -> None:
    assert answer(facts()) is Code.WAIT
    assert answer(facts(approved="true")) is Code.SUCCESS
    assert answer(facts(approved="false")) is Code.UNSCHEDULABLE


def test_a_pod_without_a_group_needs_no_approval() -> None:
    assert answer(facts(solo=True)) is Code.SUCCESS


def hint(annotated: GroupKey, waiting: GroupKey) -> Hint:
    event = Happening(Resource.POD_GROUP, Action.UPDATE_ANNOTATION, group=annotated)
    return Approval().hint(event, facts(key=waiting))


def test_an_approval_has_its_own_gang_tried_again_and_no_other() -> None:
    assert hint(TRAIN, TRAIN) is Hint.QUEUE
    assert hint(GroupKey("default", "other"), TRAIN) is Hint.SKIP


def test_an_approval_reaches_a_gang_whose_pods_of_the_run_before_are_still_there() -> None:
    assert hint(TRAIN, GroupKey("default", "train", 1)) is Hint.QUEUE
