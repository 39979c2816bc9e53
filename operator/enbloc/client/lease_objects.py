# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is read of Leases, and of the bindings that tell whose Leases count."""

from typing import Final

import msgspec

#: A Lease that says it lasts longer than this (seconds), and than ours, is over after it.
LONGEST: Final = 300.0
#: What is shown of a holder's name (characters).
SHOWN: Final = 253


class _Struct(msgspec.Struct, rename="camel"):
    """camelCase names."""


class LeaseMetadata(_Struct):
    """`metadata` of a Lease."""

    name: str = ""
    namespace: str = ""
    resource_version: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class LeaseSpec(_Struct):
    """`spec` of a Lease."""

    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None


class LeaseObject(_Struct):
    """A Lease of anybody."""

    metadata: LeaseMetadata
    spec: LeaseSpec | None = None


class Subject(_Struct):
    """`subjects[]` of a binding."""

    name: str = ""
    namespace: str | None = None


class RoleBindingObject(_Struct):
    """A ClusterRoleBinding, as far as it says to whom it gives rights."""

    subjects: tuple[Subject, ...] | None = None
