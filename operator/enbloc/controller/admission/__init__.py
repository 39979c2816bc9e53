# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Admission: optional webhooks, which make a mistake known at once and spare users a field.

`review.py` decides, and is pure; `webhook.py` serves. Nothing depends on them: what they warn of is
told in conditions and events too, and what they fill in can be written by hand.
"""

from enbloc.controller.admission.webhook import serve_webhooks

__all__ = ["serve_webhooks"]
