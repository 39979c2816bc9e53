# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The default profile: the in-tree plugins in kube-scheduler's order, with its weights."""

from collections.abc import Mapping
from typing import Final

from enbloc.framework.profile import Profile
from enbloc.framework.registry import Registry
from enbloc.model.names import SCHEDULER_NAME
from enbloc.plugins.in_tree import IN_TREE

#: Order and weights as kube-scheduler's MultiPoint defaults (framework.md §7).
DEFAULT_PLUGINS: Final[Mapping[str, int]] = {
    "PrioritySort": 1,
    "NodeUnschedulable": 1,
    "NodeName": 1,
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "DefaultBinder": 1,
    "GangScheduling": 1,
}


def default_profiles() -> Mapping[str, Profile]:
    """One profile, under the scheduler name that pods write when they follow the docs."""
    registry = Registry(IN_TREE)
    plugins = tuple(registry.create(name) for name in DEFAULT_PLUGINS)
    return {SCHEDULER_NAME: Profile(SCHEDULER_NAME, plugins, dict(DEFAULT_PLUGINS))}
