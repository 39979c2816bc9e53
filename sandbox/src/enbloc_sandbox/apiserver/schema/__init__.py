# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What documents look like: types, defaults and rules, of built-in kinds and of custom ones."""
