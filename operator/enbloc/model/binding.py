# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Bindings: the causes for which one is refused."""

import enum


class RefusalCause(enum.StrEnum):
    """Why a Binding was refused, and so what is at fault (semantics §3.6): never the node."""

    MEMBER_CHANGED = "MemberChanged"  # the pod is gone, another one, bound, gated or deleting
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    SCHEDULER_ERROR = "SchedulerError"  # RBAC, validation, a webhook: no other node helps
