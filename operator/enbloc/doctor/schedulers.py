# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether another scheduler serves one of our schedulerNames: both would bind the same pods."""

import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import yaml

from enbloc.client.client import Client
from enbloc.client.errors import Forbidden, NotFound
from enbloc.client.lease_objects import LONGEST, SHOWN, LeaseObject, LeaseSpec, served_by
from enbloc.client.paths import CONFIG_MAPS, LEASES
from enbloc.doctor.accounts import Accounts
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.shapes import DEPLOYMENTS, ConfigMap, Deployment
from enbloc.model.names import COMPONENT_KEY, DEFAULT_SCHEDULER, SCHEDULER_NAME
from enbloc.model.text import clipped, printable

CHECK: Final = "schedulers"
_KIND: Final = "KubeSchedulerConfiguration"
#: kube-scheduler's Lease.
DEFAULT_LEASE: Final = ("kube-system", "kube-scheduler")
#: The flag that sets the schedulerName of Volcano and others.
_NAME_FLAG: Final = "--scheduler-name="
#: A holder no longer leads if it has not renewed its Lease for this long (seconds), or for twice
#: the Lease's duration if that is longer.
_SLACK: Final = 60.0
#: The longest configuration that is read (bytes).
_LONGEST: Final = 1 << 16


async def leases(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Leases of other schedulers that serve one of our names."""
    accounts = Accounts(client)
    own = {(each.lease_namespace, each.lease) for each in ours.processes}
    async for lease in marked(client):
        key = (lease.metadata.namespace, lease.metadata.name)
        shared = sorted(served_by(lease) & set(ours.serves))
        if key in own or not shared:
            continue
        if (holder := leader(client, lease)) and await accounts.any_binds(key[0]):
            yield _clash(f"lease {'/'.join(key)}", f"is held by {holder}, which serves", shared)
    if DEFAULT_SCHEDULER in ours.serves:
        namespace, name = DEFAULT_LEASE
        try:
            found = await client.get(LEASES, name, namespace, shape=LeaseObject)
        except NotFound:
            return
        holder = leader(client, found)
        if not holder or holder.startswith(ours.scheduler):
            return
        where = f"lease {namespace}/{name}"
        if DEFAULT_LEASE in own:
            message = f"is held by {holder}: enbloc stands by until that has ended"
            yield Finding(CHECK, Verdict.WARNING, where, message)
        else:
            yield _clash(where, f"is held by {holder}, which serves", [DEFAULT_SCHEDULER])


async def marked(client: Client) -> AsyncIterator[LeaseObject]:
    """The Leases that are labelled as an enbloc scheduler's."""
    query = {"labelSelector": f"{COMPONENT_KEY}=scheduler"}
    async for lease in client.list(LEASES, query=query, shape=LeaseObject):
        yield lease


async def served(client: Client) -> set[str]:
    """The schedulerNames that some scheduler of enbloc serves now."""
    return {
        name async for each in marked(client) if leader(client, each) for name in served_by(each)
    }


def leader(client: Client, lease: LeaseObject) -> str:
    """The holder that renews a Lease, for people; "" = nobody does."""
    spec = lease.spec or LeaseSpec()
    try:
        renewed = datetime.fromisoformat(spec.renew_time or "")
    except ValueError:
        return ""
    if renewed.tzinfo is None:
        return ""
    offset = client.server_offset
    now = time.time() if offset is None else client.clock.local() + offset
    lasts = max(_SLACK, 2 * min(spec.lease_duration_seconds or 0, LONGEST))
    if now - renewed.timestamp() > lasts:
        return ""
    return clipped(printable(spec.holder_identity or ""), SHOWN)


async def deployments(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Deployments of other schedulers whose flags or configuration name one of ours.

    Raises:
        Forbidden: a configuration may not be read; raised after all Deployments were looked at.
    """
    accounts = Accounts(client)
    unread: Forbidden | None = None
    async for each in client.list(DEPLOYMENTS, shape=Deployment):
        where = f"{each.metadata.namespace}/{each.metadata.name}"
        if where in {f"{ours.namespace}/{ours.scheduler}", f"{ours.namespace}/{ours.release}"}:
            continue
        words = each.words
        enbloc = each.metadata.part_of == SCHEDULER_NAME
        if not enbloc and not any("scheduler" in word for word in words):
            continue
        if not await accounts.binds(each.metadata.namespace, each.pod.account):
            continue
        served = {word.removeprefix(_NAME_FLAG) for word in words if word.startswith(_NAME_FLAG)}
        for name in each.config_maps:
            try:
                found = await client.get(
                    CONFIG_MAPS, name, each.metadata.namespace, shape=ConfigMap
                )
            except NotFound:
                continue
            except Forbidden as error:
                unread = error
                continue
            unnamed = SCHEDULER_NAME if enbloc else DEFAULT_SCHEDULER
            served |= configured((found.data or {}).values(), unnamed)
        shared = sorted(served & set(ours.serves))
        if shared:
            yield _clash(f"deployment {where}", "is a scheduler that serves", shared)
    if unread is not None:
        raise unread


def configured(texts: Iterable[str], unnamed: str = DEFAULT_SCHEDULER) -> set[str]:
    """The schedulerNames of all configurations among these texts; other texts are ignored.

    Args:
        texts: YAML, or anything else.
        unnamed: the name that is served without profiles, or by a profile without schedulerName.
    """
    return {name for document in configurations(texts) for name in _named(document, unnamed)}


def configurations(texts: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Every KubeSchedulerConfiguration among these texts, with all its scalars as text."""
    for text in texts:
        if _KIND not in text or len(text) > _LONGEST:
            continue
        try:
            # Scalars stay text, and keys are not merged: parsing either may take very long.
            documents = list(yaml.load_all(text, Loader=yaml.BaseLoader))
        except (yaml.YAMLError, ValueError, TypeError, RecursionError):
            continue
        for document in documents:
            if isinstance(document, Mapping) and document.get("kind") == _KIND:
                yield document


def _named(document: Mapping[str, Any], unnamed: str) -> Iterable[str]:
    profiles = document.get("profiles") or [{}]
    for profile in profiles if isinstance(profiles, list) else ():
        name = profile.get("schedulerName") or unnamed if isinstance(profile, Mapping) else None
        if isinstance(name, str):
            yield name


def _clash(where: str, what: str, shared: list[str]) -> Finding:
    return Finding(
        CHECK,
        Verdict.FAULT,
        where,
        f"{what} {', '.join(shared)} too, so both would place the same pods; give one of them "
        "another schedulerName, or remove it",
    )
