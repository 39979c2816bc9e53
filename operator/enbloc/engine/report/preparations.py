# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preparations: which volumes and devices a plan waits for before its members are bound."""

from collections.abc import Sequence
from typing import Final

from enbloc.engine.plan import Assignment
from enbloc.ledgers import Ledgers
from enbloc.model.text import several
from enbloc.storage.known import KnownObjects

#: The most claims that are named.
_MOST_NAMED: Final = 3


def preparing(members: Sequence[Assignment], ledgers: Ledgers) -> str:
    """Return what PreBind waits for, in half a sentence; "" = nothing.

    Args:
        members: of a plan, that are being prepared.
        ledgers: tell which claims are bound by now.
    """
    known = ledgers.volumes.known
    claims = dict.fromkeys(
        claim.claim
        for each in members
        if each.decided.volumes is not None
        for claim in each.decided.volumes.claims
        if not _bound(claim.claim, known)
    )
    said: list[str] = []
    if claims:
        first = [_told(key, known) for key in list(claims)[:_MOST_NAMED]]
        named = several(first, _MOST_NAMED, len(claims))
        kind = "PersistentVolumeClaim" if len(claims) == 1 else "PersistentVolumeClaims"
        said.append(f"{len(claims)} {kind} to be bound: {named}")
    devices = sum(each.decided.devices is not None for each in members)
    if devices:
        said.append(f"the devices of {devices} member{'s' if devices > 1 else ''}")
    return f"waiting for {', and for '.join(said)}" if said else ""


def _bound(key: str, known: KnownObjects) -> bool:
    claim = known.claims.get(key)
    return claim is not None and claim.bound


def _told(key: str, known: KnownObjects) -> str:
    """Return a claim by name, with the provisioner of its volume."""
    name = key.partition("/")[2]
    claim = known.claims.get(key)
    found = known.classes.get(claim.storage_class) if claim is not None else None
    if found is None:
        return name
    by = f", provisioner {found.provisioner}" if found.provisions else ""
    return f"{name} (StorageClass {found.name}{by})"
