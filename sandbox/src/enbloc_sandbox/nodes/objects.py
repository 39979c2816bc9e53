# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the sandbox's clients (kubelet, controllers) read of any object, and how they write."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from enbloc.client.backoff import Backoff
from enbloc.client.errors import (
    APIError,
    Conflict,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from enbloc.client.paths import Resource
from enbloc.model.times import micro_time_text, time_text

FINISHED: Final = frozenset({"Succeeded", "Failed"})

log = logging.getLogger(__name__)


class OwnerReference(msgspec.Struct, frozen=True):
    """One of metadata.ownerReferences."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """metadata, as far as a client of the sandbox reads it."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


class Object(msgspec.Struct, frozen=True):
    """Any object: typed metadata, spec and status as they come."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone."""
        namespace = self.metadata.namespace
        return f"{namespace}/{self.metadata.name}" if namespace else self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """metadata.labels; empty if there are none."""
        return self.metadata.labels or {}

    @property
    def annotations(self) -> dict[str, str]:
        """metadata.annotations; empty if there are none."""
        return self.metadata.annotations or {}

    @property
    def deleting(self) -> bool:
        """It has a deletionTimestamp."""
        return self.metadata.deletion_timestamp is not None

    @property
    def phase(self) -> str:
        """status.phase of a pod; Pending when it is not set yet."""
        return str(self.status.get("phase") or "Pending")

    @property
    def finished(self) -> bool:
        """A pod that succeeded or failed."""
        return self.phase in FINISHED

    @property
    def controller_uid(self) -> str:
        """The UID of its controller; "" if it has none."""
        owners = self.metadata.owner_references or ()
        return next((owner.uid for owner in owners if owner.controller), "")


def timestamp() -> str:
    """Now as metav1.Time."""
    return time_text(time.time())


def micro_timestamp() -> str:
    """Now as metav1.MicroTime."""
    return micro_time_text(time.time())


def seconds_since(text: str) -> float:
    """Seconds from a timestamp until now, by this machine's clock."""
    return (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()


async def persistent(call: Callable[[], Awaitable[Any]]) -> Any:
    """The answer to an idempotent request, sent again while the server cannot say.

    Raises:
        APIError: the server refused.
    """
    backoff = Backoff(initial=0.1, cap=5.0)
    while True:
        try:
            return await call()
        except (Unreachable, ServerError, TooManyRequests) as error:
            log.debug("%s; trying again", error)
            await asyncio.sleep(backoff.next())


async def settled(call: Callable[[], Awaitable[Any]]) -> Any | None:
    """As `persistent`, but None when the object is gone, is not what it was, or the server refuses.

    A refusal is logged: one bad object must not stop a client that serves many.
    """
    try:
        return await persistent(call)
    except (NotFound, Conflict):
        return None
    except APIError as error:
        log.warning("%s", error)
        return None


def reference(owner: Object, resource: Resource, *, controller: bool = True) -> dict[str, Any]:
    """An ownerReference to an object."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        **({"controller": True, "blockOwnerDeletion": True} if controller else {}),
    }
