# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How it is set up: from configuration to profiles. Pure; files are read by the shells."""

from enbloc.config.defaults import default_profiles

__all__ = ["default_profiles"]
