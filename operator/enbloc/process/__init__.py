# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a server process has besides its work: settings, leadership, health and metrics."""
