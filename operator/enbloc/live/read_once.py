# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An engine that knows what a scheduler knows at its start: all is listed once, nothing written."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.client.events import ObjectReference
from enbloc.config import Configuration
from enbloc.engine import Engine
from enbloc.live.event_queue import EventQueue
from enbloc.live.informer import Informer
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.telemetry import Problems


@dataclass(frozen=True, slots=True)
class Reading:
    """A cluster as it was a moment ago.

    Attributes:
        engine: has every first list, and has decided nothing.
        now: server time, seconds since the epoch.
        problems: what could not be read of which object, one line each.
    """

    engine: Engine
    now: float
    problems: Sequence[str]


async def read_once(client: Client, configuration: Configuration) -> Reading:
    """List what the scheduler lists, each resource once.

    Args:
        client: the API; `kube.permissions.DRAIN_CHECK` is all it needs.
        configuration: by which the engine is made.

    Raises:
        ExceptionGroup: of the APIError of each resource that cannot be listed.
    """
    queue, problems = EventQueue(), list[str]()

    def say(about: ObjectReference, note: str) -> None:
        name = f"{about.namespace}/{about.name}" if about.namespace else about.name
        problems.append(f"{about.resource.kind} {name}: {note}")

    malformed = MalformedObjects(say)
    malformed.tell()
    informers = Informers(client, queue, malformed, configuration.profiles, Problems())
    errors = await asyncio.gather(*map(_read, informers.every()))
    if failed := [error for error in errors if error is not None]:
        raise ExceptionGroup("the cluster cannot be read", failed)
    engine = Engine(configuration.profiles, configuration.settings)
    while events := queue.take():
        for event in events:
            engine.apply(event)
    return Reading(engine, client.server_clock().now(), problems)


async def _read(informer: Informer[Any]) -> APIError | None:
    try:
        await informer.read_once()
    except APIError as error:
        return error
    return None
