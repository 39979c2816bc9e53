# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node avoidance: which nodes a gang keeps off, or takes last, for what they did to members."""
