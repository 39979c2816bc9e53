# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller: watches PodGroups through kopf, and keeps the summary in their status.

This package holds the pure part (`reconcile`, `members`) and the shell around it. No other package
uses kopf; pods come through `enbloc.client`. The controller decides nothing about placement, and
never writes a pod.
"""

from typing import TYPE_CHECKING

from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.controller.shell import Controller, connected, run_controller

__all__ = ["Controller", "connected", "run_controller"]

if not TYPE_CHECKING:  # the pure part must be usable without kopf
    __getattr__, __dir__ = lazily(
        __name__, {"shell": ["Controller", "connected", "run_controller"]}
    )
