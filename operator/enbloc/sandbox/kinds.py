# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a kind adds to reading and writing objects: the hooks, and their plain default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from enbloc.sandbox.status import FieldError

if TYPE_CHECKING:
    from enbloc.sandbox.api import Api

Document = Mapping[str, Any]
Fresh = dict[str, Any]


class Kind:
    """The hooks of one kind; this one stores what it is given.

    `obj` is fresh: hooks may change it down to its last leaf. `old` is frozen.
    """

    #: Whether metadata.generation counts changes of the spec.
    generation = False
    #: Whether DELETE answers with the object rather than a Status.
    returns_deleted = False
    #: Whether objects live on for a while when they are deleted.
    graceful = False
    #: What happens to dependents when a DELETE does not say.
    propagation = "Background"

    def default(self, obj: Fresh) -> None:
        """Fill in defaults, as decoding does."""

    def admit(self, api: Api, obj: Fresh) -> None:
        """What admission plugins do on create; Refused 403 to deny."""

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        """Set what only the server sets."""

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        """The errors of a new or changed object."""
        return []

    def rules(self, obj: Document, old: Document | None) -> list[FieldError]:
        """The errors of the schema's CEL rules, asked for when all else is right."""
        return []

    def prepare_update(self, api: Api, obj: Fresh, old: Document) -> None:
        """Carry over what a client may not change."""

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        """The errors of a change."""
        return []

    def prepare_status(self, api: Api, obj: Fresh, old: Document) -> None:
        """Carry over what a status write may not change."""

    def grace(self, obj: Document, asked: int | None) -> int:
        """Seconds that a deleted object lives on."""
        return 0

    def deleted(self, api: Api, obj: Document) -> None:
        """The object was removed."""

    def written(self, api: Api, obj: Document) -> None:
        """The object was created or changed."""

    def check_delete(self, api: Api, obj: Document) -> None:
        """Refused to forbid a deletion."""


class Counted(Kind):
    """A kind whose generation counts changes of the spec."""

    generation = True


class Returned(Kind):
    """A kind whose DELETE answers with the object."""

    returns_deleted = True
