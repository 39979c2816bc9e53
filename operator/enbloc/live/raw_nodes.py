# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods as raw JSON, for extenders: they may read fields that the scheduler does not."""

from typing import Final

import msgspec

from enbloc.client.decoding import decoded
from enbloc.wire.objects import Metadata, NodeObject, NodeSpecObject, NodeStatusObject

_NULL: Final = msgspec.Raw(b"null")
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class RawNode(msgspec.Struct, dict=True):
    """A Node from the API server, decoded and as raw JSON.

    Attributes:
        plain: the fields that scheduling reads.
        json: the whole object except managedFields.
    """

    raw_metadata: msgspec.Raw = msgspec.field(name="metadata")
    spec: msgspec.Raw = _NULL
    status: msgspec.Raw = _NULL

    def __post_init__(self) -> None:
        """Decode now, so that a malformed Node fails here."""
        decode = msgspec.json.decode
        self.plain = NodeObject(
            decode(self.raw_metadata, type=Metadata),
            decode(self.spec, type=NodeSpecObject | None),
            decode(self.status, type=NodeStatusObject | None),
        )
        metadata = _unmanaged(self.raw_metadata)
        parts = {"metadata": metadata, "spec": self.spec, "status": self.status}
        self.json = msgspec.Raw(msgspec.json.encode(parts))
        self.raw_metadata = self.spec = self.status = _NULL  # views of the whole page

    @property
    def metadata(self) -> Metadata:
        """The node's metadata."""
        return self.plain.metadata


def without_managed_fields(raw: bytes) -> msgspec.Raw:
    """An object without its managedFields, which are long and irrelevant to scheduling.

    Raises:
        msgspec.DecodeError: it has no metadata; or another error of UNREADABLE.
    """
    fields = decoded(_FIELDS, raw)
    fields["metadata"] = _unmanaged(fields.get("metadata", _NULL))
    return msgspec.Raw(msgspec.json.encode(fields))


def _unmanaged(metadata: msgspec.Raw) -> msgspec.Raw:
    fields = _FIELDS(metadata)
    fields.pop("managedFields", None)
    return msgspec.Raw(msgspec.json.encode(fields))
