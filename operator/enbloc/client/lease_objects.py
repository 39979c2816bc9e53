# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The fields read of Leases, and of the ClusterRoleBindings that tell which Leases count."""

from typing import Final

import msgspec

from enbloc.model.names import HOLDER_KEY, SCHEDULER_NAMES_KEY

#: The longest duration that counts of another's Lease, unless ours is longer (seconds).
LONGEST: Final = 300.0
#: The longest part of a holder's name that is shown (characters).
SHOWN: Final = 253
#: leaseTransitions is an int32; it restarts at 0 after the largest one.
MOST_TRANSITIONS: Final = 2**31


class _Struct(msgspec.Struct, rename="camel"):
    """A base with camelCase names."""


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
    """Any Lease."""

    metadata: LeaseMetadata
    spec: LeaseSpec | None = None


def served_by(lease: LeaseObject) -> frozenset[str]:
    """The schedulerNames that the holder of a Lease serves, or served when it released the Lease.

    Empty if it says none. A kube-scheduler that takes the Lease keeps the annotations of the holder
    before, so names that another holder wrote do not count.
    """
    annotations = lease.metadata.annotations or {}
    holder = (lease.spec and lease.spec.holder_identity) or ""
    if holder and annotations.get(HOLDER_KEY, holder) != holder:
        return frozenset()
    text = annotations.get(SCHEDULER_NAMES_KEY, "")
    return frozenset(name for name in text.split(",") if name)


def follows(transitions: int | None, seen: int) -> bool:
    """Whether a Lease with this leaseTransitions may be a later state than one with that was.

    Who takes a Lease raises the number by one, and who releases it keeps it. It is lower after a
    restore from a backup.
    """
    return ((transitions or 0) - seen) % MOST_TRANSITIONS < MOST_TRANSITIONS // 2


class Subject(_Struct):
    """`subjects[]` of a binding."""

    name: str = ""
    namespace: str | None = None


class RoleBindingObject(_Struct):
    """The fields of a ClusterRoleBinding that say to whom it grants permissions."""

    subjects: tuple[Subject, ...] | None = None
