# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Registry: plugin names to factories, in-tree by a literal, others by entry points."""

import difflib
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from enbloc.errors import ConfigError
from enbloc.framework.decide import Plugin

ENTRY_POINT_GROUP: Final = "enbloc.plugins"
Factory = Callable[..., Plugin]


class Registry:
    """Finds plugins by name; an entry point is imported only when a profile names it."""

    def __init__(self, in_tree: Mapping[str, Factory]) -> None:
        self._in_tree = dict(in_tree)
        self._outside: dict[str, EntryPoint] = {
            entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be configured, sorted."""
        return tuple(sorted({*self._in_tree, *self._outside}))

    def create(self, name: str, arguments: Mapping[str, Any] | None = None) -> Plugin:
        """Make a plugin from its arguments.

        Raises:
            ConfigError: no such plugin, it cannot be imported, or an argument is wrong.
        """
        factory = self._in_tree.get(name) or self._load(name)
        try:
            return factory(**(arguments or {}))
        except Exception as error:
            raise ConfigError(f"plugin {name}: wrong arguments: {error}") from error

    def _load(self, name: str) -> Factory:
        entry = self._outside.get(name)
        if entry is None:
            close = difflib.get_close_matches(name, self.names, n=1)
            meant = f' (did you mean "{close[0]}"?)' if close else ""
            raise ConfigError(f'Unknown plugin "{name}"{meant}; known: {", ".join(self.names)}')
        try:
            factory: Factory = entry.load()
        except Exception as error:
            raise ConfigError(
                f"plugin {name}: {entry.value} cannot be imported: {error}"
            ) from error
        return factory
