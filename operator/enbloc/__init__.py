# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""enbloc: a gang scheduler for Kubernetes. All pods of a job together, or none."""

__version__ = "0.1.0.dev0"
