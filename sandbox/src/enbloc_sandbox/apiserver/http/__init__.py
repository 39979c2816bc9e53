# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP in and out. What may be touched from outside: `handler.Http`."""
