# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding: from where a pod's volumes can be used, and binding them."""
