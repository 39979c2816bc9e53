# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API, and the only HTTP client of enbloc; nothing is decided here.

Names are loaded on first use, so that settings can be read without importing an HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from enbloc.kube.backoff import Backoff
    from enbloc.kube.binding import Binding, Bound, Cause, Refused, Unknown, bind, settle
    from enbloc.kube.client import Client, PatchType
    from enbloc.kube.config import Cluster, load
    from enbloc.kube.errors import APIError
    from enbloc.kube.events import About, Notice, Recorder
    from enbloc.kube.eviction import Blocked, Evicted, evict
    from enbloc.kube.items import Added, Deleted, Item, Malformed, Meta, Modified, Synced, Timing
    from enbloc.kube.lease import Elector, LeaseLost, LeaseTiming
    from enbloc.kube.options import Options
    from enbloc.kube.paths import JOBS, NODES, POD_GROUPS, PODS, Resource
    from enbloc.kube.permissions import ROLES, Rule
    from enbloc.kube.reflector import Reflector

_HOMES: Final = {
    "backoff": ("Backoff",),
    "binding": ("Binding", "Bound", "Cause", "Refused", "Unknown", "bind", "settle"),
    "client": ("Client", "PatchType"),
    "config": ("Cluster", "load"),
    "errors": ("APIError",),
    "events": ("About", "Notice", "Recorder"),
    "eviction": ("Blocked", "Evicted", "evict"),
    "items": ("Added", "Deleted", "Item", "Malformed", "Meta", "Modified", "Synced", "Timing"),
    "lease": ("Elector", "LeaseLost", "LeaseTiming"),
    "options": ("Options",),
    "paths": ("JOBS", "NODES", "PODS", "POD_GROUPS", "Resource"),
    "permissions": ("ROLES", "Rule"),
    "reflector": ("Reflector",),
}
_HOME: Final = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "JOBS",
    "NODES",
    "PODS",
    "POD_GROUPS",
    "ROLES",
    "APIError",
    "About",
    "Added",
    "Backoff",
    "Binding",
    "Blocked",
    "Bound",
    "Cause",
    "Client",
    "Cluster",
    "Deleted",
    "Elector",
    "Evicted",
    "Item",
    "LeaseLost",
    "LeaseTiming",
    "Malformed",
    "Meta",
    "Modified",
    "Notice",
    "Options",
    "PatchType",
    "Recorder",
    "Reflector",
    "Refused",
    "Resource",
    "Rule",
    "Synced",
    "Timing",
    "Unknown",
    "bind",
    "evict",
    "load",
    "settle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
