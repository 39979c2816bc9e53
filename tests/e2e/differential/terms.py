# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random selectors, affinities, tolerations and spread constraints."""

import random
from collections.abc import Mapping, Sequence

from tests.e2e.differential.vocabulary import (
    CORES,
    EFFECTS,
    HOSTNAME,
    NAMESPACE_LABELS,
    NODE_LABELS,
    POD_LABELS,
    RACK,
    TAINT_KEYS,
    TAINT_VALUES,
    ZONE,
    Json,
)

#: As often as pods and people name them.
TOPOLOGY_KEYS = (ZONE, ZONE, HOSTNAME, HOSTNAME, RACK)


def some(rng: random.Random, items: Sequence[str]) -> list[str]:
    """One or two of these."""
    return rng.sample(items, rng.randint(1, 2))


def labels(rng: random.Random, vocabulary: Mapping[str, Sequence[str]], share: float) -> Json:
    """Each label with this probability."""
    return {key: rng.choice(values) for key, values in vocabulary.items() if rng.random() < share}


#: Operators of requirements on labels, as often as each is used.
OPERATORS = ("In", "In", "NotIn", "Exists", "DoesNotExist")


def expression(
    rng: random.Random,
    vocabulary: Mapping[str, Sequence[str]],
    operators: Sequence[str] = OPERATORS,
) -> Json:
    """One requirement on a label."""
    key = rng.choice(list(vocabulary))
    operator = rng.choice(operators)
    values = {"values": some(rng, vocabulary[key])} if operator in ("In", "NotIn") else {}
    return {"key": key, "operator": operator, **values}


def selector(
    rng: random.Random,
    vocabulary: Mapping[str, Sequence[str]] = POD_LABELS,
    operators: Sequence[str] = OPERATORS,
) -> Json | None:
    """A LabelSelector: by labels, by requirements, of everything, or none at all."""
    kind = rng.random()
    if kind < 0.5:
        keys = some(rng, list(vocabulary))
        return {"matchLabels": {key: rng.choice(vocabulary[key]) for key in keys}}
    if kind < 0.9:
        return {"matchExpressions": [expression(rng, vocabulary, operators)]}
    return {} if kind < 0.97 else None


# ── nodes ────────────────────────────────────────────────────────────────────────────────────


def node_expression(rng: random.Random) -> Json:
    """One requirement on a node's label; also by number."""
    if rng.random() < 0.15:
        number = rng.choice(["3", "15", "17"])
        return {"key": CORES, "operator": rng.choice(["Gt", "Lt"]), "values": [number]}
    return expression(rng, NODE_LABELS)


def node_term(rng: random.Random, nodes: Sequence[str]) -> Json:
    """A term of node affinity: requirements on labels, on names, on both, or on nothing."""
    term: Json = {}
    if rng.random() < 0.9:
        term["matchExpressions"] = [node_expression(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.3:
        term["matchFields"] = [_node_name(rng, nodes) for _ in range(rng.choice([1, 2]))]
    return term


def _node_name(rng: random.Random, nodes: Sequence[str]) -> Json:
    operator = rng.choice(["In", "In", "NotIn"])
    name = rng.choice([*nodes, "nobody"])
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def node_affinity(rng: random.Random, nodes: Sequence[str]) -> Json:
    """Required terms, preferred ones, or both."""
    affinity: Json = {}
    if rng.random() < 0.5:
        terms = [node_term(rng, nodes) for _ in range(rng.choice([1, 1, 2, 3]))]
        if rng.random() < 0.1:  # by names alone, which may contradict each other
            terms = [{"matchFields": [_node_name(rng, nodes) for _ in range(2)]}]
        required = {"nodeSelectorTerms": terms}
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
    if rng.random() < 0.8:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.randint(1, 100), "preference": node_term(rng, nodes)}
            for _ in range(rng.randint(1, 3))
        ]
    return affinity


def taint(rng: random.Random) -> Json:
    """A taint."""
    value = rng.choice(TAINT_VALUES)
    found = {"key": rng.choice(TAINT_KEYS), "effect": rng.choice(EFFECTS)}
    return found | ({"value": value} if value else {})


