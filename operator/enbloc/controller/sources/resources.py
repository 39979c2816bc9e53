# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The total resources that other projects' PodGroups ask for."""

from enbloc.controller.sources.source import RefusedGroup
from enbloc.wire.objects import Quantities
from enbloc.wire.problems import Problems, quantities


def readable(given: Quantities) -> Quantities | RefusedGroup:
    """`spec.minResources` unchanged, or a RefusedGroup if an amount cannot be read."""
    problems = Problems()
    quantities(given, "spec.minResources", problems)
    return RefusedGroup(problems.text()) if problems else dict(given)
