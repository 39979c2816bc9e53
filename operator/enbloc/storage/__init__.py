# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes: which there are, which nodes reach them, and what pods hold of them."""
