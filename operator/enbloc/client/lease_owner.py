# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whose Lease it is: that of the service account, so that an uninstall leaves none behind.

Nobody but the process makes its Lease, so no tool that installs knows of it. An owner reference to
the service account, which every tool removes, has the garbage collector delete the Lease as well.
The token names the account and its UID: no permission is needed to find them.
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
    """What is read of a service account's token.

    Source: kubernetes v1.36 pkg/serviceaccount/claims.go privateClaims.
    """

    bound: _Bound


def owner_reference(authorization: str | None, namespace: str) -> dict[str, Any] | None:
    """A reference to the service account that a request is sent by.

    Args:
        authorization: the header of the request.
        namespace: of the object that is owned: an owner is in the same one.

    Returns:
        None if that is no service account, or one of another namespace.
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
