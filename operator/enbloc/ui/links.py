# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Links: the addresses of the pages of groups and pods."""

from typing import Final

from enbloc.model.dns_names import LABEL, LONGEST_NAME, SUBDOMAIN
from enbloc.model.groups import GroupKey
from enbloc.ui.pages import path

#: The kinds in addresses: a PodGroup, or a pod without one.
KINDS: Final = ("groups", "pods")
EXPLANATION: Final = "explanation"


def group_address(key: GroupKey) -> str:
    """The address of the page of a group, or of a pod without one."""
    kind = "pods" if key.name.startswith("/") else "groups"
    return path(kind, key.namespace, key.name.removeprefix("/"))


def explanation_address(key: GroupKey) -> str:
    """The address of the explanation of a group."""
    return f"{group_address(key)}/{EXPLANATION}"


def key_of(kind: str, namespace: str, name: str) -> GroupKey | None:
    """The group that an address means; None = it is not a valid name."""
    named = SUBDOMAIN.fullmatch(name) and len(name) <= LONGEST_NAME
    if kind not in KINDS or not LABEL.fullmatch(namespace) or not named:
        return None
    return GroupKey(namespace, f"/{name}" if kind == "pods" else name)
