# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""InterPodAffinity: nodes near to other pods, or away from them."""
