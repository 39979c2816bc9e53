# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Admission: optional webhooks that report mistakes at once and fill in the schedulerName.

`review.py` decides, and is pure; `webhook.py` serves. Nothing depends on them: conditions and
events report the same mistakes, and users can write the field themselves.
"""

from enbloc.controller.admission.webhook import serve_webhooks

__all__ = ["serve_webhooks"]
