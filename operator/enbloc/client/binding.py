# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Binding a pod to a node, until the outcome is certain.

::

    bind ──201──► Bound
      │ ───409──► GET the pod to decide        this Binding may have been sent twice on the way
      │ ───4xx──► Refused(cause)               after 401 and 429, send the same Binding again
      │ ───denied──► Refused(SCHEDULER_ERROR)  by a webhook or a policy, with any code
      └─timeout, reset, 5xx──► Unknown ──settle──► send the same Binding again until a 201, or
        or no API server's                         until a 4xx that a GET of the pod explains
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

import msgspec

from enbloc.client.backoff import Backoff
from enbloc.client.client import Client
from enbloc.client.errors import (
    APIError,
    Conflict,
    Fenced,
    Forbidden,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from enbloc.client.paths import PODS
from enbloc.model.binding import RefusalCause

#: The longest pause before a Binding of unknown outcome is sent again (seconds): few Bindings wait
#: so, and their gang is partially bound meanwhile.
SETTLE_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Binding:
    """One pod and its node.

    Attributes:
        namespace: of the pod.
        name: of the pod.
        uid: of the pod; the server does not bind another pod of that name.
        node: the node's name.
        annotations: the server merges them into the pod in the same write.
    """

    namespace: str
    name: str
    uid: str
    node: str
    annotations: Mapping[str, str] = field(default_factory=dict)


class Bound(msgspec.Struct, frozen=True):
    """The pod is bound to this node."""


class Refused(msgspec.Struct, frozen=True):
    """This Binding has not bound the pod, and will not."""

    cause: RefusalCause
    message: str


class Unknown(msgspec.Struct, frozen=True):
    """The pod may be bound: ``settle`` finds out."""

    message: str


Outcome = Bound | Refused | Unknown


class _Success(msgspec.Struct):
    """The API server's answer after it has bound a pod: a Status."""

    kind: Literal["Status"]
    status: Literal["Success"]


class _Metadata(msgspec.Struct):
    uid: Annotated[str, msgspec.Meta(min_length=1)]
    name: str


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = None


class _Pod(msgspec.Struct):
    """The fields read of a pod; an answer without UID, name or spec is not a pod."""

    metadata: _Metadata
    spec: _Spec


async def bind(client: Client, binding: Binding) -> Outcome:
    """Send a Binding; send it again after 401 and 429 of the server, which were not processed.

    Raises:
        Fenced: not sent, because the client may no longer write.
    """
    error = await _send(client, binding)
    if error is None:
        return Bound()
    if _is_unknown(error):
        return Unknown(str(error))
    refused = Refused(cause(error), str(error))
    if isinstance(error, Conflict) and not error.denied:
        # This very Binding may have come first: a proxy may have sent it twice.
        return await look(client, binding, refused) or Unknown(refused.message)
    return refused


async def settle(client: Client, binding: Binding) -> Bound | Refused:
    """Send a Binding of unknown outcome again until the outcome is certain.

    Raises:
        Fenced: not sent, because the client may no longer write.
    """
    backoff = Backoff(cap=SETTLE_SECONDS)
    while True:
        error = await _send(client, binding)
        if error is None:
            return Bound()
        if not _is_unknown(error):
            # An earlier send may have bound the pod; this answer does not say.
            settled = await look(client, binding, Refused(cause(error), str(error)))
            if settled is not None:
                return settled
        await backoff.wait_out(error)


async def _send(client: Client, binding: Binding) -> APIError | None:
    """POST the Binding until the answer is no 401 or 429 of the server; None if it is bound."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": binding.name,
            "namespace": binding.namespace,
            "uid": binding.uid,
            "annotations": dict(binding.annotations),
        },
        "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node},
    }
    backoff = Backoff()
    while True:
        try:
            await client.create(
                PODS,
                body,
                binding.namespace,
                name=binding.name,
                subresource="binding",
                tries=1,
                shape=_Success,
            )
        except Fenced:
            raise
        except APIError as error:
            if error.denied or not isinstance(error, TooManyRequests | Unauthorized):
                return error
            await backoff.wait_out(error)
        else:
            return None


async def look(client: Client, binding: Binding, refused: Refused) -> Bound | Refused | None:
    """The outcome by the pod's current state; `refused` if it has no node, None if unreadable."""
    try:
        pod: _Pod = await client.get(PODS, binding.name, binding.namespace, shape=_Pod)
    except NotFound as missing:
        gone = Refused(RefusalCause.MEMBER_CHANGED, str(missing))
        return None if missing.resource_missing else gone
    except APIError:
        return None
    if pod.metadata.name != binding.name:
        return None
    if pod.metadata.uid != binding.uid:
        return Refused(RefusalCause.MEMBER_CHANGED, f"another pod has the name {binding.name}")
    node = pod.spec.node_name
    if node == binding.node:
        return Bound()
    if node:
        return Refused(RefusalCause.MEMBER_CHANGED, f"the pod is bound to {node}")
    return refused


def _is_unknown(error: APIError) -> bool:
    """Whether the pod may be bound in spite of this answer."""
    if isinstance(error, ServerError) and "failed calling webhook" in error.message:
        return False
    return error.may_have_landed


def cause(error: APIError) -> RefusalCause:
    """The cause of a refusal: the pod changed, its namespace is terminating, or another."""
    if error.denied:
        return RefusalCause.SCHEDULER_ERROR
    if isinstance(error, NotFound | Conflict):
        return RefusalCause.MEMBER_CHANGED
    if isinstance(error, Forbidden) and error.namespace_terminating:
        return RefusalCause.NAMESPACE_TERMINATING
    return RefusalCause.SCHEDULER_ERROR
