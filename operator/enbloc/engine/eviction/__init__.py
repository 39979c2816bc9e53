# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Eviction: members that must leave, from the choice until they are gone."""

from enbloc.engine.eviction.victims import Eviction, Victims

__all__ = ["Eviction", "Victims"]
