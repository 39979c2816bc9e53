# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the API server sends, and what it means: objects as they are sent, and facts from them."""
