# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random pods, seated and incoming, with every kind of constraint."""

from random import Random

from enbloc.model.pods import HostPort, NodeSelectorTerm, Owner, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Labels, PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.taints import Effect, Toleration, TolerationOperator
from tests.parity.chance import (
    FEATURES,
    GI,
    GPU,
    IMAGES,
    NAMESPACES,
    NODE_LABELS,
    NODES,
    POD_LABELS,
    SET_BASED,
    TAINT_KEYS,
    TEAMS,
    TOPOLOGIES,
    ZONE,
    Aspect,
    Aspects,
    Parts,
    parts_of,
    seldom,
    some,
)


def random_pod(dice: Random, name: str, aspects: Aspects, node: str = "") -> Pod:
    parts = parts_of(dice, aspects)
    spec = _spec(dice, parts, incoming=not node)
    owner = parts(Aspect.WORKLOADS)
    kind = owner.choice(("ReplicaSet", "StatefulSet", "Job")) if owner else ""
    return Pod(
        PodKey(dice.choice(("default", "default", "one", "two")), name),
        PodUID(name),
        spec,
        node=node,
        deleting=bool(node) and dice.random() < 0.15,
        owner=Owner(kind, "set", "uid") if owner and owner.random() < 0.6 else None,
        labels=tuple((key, dice.choice(values)) for key, values in sorted(POD_LABELS.items())
                     if dice.random() < 0.8),
    )  # fmt: skip


def _spec(dice: Random, parts: "Parts", *, incoming: bool) -> PodSpec:
    ports, images, able = (parts(a) for a in (Aspect.PORTS, Aspect.IMAGES, Aspect.FEATURES))
    hard, soft = parts(Aspect.HARD_AFFINITY), parts(Aspect.SOFT_AFFINITY)
    taints = parts(Aspect.TAINTS)
    requests, cpu, memory, scored = _demand(parts(Aspect.RESOURCES))
    selector, required, preferred = _node_affinity(parts(Aspect.NODE_AFFINITY))
    named = parts(Aspect.NODE_NAME)
    return PodSpec(
        requests=requests,
        nonzero_cpu=cpu,
        nonzero_memory=memory,
        node_selector=selector,
        node_affinity=required,
        preferred_node_affinity=preferred,
        tolerations=some(taints, 3, _toleration),
        node_name=named.choice(("", "", "gone", *NODES)) if named else "",
        host_ports=some(ports, 2, _port),
        spread=_spread(parts, dice) if incoming else (),
        pod_affinity=PodAffinity(seldom(hard, 0.4, _pod_term), some(soft, 2, _weighted_pod_term)),
        pod_anti_affinity=PodAffinity(
            seldom(hard, 0.4, _pod_term), some(soft, 2, _weighted_pod_term)
        ),
        images=tuple(images.choices(IMAGES, k=images.randint(1, 3))) if images else ("i:1",),
        image_volumes=some(images, 1, lambda each: each.choice(IMAGES)),
        features=tuple(each for each in FEATURES if able and able.random() < 0.3),
        fit_scored=scored,
    )


Amounts = tuple[tuple[str, int], ...]


def _demand(dice: Random | None) -> tuple[Amounts, int, int, Amounts | None]:
    if dice is None:
        return (("cpu", 100), ("pods", 1)), 100, 200 * 2**20, None
    amounts = {
        "cpu": dice.choice((50, 333, 1000, 2500)),
        "memory": dice.choice((10**8 + 7, GI, 3 * GI)),
        "ephemeral-storage": dice.choice((GI, 30 * GI)),
        GPU: dice.choice((1, 4)),
        "hugepages-2Mi": 256 * 2**20,
    }
    odds = {"cpu": 0.7, "memory": 0.7, "ephemeral-storage": 0.2, GPU: 0.3, "hugepages-2Mi": 0.15}
    asked = {name: amount for name, amount in amounts.items() if dice.random() < odds[name]}
    cpu, memory = asked.get("cpu", 100), asked.get("memory", 200 * 2**20)
    scored = {**asked, "cpu": cpu + 17, "memory": memory + GI} if dice.random() < 0.1 else None
    return (
        tuple(sorted({**asked, "pods": 1}.items())),
        cpu + dice.choice((0, 0, 100)),
        memory,
        None if scored is None else tuple(sorted(scored.items())),
    )


def _toleration(dice: Random) -> Toleration:
    return Toleration(
        dice.choice(("", *TAINT_KEYS)),
        dice.choice((*TolerationOperator, TolerationOperator.EXISTS, TolerationOperator.EXISTS)),
        dice.choice(("", "x")),
        dice.choice((None, None, *Effect)),
    )


