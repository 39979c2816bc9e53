# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods and Jobs, from the stream into the table."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec
import pytest

from enbloc.client.items import Deleted, HasMeta, Item, Malformed, Meta, Seen, Synced
from enbloc.controller import creator_objects
from enbloc.controller.creator_objects import JobObject
from enbloc.controller.informers import follow_creators, follow_namespaces, follow_pods
from enbloc.controller.members import Members
from enbloc.controller.sources.declaring_pods import DeclaringPods
from enbloc.model.groups import GroupKey
from enbloc.wire.auto_groups import AutoGroups, group_name
from enbloc.wire.objects import NamespaceObject, PodObject

TRAIN = GroupKey("n", "train")
META = Meta("uid", "p", "n", "1")
T = TypeVar("T", bound=HasMeta)


async def items(*given: Item[T]) -> AsyncIterator[Item[T]]:
    for item in given:
        yield item


def pod(*, ready: str = "False", job: str = "job") -> PodObject:
    owner = {"kind": "Job", "name": "j", "uid": job, "controller": True}
    metadata = {
        "name": "p",
        "namespace": "n",
        "uid": "uid",
        "labels": {"enbloc.dev/pod-group": "train"},
        "ownerReferences": [owner],
    }
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    return msgspec.convert({"metadata": metadata, "status": status}, PodObject)


def declaring() -> DeclaringPods:
    """What pods declare; none of these does."""
    return DeclaringPods((), lambda _: None)


def job(*conditions: tuple[str, str], uid: str = "job") -> JobObject:
    given: list[Any] = [{"type": type_, "status": status} for type_, status in conditions]
    body = {"metadata": {"uid": uid}, "status": {"conditions": given}}
    return msgspec.convert(body, JobObject)


async def test_pods_become_members_and_ask_for_their_groups() -> None:
    members, asked, synced = Members(), list[GroupKey](), asyncio.Event()

    await follow_pods(
        items(
            Seen(META, pod()),
            Synced(),
            Seen(META, pod()),
            Seen(META, pod(ready="True")),
            Malformed(META, "odd"),
        ),
        members,
        AutoGroups(unknown=False),
        declaring(),
        asked.append,
        synced,
    )

    assert asked == [TRAIN, TRAIN]
    assert synced.is_set()
    assert [member.ready for member in members.of(TRAIN)] == [True]


async def test_a_deleted_pod_is_no_member() -> None:
    members, asked = Members(), list[GroupKey]()

    stream = items(Seen(META, pod()), Deleted(META, pod()))
    await follow_pods(
        stream, members, AutoGroups(unknown=False), declaring(), asked.append, asyncio.Event()
    )

    assert asked == [TRAIN, TRAIN]
    assert list(members.of(TRAIN)) == []


async def test_the_end_of_a_job_asks_for_the_groups_of_its_pods() -> None:
    members, asked, synced = Members(), list[GroupKey](), asyncio.Event()
    auto = AutoGroups(unknown=False)
    await follow_pods(
        items(Seen(META, pod())), members, auto, declaring(), lambda _: None, asyncio.Event()
    )

    await follow_creators(
        items(
            Seen(META, job(("Suspended", "True"))),
            Synced(),
            Seen(META, job(("Failed", "False"))),
            Malformed(META, "odd"),
            Seen(Meta("job", "j", "n", "3"), job(("FailureTarget", "True"), ("Failed", "True"))),
        ),
        creator_objects.job,
        members,
        asked.append,
        synced,
    )

    assert TRAIN in asked
    assert synced.is_set()
    assert members.creators(TRAIN)["job"].ended is False


async def test_what_is_deleted_is_forgotten_and_its_group_asked_for() -> None:
    members, asked = Members(), list[GroupKey]()
    template = {"metadata": {"labels": {"enbloc.dev/pod-group": "train"}}}
    metadata = {"name": "s", "namespace": "n", "uid": "set"}
    body = {"metadata": metadata, "spec": {"template": template}}
    found = msgspec.convert(body, creator_objects.SetObject)
    meta = Meta("set", "s", "n", "3")

    await follow_creators(
        items(Seen(meta, found), Deleted(meta, found)),
        creator_objects.stateful_set,
        members,
        asked.append,
        asyncio.Event(),
    )

    assert asked == [TRAIN, TRAIN]
    assert members.creators(TRAIN) == {}


async def test_a_namespace_makes_members_of_the_pods_of_a_job_and_says_what_it_cannot_mean(
    caplog: pytest.LogCaptureFixture,
) -> None:
    members, asked, synced = Members(), list[GroupKey](), asyncio.Event()
    auto, group = AutoGroups(unknown=False), GroupKey("n", group_name("Job", "j", "u"))
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    metadata: Any = {"name": "p", "namespace": "n", "uid": "p"}
    metadata["ownerReferences"] = [{**reference, "controller": True}]
    conditions = {"conditions": [{"type": "Ready", "status": "True"}]}
    body = {"metadata": metadata, "spec": {"containers": []}, "status": conditions}
    of_job = items(Seen(META, msgspec.convert(body, PodObject)))
    await follow_pods(of_job, members, auto, declaring(), asked.append, asyncio.Event())
    assert asked == []

    def namespace(switch: str) -> NamespaceObject:
        labels = {"enbloc.dev/auto-group": switch}
        body = {"metadata": {"name": "n", "labels": labels}}
        return msgspec.convert(body, NamespaceObject)

    shown = items(
        Seen(META, namespace("Job.Deployment")),
        Synced(),
        Malformed(META, "odd"),
        Deleted(META, namespace("Job")),
    )
    await follow_namespaces(shown, members, auto, asked.append, synced)

    assert synced.is_set()
    assert asked == [group]
    assert [member.ready for member in members.of(group)] == [True]
    assert "label enbloc.dev/auto-group names Deployment" in caplog.text
