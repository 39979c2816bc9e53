# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the processes have their permissions, by the table that their roles are made from.

Before the installation, the permissions of the doctor's user are reviewed: with RBAC, users can
grant only permissions that they have.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from enbloc.client.client import Client
from enbloc.client.paths import SUBJECT_ACCESS_REVIEWS
from enbloc.client.permissions import ROLES, Rule
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.shapes import OWN_ACCESS, Review
from enbloc.model import names

CHECK: Final = "permissions"
#: The most reviews in flight.
_AT_ONCE: Final = 8

Attributes = Mapping[str, str]
"""`resourceAttributes` of an access review."""


async def missing(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """The missing permissions, one finding per process."""
    for process in ours.processes:
        role, account = process.role, process.account
        leases: dict[str, str] = {
            names.SCHEDULER_LEASE: process.lease,
            names.CONTROLLER_LEASE: process.lease,
        }
        asked = list(wanted(ROLES[role], process.lease_namespace, leases))
        user = None if ours.planned else f"system:serviceaccount:{ours.namespace}:{account}"
        answers = await _reviewed(client, asked, user)
        lacking = [each for each, allowed in zip(asked, answers, strict=True) if not allowed]
        if not lacking:
            continue
        where = f"serviceaccount {ours.namespace}/{account}"
        if user is None:
            where = f"clusterrole {account}"
            message = f"you cannot grant the {role} what you may not do yourself: {listed(lacking)}"
        elif len(lacking) == len(asked):
            message = (
                f"has none of the permissions of the {role}: is enbloc installed with this "
                "namespace and name? If not, see --namespace and --release, or check before "
                "installing with --preinstall"
            )
        else:
            message = (
                f"the {role} may not do what it needs to; apply its roles again: {listed(lacking)}"
            )
        yield Finding(CHECK, Verdict.FAULT, where, message)


def wanted(
    rules: Sequence[Rule], namespace: str, leases: Mapping[str, str]
) -> Iterator[Attributes]:
    """Each single permission of a role.

    Args:
        rules: its rules.
        namespace: for rules that do not apply to the whole cluster.
        leases: name of a Lease in the table → its name here.
    """
    for rule in rules:
        for resource in rule.resources:
            plural, _, subresource = resource.partition("/")
            for verb in rule.verbs:
                for name in rule.names or ("",):
                    found = {
                        "group": rule.group,
                        "resource": plural,
                        "subresource": subresource,
                        "verb": verb,
                        "name": leases.get(name, name),
                        "namespace": "" if rule.scope == "cluster" else namespace,
                    }
                    yield {key: value for key, value in found.items() if value}


async def _reviewed(client: Client, asked: list[Attributes], user: str | None) -> list[bool]:
    slots = asyncio.Semaphore(_AT_ONCE)

    async def review(attributes: Attributes) -> bool:
        async with slots:
            return await reviewed(client, attributes, user)

    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(review(each)) for each in asked]
    return [task.result() for task in running]


async def reviewed(client: Client, attributes: Attributes, user: str | None) -> bool:
    """Whether a user may do one thing; None = the user of this client.

    Raises:
        APIError: the review failed.
    """
    resource = OWN_ACCESS if user is None else SUBJECT_ACCESS_REVIEWS
    spec: dict[str, Any] = {"resourceAttributes": attributes}
    if user is not None:
        group = f"system:serviceaccounts:{user.split(':')[2]}"
        groups = ["system:serviceaccounts", group, "system:authenticated"]
        spec |= {"user": user, "groups": groups}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    answer: Review = await client.create(resource, body, shape=Review)
    return answer.status.allowed


def listed(lacking: Iterable[Attributes]) -> str:
    """Permissions in one line, the verbs of a resource together."""
    verbs: dict[str, list[str]] = {}
    for each in lacking:
        verbs.setdefault(_object(each), []).append(each["verb"])
    return "; ".join(f"{', '.join(some)} {what}" for what, some in verbs.items())


def _object(each: Attributes) -> str:
    """`podgroups.enbloc.dev/status`, or `leases.coordination.k8s.io enbloc-scheduler in ns`."""
    resource = ".".join(part for part in (each["resource"], each.get("group")) if part)
    if each.get("subresource"):
        resource += f"/{each['subresource']}"
    name = f" {each['name']}" if each.get("name") else ""
    where = f" in {each['namespace']}" if each.get("namespace") else ""
    return f"{resource}{name}{where}"
