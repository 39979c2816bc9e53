# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Migration: configuration of other schedulers, as configuration of enbloc."""