def taints(rng: random.Random, share: float) -> list[Json]:
    """None, or up to two; keys and effects differ, as the API server demands."""
    if rng.random() >= share:
        return []
    found = [taint(rng) for _ in range(rng.randint(1, 2))]
    return list({(one["key"], one["effect"]): one for one in found}.values())


def toleration(rng: random.Random) -> Json:
    """A toleration of one key, with or without value and effect, or of everything."""
    effect = {"effect": rng.choice(EFFECTS)} if rng.random() < 0.4 else {}
    if rng.random() < 0.1:
        return {"operator": "Exists", **effect}
    if rng.random() < 0.15:
        return {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", **effect}
    if rng.random() < 0.5:
        return {"key": rng.choice(TAINT_KEYS), "operator": "Exists", **effect}
    value = rng.choice(TAINT_VALUES)
    operator = {"operator": "Equal"} if rng.random() < 0.5 else {}
    return {"key": rng.choice(TAINT_KEYS), "value": value, **operator, **effect}


# ── other pods ───────────────────────────────────────────────────────────────────────────────


def pod_term(rng: random.Random, *, waiting: bool) -> Json:
    """A term of pod (anti-)affinity, of a pod that waits or of one that has a node."""
    term: Json = {"topologyKey": rng.choice(TOPOLOGY_KEYS)}
    selected = selector(rng)
    if selected is not None:
        term["labelSelector"] = selected
    if rng.random() < 0.3:
        term["namespaces"] = some(rng, list(NAMESPACE_LABELS))
    if rng.random() < 0.25:
        # kube-scheduler (1.36) asks the selectors of a waiting pod once more, with no labels at
        # all: those that say NotIn or DoesNotExist then match every namespace. Ours do not.
        operators = ("In", "Exists") if waiting else OPERATORS
        by = selector(rng, {"team": ("a", "b"), "env": ("prod", "test")}, operators)
        if by is not None:
            term["namespaceSelector"] = by
    if selected is not None and rng.random() < 0.1:
        # The API server merges them, and refuses a key that the selector names already.
        free = [key for key in POD_LABELS if key not in str(selected)]
        keys = rng.sample(free, min(1, len(free)))
        if keys:
            term[rng.choice(["matchLabelKeys", "mismatchLabelKeys"])] = keys
    return term


def pod_affinity(rng: random.Random, *, required: float, waiting: bool = False) -> Json:
    """Required and preferred terms, the first with this probability; `waiting` as above."""
    affinity: Json = {}
    if rng.random() < required:
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [
            pod_term(rng, waiting=waiting) for _ in range(rng.choice([1, 1, 2]))
        ]
    if rng.random() < 0.6:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.randint(1, 100), "podAffinityTerm": pod_term(rng, waiting=waiting)}
            for _ in range(rng.randint(1, 2))
        ]
    return affinity


def spread(rng: random.Random) -> list[Json]:
    """One to three constraints; key and action differ, as the API server demands."""
    found = [_constraint(rng) for _ in range(rng.randint(1, 3))]
    return list({(one["topologyKey"], one["whenUnsatisfiable"]): one for one in found}.values())


def _constraint(rng: random.Random) -> Json:
    hard = rng.random() < 0.5
    constraint: Json = {
        "maxSkew": rng.choice([1, 1, 2, 5]),
        "topologyKey": rng.choice(TOPOLOGY_KEYS),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    selected = selector(rng)
    if selected is not None and any(selected.values()):
        # An empty one matches every pod for us and, up to 1.37, none for kube-scheduler.
        constraint["labelSelector"] = selected
        free = [key for key in POD_LABELS if key not in str(selected)]
        if free and rng.random() < 0.25:
            constraint["matchLabelKeys"] = [rng.choice(free)]
    if hard and rng.random() < 0.3:
        constraint["minDomains"] = rng.randint(1, 5)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if rng.random() < 0.4:
            constraint[policy] = rng.choice(["Honor", "Ignore"])
    return constraint
