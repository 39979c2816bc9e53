# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The webhooks' answers about pods that are about to be created.

No pod is refused: a PodGroup's schema rejects a wrong spec, and a pod that cannot join its group
waits and says so. A pod that cannot be read is allowed unchanged.
"""

import base64
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from enbloc.client.decoding import UNREADABLE, decoded
from enbloc.model.names import DEFAULT_SCHEDULER
from enbloc.model.text import clipped
from enbloc.wire import codec
from enbloc.wire.objects import PodObject

#: The most characters of one warning; the API server truncates longer ones.
_LONGEST_WARNING: Final = 240
_API_VERSION: Final = "admission.k8s.io/v1"


class ReviewError(ValueError):
    """The request is no AdmissionReview."""


class _Request(msgspec.Struct, gc=False):
    uid: str
    object: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class _Review(msgspec.Struct, gc=False):
    request: _Request


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """The answer about one object.

    Attributes:
        warnings: shown to the user.
        patch: the changes to the object, as RFC 6902 operations.
    """

    warnings: Sequence[str] = ()
    patch: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


Decide = Callable[[msgspec.Raw], ReviewAnswer]
"""Answers for the object of a review; raises what decoding raises."""

_REVIEW: Final = msgspec.json.Decoder(_Review).decode
_POD: Final = msgspec.json.Decoder(PodObject).decode


def reviewed(raw: bytes, decide: Decide) -> bytes:
    """Answer an AdmissionReview.

    Raises:
        ReviewError: the request is no AdmissionReview.
    """
    try:
        request = decoded(_REVIEW, raw).request
    except UNREADABLE as error:
        raise ReviewError(f"no AdmissionReview: {clipped(str(error), 200)}") from error
    try:
        answer = decide(request.object)
    except UNREADABLE:
        answer = ReviewAnswer()
    response: dict[str, Any] = {"uid": request.uid, "allowed": True}
    if answer.warnings:
        response["warnings"] = [clipped(each, _LONGEST_WARNING) for each in answer.warnings]
    if answer.patch:
        patch = msgspec.json.encode(list(answer.patch))
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    body = {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}
    return msgspec.json.encode(body)


def scheduled_by(name: str, kinds: Collection[str]) -> Decide:
    """Set the schedulerName of pods that name none.

    Args:
        name: a schedulerName of ours.
        kinds: the kinds of the pods' controllers, in lower case; empty = all but DaemonSets, as
            each pod of those belongs to one node.
    """

    def decide(raw: msgspec.Raw) -> ReviewAnswer:
        pod = codec.pod(decoded(_POD, raw))
        owner = pod.owner.kind if pod.owner is not None else ""
        wanted = owner.lower() in kinds if kinds else owner != "DaemonSet"
        if pod.scheduler not in ("", DEFAULT_SCHEDULER) or pod.node or not wanted:
            return ReviewAnswer()
        return ReviewAnswer(patch=[{"op": "add", "path": "/spec/schedulerName", "value": name}])

    return decide


def warned_pod(ours: Collection[str]) -> Decide:
    """Warn of what would keep a pod out of its gang.

    Args:
        ours: the schedulerNames that we serve.
    """

    def decide(raw: msgspec.Raw) -> ReviewAnswer:
        pod = codec.pod(decoded(_POD, raw))
        if pod.scheduler in ours:
            return ReviewAnswer(warnings=[each for each in (pod.problem, pod.hint) if each])
        if pod.group is None or pod.scheduler != DEFAULT_SCHEDULER:
            return ReviewAnswer()
        text = (
            f"the pod names PodGroup {pod.group.name}, and {pod.scheduler} starts such pods one by "
            f"one: set spec.schedulerName to {' or '.join(sorted(ours))}"
        )
        return ReviewAnswer(warnings=[text])

    return decide
