# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the engine under arbitrary interleavings of what can happen to a cluster."""

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind, Effect
from enbloc.engine.events import (
    BindRefused,
    BindUnknown,
    Bound,
    Cause,
    GroupSeen,
    NodeSeen,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
)
from enbloc.model.node import Node
from enbloc.model.pods import Phase
from tests.engine.cluster import Cluster, spec

CPU = 4
SETTINGS = Settings(validate=True, log=1_000_000)


class GangMachine(RuleBasedStateMachine):
    """A cluster whose API server is `self.cluster`; Binds land when the machine says so."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(settings=SETTINGS, slots=2)
        self.cluster.answer = lambda _: "hold"
        self.nodes: dict[str, Node] = {}
        self.counter = 0
        self.flying: list[tuple[int, Bind]] = []  # (life of the process that sent it, Bind)
        self.life = 0
        self.answered = 0
        self.effects: list[Effect] = []
        self.judged: set[str] = set()

    @initialize(count=st.integers(1, 3))
    def some_nodes(self, count: int) -> None:
        for _ in range(count):
            self.add_node()

    # ── what others do ───────────────────────────────────────────────────────────────────────

    def _name(self, kind: str) -> str:
        self.counter += 1
        return f"{kind}{self.counter}"

    def add_node(self) -> None:
        name = self._name("n")
        room = (("cpu", CPU * 1000), ("memory", 2**36), ("pods", 20))
        self.nodes[name] = Node(name=name, uid=name, allocatable=room)
        self.cluster.tell(NodeSeen(self.nodes[name]))

    @precondition(lambda self: len(self.nodes) < 4)
    @rule()
    def a_node_is_added(self) -> None:
        self.add_node()

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def a_node_is_lost(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        del self.nodes[name]
        self.cluster.drop_node(name)
        for pod in [p for p in self.cluster.pods.values() if p.node == name]:
            self.cluster.delete(pod.key.name)

    @precondition(lambda self: len(self.cluster.groups) < 4)
    @rule(minimum=st.integers(1, 5), extra=st.integers(-1, 1), cpu=st.integers(1, 3))
    def a_gang_arrives(self, minimum: int, extra: int, cpu: int) -> None:
        name = self._name("g")
        self.cluster.group(name, minimum)
        for _ in range(max(1, minimum + extra)):
            self.cluster.pod(self._name(name + "-"), name, spec=spec(cpu=cpu))

    @rule()
    def a_single_pod_arrives(self) -> None:
        self.cluster.pod(self._name("solo"))

    @precondition(lambda self: self.cluster.groups)
    @rule(data=st.data(), gated=st.booleans())
    def a_member_arrives(self, data: st.DataObject, gated: bool) -> None:
        group = data.draw(st.sampled_from(sorted(self.cluster.groups)))
        self.cluster.pod(self._name(group + "-"), group, gates=("hold",) if gated else ())

    @precondition(lambda self: self.cluster.groups)
    @rule(data=st.data(), minimum=st.integers(1, 6))
    def a_minimum_is_changed(self, data: st.DataObject, minimum: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.cluster.groups)))
        group = replace(self.cluster.groups[name], min_member=minimum)
        self.cluster.groups[name] = group
        self.cluster.tell(GroupSeen(group))

    @precondition(lambda self: self.cluster.groups)
    @rule(data=st.data())
    def a_podgroup_is_deleted(self, data: st.DataObject) -> None:
        self.cluster.drop_group(data.draw(st.sampled_from(sorted(self.cluster.groups))))

    @precondition(lambda self: self.cluster.pods)
    @rule(data=st.data(), how=st.sampled_from(["delete", "succeed", "fail", "terminate", "ungate"]))
    def something_happens_to_a_pod(self, data: st.DataObject, how: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.cluster.pods)))
        pod = self.cluster.pods[name]
        if how == "delete":
            self.cluster.delete(name)
        elif how == "terminate":
            self.cluster.change(name, deleting=True)
        elif how == "ungate":
            self.cluster.change(name, gates=())
        elif pod.node:
            phase = Phase.SUCCEEDED if how == "succeed" else Phase.FAILED
            self.cluster.finish(name, phase)

    @rule(seconds=st.sampled_from([0.5, 3.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.cluster.now += seconds

    # ── the scheduler ────────────────────────────────────────────────────────────────────────

    @rule(times=st.integers(1, 5))
    def it_steps(self, times: int) -> None:
        for _ in range(times):
            self._step()

    def _step(self) -> None:
        effects = self.cluster.step()
        self.effects += effects
        for effect in effects:
            if isinstance(effect, Bind):
                self._planned_whole(effect)
                self.flying.append((self.life, effect))

    def _planned_whole(self, bind: Bind) -> None:
        """Law: at the first Bind of a plan the floor is held, or planned by it."""
        pod = self.cluster.engine._state.pods[bind.target.uid]
        if bind.target.plan in self.judged or pod.group is None:
            return
        self.judged.add(bind.target.plan)
        open_plan = self.cluster.engine._plans.of(pod.group)
        assert open_plan is not None
        facts = open_plan.facts
        planned = len(open_plan.plan.assignments)
        assert facts.total.held + planned >= facts.total.minimum
        members = self.cluster.engine._groups[pod.group].pods
        assert all(a.pod.uid in members for a in open_plan.plan.assignments)

    @precondition(lambda self: self.flying)
    @rule(
        data=st.data(),
        fate=st.sampled_from(["ok", "ok", "lost answer", "unknown", "refused", "never"]),
    )
    def a_bind_lands(self, data: st.DataObject, fate: str) -> None:
        index = data.draw(st.integers(0, len(self.flying) - 1))
        life, bind = self.flying[index]
        target = bind.target
        if fate == "unknown":
            if life == self.life:
                self.cluster.tell(BindUnknown(target.plan, target.uid))
            return  # it is sent again, and so stays in flight
        if life == self.life and fate in ("never", "lost answer"):
            return  # the executor of a living process sends until it knows
        del self.flying[index]
        if fate == "never":
            return
        pod = self.cluster.pods.get(target.pod.name)
        committed = (
            fate != "refused"
            and pod is not None
            and (pod.uid, pod.node, pod.deleting) == (target.uid, "", False)
        )
        if life == self.life:
            self.cluster.tell(SlotsFree(1))
            if committed:
                self.cluster.tell(Bound(target.plan, target.uid))
            else:
                changed = fate != "refused"
                cause = Cause.MEMBER_CHANGED if changed else Cause.SCHEDULER_ERROR
                self.cluster.tell(BindRefused(target.plan, target.uid, cause, "no"))
        if committed and pod is not None:
            self.cluster._show(replace(pod, node=target.node))

    @rule()
    def it_is_killed_and_starts_again(self) -> None:
        """The next process knows what the API server holds, and that only."""
        self.replay_gives_the_same_effects()
        self.life += 1
        self.effects = []
        identity = Settings(identity=str(self.life), validate=True, log=SETTINGS.log)
        engine = Engine(default_profiles(), identity)
        self.cluster.engine = engine
        for node in self.nodes.values():
            engine.apply(NodeSeen(node))
        for pod in self.cluster.pods.values():
            engine.apply(PodSeen(pod))
        for group in self.cluster.groups.values():
            engine.apply(GroupSeen(group))
        for stream in Stream:
            engine.apply(Synced(stream))
        engine.apply(SlotsFree(2))

    # ── laws ─────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def no_effect_of_ours_overcommits_a_node(self) -> None:
        if self.life:
            return  # Binds of a dead process may land beside what the next one planned
        nodes = self.cluster.engine._state.nodes
        assert (nodes.free("cpu") >= 0).all()

    @invariant()
    def nobody_is_planned_twice(self) -> None:
        held = Counter(
            uid for open_plan in self.cluster.engine._plans._open.values() for uid in open_plan.uids
        )
        assert all(count == 1 for count in held.values())

    @invariant()
    def every_pending_group_is_where_something_can_find_it(self) -> None:
        engine = self.cluster.engine
        for members in engine._groups:
            key = members.key
            if key in engine._dirty or members.empty:
                continue
            item = engine._queue.get(key)
            assert item is not None, f"{key} is in no queue"

    def replay_gives_the_same_effects(self) -> None:
        engine = Engine(default_profiles(), self.cluster.engine.settings)
        again: list[Effect] = []
        for entry in self.cluster.engine.log:
            if isinstance(entry, float | int):
                again += engine.step(entry)
            else:
                engine.apply(entry)
        assert again == self.effects

    def teardown(self) -> None:
        """Let everything land; then no gang that fits is left waiting."""
        self.replay_gives_the_same_effects()
        for _ in range(200):
            self._rest()
            if not self.flying:
                break
            life, bind = self.flying.pop(0)
            pod = self.cluster.pods.get(bind.target.pod.name)
            free = pod is not None and pod.uid == bind.target.uid and not pod.node
            if life == self.life:
                target = bind.target
                if free and pod is not None and not pod.deleting:
                    self.cluster.confirm(bind)
                else:
                    changed = BindRefused(target.plan, target.uid, Cause.MEMBER_CHANGED, "gone")
                    self.cluster.tell(changed)
                    self.cluster.tell(SlotsFree(1))
        assert not self.flying
        self._nothing_that_fits_is_left()

    def _rest(self) -> None:
        """Step through two flushes: a wrong hint may delay, never lose."""
        end = self.cluster.now + 700
        for _ in range(2000):
            self._step()
            wakeup = self.cluster.engine.wakeup()
            if wakeup is None or wakeup > end:
                return
            self.cluster.now = max(self.cluster.now, wakeup)
        raise AssertionError("it never comes to rest")

    def _nothing_that_fits_is_left(self) -> None:
        engine = self.cluster.engine
        free = [int(room) for room in engine._state.nodes.free("cpu")]
        for members in engine._groups:
            facts = engine._groups.facts(members)
            if not facts.quorum or not facts.pending or facts.problem:
                continue
            needed = max(1, facts.total.deficit)
            # Each member takes at most one place of the largest size, so any order succeeds.
            largest = max(dict(pod.spec.requests)["cpu"] for pod in facts.pending)
            places = sum(room // largest for room in free if room > 0)
            assert places < needed, f"{members.key} fits and is left waiting"


GangMachine.TestCase.settings = settings(
    max_examples=100,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestGangs = GangMachine.TestCase
