# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller: watches PodGroups through kopf, and keeps the summary in their status.

What may live here: the pure part (`reconcile`, `members`) and the shell around it. kopf stays in
this package; pods come through `enbloc.client`. It decides nothing about placement, and never
writes a pod.
"""

from typing import TYPE_CHECKING

from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.controller.shell import Controller, connected, run_controller

__all__ = ["Controller", "connected", "run_controller"]

if not TYPE_CHECKING:  # what is pure here is used without kopf
    __getattr__, __dir__ = lazily(
        __name__, {"shell": ["Controller", "connected", "run_controller"]}
    )
