# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whose pods are members of which group, whatever was seen in which order; semantics §6.5."""

from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.adoptions import Adoption, Adoptions
from enbloc.model.groups import GroupKey
from tests.effort import examples

GROUPS = [GroupKey("ns", name) for name in "abc"]
PODGROUPS = ["x", "y", "z"]
roles = st.dictionaries(st.sampled_from(PODGROUPS), st.sampled_from(["r", "s"]), max_size=3)


@given(st.lists(st.tuples(st.sampled_from(GROUPS), roles), max_size=12))
@examples(200)
def test_the_last_word_of_each_group_decides_and_every_change_is_told(
    said: list[tuple[GroupKey, dict[str, str]]],
) -> None:
    adoptions, stands = Adoptions(), dict[GroupKey, dict[str, str]]()
    for group, named in said:
        before = {name: adoptions.of(GroupKey("ns", name)) for name in PODGROUPS}
        touched = {key.name for key in adoptions.put(group, named)}
        stands[group] = named
        for name in PODGROUPS:
            key = GroupKey("ns", name)
            naming = sorted(group for group, names in stands.items() if name in names)
            first = Adoption(naming[0], stands[naming[0]][name]) if naming else None
            assert adoptions.of(key) == first
            assert first == before[name] or name in touched
            for each in GROUPS:
                assert (key in adoptions.under(each)) == (first is not None and first.group == each)
    for group in GROUPS:
        adoptions.put(group, {})
    assert vars(adoptions) == vars(Adoptions())
