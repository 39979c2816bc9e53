# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Profile: the plugins of one scheduler name, per extension point, in order, with weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from enbloc.errors import ConfigError
from enbloc.framework import act, decide
from enbloc.framework.details import Details
from enbloc.framework.extenders import Extender
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent, Happening, Hint, RefusalExpired
from enbloc.framework.points import Point, points_of


@dataclass(frozen=True)
class Profile:
    """The plugins that serve one schedulerName, in order at each extension point.

    Attributes:
        name: the schedulerName that pods write.
        plugins: every plugin, in configured order.
        weights: the weights of score plugins, by plugin name; 1 if absent.
        points: the names of the plugins to ask at a point, in order; at an absent point every
            plugin that has its methods is asked, in the order of `plugins`.
        extenders: HTTP extenders, ignorable ones last.
        filtering: the plugins that filter, themselves or through what they return at PreFilter.
        pre_bind_seconds: how long PreBind plugins may take, by name of those that say so.
    """

    name: str
    plugins: tuple[decide.Plugin, ...]
    weights: Mapping[str, int] = field(default_factory=dict[str, int])
    points: Mapping[Point, Sequence[str]] = field(default_factory=dict[Point, Sequence[str]])
    extenders: tuple[Extender, ...] = ()

    pre_enqueue: tuple[decide.PreEnqueue, ...] = field(init=False)
    queue_sort: decide.QueueSort = field(init=False)
    pre_filter: tuple[decide.PreFilter, ...] = field(init=False)
    filter: tuple[decide.Plugin, ...] = field(init=False)
    post_filter: tuple[decide.PostFilter | decide.Preempts, ...] = field(init=False)
    pre_score: tuple[decide.PreScore, ...] = field(init=False)
    score: tuple[decide.Plugin, ...] = field(init=False)
    reserve: tuple[decide.Reserve, ...] = field(init=False)
    permit: tuple[decide.Permit, ...] = field(init=False)
    pre_bind: tuple[act.PreBind, ...] = field(init=False)
    bind: tuple[act.Bind, ...] = field(init=False)
    post_bind: tuple[act.PostBind, ...] = field(init=False)
    group_pre_filter: tuple[decide.GroupPreFilter, ...] = field(init=False)
    details: tuple[Details, ...] = field(init=False)
    observers: tuple[decide.Observes, ...] = field(init=False)
    filtering: tuple[decide.Plugin, ...] = field(init=False)
    leaving_out: tuple[decide.LeavesOut, ...] = field(init=False)
    signers: tuple[tuple[str, decide.Sign], ...] = field(init=False)
    annotations: tuple[str, ...] = field(init=False)
    same_on_any_host: frozenset[str] = field(init=False)
    reads_claims: frozenset[str] = field(init=False)
    pre_bind_seconds: Mapping[str, float] = field(init=False)
    #: By name of the plugins that list the events which may end their refusals.
    _events: Mapping[str, tuple[ClusterEvent, ...]] = field(init=False, repr=False)
    _by_name: dict[str, decide.Plugin] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_name = {plugin.name: plugin for plugin in self.plugins}
        asked = {point: self._asked(point, by_name) for point in Point}
        sorts, binders = asked[Point.QUEUE_SORT], asked[Point.BIND]
        if len(sorts) != 1:
            names = ", ".join(plugin.name for plugin in sorts) or "none"
            raise ConfigError(
                f"profile {self.name}: exactly one QueueSort plugin is needed, found {names}"
            )
        if not binders:
            raise ConfigError(
                f"profile {self.name}: at least one Bind plugin is needed; enable DefaultBinder"
            )
        prefixes = {
            prefix
            for plugin in self.plugins
            if decide.implements(plugin, decide.ReadsAnnotations)
            for prefix in plugin.annotations
        }
        found: dict[str, object] = {_snake(point): plugins for point, plugins in asked.items()}
        found["queue_sort"] = sorts[0]
        found["group_pre_filter"] = tuple(
            plugin
            for plugin in asked[Point.PRE_FILTER]
            if decide.implements(plugin, decide.GroupPreFilter)
        )
        found["filtering"] = tuple(
            plugin
            for plugin in asked[Point.FILTER]
            if decide.implements(plugin, decide.Filter) or plugin in asked[Point.PRE_FILTER]
        )
        found["leaving_out"] = tuple(
            plugin for plugin in asked[Point.FILTER] if decide.implements(plugin, decide.LeavesOut)
        )
        found["details"] = tuple(
            plugin for plugin in self.plugins if decide.implements(plugin, Details)
        )
        for says in ("same_on_any_host", "reads_claims"):
            found[says] = frozenset(
                plugin.name for plugin in self.plugins if getattr(plugin, says, False)
            )
        found["observers"] = tuple(
            plugin
            for plugin in self.plugins
            if decide.implements(plugin, decide.Observes)
            and any(plugin in asked[point] for point in (Point.FILTER, Point.SCORE))
        )
        found["signers"] = tuple(
            (name, plugin)
            for name, plugin in by_name.items()
            if decide.implements(plugin, decide.Sign)
        )
        found["annotations"] = tuple(sorted(prefixes))
        found["pre_bind_seconds"] = {
            plugin.name: plugin.pre_bind_seconds
            for plugin in asked[Point.PRE_BIND]
            if decide.implements(plugin, act.PreBindTimeout)
        }
        found["_events"] = {
            name: tuple(plugin.events)
            for name, plugin in by_name.items()
            if decide.implements(plugin, decide.EnqueueExtensions)
        }
        found["_by_name"] = by_name
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def _asked(
        self, point: Point, by_name: Mapping[str, decide.Plugin]
    ) -> tuple[decide.Plugin, ...]:
        if point in self.points:
            return tuple(by_name[name] for name in self.points[point])
        return tuple(plugin for plugin in self.plugins if point in points_of(plugin))

    def weight(self, plugin: decide.Plugin) -> int:
        """How much this plugin's scores count; 1 unless configured."""
        return self.weights.get(plugin.name, 1)

    def plugin(self, name: str) -> decide.Plugin | None:
        """The plugin of that name, if this profile runs it."""
        return self._by_name.get(name)

    def leaves_out(self, resource: str) -> bool:
        """Whether it does not matter how much of this resource is free on nodes."""
        return any(plugin.leaves_out(resource) for plugin in self.leaving_out)

    def wants(self, plugin_name: str, event: Happening) -> bool:
        """Whether that plugin, having refused a group, is interested in this event."""
        if isinstance(event, RefusalExpired):
            return event.plugin == plugin_name
        patterns = self._events.get(plugin_name)
        return patterns is None or any(event.matches(pattern) for pattern in patterns)

    def hints(self, plugin_name: str, event: Happening, facts: Callable[[], GroupFacts]) -> bool:
        """Whether the plugin's `hint` is anything but SKIP; True if it has none or it fails.

        `facts` is called only if the plugin has a hint, because it is costly.
        """
        plugin: object = self._by_name.get(plugin_name)
        if not decide.implements(plugin, decide.QueueingHint):
            return True
        try:
            return plugin.hint(event, facts()) is not Hint.SKIP
        except Exception:  # noqa: BLE001 - a broken hint may cost an attempt, never a wake-up
            return True


def _snake(point: Point) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in point)
