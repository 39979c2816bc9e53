# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `enbloc sandbox` and `enbloc demo`.

One module per command, whose function imports what it calls: `--help` must be quick.
"""
