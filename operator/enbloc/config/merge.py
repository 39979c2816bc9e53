# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Merging: which plugins are asked at which extension point, in which order.

Source: kube-scheduler v1.36 pkg/scheduler/apis/config/v1/default_plugins.go mergePlugins;
pkg/scheduler/framework/runtime/framework.go expandMultiPointPlugins.
"""

from collections.abc import Callable, Iterable

from enbloc.config.wanted import EVERY, PluginEntry, PluginSet


def merged(defaults: Iterable[PluginEntry], custom: PluginSet) -> tuple[PluginEntry, ...]:
    """The custom entries laid over the default ones.

    A disabled default is removed, one that is enabled again is replaced in its place, and others
    follow the defaults in their own order. Enabled takes precedence over disabled.
    """
    off = custom.disabled_names
    kept = () if EVERY in off else tuple(entry for entry in defaults if entry.name not in off)
    again = {entry.name: entry for entry in custom.enabled}
    default_names = {entry.name for entry in kept}
    return (
        *(again.get(entry.name, entry) for entry in kept),
        *_first_of_each(entry for entry in custom.enabled if entry.name not in default_names),
    )


def expanded(
    multi_point: Iterable[PluginEntry], custom: PluginSet, has_point: Callable[[str], bool]
) -> tuple[PluginEntry, ...]:
    """The plugins of one extension point.

    First those that are enabled here and at MultiPoint, in the order given here; then the other
    plugins of MultiPoint that have the point and are not disabled here; then what else is enabled
    here.

    Args:
        multi_point: the merged MultiPoint list.
        custom: the settings of this point.
        has_point: whether the plugin of that name can be asked here.
    """
    off = custom.disabled_names
    here = _first_of_each(custom.enabled)
    if EVERY in off:
        return here
    candidates = {
        entry.name: entry
        for entry in multi_point
        if entry.name not in off and has_point(entry.name)
    }
    named = {entry.name for entry in here}
    return (
        *(entry for entry in here if entry.name in candidates),
        *(entry for name, entry in candidates.items() if name not in named),
        *(entry for entry in here if entry.name not in candidates),
    )


def _first_of_each(entries: Iterable[PluginEntry]) -> tuple[PluginEntry, ...]:
    """The first entry of each name; duplicates are reported elsewhere."""
    by_name: dict[str, PluginEntry] = {}
    for entry in entries:
        by_name.setdefault(entry.name, entry)
    return tuple(by_name.values())
