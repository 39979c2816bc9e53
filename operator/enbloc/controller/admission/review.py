# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is answered to the API server about a pod that is about to be created.

None is refused: what of a PodGroup's spec is wrong, its schema tells, and a pod that cannot join
its group waits and says so. One that cannot be read is allowed as it is.
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

#: Characters of one warning; the API server cuts what is longer.
_LONGEST_WARNING: Final = 240
_API_VERSION: Final = "admission.k8s.io/v1"


class ReviewError(ValueError):
    """What came is no AdmissionReview."""


class _Request(msgspec.Struct, gc=False):
    uid: str
    object: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class _Review(msgspec.Struct, gc=False):
    request: _Request


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """What is said of one object.

    Attributes:
        warnings: what its user should know.
        patch: RFC 6902, what is changed in it.
    """

    warnings: Sequence[str] = ()
    patch: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


Decide = Callable[[msgspec.Raw], ReviewAnswer]
"""Answers for the object of a review; raises what decoding raises."""

_REVIEW: Final = msgspec.json.Decoder(_Review).decode
_POD: Final = msgspec.json.Decoder(PodObject).decode


def reviewed(raw: bytes, decide: Decide) -> bytes:
    """The AdmissionReview that answers this one.

    Raises:
        ReviewError: it is none.
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
    """Have pods that name no scheduler be scheduled by this one.

    Args:
        name: a schedulerName of ours.
        kinds: of the pods' controllers, in lower case; empty = all but DaemonSets, each of whose
            pods belongs to one node.
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
    """Tell of what would keep a pod from its gang.

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
