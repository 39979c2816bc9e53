# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node avoidance: which nodes a gang avoids, or takes last, after they failed members."""
