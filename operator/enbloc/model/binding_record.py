# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Binding records: what a Binding leaves on its pod; a restart knows which plan placed it."""

from typing import Annotated, Final

import msgspec

from enbloc.model.times import LAST_SECOND

_LARGEST: Final = 1024


class BindingRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The annotation `enbloc.dev/plan` (semantics §1).

    Anybody can write one by hand, so what no scheduler of ours would write cannot be read.

    Attributes:
        plan: the plan's id.
        incarnation: which life of the group's members it was made for.
        floor: the group's minimum at that time.
        queue_time: server seconds since the epoch, from which the group's place in the queue comes.
        started: the group had started before.
    """

    plan: str
    incarnation: Annotated[str, msgspec.Meta(max_length=253)] = ""
    floor: Annotated[int, msgspec.Meta(ge=1, lt=2**31)] = 1
    queue_time: Annotated[float, msgspec.Meta(ge=0.0, le=LAST_SECOND)] = 0.0
    started: bool = False


_DECODER: Final = msgspec.json.Decoder(BindingRecord)


def binding_record(
    plan: str, incarnation: str, floor: int, queue_time: float, *, started: bool = False
) -> str:
    """The binding record as compact JSON; "" when it would pass 1 KiB, since it may be missing."""
    encoded = msgspec.json.encode(BindingRecord(plan, incarnation, floor, queue_time, started))
    return encoded.decode() if len(encoded) <= _LARGEST else ""


def short_record(text: str) -> str:
    """The annotation as found; "" = none of ours is so long, whoever may write it."""
    return text if len(text) <= _LARGEST else ""


def read_binding_record(text: str) -> BindingRecord | None:
    """A binding record found on a pod; None if there is none that can be read.

    Within 1 KiB, too, JSON can nest deeper than a decoder follows.
    """
    if len(text) > _LARGEST:
        return None
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
