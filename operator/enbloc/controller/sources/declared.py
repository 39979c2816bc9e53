# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The PodGroup that a pod's labels and annotations alone declare.

Source of keys and their meaning: Koordinator v1.6, apis/extension/coscheduling.go and
scheduling.go; scheduler-plugins v0.19, pkg/coscheduling; Volcano v1.12,
scheduling/v1beta1/labels.go; YuniKorn's in `yunikorn.py`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from math import ceil
from typing import Any, Final, NamedTuple

from enbloc.controller.sources import kueue, yunikorn
from enbloc.controller.sources.source import (
    LARGEST,
    LONGEST_TIMEOUT,
    Derived,
    RefusedGroup,
    topology_of,
)
from enbloc.controller.sources.topology import KOORDINATORS_KEY, koordinators
from enbloc.controller.sources.topology_keys import FIELDS, topology_said
from enbloc.model.names import MIN_MEMBER_KEY
from enbloc.model.text import clipped, quoted

#: The most characters of a declaration's value; a pod with a longer one is refused.
LONGEST: Final = 32_768

_KOORDINATOR: Final = "gang.scheduling.koordinator.sh/"
_KOORDINATOR_MINIMUM: Final = f"{_KOORDINATOR}min-available"
_KOORDINATOR_TOTAL: Final = f"{_KOORDINATOR}total-number"
_KOORDINATOR_MODE: Final = f"{_KOORDINATOR}mode"
_KOORDINATOR_WAIT: Final = f"{_KOORDINATOR}waiting-time"
_KOORDINATOR_GROUPS: Final = f"{_KOORDINATOR}groups"
_KOORDINATOR_MATCH: Final = f"{_KOORDINATOR}match-policy"
#: The keys whose value is the group's minimum; the first one on a pod counts.
MINIMUMS: Final = (
    MIN_MEMBER_KEY,
    _KOORDINATOR_MINIMUM,
    "pod-group.scheduling.sigs.k8s.io/min-available",
    "scheduling.volcano.sh/group-min-member",
)
_DECLARING: Final = frozenset((*MINIMUMS, yunikorn.TASK_GROUPS))
_READ: Final = (
    *MINIMUMS,
    _KOORDINATOR_TOTAL,
    _KOORDINATOR_MODE,
    _KOORDINATOR_WAIT,
    _KOORDINATOR_GROUPS,
    _KOORDINATOR_MATCH,
    *yunikorn.KEYS,
    *FIELDS,
    *kueue.KEYS,
    KOORDINATORS_KEY,
)
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_DURATION: Final = re.compile(r"(?:[0-9]{1,18}(?:\.[0-9]{0,9})?(?:h|m|s|ms|us|µs|ns))+")
_PART: Final = re.compile(r"([0-9.]+)([a-zµ]+)")
_SECONDS: Final = {
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("1e-3"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ns": Decimal("1e-9"),
}


class DeclaredKey(NamedTuple):
    """A key and its value; the kind is "annotation" or "label"."""

    kind: str
    key: str
    value: str


def declaration(
    labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Derived | RefusedGroup | None:
    """The PodGroup that a pod's metadata declares; None = none. An annotation wins over a label.

    Args:
        labels: of the pod.
        annotations: of the pod.
    """
    if _DECLARING.isdisjoint(annotations) and _DECLARING.isdisjoint(labels):
        return None
    said = tuple(
        DeclaredKey(kind, key, pairs[key])
        for kind, pairs in (("annotation", annotations), ("label", labels))
        for key in _READ
        if key in pairs
    )
    longest = max(said, key=lambda each: len(each.value))
    if len(longest.value) > LONGEST:
        return RefusedGroup(
            f"{longest.kind} {longest.key}: it has {len(longest.value)} characters; "
            f"{LONGEST} are read"
        )
    return _declaration(said)


@lru_cache(maxsize=256)  # most pods declare the same as their siblings
def _declaration(said: tuple[DeclaredKey, ...]) -> Derived | RefusedGroup | None:
    found = _sized(said)
    if not isinstance(found, Derived):
        return found
    labels, annotations = (
        {each.key: each.value for each in said if each.kind == kind}
        for kind in ("label", "annotation")
    )
    theirs = kueue.KueueTopology()
    try:
        near = topology_said(labels, annotations) or koordinators(annotations)
    except ValueError as error:
        return RefusedGroup(str(error))
    if not near:
        theirs = kueue.asked({"": {**labels, **annotations}})
        near = dict(theirs.topology)
    return replace(
        found,
        spec={**found.spec, **topology_of(near)},
        ignored=clipped("; ".join(filter(None, (found.ignored, *theirs.ignored)))),
    )


def _sized(said: tuple[DeclaredKey, ...]) -> Derived | RefusedGroup | None:
    """The PodGroup without its topology."""
    first = {each.key: each for each in reversed(said)}
    minimums = [first[key] for key in MINIMUMS if key in first]
    if not minimums:
        return yunikorn.declaration({key: each.value for key, each in first.items()})
    used = minimums[0]
    try:
        minimum = _minimum(used)
        spec: dict[str, Any] = {"minMember": minimum}
        wait = first.get(_KOORDINATOR_WAIT) if used.key == _KOORDINATOR_MINIMUM else None
        timeout = _timeout(wait) if wait is not None else 0
        if timeout:
            spec["scheduleTimeoutSeconds"] = timeout
    except ValueError as error:
        return RefusedGroup(str(error))
    notes = [*_contradictions(used, said)]
    if used.key == _KOORDINATOR_MINIMUM:
        notes += _koordinator(first, minimum)
    return Derived(spec, ignored=clipped("; ".join(notes)))


def _minimum(said: DeclaredKey) -> int:
    number = int(said.value) if _NUMBER.fullmatch(said.value) else 0
    if not 1 <= number <= LARGEST:
        raise ValueError(
            f"{said.kind} {said.key}: {quoted(said.value)} is not a whole number between 1 and "
            f"{LARGEST}; write the least number of pods that must start together"
        )
    return number


def _contradictions(used: DeclaredKey, said: tuple[DeclaredKey, ...]) -> Iterator[str]:
    """Notes on other keys, or a label beside the annotation, that state another minimum."""
    for other in said:
        if other.key in MINIMUMS and other is not used and other.value != used.value:
            yield (
                f"{other.kind} {other.key} is {quoted(other.value)} and {used.kind} {used.key} "
                f"is {quoted(used.value)}, which counts; make them the same, or remove one"
            )


# ── Koordinator ──────────────────────────────────────────────────────────────────────────────


def _timeout(said: DeclaredKey) -> int:
    """A Go duration in whole seconds, rounded up, at most LONGEST_TIMEOUT.

    Raises:
        ValueError: it is no duration; the message names the key.
    """
    if not _DURATION.fullmatch(said.value):
        raise ValueError(
            f"{said.kind} {said.key}: {quoted(said.value)} is not a duration; write one such "
            'as "60s"'
        )
    seconds = sum(Decimal(n) * _SECONDS[unit] for n, unit in _PART.findall(said.value))
    return min(ceil(seconds), LONGEST_TIMEOUT)


def _koordinator(first: Mapping[str, DeclaredKey], minimum: int) -> Iterator[str]:
    """Notes on Koordinator's annotations that have no effect."""
    total, mode = first.get(_KOORDINATOR_TOTAL), first.get(_KOORDINATOR_MODE)
    groups, match = first.get(_KOORDINATOR_GROUPS), first.get(_KOORDINATOR_MATCH)
    if total is not None and total.value != str(minimum):
        yield (
            f"{total.kind} {total.key} is ignored: the group starts once min-available members "
            "are there; raise that to wait for all"
        )
    if mode is not None and mode.value == "NonStrict":
        yield f"{mode.kind} {mode.key}: NonStrict is ignored: members are bound together"
    if groups is not None and groups.value not in ("", "[]"):
        yield (
            f"{groups.kind} {groups.key} is ignored: each gang starts by itself; give the pods "
            "of all of them one group"
        )
    if match is not None and match.value not in ("", "once-satisfied"):
        yield (
            f"{match.kind} {match.key}: {quoted(match.value)} is ignored: once-satisfied is "
            "what holds"
        )
