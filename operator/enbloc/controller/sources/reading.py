# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reads others' objects; a bug in that becomes a message, and does not affect other objects."""

import logging
from collections.abc import Mapping
from typing import Any

from enbloc.controller.sources.declaring_pods import Read
from enbloc.controller.sources.derived_groups import checked
from enbloc.controller.sources.source import (
    Called,
    Derived,
    ObjectKey,
    RefusedGroup,
    Source,
    SourceObject,
)
from enbloc.controller.sources.timeouts import with_timeout
from enbloc.controller.sources.topology import as_annotated
from enbloc.controller.sources.unread import with_unread

log = logging.getLogger(__name__)


def called_for(source: Source[Any], found: SourceObject) -> Called:
    """What an object calls for; a RefusedGroup with a message if a bug prevents reading it."""
    try:
        called = with_timeout(source.derive(found), found.metadata)
        called = with_unread(as_annotated(called, found.metadata), found.metadata)
        return checked(called)
    except Exception as error:  # noqa: BLE001  # a bug must not keep other objects from being followed
        key = ObjectKey(source.name, found.metadata.namespace or "", found.metadata.name)
        return RefusedGroup(fault(key, error))


def fault(what: object, error: Exception) -> str:
    """Log a bug, and return the message about it for the object."""
    log.error("Failed to process %s", what, exc_info=error)
    return (
        f"enbloc failed to process it ({type(error).__name__}), and leaves it as it is; please "
        "report this with the log of the controller"
    )


def guarded(read: Read) -> Read:
    """`read`, but a bug becomes a message on the pod, so that other pods can still be read."""

    def declared(
        labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Derived | RefusedGroup | None:
        try:
            return read(labels, annotations)
        except Exception as error:  # noqa: BLE001
            return RefusedGroup(fault("what a pod declares", error))

    return declared
