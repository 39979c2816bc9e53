# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding: filters nodes that reach a pod's volumes, and binds its claims."""
