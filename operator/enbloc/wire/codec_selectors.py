# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Selectors, and the constraints written with them, from their JSON fields to model facts.

What cannot be read is left out, and reported in `problems` by the path of its field.
"""

from collections.abc import Iterable
from typing import Final

from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.requirements import NAME_FIELD, Operator, Requirement, integer
from enbloc.model.selectors import (
    NO_AFFINITY,
    PodAffinity,
    PodAffinityTerm,
    Selector,
    SpreadConstraint,
)
from enbloc.wire.objects import (
    PREFERRED,
    REQUIRED,
    Expression,
    LabelSelectorObject,
    NodeSelector,
    PodAffinityObject,
    PodTermObject,
    PreferredTerm,
    SelectorTerm,
    SpreadObject,
)
from enbloc.wire.problems import Problems

_LABELS: Final = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_NODE_LABELS: Final = tuple(Operator)
_FIELDS: Final = (Operator.IN, Operator.NOT_IN)
_HARD: Final = {"DoNotSchedule": True, "ScheduleAnyway": False}
_HONOUR: Final = {"Honor": True, "Ignore": False}
_MOST_WEIGHT: Final = 100
#: Requirements of one label selector outside of pods.
_MOST_REQUIREMENTS: Final = 256
#: Values in those.
_MOST_VALUES: Final = 4096


# ── node affinity ────────────────────────────────────────────────────────────────────────────


def required_node_terms(
    selector: NodeSelector | None, path: str, problems: Problems
) -> tuple[NodeSelectorTerm, ...] | None:
    """The terms, any of which suffices; None = no constraint."""
    if selector is None:
        return None
    return tuple(
        _node_term(term, f"{path}.nodeSelectorTerms[{position}]", problems)
        for position, term in enumerate(selector.node_selector_terms or ())
    )


def preferred_node_terms(
    terms: Iterable[PreferredTerm], path: str, problems: Problems
) -> tuple[tuple[int, NodeSelectorTerm], ...]:
    """`(weight, term)`, without terms of weight 0 and empty ones, which prefer nothing."""
    read: list[tuple[int, NodeSelectorTerm]] = []
    for position, each in enumerate(terms):
        where = f"{path}[{position}]"
        if each.weight and each.preference and _weighs(each.weight, where, problems):
            term = _node_term(each.preference, f"{where}.preference", problems)
            if term.expressions or term.fields:
                read.append((each.weight, term))
    return tuple(read)


def _node_term(term: SelectorTerm, path: str, problems: Problems) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        _requirements(
            term.match_expressions, f"{path}.matchExpressions", problems, known=_NODE_LABELS
        ),
        _fields(term.match_fields, f"{path}.matchFields", problems),
    )


def _fields(
    expressions: Iterable[Expression] | None, path: str, problems: Problems
) -> tuple[Requirement, ...]:
    fields = _requirements(expressions, path, problems, known=_FIELDS)
    for field in fields:
        if field.key != NAME_FIELD or len(field.values) != 1:
            problems.append(f'{path}: must be {NAME_FIELD} with one value, is "{field.key}"')
    return fields


# ── label selectors ──────────────────────────────────────────────────────────────────────────


def label_selector(
    selector: LabelSelectorObject | None, path: str, problems: Problems
) -> Selector | None:
    """A label selector; None = there is none, which matches nothing."""
    if selector is None:
        return None
    labels = selector.match_labels or {}
    return Selector(
        (
            *(Requirement(key, Operator.IN, (labels[key],)) for key in sorted(labels)),
            *_requirements(
                selector.match_expressions, f"{path}.matchExpressions", problems, known=_LABELS
            ),
        )
    )


def bounded_selector(
    given: LabelSelectorObject | None, path: str, problems: Problems
) -> Selector | None:
    """A label selector of a claim, a segment or a budget; without requirements if too large."""
    selector = label_selector(given, path, problems)
    if selector is None:
        return None
    count = len(selector.requirements)
    values = sum(len(each.values) for each in selector.requirements)
    if count > _MOST_REQUIREMENTS or values > _MOST_VALUES:
        problems.append(
            f"{path}: {count} requirements with {values} values; use at most "
            f"{_MOST_REQUIREMENTS} with {_MOST_VALUES}"
        )
        return Selector()
    return selector


def _requirements(
    expressions: Iterable[Expression] | None,
    path: str,
    problems: Problems,
    *,
    known: tuple[Operator, ...],
) -> tuple[Requirement, ...]:
    requirements: list[Requirement] = []
    for position, expression in enumerate(expressions or ()):
        where = f"{path}[{position}]"
        if expression.operator not in known:
            problems.append(
                f'{where}.operator: unknown "{expression.operator}"; use one of {", ".join(known)}'
            )
            continue
        operator, values = Operator(expression.operator), expression.values or ()
        wanted = _wanted(operator, values)
        if wanted:
            problems.append(f"{where}.values: {operator} needs {wanted}")
            continue
        requirements.append(Requirement(expression.key, operator, values))
    return tuple(requirements)


def _wanted(operator: Operator, values: tuple[str, ...]) -> str:
    """What the values of an expression should be; "" = they are right."""
    if operator in (Operator.IN, Operator.NOT_IN):
        return "" if values else "at least one"
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return "none; leave them out" if values else ""
    return "" if len(values) == 1 and integer(values[0]) is not None else "exactly one integer"


# ── pod affinity and spreading ───────────────────────────────────────────────────────────────


def pod_affinity(given: PodAffinityObject | None, path: str, problems: Problems) -> PodAffinity:
    """`podAffinity` or `podAntiAffinity`."""
    if given is None:
        return NO_AFFINITY
    required: list[PodAffinityTerm] = []
    for position, each in enumerate(given.required or ()):
        term = _pod_term(each, f"{path}.{REQUIRED}[{position}]", problems)
        if term is not None:
            required.append(term)
    preferred: list[tuple[int, PodAffinityTerm]] = []
    for position, weighted in enumerate(given.preferred or ()):
        where = f"{path}.{PREFERRED}[{position}]"
        term = _pod_term(
            weighted.pod_affinity_term or PodTermObject(), f"{where}.podAffinityTerm", problems
        )
        if term is not None and _weighs(weighted.weight, where, problems):
            preferred.append((weighted.weight, term))
    return PodAffinity(tuple(required), tuple(preferred))


def _pod_term(given: PodTermObject, path: str, problems: Problems) -> PodAffinityTerm | None:
    if not _has_topology_key(given.topology_key, path, problems):
        return None
    return PodAffinityTerm(
        topology_key=given.topology_key,
        selector=label_selector(given.label_selector, f"{path}.labelSelector", problems),
        namespaces=tuple(sorted(given.namespaces or ())),
        namespace_selector=label_selector(
            given.namespace_selector, f"{path}.namespaceSelector", problems
        ),
    )


def spread_constraints(
    given: Iterable[SpreadObject], path: str, problems: Problems
) -> tuple[SpreadConstraint, ...]:
    """`topologySpreadConstraints`, of a pod or as the defaults of a configuration."""
    read = (_spread(each, f"{path}[{at}]", problems) for at, each in enumerate(given))
    return tuple(filter(None, read))


def _spread(given: SpreadObject, path: str, problems: Problems) -> SpreadConstraint | None:
    before = len(problems)
    _has_topology_key(given.topology_key, path, problems)
    for name, number in (("maxSkew", given.max_skew), ("minDomains", given.min_domains)):
        if number is not None and number < 1:
            problems.append(f"{path}.{name}: {number} is below 1; use 1 or more")
    hard = _choice(_HARD, given.when_unsatisfiable, f"{path}.whenUnsatisfiable", problems)
    affinity = _choice(
        _HONOUR, given.node_affinity_policy or "Honor", f"{path}.nodeAffinityPolicy", problems
    )
    taints = _choice(
        _HONOUR, given.node_taints_policy or "Ignore", f"{path}.nodeTaintsPolicy", problems
    )
    selector = label_selector(given.label_selector, f"{path}.labelSelector", problems)
    if len(problems) > before:
        return None
    return SpreadConstraint(
        topology_key=given.topology_key,
        max_skew=given.max_skew,
        hard=hard,
        selector=selector,
        min_domains=given.min_domains or 1,
        match_label_keys=given.match_label_keys or (),
        honour_affinity=affinity,
        honour_taints=taints,
    )


def _has_topology_key(key: str, path: str, problems: Problems) -> bool:
    if not key:
        problems.append(f"{path}.topologyKey: missing; name a label of the nodes")
    return bool(key)


def _weighs(weight: int, path: str, problems: Problems) -> bool:
    fits = 1 <= weight <= _MOST_WEIGHT
    if not fits:
        problems.append(f"{path}.weight: {weight} is not between 1 and {_MOST_WEIGHT}")
    return fits


def _choice(choices: dict[str, bool], given: str, path: str, problems: Problems) -> bool:
    if given not in choices:
        problems.append(f'{path}: unknown "{given}"; use {" or ".join(choices)}')
    return choices.get(given, False)
