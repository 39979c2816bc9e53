# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Events by which controllers say why a claim, or a pod, does not get on."""

from dataclasses import dataclass
from typing import Final

from enbloc.client.paths import EVENTS, Resource
from enbloc.model.text import clipped
from enbloc_sandbox.nodes.claims.following import Change
from enbloc_sandbox.nodes.objects import Object, micro_timestamp

#: The longest note that the API server takes (characters).
_LONGEST: Final = 1024

#: UID of the object, and what was said of it: each is said once.
Told = set[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who writes events.

    Attributes:
        name: of the controller.
        action: what it was about to do.
    """

    name: str
    action: str

    def normal(self, of: Object, resource: Resource, reason: str, note: str) -> Change:
        """The write of an event of type Normal."""
        return self._event(of, resource, "Normal", reason, note)

    def warning(self, of: Object, resource: Resource, reason: str, note: str) -> Change:
        """The same of type Warning."""
        return self._event(of, resource, "Warning", reason, note)

    def _event(self, of: Object, resource: Resource, kind: str, reason: str, note: str) -> Change:
        meta = of.metadata
        body = {
            "metadata": {"generateName": f"{meta.name}-", "namespace": meta.namespace},
            "eventTime": micro_timestamp(),
            "reportingController": self.name,
            "reportingInstance": self.name,
            "action": self.action,
            "reason": reason,
            "type": kind,
            "note": clipped(note, _LONGEST),
            "regarding": {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "namespace": meta.namespace,
                "name": meta.name,
                "uid": meta.uid,
            },
        }
        return Change(of, EVENTS, body, create=True)
