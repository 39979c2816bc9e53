# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Storage: which volumes and claims there are, which nodes reach them, and what pods hold of them.

`facts` are the objects; `known` indexes them, with derived data; `holdings` has the decisions for
claims that are not bound yet; `table` combines both, and tracks which pods use which claims on
which nodes.
"""
