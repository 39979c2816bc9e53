# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Storage: which volumes and claims there are, which nodes reach them, and what pods hold of them.

`facts` are the objects; `known` has them with what follows from them, `holdings` what was decided
for claims that are not bound yet; `table` is both, with who uses which claim where.
"""
