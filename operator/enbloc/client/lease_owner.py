# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The owner of a Lease: the service account, so that an uninstall leaves no Lease behind.

The process itself creates its Lease, so installers do not know of it. The Lease has an owner
reference to the service account, which every installer removes; then the garbage collector deletes
the Lease too. The token names the account and its UID, so finding them needs no permission.
"""

import base64
import binascii
from typing import Any, Final

import msgspec

_BEARER: Final = "Bearer "


class _Account(msgspec.Struct):
    name: str
    uid: str


class _Bound(msgspec.Struct):
    namespace: str
    serviceaccount: _Account


class _Claims(msgspec.Struct, rename={"bound": "kubernetes.io"}):
    """The claims read of a service account's token.

    Source: kubernetes v1.36 pkg/serviceaccount/claims.go privateClaims.
    """

    bound: _Bound


def owner_reference(authorization: str | None, namespace: str) -> dict[str, Any] | None:
    """An owner reference to the service account that sends a request.

    Args:
        authorization: the Authorization header of the request.
        namespace: of the owned object; its owner must be in the same one.

    Returns:
        None if the sender is not a service account, or is one of another namespace.
    """
    if not authorization or not authorization.startswith(_BEARER):
        return None
    parts = authorization.removeprefix(_BEARER).split(".")
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        bound = msgspec.json.decode(payload, type=_Claims).bound
    except (IndexError, binascii.Error, ValueError, msgspec.MsgspecError):
        return None
    if bound.namespace != namespace:
        return None
    account = bound.serviceaccount
    return {"apiVersion": "v1", "kind": "ServiceAccount", "name": account.name, "uid": account.uid}
