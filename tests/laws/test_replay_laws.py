# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Law: every decision that a dump reaches back to is taken again exactly as it was taken."""

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from enbloc.config import default_profiles
from enbloc.engine.plan import Plan
from enbloc.engine.replay.file import DumpFile, decoded, encoded
from enbloc.engine.replay.replay import replayed, searched
from enbloc.framework.status import NO_DIAGNOSIS
from enbloc.model.pods import Phase, PodSpec
from enbloc.model.selectors import Labels
from tests.effort import examples
from tests.laws.test_kept_rankings_laws import StreamMachine, classes, labels
from tests.world.cluster import Cluster

PROFILES = default_profiles()


class ReplayMachine(StreamMachine):
    """Pods and gangs come, some with reservations; binds are refused, kubelets refuse pods."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(validate=False, log=50)

    @rule(
        kinds=st.lists(classes, min_size=1, max_size=3),
        cpu=st.integers(1, 20),
        owner=st.sampled_from(["", "a", "b"]),
        priority=st.integers(0, 2),
    )
    def a_gang_with_a_reservation_arrives(
        self, kinds: list[PodSpec], cpu: int, owner: str, priority: int
    ) -> None:
        name = self._name("s")
        room = (("cpu", cpu * 1000),)
        self.cluster.group(name, len(kinds), min_resources=room, owner=owner)
        for kind in kinds:
            self.cluster.pod(self._name(name + "-"), spec=kind, group=name, priority=priority)

    @precondition(lambda self: self.cluster.hosts)
    @rule(data=st.data(), kind=classes, labels=labels, priority=st.integers(0, 2))
    def a_pod_of_somebody_else_is_nominated(
        self, data: st.DataObject, kind: PodSpec, labels: Labels, priority: int
    ) -> None:
        node = data.draw(st.sampled_from(sorted(self.cluster.hosts)))
        name = self._name("f")
        pod = self.cluster.pod(name, scheduler="other", spec=kind, labels=labels, priority=priority)
        self.cluster.change(pod.key.name, nominated=node)

    @precondition(lambda self: self.cluster.pods)
    @rule(data=st.data(), starts=st.booleans())
    def a_kubelet_takes_a_pod_or_refuses_it(self, data: st.DataObject, starts: bool) -> None:
        bound = sorted(name for name, pod in self.cluster.pods.items() if pod.bound)
        if not bound:
            return
        name = data.draw(st.sampled_from(bound))
        if starts:
            self.cluster.change(name, phase=Phase.RUNNING)
        else:
            self.cluster.change(name, phase=Phase.FAILED, rejected="OutOfcpu")

    @rule(answer=st.sampled_from(["ok", "ok", "hold", "MEMBER_CHANGED", "SCHEDULER_ERROR"]))
    def binds_are_answered(self, answer: str) -> None:
        self.cluster.answer = lambda _: answer

    def teardown(self) -> None:
        taken = self.cluster.engine.dump()
        dump = decoded(encoded(DumpFile("", "", [], taken))).dump
        assert dump.present() == taken.present()
        assert [*dump.events()] == [*taken.events()]
        assert list(dump.present().seats) == list(self.cluster.engine._state._seats)
        answers = [_answer(decision.plan) for decision in taken.decisions()]
        assert [_answer(decision.plan) for decision in dump.decisions()] == answers
        for decision, tables in dump.forwards():
            found = replayed(decision, tables, PROFILES, dump.search_steps)
            assert not found.differences
            assert _answer(found.plan) == _answer(decision.plan)
        for entry, tables in dump.searches():
            now = searched(entry, tables, PROFILES, dump.search_steps)
            was = entry.searched.found
            assert (now.victims, now.nodes, now.message) == (was.victims, was.nodes, was.message)


def _answer(plan: Plan) -> Plan:
    """A plan without what is not kept in a file."""
    return replace(plan, diagnosis=NO_DIAGNOSIS, rejectors=frozenset(), pending=frozenset())


ReplayMachine.TestCase.settings = examples(
    100,
    stateful_step_count=40,
)
TestReplays = ReplayMachine.TestCase
