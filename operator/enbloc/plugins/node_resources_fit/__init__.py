# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeResourcesFit: filters nodes by free resources, and scores them by use."""
