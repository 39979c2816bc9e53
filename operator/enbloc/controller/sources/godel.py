# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of Gödel, `scheduling.godel.kubewharf.io/v1alpha1`; their status is not written.

Source of the meaning of fields: kubewharf/godel-scheduler-api, pkg/apis/scheduling/v1alpha1.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.source import (
    LARGEST,
    LONGEST_TIMEOUT,
    Derived,
    RefusedGroup,
    Source,
    SourceObject,
)
from enbloc.controller.sources.topology import instead
from enbloc.wire.objects import Int64

RESOURCE: Final = Resource("scheduling.godel.kubewharf.io", "v1alpha1", "podgroups", "PodGroup")


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    min_member: Int64 | None = None
    priority_class_name: str | None = None
    schedule_timeout_seconds: Int64 | None = None
    application: str | None = None
    affinity: dict[str, Any] | None = None


class GodelPodGroup(SourceObject):
    """A PodGroup of Gödel."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: GodelPodGroup) -> Derived | RefusedGroup:
    """Our PodGroup; a minimum or a timeout of 0 means the default."""
    spec = found.spec
    minimum, timeout = spec.min_member or 1, spec.schedule_timeout_seconds or 0
    if not 1 <= minimum <= LARGEST:
        return RefusedGroup(f"spec.minMember: {minimum} is not between 1 and {LARGEST}")
    if timeout < 0:
        return RefusedGroup(
            f"spec.scheduleTimeoutSeconds: {timeout} is negative; use 0 for the default"
        )
    wanted: dict[str, Any] = {"minMember": minimum}
    if timeout:
        wanted["scheduleTimeoutSeconds"] = min(timeout, LONGEST_TIMEOUT)
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    return Derived(wanted, ignored="; ".join(filter(None, _ignored(found))))


def _ignored(found: GodelPodGroup) -> Iterator[str]:
    spec = found.spec
    if spec.application:
        yield "spec.application is ignored: groups of one application are ordered like any others"
    if spec.affinity:
        near = spec.affinity.get("podGroupAffinity")
        yield instead(
            "spec.affinity",
            "its terms, with their topologyKey, are not read",
            hard=not isinstance(near, dict) or bool(near.get("required")),
            annotations=found.metadata.annotations or {},
        )


GODEL: Final = Source(
    name="Gödel",
    resources=(RESOURCE,),
    shape=GodelPodGroup,
    derive=derive,
    scheduler_names=frozenset({"godel-scheduler"}),
)
