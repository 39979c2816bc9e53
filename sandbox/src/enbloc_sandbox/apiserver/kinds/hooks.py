# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002 - the default hooks do nothing with their arguments
"""What a kind adds to reading and writing objects: the hooks, and their plain default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from enbloc_sandbox.apiserver.request.options import Deletion, Options
from enbloc_sandbox.apiserver.status import FieldError
from enbloc_sandbox.apiserver.storage.catalog import Catalog, Resource
from enbloc_sandbox.apiserver.storage.store import Item, Key, Store

Document = Mapping[str, Any]
Fresh = dict[str, Any]


class Api(Protocol):
    """What hooks may use of the API that calls them."""

    catalog: Catalog
    store: Store

    def now(self) -> str:
        """The time as written into objects."""
        ...

    def create(self, resource: Resource, namespace: str, body: Document, options: Options) -> Item:
        """Create an object."""
        ...

    def delete(self, resource: Resource, key: Key, how: Deletion) -> tuple[Item, bool]:
        """Delete an object; its last state, and whether it is gone at once."""
        ...

    def set_kind(self, storage: str, kind: Kind) -> None:
        """Give a table its hooks."""
        ...


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
    #: Whether a PUT may leave out the resourceVersion.
    unconditional = True
    #: Whether a client may give the status of a new object.
    keeps_status = False
    #: A warning for a DELETE that does not say what happens to dependents.
    delete_warning = ""
    #: What happens to dependents when a DELETE does not say.
    propagation = "Background"

    def empty(self, obj: Document) -> Document:
        """What even an object without content has, so that nobody owns it."""
        return {}

    def default(self, obj: Fresh) -> None:
        """Fill in defaults, as decoding does."""

    def admit(self, api: Api, obj: Fresh) -> None:
        """What admission plugins do on create; Refused 403 to deny."""

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        """Set what only the server sets."""

    def validate_create(self, api: Api, obj: Document) -> list[FieldError]:
        """The errors that only a new object can have; they are listed first."""
        return []

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        """The errors of a new or changed object."""
        return []

    def rules(
        self, obj: Document, old: Document | None, errors: Sequence[FieldError]
    ) -> list[FieldError]:
        """The errors of the schema's CEL rules, given those found so far."""
        return []

    def prepare_update(self, api: Api, obj: Fresh, old: Document) -> None:
        """Carry over what a client may not change."""

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        """The errors of a change."""
        return []

    def prepare_status(self, api: Api, obj: Fresh, old: Document) -> None:
        """Carry over what a status write may not change."""

    def validate_status(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        """The errors of a write of the status."""
        return []

    def grace(self, obj: Document, asked: int | None) -> int:
        """Seconds that a deleted object lives on."""
        return 0

    def held(self, obj: Document) -> bool:
        """Whether something other than finalizers in its metadata keeps a deleted object."""
        return False

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


class Conditional(Kind):
    """A kind whose PUT must name the resourceVersion that it replaces."""

    unconditional = False
