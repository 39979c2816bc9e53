# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The topology request of a PodGroup, as the API server sends it."""

from typing import Annotated, TypeAlias

import msgspec

_Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Base class of all: camelCase names, outside the garbage collector."""


class PartTopologyObject(_Struct):
    """`topology` of a role or sub-group."""

    required: str | None = None
    preferred: str | None = None


class SliceObject(_Struct):
    """`spec.topology.slices[]`."""

    size: _Int64 | None = None
    required: str | None = None


class GroupLabelsObject(_Struct):
    """`spec.topology.apart[].from`."""

    match_labels: dict[str, str] | None = None


class ApartObject(_Struct):
    """`spec.topology.apart[]`."""

    level: str | None = None
    from_: GroupLabelsObject | None = msgspec.field(default=None, name="from")
    max: _Int64 | None = None
    mode: str | None = None


class TopologyRequestObject(_Struct):
    """`spec.topology`."""

    name: str | None = None
    required: str | None = None
    preferred: str | None = None
    slices: tuple[SliceObject, ...] | None = None
    apart: tuple[ApartObject, ...] | None = None
