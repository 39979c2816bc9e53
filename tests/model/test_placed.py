# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pod table says what a dict of pods would say; snapshots and forks keep what they saw."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from enbloc.model.placed import Placed
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from tests.worlds import pod, spec

SPECS = (spec(cpu=1), spec(cpu=2), spec(cpu=2, memory="1Gi"))
Model = dict[PodUID, tuple[Pod, int]]

uids = st.integers(0, 7).map(lambda number: PodUID(f"uid-{number}"))


def check(table: Placed, model: Model) -> None:
    assert sorted(table.uids) == sorted(model)
    assert len(table) == len(model)
    specs: dict[int, PodSpec] = {}
    spaces: dict[int, str] = {}
    for place, uid in enumerate(table.uids):
        member, row = model[uid]
        assert table.row_of(uid) == table.row[place] == row
        assert table.priority[place] == member.priority
        assert table.terminating[place] == member.deleting
        assert table.spec_of(uid) == member.spec
        assert specs.setdefault(int(table.spec[place]), member.spec) == member.spec
        namespace = member.key.namespace
        assert spaces.setdefault(int(table.namespace[place]), namespace) == namespace
    for row in range(4):
        assert sorted(table.on(row)) == sorted(u for u, (_, at) in model.items() if at == row)


class PlacedMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.table = Placed()
        self.model: Model = {}
        self.kept: list[tuple[Placed, Model]] = []

    @rule(
        uid=uids,
        row=st.integers(0, 3),
        of=st.sampled_from(SPECS),
        priority=st.integers(-5, 5),
        deleting=st.booleans(),
        namespace=st.sampled_from(("a", "b")),
    )
    def put(
        self,
        uid: PodUID,
        row: int,
        of: PodSpec,
        priority: int,
        deleting: bool,
        namespace: str,
    ) -> None:
        key = PodKey(namespace, uid)
        member = Pod(key, uid, of, priority=priority, deleting=deleting)
        self.table.put(member, row)
        self.model[uid] = (member, row)

    @rule(uid=uids)
    def drop(self, uid: PodUID) -> None:
        self.table.drop(uid)
        self.model.pop(uid, None)
        assert self.table.row_of(uid) is None
        assert self.table.spec_of(uid) is None

    @rule()
    def snapshot(self) -> None:
        self.kept.append((self.table.snapshot(), self.model.copy()))

    @rule(uid=uids)
    def fork(self, uid: PodUID) -> None:
        fork, model = self.table.fork(), self.model.copy()
        fork.drop(uid)
        model.pop(uid, None)
        self.kept.append((fork, model))

    @invariant()
    def the_table_says_what_the_model_says(self) -> None:
        check(self.table, self.model)

    def teardown(self) -> None:
        for table, model in getattr(self, "kept", []):
            check(table, model)


TestPlaced = PlacedMachine.TestCase


def test_a_snapshot_refuses_every_write() -> None:
    table = Placed()
    table.put(pod(name="a"), 0)
    frozen = table.snapshot()

    with pytest.raises(TypeError, match=r"change a fork\(\) of it"):
        frozen.put(pod(name="b"), 1)
    with pytest.raises(TypeError, match=r"change a fork\(\) of it"):
        frozen.drop(PodUID("a"))
    with pytest.raises(ValueError, match="read-only"):
        frozen.row[0] = 1


def test_the_table_grows_as_long_as_the_cluster() -> None:
    table = Placed()
    for number in range(1000):
        table.put(pod(name=f"p{number}", priority=number), number % 7)

    assert table.priority.tolist() == list(range(1000))
    assert len(table.on(0)) == 143
