# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each kind adds to the verbs.

Who lives here: `hooks`, the contract; one module for each family of kinds; `registry`, which kind
has which hooks. What may be touched from outside: `hooks` and `registry`.
"""
