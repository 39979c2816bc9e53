# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Problems: what could not be read of an object, each with its field and the fix."""

from enbloc.model.quantity import amount
from enbloc.model.text import clipped
from enbloc.wire.objects import Quantities


class Problems(list[str]):
    """What could not be read, each with its field and the fix; such a part counts as absent."""

    def text(self) -> str:
        """All problems in one line, cut to the API's limit, as they quote arbitrary text."""
        return clipped("; ".join(self)) if self else ""


def quantities(given: Quantities | None, path: str, problems: Problems) -> dict[str, int]:
    """Amounts by resource name; unreadable ones are left out and reported."""
    amounts: dict[str, int] = {}
    for name, text in (given or {}).items():
        try:
            amounts[name] = amount(name, text)
        except ValueError as error:
            problems.append(f"{path}[{name}]: {error}")
    return amounts
