# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Messages for people, as long as the API takes them."""

from typing import Final

#: The longest message of a condition that our CRD takes, in characters.
MESSAGE_LIMIT: Final = 1024


def clipped(message: str, limit: int = MESSAGE_LIMIT) -> str:
    """The message; cut between words, with an ellipsis, if it has more characters than that."""
    if len(message) <= limit:
        return message
    words = message[:limit].rpartition(" ")[0].rstrip()
    return (words or message[: limit - 1]) + "…"
