# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: which nodes have the devices that a pod requests, and who gets which."""
