# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Hiding: configuration documents to be shown to others, without the credentials in them."""

from typing import Any, Final

from enbloc.model.credentials import HIDDEN, redacted, without_credentials

#: A field whose name ends so holds a credential, also among the arguments of a plugin.
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
