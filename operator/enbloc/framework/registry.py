# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Registry: maps plugin names to factories, in-tree ones and those of entry points."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from enbloc.errors import ConfigError
from enbloc.framework.decide import Plugin
from enbloc.framework.declarations import misdeclared
from enbloc.framework.points import points_of

ENTRY_POINT_GROUP: Final = "enbloc.plugins"
Factory = Callable[..., Plugin]


class Registry:
    """Finds plugins by name; an entry point is imported only if a profile names it.

    Args:
        in_tree: the factories that come with enbloc.
        outside: the factories of other installed packages; None = look them up now.
    """

    def __init__(
        self, in_tree: Mapping[str, Factory], outside: Iterable[EntryPoint] | None = None
    ) -> None:
        found = entry_points(group=ENTRY_POINT_GROUP) if outside is None else outside
        self._in_tree = dict(in_tree)
        self._outside = {entry.name: entry for entry in found if entry.name not in in_tree}

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be configured, sorted."""
        return tuple(sorted({*self._in_tree, *self._outside}))

    def factory(self, name: str) -> Factory:
        """The factory of the plugin of that name.

        Raises:
            ConfigError: there is no such plugin, or it cannot be imported.
        """
        if name in self._in_tree:
            return self._in_tree[name]
        if name not in self._outside:
            raise ConfigError(f'Unknown "{name}" ({self._instead(name)})')
        entry = self._outside[name]
        try:
            factory: Factory = entry.load()
        except Exception as error:
            raise ConfigError(
                f'"{name}" cannot be imported from {entry.value}: {type(error).__name__}: {error}'
            ) from error
        return factory

    def create(self, name: str, arguments: Mapping[str, Any] | None = None) -> Plugin:
        """Make a plugin from its arguments.

        Raises:
            ConfigError: no such plugin, it cannot be imported, an argument or an attribute is
                wrong, or it cannot make a memory.
        """
        factory = self.factory(name)
        try:
            plugin = factory(**(arguments or {}))
        except Exception as error:
            raise ConfigError(f'"{name}" refuses its arguments: {error}') from error
        if getattr(plugin, "name", None) != name:
            called = getattr(plugin, "name", None)
            raise ConfigError(
                f'"{name}" gives a plugin whose `name` is {called!r}; make the two the same'
            )
        if wrong := _misdeclared(plugin):
            raise ConfigError(f'"{name}" cannot run: its {wrong}')
        try:
            points_of(plugin)
        except Exception as error:
            raise ConfigError(
                f'"{name}" cannot make its memory: {type(error).__name__}: {error}'
            ) from error
        return plugin

    def _instead(self, name: str) -> str:
        """The nearest name, and every name by its origin."""
        close = difflib.get_close_matches(name, self.names, n=1)
        near = f'did you mean "{close[0]}"? ' if close else ""
        in_tree, outside = sorted(self._in_tree), sorted(self._outside) or ["none"]
        return f"{near}in-tree: {', '.join(in_tree)}; entry points: {', '.join(outside)}"


def _misdeclared(plugin: object) -> str:
    """The attribute of a plugin that cannot be used; "" = none."""
    try:
        return misdeclared(plugin)
    except Exception as error:  # noqa: BLE001 - whatever an attribute of a plugin raises
        return f"attributes cannot be read: {type(error).__name__}: {error}"
