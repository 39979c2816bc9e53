# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Taints of nodes and tolerations of pods: who tolerates what."""

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TolerationOperator(StrEnum):
    """How a toleration compares values.

    Upstream's `Lt` and `Gt` are behind an alpha gate that is off: they tolerate nothing.
    """

    EQUAL = "Equal"
    EXISTS = "Exists"
    LESS_THAN = "Lt"
    GREATER_THAN = "Gt"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint on a node, which keeps pods off."""

    key: str
    value: str = ""
    effect: Effect = Effect.NO_SCHEDULE


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod, which lets it ignore taints.

    Attributes:
        key: "" = every key.
        effect: None = every effect.
    """

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration lets a pod ignore `taint`."""
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key not in ("", taint.key):
            return False
        if self.operator is TolerationOperator.EQUAL:
            return self.value == taint.value
        return self.operator is TolerationOperator.EXISTS


def tolerated(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Whether any of a pod's tolerations covers `taint`."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def repels(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    """Whether `taint` keeps pods off and none of a pod's tolerations covers it."""
    return taint.effect is not Effect.PREFER_NO_SCHEDULE and not tolerated(tolerations, taint)
