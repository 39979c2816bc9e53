# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evicting a pod through the Eviction API, which respects disruption budgets."""

from dataclasses import dataclass

from enbloc.kube.binding import Refused, Unknown, cause
from enbloc.kube.client import Client
from enbloc.kube.errors import APIError, Fenced, TooManyRequests
from enbloc.kube.paths import PODS


@dataclass(frozen=True, slots=True)
class Evicted:
    """The pod will be deleted."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A disruption budget forbids it now.

    Attributes:
        retry_after: seconds that the server asks for.
        message: which budget, in the server's words.
    """

    retry_after: float
    message: str


async def evict(
    client: Client, namespace: str, name: str, uid: str
) -> Evicted | Blocked | Refused | Unknown:
    """Ask for the deletion of the pod if it still has this UID; sent once.

    Of a pod with another UID the server says so only by running into its timeout: Unknown.

    The grace period is the pod's own: a shorter one frees room while containers still run.

    Raises:
        Fenced: not sent, because the client may no longer write.
    """
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }
    try:
        await client.create(PODS, body, namespace, name=name, subresource="eviction", tries=1)
    except TooManyRequests as error:
        return Blocked(error.retry_after, str(error))
    except Fenced:
        raise
    except APIError as error:
        if error.outcome_unknown:
            return Unknown(str(error))
        return Refused(cause(error), str(error))
    return Evicted()
