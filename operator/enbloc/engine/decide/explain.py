# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explain: a failed decision in a few sentences, with the members that do not fit."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from enbloc.engine.plan import Misfit
from enbloc.engine.trial import Outcome, Trial
from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import Diagnosis
from enbloc.ledgers import Holds
from enbloc.model.pods import Pod, PodKey, PodSpec
from enbloc.model.text import several

#: The most kinds of members that are checked for a node, and the most members asked why none fits.
MOST_KINDS: Final = 16
#: The most kinds that a message names, and the most members of each.
_MOST_NAMED: Final = 3

#: Identical pending members, the oldest first.
Kind = Sequence[Pod]


class Misfits(NamedTuple):
    """The members that would fit no node even if they were alone.

    Attributes:
        found: these members, the oldest first.
        all: there are no others.
    """

    found: tuple[Misfit, ...] = ()
    all: bool = True

    @property
    def members(self) -> Collection[PodKey]:
        """All members that were found."""
        return {key for misfit in self.found for key in misfit.members}


NO_MISFITS: Final = Misfits()


def kinds_of(facts: GroupFacts, trial: Trial) -> Sequence[Kind]:
    """Return the pending members by spec, which members of one template share, and by claims.

    Args:
        facts: the group as it is.
        trial: tells which claims are alike.
    """
    kinds: dict[tuple[PodSpec, Holds | None], list[Pod]] = {}
    known: dict[tuple[int, Holds | None], list[Pod]] = {}
    for pod in facts.pending:
        holds = trial.held_by(pod)
        alike = known.get((id(pod.spec), holds))
        if alike is None:
            alike = known[id(pod.spec), holds] = kinds.setdefault((pod.spec, holds), [])
        alike.append(pod)
    return list(kinds.values())


def misfits(kinds: Sequence[Kind], outcome: Outcome, trial: Trial) -> Misfits:
    """Return the members that would fit no node even if they were alone.

    Return none if all members are alike and lack the same: there is nothing to tell apart.

    Args:
        kinds: all members of a group.
        outcome: of the pass that failed; a kind fits if it placed a member of it.
        trial: the cluster as it is.
    """
    if len(kinds) == 1 and (len(kinds[0]) == 1 or not kinds[0][0].spec.holds):
        return NO_MISFITS
    placed = {pod.key for pod, _ in outcome.needed}
    left = [kind for kind in kinds if placed.isdisjoint(pod.key for pod in kind)]
    found: list[Misfit] = []
    everyone = len(left) <= MOST_KINDS
    for kind in left[:MOST_KINDS]:
        if trial.ranking(kind[0]).mask.any():
            continue
        told, rest = _told(kind, trial, MOST_KINDS - len(found))
        alike = len({diagnosis for _, diagnosis in told}) == 1
        if alike and len(kinds) == 1:
            return NO_MISFITS
        found += [Misfit(_keys(pods), diagnosis.full()) for pods, diagnosis in told]
        if rest and alike:
            found.append(Misfit(_keys(rest), told[0][1].text()))
        everyone &= alike or not rest
    return Misfits(tuple(found), everyone)


def _told(kind: Kind, trial: Trial, most: int) -> tuple[list[tuple[Kind, Diagnosis]], Kind]:
    """Return why members of one kind fit no node, by the claims they name; and those not asked.

    A refusal that names the claim differs for each, and is cheap; if nodes were checked, all of
    them lack the same.

    Args:
        kind: of which no member fits.
        trial: the cluster as it is.
        most: the most to ask; at least one is asked.
    """
    naming: dict[object, list[Pod]] = {}
    for pod in kind:
        naming.setdefault((pod.claims, pod.resource_claims), []).append(pod)
    first = trial.diagnosis(kind[0])
    if not first.plugins & trial.profile.reads_claims:  # the claims do not matter
        return [(kind, first)], ()
    parts: Sequence[Kind] = list(naming.values())
    asked = max(1, most if first.message else min(most, _MOST_NAMED))
    told = [(parts[0], first)]
    told += [(pods, trial.diagnosis(pods[0])) for pods in parts[1:asked]]
    return told, [pod for pods in parts[asked:] for pod in pods]


def _keys(pods: Kind) -> tuple[PodKey, ...]:
    return tuple(pod.key for pod in pods)


def unplaced(
    facts: GroupFacts,
    wanted: int,
    fitted: int,
    diagnoses: Mapping[Diagnosis, Pod],
    kinds: Sequence[Kind],
    misfits: Misfits = NO_MISFITS,
) -> str:
    """Return why a plan of `wanted` members failed after `fitted` of them had found a node.

    A pod without a group gets kube-scheduler's own text. If members are of several kinds, those
    that do not fit are named, each kind with what it lacks.

    Args:
        facts: the group as it is.
        wanted: how many members a plan needs; 0 = it has its minimum.
        fitted: how many found a node, one after the other.
        diagnoses: why others did not, each with the first member concerned.
        kinds: all members.
        misfits: the members that fit no node even if alone.
    """
    if facts.solo or (len(kinds) < 2 and not misfits.found):
        return _of_one_kind(facts, wanted, fitted, diagnoses)
    alone = misfits.members
    said: list[str] = []
    if len(facts.pending) - len(alone) >= wanted:  # the others fit alone, but not together
        others = {d: pod for d, pod in diagnoses.items() if pod.key not in alone}
        if others:
            said.append(_together(wanted, fitted, others))
    if misfits.found:
        least = "" if misfits.all else "at least "
        said.append(least + _misfits(misfits.found, len(alone), len(facts.pending)))
    return " ".join(said)


def _of_one_kind(
    facts: GroupFacts, wanted: int, fitted: int, diagnoses: Mapping[Diagnosis, Pod]
) -> str:
    if facts.solo:
        return " ".join(each.text() for each in diagnoses)
    text = " ".join(each.full() for each in diagnoses)
    if not wanted:
        return text
    if not fitted:
        if wanted == 1:
            return f"The 1 required member does not fit: {text}"
        return f"None of the {wanted} required members fits: {text}"
    return f"{fitted} of the {wanted} required members fit; the next one does not: {text}"


def _misfits(misfits: Sequence[Misfit], alone: int, pending: int) -> str:
    """Return which members fit no node, a few of them by name."""
    verb, members = ("fits", "member") if alone == 1 else ("fit", "members")
    told = misfits[:_MOST_NAMED]
    parts = [f"{_names(misfit)}: {misfit.text}" for misfit in told]
    more = alone - sum(len(misfit.members) for misfit in told)
    if more:
        parts.append(f"And {more} more.")
    head = f"{alone} {members}" if alone == pending else f"{alone} of {pending} members"
    return f"{head} {verb} no node: {' '.join(parts)}"


def _names(misfit: Misfit) -> str:
    return several([key.name for key in misfit.members], _MOST_NAMED)


def _together(wanted: int, fitted: int, diagnoses: Mapping[Diagnosis, Pod]) -> str:
    """Return which members did not fit besides the members that were placed before."""
    verb = "does not" if wanted else "does not fit"
    parts = [f"{pod.key.name} {verb}: {each.full()}" for each, pod in diagnoses.items()]
    told = " ".join(parts[:_MOST_NAMED])
    return f"{fitted} of the {wanted} required members fit; {told}" if wanted else told
