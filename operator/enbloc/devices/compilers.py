# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Compilers: what makes of an expression something that can be asked."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from enbloc.cel import DeviceView


class Fault(Protocol):
    """Why an expression cannot be compiled, or has no answer for a device."""

    @property
    def text(self) -> str:
        """For people."""
        ...


class DeviceSelector(Protocol):
    """A compiled expression."""

    def matches(self, device: "DeviceView") -> bool | Fault:
        """Whether it selects a device."""
        ...


Compiler = Callable[[str], DeviceSelector | Fault]
