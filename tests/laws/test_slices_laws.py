# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Law: a slice of a gang lies in one domain, whoever is lost, comes or runs (semantics §11.9).

A judge of its own looks at the ranks that members were bound with, after each step. No node changes
its labels: members that run would stay, and their slice be torn by that.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from enbloc.model.names import RANK_KEY
from enbloc.model.topology import Slice, TopologyRequest
from tests.effort import examples
from tests.rules.fabrics import fabric
from tests.world.builders import spec

#: Two blocks of racks with one to three nodes, as many CPUs on each, and a node in no rack.
RACKS: Final = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), max_size=7)
ROLES: Final = st.sampled_from(["", "a"])
DEPTH: Final = {"zone": 1, "block": 2, "rack": 3}


def cut(size: int) -> Sequence[tuple[Slice, ...]]:
    """How a gang may be cut with the inner slices of one size."""
    inner = Slice(size, "rack")
    return (inner,), (Slice(2 * size, "block"), inner), (inner, Slice(1, "rack"))


class Slices(RuleBasedStateMachine):
    """One gang in slices, of which members are lost and come."""

    @initialize(
        racks=RACKS,
        slices=st.integers(2, 4).flatmap(lambda size: st.sampled_from(cut(size))),
        required=st.sampled_from(["", "zone", "block"]),
        minimum=st.integers(2, 8),
        of_role=st.integers(0, 8),
        more=st.integers(0, 4),
        kinds=st.integers(1, 2),
    )
    def begin(
        self,
        racks: list[list[int]],
        slices: tuple[Slice, ...],
        required: str,
        minimum: int,
        of_role: int,
        more: int,
        kinds: int,
    ) -> None:
        self.paths: dict[str, str] = {"u": "z/b0"}
        cpus = {"u": 3}
        for number, rack in enumerate(racks):
            for index, cpu in enumerate(rack):
                name = f"n{number}-{index}"
                self.paths[name], cpus[name] = f"z/b{number % 2}/r{number}", cpu
        self.world = fabric(" ".join(f"{n}={p}:{cpus[n]}" for n, p in self.paths.items()))
        self.slices, self.required, self.kinds, self.count = slices, required, kinds, 0
        least = min(of_role, minimum)
        self.minimum, self.roles = minimum, [("a", least)] if least else []
        topology = TopologyRequest("", required, "", slices)
        self.world.group(
            "g", minimum, roles=self.roles, topology=topology, timeout=600, on_incomplete="Keep"
        )
        for index in range(minimum + more):
            self.come("a" if index < least else "")
        self.world.settle()

    def come(self, role: str) -> None:
        listed = role if role in dict(self.roles) else ""
        pod = spec(cpu=1, memory=f"{self.count % self.kinds + 1}Mi")
        self.world.member(f"g-{self.count}", "g", role=listed, spec=pod)
        self.count += 1

    def bound(self) -> list[str]:
        return sorted(self.world.where("g-"))

    @rule()
    def members_run(self) -> None:
        self.world.run_pods(self.bound())
        self.world.settle()

    @precondition(lambda self: self.bound())
    @rule(data=st.data(), role=ROLES)
    def one_is_lost(self, data: st.DataObject, role: str) -> None:
        self.world.delete(data.draw(st.sampled_from(self.bound())))
        self.come(role)
        self.world.settle()

    @rule(role=ROLES)
    def one_more_comes(self, role: str) -> None:
        self.come(role)
        self.world.settle()

    @precondition(lambda self: "c" not in dict(self.roles))
    @rule(count=st.integers(1, 4), more=st.integers(0, 1))
    def a_role_comes(self, count: int, more: int) -> None:
        self.roles.append(("c", count))
        self.world.alter("g", min_member=self.minimum + count, roles=tuple(self.roles))
        for _ in range(count + more):
            self.come("c")
        self.world.settle()

    @rule(data=st.data())
    def others_come(self, data: st.DataObject) -> None:
        node = data.draw(st.sampled_from(sorted(self.paths)))
        self.world.pod(f"o-{self.count}", node=node, spec=spec(cpu=1))
        self.count += 1
        self.world.settle()

    @precondition(lambda self: self.world.where("o-"))
    @rule()
    def others_leave(self) -> None:
        self.world.delete(min(self.world.where("o-")))
        self.world.settle()

    @invariant()
    def each_slice_lies_in_one_domain(self) -> None:
        ranks = {
            bind.target.pod.name: int(dict(bind.target.annotations)[RANK_KEY])
            for bind in self.world.sent
            if bind.target.pod.name.startswith("g-")
        }
        where = {ranks[name]: node for name, node in self.world.where("g-").items()}
        assert len(where) == len(self.bound()), "two members have one rank"
        for size, level in self.slices:
            self.in_one_domain({rank: rank // size for rank in where}, where, level)
        if self.required:
            self.in_one_domain(dict.fromkeys(where, 0), where, self.required)

    def in_one_domain(self, parts: Mapping[int, int], where: Mapping[int, str], level: str) -> None:
        """All members of a part lie in one domain of a level."""
        lying: dict[int, set[str]] = {}
        for rank, part in parts.items():
            path = self.paths[where[rank]].split("/")
            assert len(path) >= DEPTH[level], f"rank {rank} is in no {level}"
            lying.setdefault(part, set()).add("/".join(path[: DEPTH[level]]))
        torn = {part: domains for part, domains in lying.items() if len(domains) > 1}
        assert not torn, f"in several domains of {level}: {torn} of {dict(where)}"


TestSlices = Slices.TestCase
TestSlices.settings = examples(60, stateful_step_count=12)
