# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API, and the only HTTP client of enbloc; nothing is decided here.

Names are loaded on first use, so that settings can be read without importing an HTTP client.
"""

from typing import TYPE_CHECKING, Final

from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.kube.backoff import Backoff
    from enbloc.kube.binding import Binding, Bound, Refused, Unknown, bind, settle
    from enbloc.kube.client import Client, PatchType
    from enbloc.kube.cluster_access import load
    from enbloc.kube.config import Cluster
    from enbloc.kube.election import Election
    from enbloc.kube.errors import APIError
    from enbloc.kube.events import Notice, ObjectReference, Recorder
    from enbloc.kube.eviction import Blocked, Evicted, Exempt, Victim, evict
    from enbloc.kube.extender import ExtenderClient, ExtenderFailed, Filtered, Question
    from enbloc.kube.items import Added, Deleted, Item, Malformed, Meta, Modified, Synced, Timing
    from enbloc.kube.lease import Elector, LeaseLost, LeaseTiming
    from enbloc.kube.options import Options
    from enbloc.kube.paths import JOBS, NODES, POD_GROUPS, PODS, Resource
    from enbloc.kube.permissions import ROLES, Rule
    from enbloc.kube.reflector import Reflector

_HOMES: Final = {
    "backoff": ("Backoff",),
    "binding": ("Binding", "Bound", "Refused", "Unknown", "bind", "settle"),
    "client": ("Client", "PatchType"),
    "cluster_access": ("load",),
    "config": ("Cluster",),
    "errors": ("APIError",),
    "election": ("Election",),
    "events": ("ObjectReference", "Notice", "Recorder"),
    "eviction": ("Blocked", "Evicted", "Exempt", "Victim", "evict"),
    "extender": ("ExtenderClient", "ExtenderFailed", "Filtered", "Question"),
    "items": ("Added", "Deleted", "Item", "Malformed", "Meta", "Modified", "Synced", "Timing"),
    "lease": ("Elector", "LeaseLost", "LeaseTiming"),
    "options": ("Options",),
    "paths": ("JOBS", "NODES", "PODS", "POD_GROUPS", "Resource"),
    "permissions": ("ROLES", "Rule"),
    "reflector": ("Reflector",),
}

__all__ = [
    "JOBS",
    "NODES",
    "PODS",
    "POD_GROUPS",
    "ROLES",
    "APIError",
    "Added",
    "Backoff",
    "Binding",
    "Blocked",
    "Bound",
    "Client",
    "Cluster",
    "Deleted",
    "Election",
    "Elector",
    "Evicted",
    "Exempt",
    "ExtenderClient",
    "ExtenderFailed",
    "Filtered",
    "Item",
    "LeaseLost",
    "LeaseTiming",
    "Malformed",
    "Meta",
    "Modified",
    "Notice",
    "ObjectReference",
    "Options",
    "PatchType",
    "Question",
    "Recorder",
    "Reflector",
    "Refused",
    "Resource",
    "Rule",
    "Synced",
    "Timing",
    "Unknown",
    "Victim",
    "bind",
    "evict",
    "load",
    "settle",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
