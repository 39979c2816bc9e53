# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a pod's volume and device claims when it is bound, and when it has left."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from enbloc.devices.facts import ClaimSpec, Consumer, ResourceClaim
from enbloc.engine.events import Event, FactGone, FactSeen, PodSeen
from enbloc.framework.act import Target
from enbloc.ledgers import detached, made_again
from enbloc.model.ledger import Fact
from enbloc.model.pods import Pod
from enbloc.storage.facts import ClaimRef, PersistentVolume, PersistentVolumeClaim

#: (kind, key) → fact.
Facts = Mapping[tuple[str, str], Fact]


def written(target: Target, pod: Pod | None, facts: Facts) -> Iterator[Event]:
    """What the scheduler sees of the claims after a pod's PreBind.

    Args:
        target: the pod, and what was decided for it.
        pod: its current state; None = it is gone.
        facts: all volumes and devices.
    """
    volumes, devices = target.decided
    user = Consumer("pods", target.pod.name, target.uid)
    for one in devices.claims if devices is not None else ():
        claim = facts.get((ResourceClaim.kind, one.claim))
        if isinstance(claim, ResourceClaim):
            users = tuple(dict.fromkeys((*claim.reserved_for, user)))
            allocation = claim.allocation or one.allocation
            yield FactSeen(replace(claim, allocation=allocation, reserved_for=users))
    extended = devices.extended if devices is not None else None
    if extended is not None and pod is not None:
        name = pod.extended_claim or f"{target.pod.name}-extended-resources"
        yield FactSeen(
            ResourceClaim(
                target.pod.namespace,
                name,
                uid=f"{target.uid}-extended-resources",
                spec=ClaimSpec(extended.requests),
                owner=target.uid,
                extended_for=target.uid,
                allocation=extended.allocation,
                reserved_for=(user,),
            )
        )
        yield PodSeen(replace(pod, extended_claim=name))
    for each in volumes.claims if volumes is not None else ():
        wanted = facts.get((PersistentVolumeClaim.kind, each.claim))
        ref = each.volume
        volume = ref and facts.get((PersistentVolume.kind, ref.name))
        if isinstance(wanted, PersistentVolumeClaim) and isinstance(volume, PersistentVolume):
            owner = ClaimRef(wanted.key, wanted.uid)
            yield FactSeen(replace(volume, claim=owner, available=False))
            yield FactSeen(replace(wanted, volume=volume.name, bind_completed=True))


def taken_back(target: Target, pod: Pod | None, facts: Facts) -> Iterator[Event]:
    """What the scheduler sees after Unreserve: PreBind, or what an earlier attempt left, is undone.

    A bound volume stays bound, as in a cluster.
    """
    volumes, devices = target.decided
    for one in devices.claims if devices is not None else ():
        claim = facts.get((ResourceClaim.kind, one.claim))
        if isinstance(claim, ResourceClaim):
            users = tuple(each for each in claim.reserved_for if each.uid != target.uid)
            allocation = claim.allocation if users else None
            yield FactSeen(replace(claim, allocation=allocation, reserved_for=users))
    if devices is not None and devices.extended is not None and pod is not None:
        name = devices.extended.claim.partition("/")[2] or pod.extended_claim
        if name:
            yield FactGone(ResourceClaim.kind, f"{target.pod.namespace}/{name}")
            yield PodSeen(replace(pod, extended_claim=""))
    for each in volumes.claims if volumes is not None else ():
        wanted = facts.get((PersistentVolumeClaim.kind, each.claim))
        if isinstance(wanted, PersistentVolumeClaim) and wanted.selected_node is not None:
            yield FactSeen(replace(wanted, selected_node=None))


def freed(gone: Collection[Pod], pods: Iterable[Pod], facts: Facts) -> Iterator[Event]:
    """What the scheduler sees of claims and volumes after the pods that held them have left.

    Args:
        gone: these pods, each with its former node.
        pods: all pods; these may be among them.
        facts: all volumes and devices.
    """
    holding = [pod for pod in gone if pod.spec.holds]
    if holding:
        uids = {pod.uid for pod in holding}
        for attachment in detached(holding, pods, facts):
            yield FactGone(attachment.kind, attachment.key)
        anew = (made_again(fact, uids) for fact in facts.values())
        yield from [FactSeen(fact) for fact in anew if fact is not None]
