# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever other projects say of the parts of a group, ours can be made or it is said why not."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from enbloc.controller.sources import grove, kai, volcano
from enbloc.controller.sources.derived_groups import checked
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject
from tests.effort import examples

NAMES = st.sampled_from(["a", "b", "c", "a-0", "a-1", "A_", "x" * 63, ""])
NUMBERS = st.none() | st.integers(-1, 40)
KEYS = ["volcano.sh/task-spec", "volcano.sh/partition-id", "grove.io/podclique", "other"]


def some(**fields: Any) -> Any:
    """Objects with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


LABELS = st.none() | st.sampled_from(["", "rack", "example.com/rack", "no label", "x" * 318])
levels = some(requiredTopologyLevel=LABELS, preferredTopologyLevel=LABELS)
packed = some(packConstraint=some(required=LABELS, preferred=LABELS))
sub_groups = st.lists(
    some(
        name=NAMES,
        minMember=NUMBERS,
        parent=st.none() | NAMES,
        minSubGroup=NUMBERS,
        topologyConstraint=levels,
    ),
    max_size=8,
)
policies = st.lists(
    some(
        name=NAMES,
        labelSelector=some(matchLabels=st.dictionaries(st.sampled_from(KEYS), NAMES, max_size=2)),
        matchLabelKeys=st.lists(st.sampled_from(KEYS), max_size=2),
        subGroupSize=NUMBERS,
        minSubGroups=NUMBERS,
    ),
    max_size=4,
)
tasks = st.dictionaries(NAMES, st.integers(-1, 40), max_size=4)


def judged(found: Any) -> None:
    found = checked(found)
    assert isinstance(found, Derived | RefusedGroup)
    if isinstance(found, RefusedGroup):
        assert found.problem
        return
    body = {"metadata": {"name": "g"}, "spec": found.spec}
    group = codec.group(msgspec.convert(body, PodGroupObject))
    assert not group.problem, found.spec
    names = [role.name for role in group.roles]
    assert len(set(names)) == len(names)


@given(
    some(
        minMember=NUMBERS,
        minSubGroup=NUMBERS,
        subGroups=sub_groups,
        topologyConstraint=st.none() | levels,
    )
)
@examples(300)
def test_of_kai(spec: Any) -> None:
    judged(kai.derive(msgspec.convert({"spec": spec}, kai.KaiPodGroup)))


@given(some(minMember=NUMBERS, minTaskMember=tasks, subGroupPolicy=policies))
@examples(300)
def test_of_volcano(spec: Any) -> None:
    judged(volcano.derive(msgspec.convert({"spec": spec}, volcano.VolcanoPodGroup)))


@given(
    some(
        podgroups=st.lists(
            some(name=NAMES, minReplicas=NUMBERS, topologyConstraint=packed), max_size=4
        ),
        topologyConstraint=st.none() | packed,
    )
)
@examples(200)
def test_of_grove(spec: Any) -> None:
    judged(grove.derive(msgspec.convert({"spec": spec}, grove.PodGang)))
