# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Around: a group with slices or parts, on the nodes that reach one device of a shared claim.

Slices and parts are placed one after the other, and the first may choose a device that the nodes of
the later ones do not reach. So whoever shares the claim is kept to the nodes of one device at a
time.
"""

from collections.abc import Iterator
from functools import partial
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing import in_sets
from enbloc.engine.topology import room_now
from enbloc.engine.trial import ClassKey, Trial, confining
from enbloc.framework.facts import GroupFacts, Locality
from enbloc.ledgers import ledgers_of
from enbloc.model.nodes import Mask
from enbloc.model.pods import Pod

Numbers = npt.NDArray[np.integer]


def divided(locality: Locality) -> bool:
    """Whether members are placed slice by slice or part by part."""
    return bool(locality.levels.slices or locality.parts)


def shares_devices(facts: GroupFacts, trial: Trial) -> bool:
    """Whether pending members share a claim for devices with other pods."""
    devices = ledgers_of(trial.snapshot.nodes).devices
    users = (pod for pod in facts.pending if pod.spec.resource_claims)
    return any(devices.shared(key) for pod in users for key in devices.named(pod))


def around_devices(facts: GroupFacts, trial: Trial, steps: int) -> Iterator[Trial]:
    """Yield the trial with the users of a claim on the nodes of one device, small ones first.

    Args:
        facts: the group; `lacking` of its members are needed.
        trial: unchanged.
        steps: what summing up the room may cost.
    """
    keys = trial.keys(facts.pending)
    first = dict(zip(reversed(keys), reversed(facts.pending), strict=True))
    sets = list(in_sets(trial, [*first.values()]))
    if not sets:
        return
    slots = room_now(facts, frozenset(first), trial, steps).slots
    found: list[tuple[int, frozenset[ClassKey], Numbers, int]] = []
    for kinds, domains, _ in sets:
        users = frozenset(_of_any_host(key) for key, mine in zip(first, kinds, strict=True) if mine)
        least = max(1, facts.lacking - sum(_of_any_host(key) not in users for key in keys))
        sizes = np.bincount(domains, slots)
        enough = np.flatnonzero(sizes >= least)
        found += ((int(sizes[at]), users, domains, at) for at in enough.tolist() if at)
    for _, users, domains, at in sorted(found, key=itemgetter(0)):
        mask = domains == at
        tried = trial.fork(confining("devices", partial(_rows, trial, users, mask), len(mask)))
        pods = [pod for key, pod in first.items() if _of_any_host(key) in users]
        rows = np.flatnonzero(mask).tolist()
        tried.expect([(pod, row) for pod in pods for row in rows], always=True)
        yield tried


def _rows(trial: Trial, users: frozenset[ClassKey], mask: Mask, pod: Pod) -> Mask:
    """Return bool[N]: where a pod may be."""
    return mask if _of_any_host(trial.key(pod)) in users else np.ones_like(mask)


def _of_any_host(key: ClassKey) -> ClassKey:
    return key._replace(host="")
