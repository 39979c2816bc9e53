# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: what the scheduler costs, printed beside its budget."""
