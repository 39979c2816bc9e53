# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Explain: a failed decision in a few sentences for people, with the members that do not fit."""

from collections.abc import Mapping, Sequence
from typing import Final

from enbloc.engine.plan import Misfit
from enbloc.engine.trial import Outcome, Trial
from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import Diagnosis
from enbloc.model.pods import Pod, PodSpec

#: So many kinds of members are asked whether they fit anywhere.
_MOST_KINDS: Final = 16
#: So many kinds are told of, and so many members of each are named.
_MOST_NAMED: Final = 3


def misfits(facts: GroupFacts, outcome: Outcome, trial: Trial) -> tuple[Misfit, ...]:
    """The kinds of members that would fit no node even if they were alone, the oldest first.

    Where all members are of one kind there is nothing to tell apart, and none is given.

    Args:
        facts: the group as it is.
        outcome: of the pass that failed; a kind of which it placed a member does fit.
        trial: the cluster as it is.
    """
    kinds = _kinds(facts.pending)
    if facts.solo or len(kinds) < 2:
        return ()
    fit = {pod.spec for pod, _ in outcome.needed}
    found: list[Misfit] = []
    for pods in [pods for spec, pods in kinds.items() if spec not in fit][:_MOST_KINDS]:
        diagnosis = None if trial.ranking(pods[0]).mask.any() else trial.diagnosis(pods[0])
        if diagnosis is not None:
            names = tuple(pod.key.name for pod in pods[:_MOST_NAMED])
            found.append(Misfit(pods[0].spec, len(pods), names, diagnosis.text()))
    return tuple(found)


def _kinds(pods: Sequence[Pod]) -> dict[PodSpec, list[Pod]]:
    """Pods by their spec, which those of one template share."""
    kinds: dict[PodSpec, list[Pod]] = {}
    known: dict[int, list[Pod]] = {}
    for pod in pods:
        alike = known.get(id(pod.spec))
        if alike is None:
            alike = known[id(pod.spec)] = kinds.setdefault(pod.spec, [])
        alike.append(pod)
    return kinds


def unplaced(
    facts: GroupFacts,
    wanted: int,
    fitted: int,
    diagnoses: Mapping[Diagnosis, Pod],
    misfits: Sequence[Misfit] = (),
) -> str:
    """Why a plan of `wanted` members failed after `fitted` of them had found a node.

    A pod without a group gets kube-scheduler's own text. Where members are of several kinds, those
    that do not fit are named, each kind with what it lacks.

    Args:
        facts: the group as it is.
        wanted: how many members a plan needs; 0 = it has its minimum.
        fitted: how many found a node, one after the other.
        diagnoses: why others did not, each with the first of them.
        misfits: who fits no node even if alone.
    """
    kinds = len(_kinds(facts.pending))
    if facts.solo or kinds < 2:
        return _of_one_kind(facts, wanted, fitted, diagnoses)
    alone = sum(misfit.members for misfit in misfits)
    said: list[str] = []
    if len(facts.pending) - alone >= wanted:  # those who do fit somewhere do not fit together
        specs = {misfit.spec for misfit in misfits}
        others = {d: pod for d, pod in diagnoses.items() if pod.spec not in specs}
        if others:
            said.append(_together(wanted, fitted, others))
    if misfits:
        least = "at least " if kinds > _MOST_KINDS else ""
        said.append(least + _misfits(misfits, alone, len(facts.pending)))
    return " ".join(said)


def _of_one_kind(
    facts: GroupFacts, wanted: int, fitted: int, diagnoses: Mapping[Diagnosis, Pod]
) -> str:
    text = " ".join(each.text() for each in diagnoses)
    if facts.solo or not wanted:
        return text
    if not fitted:
        if wanted == 1:
            return f"The 1 required member does not fit: {text}"
        return f"None of the {wanted} required members fits: {text}"
    return f"{fitted} of the {wanted} required members fit; the next one does not: {text}"


def _misfits(misfits: Sequence[Misfit], alone: int, pending: int) -> str:
    """Who fits no node, a few of them by name."""
    verb, members = ("fits", "member") if alone == 1 else ("fit", "members")
    told = misfits[:_MOST_NAMED]
    parts = [f"{_names(misfit)}: {misfit.text}" for misfit in told]
    more = alone - sum(misfit.members for misfit in told)
    if more:
        parts.append(f"And {more} more.")
    head = f"{alone} {members}" if alone == pending else f"{alone} of {pending} members"
    return f"{head} {verb} no node: {' '.join(parts)}"


def _names(misfit: Misfit) -> str:
    more = misfit.members - len(misfit.names)
    return ", ".join(misfit.names) + (f" and {more} more" if more else "")


def _together(wanted: int, fitted: int, diagnoses: Mapping[Diagnosis, Pod]) -> str:
    """Who did not fit beside the members that were placed before."""
    verb = "does not" if wanted else "does not fit"
    parts = [f"{pod.key.name} {verb}: {each.text()}" for each, pod in diagnoses.items()]
    told = " ".join(parts[:_MOST_NAMED])
    return f"{fitted} of the {wanted} required members fit; {told}" if wanted else told
