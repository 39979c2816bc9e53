# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the driver and the executors of a SparkApplication request.

From Spark 4.0, resource-managers/kubernetes/core/…/BasicDriverFeatureStep.scala and
BasicExecutorFeatureStep.scala.
"""

import re
from contextlib import suppress
from typing import Final

from enbloc.model.quantity import amount

#: Memory in the JVM's notation; the default unit is MiB.
_JVM: Final = re.compile(r"([0-9]{1,15})([kmgtp]?)b?")
_MIB: Final = 1 << 20
_UNITS: Final = {"k": 1 << 10, "": _MIB, "m": _MIB, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_LEAST_OVERHEAD: Final = 384 * _MIB
_DEFAULT_MEMORY: Final = 1 << 30
#: The share of the heap that a JVM needs in addition, and the share with processes beside the JVM.
_JVM_FACTOR: Final = 0.1
_OTHER_FACTOR: Final = 0.4
_JVM_TYPES: Final = frozenset({"", "Java", "Scala"})


def cpu(cores: int, core_request: str | None) -> int:
    """The CPU request of one pod, in milli.

    Args:
        cores: requested by default.
        core_request: a quantity that is requested instead; None = none.
    """
    if core_request:
        with suppress(ValueError):  # the operator rejects an invalid one
            return amount("cpu", core_request)
    return 1000 * cores


def memory(heap: str | None, overhead: str | None, kind: str | None, factor: str | None) -> int:
    """The memory request of one pod, in bytes, rounded up to whole MiB.

    Args:
        heap: in the JVM's notation; None = the default.
        overhead: in addition to the heap, in the same notation; None = by `factor` or the default.
        kind: `spec.type`.
        factor: `spec.memoryOverheadFactor`.
    """
    asked = _bytes(heap, _DEFAULT_MEMORY)
    share = _JVM_FACTOR if (kind or "") in _JVM_TYPES else _OTHER_FACTOR
    if factor:
        with suppress(ValueError):
            share = float(factor)
    least = max(_LEAST_OVERHEAD, int(asked * share) if 0 <= share <= 100 else 0)
    whole = asked + _bytes(overhead, least)
    return -(-whole // _MIB) * _MIB


def _bytes(text: str | None, default: int) -> int:
    found = _JVM.fullmatch((text or "").strip().lower().removesuffix("ib"))
    return int(found[1]) * _UNITS[found[2]] if found else default
