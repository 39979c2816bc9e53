# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Law: who was admitted to a domain finds there all that its minResources asked for.

Whatever comes later, and in whichever domain of whichever level that must lie. All reservations are
of one level, for what was reserved earlier around a domain, or anywhere, may be taken in it
(semantics §5.1). Nothing is freed meanwhile, so that nobody who waits gets ahead of it, and
executors need one CPU each, so that what is free together can be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.pods import Owner
from enbloc.model.topology import TopologyRequest
from tests.effort import examples
from tests.rules.fabrics import BLOCK, ONE_CPU, RACK, ZONE, fabric, lying
from tests.rules.world import World

#: What may be required, with the labels that tell its domains.
LEVELS = {
    "": (),
    "zone": (ZONE,),
    "block": (ZONE, BLOCK),
    "rack": (ZONE, BLOCK, RACK),
    RACK: (RACK,),
}


@dataclass(frozen=True)
class Come:
    """Who comes: so many pods of one CPU together, in one domain of a level ("" = anywhere).

    Or a driver, with capacity for so many.
    """

    cpus: int
    level: str
    driver: bool


comers = st.lists(
    st.builds(Come, st.integers(1, 7), st.sampled_from(sorted(LEVELS)), st.booleans()),
    min_size=1,
    max_size=7,
)
#: Zone, block and rack of each node, and its CPUs.
fabrics = st.lists(
    st.tuples(*(st.integers(0, 1) for _ in range(3)), st.integers(1, 5)), min_size=1, max_size=8
)


def come(w: World, name: str, of: Come) -> None:
    near = TopologyRequest(required=of.level) if of.level else None
    if not of.driver:
        w.job(name, of.cpus, pod=ONE_CPU, topology=near)
        return
    w.group(name, 1, min_resources=(("cpu", of.cpus * 1000),), topology=near, timeout=10_000)
    w.member(f"{name}-driver", name, owner=Owner("SparkApplication", name, name), spec=ONE_CPU)


@examples(300)
@given(nodes=fabrics, level=st.sampled_from(sorted(LEVELS)), comers=comers)
def test_who_was_admitted_to_a_domain_finds_there_what_it_reserved(
    nodes: Sequence[tuple[int, int, int, int]], level: str, comers: Sequence[Come]
) -> None:
    who = [replace(each, level=level) if each.driver else each for each in comers]
    w = fabric(" ".join(f"n{at}=z{z}/b{b}/r{r}:{cpu}" for at, (z, b, r, cpu) in enumerate(nodes)))
    for at, each in enumerate(who):
        come(w, f"g{at}", each)
        w.settle()
        w.now += 1
    admitted = {
        f"g{at}": each
        for at, each in enumerate(who)
        if each.driver and f"g{at}-driver" in w.where()
    }
    for name, each in admitted.items():
        driver = w.pods[f"{name}-driver"]
        owner = Owner("Pod", driver.key.name, driver.uid)
        for index in range(each.cpus - 1):
            w.member(f"{name}-exec-{index}", name, owner=owner, spec=ONE_CPU)
    w.settle()
    for name, each in admitted.items():
        assert len(w.where(f"{name}-")) == each.cpus
        if each.level:
            assert len(lying(w, name, LEVELS[each.level])) == 1
