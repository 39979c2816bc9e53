# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Binding records: the annotation that tells a restarted scheduler which plan placed a pod."""

from typing import Annotated, Final

import msgspec

from enbloc.model.times import LAST_SECOND

_LARGEST: Final = 1024


class BindingRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The annotation `enbloc.dev/plan` (semantics §1).

    Anybody can write one by hand, so records that enbloc would not write are rejected.

    Attributes:
        plan: the plan's id.
        run: which run of the group's members it was made for.
        floor: the group's minimum at that time.
        queue_time: the time that gives the group its place in the queue, server seconds since the
            epoch.
        started: the group had started before.
    """

    plan: str
    run: Annotated[str, msgspec.Meta(max_length=253)] = ""
    floor: Annotated[int, msgspec.Meta(ge=1, lt=2**31)] = 1
    queue_time: Annotated[float, msgspec.Meta(ge=0.0, le=LAST_SECOND)] = 0.0
    started: bool = False


_DECODER: Final = msgspec.json.Decoder(BindingRecord)


def binding_record(
    plan: str, run: str, floor: int, queue_time: float, *, started: bool = False
) -> str:
    """The binding record as compact JSON; "" if longer than 1 KiB, as a record is optional."""
    encoded = msgspec.json.encode(BindingRecord(plan, run, floor, queue_time, started))
    return encoded.decode() if len(encoded) <= _LARGEST else ""


def short_record(text: str) -> str:
    """The annotation as found; "" if it is longer than any record of ours."""
    return text if len(text) <= _LARGEST else ""


def read_binding_record(text: str) -> BindingRecord | None:
    """The binding record found on a pod; None if there is none, or it cannot be read.

    Even within 1 KiB, JSON can nest deeper than a decoder follows.
    """
    if len(text) > _LARGEST:
        return None
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
