# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API, and the only HTTP client of enbloc; nothing is decided here."""
