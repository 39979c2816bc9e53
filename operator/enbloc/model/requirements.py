# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Requirements: the expressions of a selector, and how each matches a label."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

#: The only field of a node that a term of its affinity may name.
NAME_FIELD: Final = "metadata.name"

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,25}")
_INT64: Final = 2**63


class Operator(StrEnum):
    """How a requirement compares a label with its values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One expression of a selector: `key operator values`."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, value: str | None) -> bool:
        """Whether a label with this value (None = no such label) satisfies the requirement.

        A missing label satisfies NotIn and DoesNotExist. Gt and Lt compare 64-bit integers; other
        values satisfy neither.
        """
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GT | Operator.LT:
                return value is not None and self._compares(value)
            case _:
                assert_never(self.operator)

    def _compares(self, value: str) -> bool:
        limit = integer(self.values[0]) if len(self.values) == 1 else None
        number = integer(value)
        if limit is None or number is None:
            return False
        return number > limit if self.operator is Operator.GT else number < limit


def integer(text: str) -> int | None:
    """A base-10 int64, as Go's ParseInt reads it; None = it is not one."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -_INT64 <= number < _INT64 else None