def _port(dice: Random) -> HostPort:
    return HostPort(
        dice.choice(("0.0.0.0", "0.0.0.0", "10.0.0.1", "10.0.0.2", "::")),
        dice.choice(("TCP", "TCP", "UDP")),
        dice.choice((80, 443)),
    )


def _node_affinity(
    dice: Random | None,
) -> tuple[Labels, tuple[NodeSelectorTerm, ...] | None, tuple[tuple[int, NodeSelectorTerm], ...]]:
    if dice is None:
        return (), None, ()
    return (
        ((ZONE, dice.choice(NODE_LABELS[ZONE])),) if dice.random() < 0.2 else (),
        some(dice, 3, dice.choice((node_term, node_term, _named_term)))
        if dice.random() < 0.5
        else None,
        some(dice, 3, lambda each: (each.choice((1, 7, 50, 100)), node_term(each))),
    )


def node_term(dice: Random) -> NodeSelectorTerm:
    named = some(dice, 2, _field) if dice.random() < 0.4 else ()
    return NodeSelectorTerm(some(dice, 2, _node_requirement), named)


def _named_term(dice: Random) -> NodeSelectorTerm:
    """A term that says which nodes it means; two names contradict each other."""
    names = [dice.choice((*NODES[:4], "gone")) for _ in range(dice.choice((1, 1, 1, 2)))]
    named = (Requirement("metadata.name", Operator.IN, (name,)) for name in names)
    return NodeSelectorTerm(some(dice, 1, _node_requirement), (*named, *some(dice, 1, _field)))


def _node_requirement(dice: Random) -> Requirement:
    key = dice.choice(tuple(NODE_LABELS))
    values = (*NODE_LABELS[key], "2")
    operator = dice.choice(tuple(Operator))
    one = operator in (Operator.GT, Operator.LT)
    return Requirement(key, operator, tuple(dice.sample(values, 1 if one else 2)))


def _field(dice: Random) -> Requirement:
    operator = dice.choice((Operator.IN, Operator.IN, Operator.NOT_IN))
    return Requirement("metadata.name", operator, (dice.choice((*NODES[:4], "gone")),))


def _selector(dice: Random) -> Selector | None:
    if dice.random() < 0.06:
        return None
    return Selector(some(dice, 2, pod_requirement))


def pod_requirement(dice: Random) -> Requirement:
    key = dice.choice(tuple(POD_LABELS))
    operator = dice.choice(SET_BASED)
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return Requirement(key, operator)
    return Requirement(key, operator, tuple(dice.sample(POD_LABELS[key], dice.choice((1, 1, 2)))))


def _spread(parts: "Parts", dice: Random) -> tuple[SpreadConstraint, ...]:
    hard, soft = parts(Aspect.HARD_SPREAD), parts(Aspect.SOFT_SPREAD)
    chosen = [
        *(_constraint(hard, key, hard=True) for key in _keys(hard)),
        *(_constraint(soft, key, hard=False) for key in _keys(soft)),
    ]
    dice.shuffle(chosen)
    return tuple(chosen)


def _keys(dice: Random | None) -> list[str]:
    """Topology keys, each once: the API server refuses the same key and action twice."""
    return dice.sample(TOPOLOGIES, dice.choice((0, 1, 1, 2))) if dice else []


def _constraint(dice: Random | None, key: str, *, hard: bool) -> SpreadConstraint:
    assert dice is not None
    selector = _selector(dice)
    return SpreadConstraint(
        key,
        max_skew=dice.choice((1, 1, 2, 5)),
        hard=hard,
        selector=selector,
        min_domains=dice.choice((1, 1, 2, 4)) if hard else 1,
        match_label_keys=("rev",) if selector is not None and dice.random() < 0.2 else (),
        honour_affinity=dice.random() < 0.6,
        honour_taints=dice.random() < 0.4,
    )


def _pod_term(dice: Random) -> PodAffinityTerm:
    spaces = dice.random()
    return PodAffinityTerm(
        dice.choice(TOPOLOGIES),
        _selector(dice),
        tuple(dice.sample(sorted(NAMESPACES), 1)) if spaces < 0.2 else (),
        _namespace_selector(dice) if 0.1 < spaces < 0.5 else None,
    )


def _namespace_selector(dice: Random) -> Selector:
    if dice.random() < 0.4:
        return Selector()
    operator = dice.choice(SET_BASED)
    valued = operator in (Operator.IN, Operator.NOT_IN)
    return Selector((Requirement("team", operator, (dice.choice(TEAMS),) if valued else ()),))


def _weighted_pod_term(dice: Random) -> tuple[int, PodAffinityTerm]:
    return dice.choice((1, 10, 29, 100)), _pod_term(dice)
