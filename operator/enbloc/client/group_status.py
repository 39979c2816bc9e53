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
#: It is written when nothing of it has changed for so long (seconds; semantics §7.5).
SETTLED: Final = 0.4
#: Or for so long, while what it says is about to change by itself.
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
    """Apply the whole of what this manager says of a group; the object as it then is.

    What the manager said before and does not say now is dropped; what others say stays.

    Args:
        client: the API.
        key: which group.
        uid: of the object that is meant: nothing lands on a namesake.
        status: what to say; None = nothing any more.
        manager: the field manager.
        shape: the type to read the object as.

    Raises:
        APIError: the request did not succeed; Conflict if the object is another one by now, and
            Unreachable if the answer does not show it.
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
