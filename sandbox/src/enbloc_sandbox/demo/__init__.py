# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc demo`: a sandbox, and scheduler and controller on it, as processes.

What may live here: what plays the scenario and shows it. No logic of theirs, and nothing that they
import.
"""
