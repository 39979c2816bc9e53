# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Writing one manager's part of a PodGroup's status."""

from typing import Any, Final

from enbloc.client.client import Client, PatchType
from enbloc.client.errors import Unreachable
from enbloc.client.paths import POD_GROUPS
from enbloc.model.groups import GroupKey

#: The least time between two writes of one group's status by one process (seconds).
INTERVAL: Final = 1.0
#: A status is written once it has not changed for this long (seconds; semantics §7.5).
SETTLED: Final = 0.4
#: The same for a status that is about to change by itself (seconds).
PASSING: Final = 1.5


async def apply_group_status(
    client: Client,
    key: GroupKey,
    uid: str,
    status: Any,
    manager: str,
    *,
    shape: Any = dict[str, Any],
) -> Any:
    """Server-side apply this manager's part of a group's status, and return the object.

    Fields that the manager applied before and leaves out now are removed; other managers' stay.

    Args:
        client: the API.
        key: the group.
        uid: of the group, so that another group of that name is not changed.
        status: the manager's whole part; None = remove it.
        manager: the field manager.
        shape: the type to read the object as.

    Raises:
        APIError: the request did not succeed; Conflict if the object now has another UID, and
            Unreachable if the answer shows none.
    """
    written = await client.patch(
        POD_GROUPS,
        key.name,
        {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid},
            **({} if status is None else {"status": status}),
        },
        key.namespace,
        kind=PatchType.APPLY,
        subresource="status",
        query={"fieldManager": manager, "force": "true"},
        shape=shape,
    )
    if _uid(written) != uid:
        text = "unreadable answer: it does not show the PodGroup that was patched"
        raise Unreachable("patch", POD_GROUPS.label("status"), text, sent=True)
    return written


def _uid(written: Any) -> object:
    """The UID of an object that may be anything; None if it has none."""
    metadata = written.get("metadata") if isinstance(written, dict) else written.metadata
    return metadata.get("uid") if isinstance(metadata, dict) else getattr(metadata, "uid", None)
