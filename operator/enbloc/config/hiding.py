# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Hiding: removes credentials from configuration documents that are shown."""

from typing import Any, Final

from enbloc.model.credentials import HIDDEN, redacted, without_credentials

#: Endings of the names of fields that hold credentials, also in plugin arguments.
_CREDENTIALS: Final = (
    "keydata",
    "password",
    "passwd",
    "token",
    "secret",
    "apikey",
    "privatekey",
    "credentials",
)


def hidden(value: Any, name: str = "") -> Any:
    """A copy of a document, or of the value of the field `name`, with credentials as `***`.

    These are users and passwords of URLs, private keys, and text in fields that are named for it.
    """
    if isinstance(value, dict):
        return {key: hidden(each, str(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [hidden(each, name) for each in value]
    if isinstance(value, bool) or value is None or value == "":
        return value
    if name.lower().replace("_", "").replace("-", "").endswith(_CREDENTIALS):
        return HIDDEN
    if not isinstance(value, str):
        return value
    return redacted(value) if name == "urlPrefix" else without_credentials(value)
