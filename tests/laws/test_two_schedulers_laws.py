# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever two schedulers see, and when, and which of them dies: each group has one author."""

from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from tests.world.two import Both

GROUPS = ("a", "b")
#: "default-scheduler" is none of ours.
NAMES = (*Both.NAMES, "default-scheduler")

ACTIONS = st.one_of(
    st.tuples(st.just("group"), st.sampled_from(GROUPS), st.integers(1, 3)),
    st.tuples(st.just("drop"), st.sampled_from(GROUPS)),
    st.tuples(st.just("pod"), st.sampled_from(GROUPS), st.sampled_from(NAMES)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("hear"), st.sampled_from(Both.NAMES), st.integers(1, 5)),
    st.tuples(st.just("step"), st.sampled_from(Both.NAMES)),
    st.tuples(st.just("restart"), st.sampled_from(Both.NAMES)),
)


def act(both: Both, number: int, what: str, *how: object) -> None:
    """Have one thing happen, if it can."""
    match what, *how:
        case "group", str(name), int(minimum) if name in both.groups:
            both.alter(name, minimum=minimum)
        case "group", str(name), int(minimum):
            both.group(name, minimum)
        case "drop", str(name) if name in both.groups:
            both.drop_group(name)
        case "pod", str(group), str(scheduler):
            both.pod(f"{group}-{number}", group, scheduler=scheduler)
        case "delete", int(index) if index < len(both.pods):
            both.delete(sorted(both.pods)[index])
        case "hear", str(name), int(most):
            both.schedulers[name].hear(most)
        case "step", str(name):
            both.schedulers[name].step()
        case "restart", str(name):
            both.restart(name)
        case _:
            pass
    both.now += 1.0
    for one in both.schedulers.values():
        one.now = both.now


@examples(100)
@given(st.lists(ACTIONS, max_size=40))
def test_each_group_ends_with_one_author_whose_word_stands(
    actions: list[tuple[object, ...]],
) -> None:
    """semantics §6.4"""
    both = Both(lagging=True)
    for number, (what, *how) in enumerate(actions):
        act(both, number, str(what), *how)
    both.settle()
    for name in both.groups:
        [author] = both.authors(name)
        last = [who for who, group in both.written if group == name][-1]
        assert last == author
        members = [pod for pod in both.pods.values() if pod.group and pod.group.name == name]
        ours = [pod for pod in members if pod.scheduler in Both.NAMES]
        if ours:
            assert min(ours, key=lambda pod: pod.seniority).scheduler == author
    count = len(both.written)
    both.settle()
    assert len(both.written) == count
