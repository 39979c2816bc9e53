# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The in-tree opinions, a module or package each; none imports another."""

from enbloc.plugins.in_tree import IN_TREE

__all__ = ["IN_TREE"]
