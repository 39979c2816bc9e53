# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Profile: the plugins of one scheduler name, per extension point, in order, with weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from enbloc.errors import ConfigError
from enbloc.framework import act, decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent, Happening, Hint


@dataclass(frozen=True)
class Profile:
    """What one schedulerName runs; discovered once from the plugins' methods.

    Attributes:
        name: the schedulerName that pods write.
        plugins: every plugin, in configured order.
        weights: of score plugins, by plugin name; 1 where absent.
    """

    name: str
    plugins: tuple[decide.Plugin, ...]
    weights: dict[str, int] = field(default_factory=dict)

    pre_enqueue: tuple[decide.PreEnqueue, ...] = field(init=False)
    queue_sort: decide.QueueSort = field(init=False)
    filters: tuple[decide.Plugin, ...] = field(init=False)
    post_filter: tuple[decide.PostFilter, ...] = field(init=False)
    scores: tuple[decide.Plugin, ...] = field(init=False)
    reserve: tuple[decide.Reserve, ...] = field(init=False)
    permit: tuple[decide.Permit, ...] = field(init=False)
    pre_bind: tuple[act.PreBind, ...] = field(init=False)
    bind: tuple[act.Bind, ...] = field(init=False)
    post_bind: tuple[act.PostBind, ...] = field(init=False)
    _by_name: dict[str, decide.Plugin] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        plugins = self.plugins
        sorts = [plugin for plugin in plugins if isinstance(plugin, decide.QueueSort)]
        if len(sorts) != 1:
            names = ", ".join(plugin.name for plugin in sorts) or "none"
            raise ConfigError(
                f"profile {self.name}: exactly one QueueSort plugin is needed, found {names}"
            )
        binders = tuple(plugin for plugin in plugins if isinstance(plugin, act.Bind))
        if not binders:
            raise ConfigError(
                f"profile {self.name}: at least one Bind plugin is needed; enable DefaultBinder"
            )
        found = {
            "pre_enqueue": tuple(p for p in plugins if isinstance(p, decide.PreEnqueue)),
            "queue_sort": sorts[0],
            "filters": tuple(p for p in plugins if isinstance(p, decide.PreFilter | decide.Filter)),
            "post_filter": tuple(p for p in plugins if isinstance(p, decide.PostFilter)),
            "scores": tuple(p for p in plugins if isinstance(p, decide.PreScore | decide.Score)),
            "reserve": tuple(p for p in plugins if isinstance(p, decide.Reserve)),
            "permit": tuple(p for p in plugins if isinstance(p, decide.Permit)),
            "pre_bind": tuple(p for p in plugins if isinstance(p, act.PreBind)),
            "bind": binders,
            "post_bind": tuple(p for p in plugins if isinstance(p, act.PostBind)),
            "_by_name": {plugin.name: plugin for plugin in plugins},
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def weight(self, plugin: decide.Plugin) -> int:
        """How much this plugin's scores count; 1 unless configured."""
        return self.weights.get(plugin.name, 1)

    def plugin(self, name: str) -> decide.Plugin | None:
        """The plugin of that name, if this profile runs it."""
        return self._by_name.get(name)

    def wants(self, plugin_name: str, event: Happening) -> bool:
        """Whether that plugin, having refused a group, is interested in this event."""
        plugin: object = self._by_name.get(plugin_name)
        if not decide.implements(plugin, decide.EnqueueExtensions):
            return True
        patterns: Sequence[ClusterEvent] = plugin.events
        return any(event.matches(pattern) for pattern in patterns)

    def hints(self, plugin_name: str, event: Happening, facts: Callable[[], GroupFacts]) -> bool:
        """The plugin's finer answer; True where it has none, and when it fails.

        `facts` is called only if the plugin has a hint, because making them costs.
        """
        plugin: object = self._by_name.get(plugin_name)
        if not decide.implements(plugin, decide.QueueingHint):
            return True
        try:
            return plugin.hint(event, facts()) is Hint.QUEUE
        except Exception:  # noqa: BLE001 - a broken hint may cost an attempt, never a wake-up
            return True
