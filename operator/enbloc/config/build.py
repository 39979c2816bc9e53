# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Building: makes runnable profiles from what files ask for, using the registry."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from enbloc.config.configuration import Configuration, Given
from enbloc.config.defaults import (
    DEFAULTS,
    PREPARES,
    default_entries,
    is_implied,
    removed,
    upstream_points,
)
from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.foreign import refused
from enbloc.config.merge import expanded, merged
from enbloc.config.wanted import (
    EVERY,
    MULTI_POINT,
    NOTHING,
    Arguments,
    PluginEntry,
    PluginSet,
    Wanted,
    WantedProfile,
)
from enbloc.errors import ConfigError
from enbloc.framework import decide
from enbloc.framework.decide import Plugin, implements
from enbloc.framework.extenders import Extender
from enbloc.framework.points import Point, memory_points, points_of, unmet
from enbloc.framework.profile import Profile
from enbloc.framework.registry import Registry
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.peers import not_served
from enbloc.plugins.in_tree import IN_TREE

GANGS: Final = "GangScheduling"
FIT: Final = "NodeResourcesFit"
_IGNORED: Final = "ignoredResources"


def build(wanted: Wanted, registry: Registry, findings: Findings) -> Configuration:
    """Make every profile, and note everything that is wrong.

    Raises:
        ConfigError: anything is wrong, found here or before.
    """
    ignored = _left_to_extenders(wanted.extenders)
    profiles: dict[str, Profile] = {}
    given: dict[str, Given] = {}
    sorts: list[tuple[WantedProfile, Plugin]] = []
    for each in wanted.profiles:
        arguments = _with_ignored(each.arguments, ignored)
        built = _Build(each, arguments, registry, findings)
        profile = built.profile(wanted.extenders)
        if built.queue_sort is not None:
            sorts.append((each, built.queue_sort))
        if profile is not None:
            profiles[each.name] = profile
            given[each.name] = {name: value.given for name, value in arguments.items()}
    _check_names(wanted.profiles, findings)
    _check_queue_sort(sorts, findings)
    findings.refuse()
    return Configuration(
        profiles,
        wanted.settings,
        wanted.leader_election.of(profiles),
        wanted.kubeconfig,
        wanted.request_rate,
        given,
        tuple(map(str, findings.warnings)),
    )


def default_configuration() -> Configuration:
    """The configuration without files."""
    wanted = Wanted((WantedProfile(SCHEDULER_NAME),))
    # It names no plugin of other packages, and looking for them takes 10 ms.
    return build(wanted, Registry(IN_TREE, outside=()), Findings())


def default_profiles() -> Mapping[str, Profile]:
    """One profile, under the documented schedulerName."""
    return default_configuration().profiles


class _Build:
    """One profile in the making."""

    def __init__(
        self,
        wanted: WantedProfile,
        arguments: Mapping[str, Arguments],
        registry: Registry,
        findings: Findings,
    ) -> None:
        self._wanted = wanted
        self._arguments = arguments
        self._registry = registry
        self._findings = findings
        self._plugins: dict[str, Plugin | None] = {}
        self._points: dict[str, frozenset[Point]] = {}
        self.queue_sort: Plugin | None = None

    def profile(self, extenders: tuple[Extender, ...]) -> Profile | None:
        """The profile; None if noted problems leave none."""
        for name, custom in self._wanted.sets.items():
            self._check_set(name, custom)
        multi_point = merged(default_entries(), self._set(MULTI_POINT))
        for entry in multi_point:
            self._plugin(entry)
        points = {point: self._at(point, multi_point) for point in Point}
        self._check_arguments()
        self._check_points(points)
        order = dict.fromkeys((*(entry.name for entry in multi_point), *self._plugins))
        plugins = tuple(plugin for name in order if (plugin := self._plugins[name]) is not None)
        if self._findings.problems:
            return None
        names = {point: tuple(entry.name for entry in found) for point, found in points.items()}
        weights = {entry.name: entry.weight for entry in multi_point if entry.weight is not None}
        weights |= {entry.name: entry.weight or 1 for entry in points[Point.SCORE]}
        return Profile(self._wanted.name, plugins, weights, names, extenders)

    def _set(self, name: str) -> PluginSet:
        return self._wanted.sets.get(name, NOTHING)

    def _at(self, point: Point, multi_point: Sequence[PluginEntry]) -> tuple[PluginEntry, ...]:
        custom = self._set(point)
        found = expanded(multi_point, custom, lambda name: self._has(name, point))
        said = [entry for entry in found if not is_implied(entry.name, point)]
        if point in PREPARES:
            main = self._at(PREPARES[point], multi_point)
            said += [entry for entry in main if is_implied(entry.name, point)]
        return tuple(entry for entry in said if self._has(entry.name, point))

    def _has(self, name: str, point: Point) -> bool:
        return point in self._points.get(name, ())

    def _plugin(self, entry: PluginEntry) -> Plugin | None:
        """The plugin of an entry, made once; a failure is noted once."""
        if entry.name not in self._plugins:
            plugin = self._plugins[entry.name] = self._make(entry)
            if plugin is not None:
                self._points[entry.name] = points_of(plugin)
        return self._plugins[entry.name]

    def _make(self, entry: PluginEntry) -> Plugin | None:
        arguments = self._arguments.get(entry.name)
        try:
            factory = self._registry.factory(entry.name)
        except ConfigError as error:
            text = removed(entry.name) or refused(entry.name, self._findings.source) or str(error)
            self._findings.problem(f"{entry.where}.name", text)
            return None
        try:
            if arguments is None:
                return self._registry.create(entry.name)
            # Imported here: the models of arguments take time that a default start does not need.
            from enbloc.config.arguments import decoded  # noqa: PLC0415

            fields = decoded(entry.name, factory, arguments, self._findings)
            return None if fields is None else self._registry.create(entry.name, fields)
        except ConfigError as error:
            where = f"{entry.where}.name" if arguments is None else arguments.where
            self._findings.problem(where, str(error))
            return None

    def _check_set(self, name: str, custom: PluginSet) -> None:
        """Note duplicates, points that a plugin lacks, and what disabling does not reach."""
        seen: dict[str, str] = {}
        for entry in custom.enabled:
            if entry.name in seen:
                text = f'Duplicate "{entry.name}": it is already at {seen[entry.name]}'
                self._findings.problem(f"{entry.where}.name", text)
                continue
            seen[entry.name] = entry.where
            plugin = self._plugin(entry)
            if plugin is not None:
                self._check_point(entry, plugin, name)
            if entry.weight is not None and name not in (MULTI_POINT, Point.SCORE):
                text = f"has no effect at {name}: only scores are weighed"
                self._findings.warning(f"{entry.where}.weight", text, SettingOutcome.NOT_NEEDED)
        for entry in custom.disabled:
            if entry.name != EVERY and entry.name not in self._known():
                text = f'"{entry.name}" is not a plugin here, so there is nothing to disable'
                self._findings.warning(f"{entry.where}.name", text, SettingOutcome.NOT_NEEDED)

    def _known(self) -> frozenset[str]:
        return frozenset({*self._registry.names, *DEFAULTS})

    def _check_point(self, entry: PluginEntry, plugin: Plugin, point: str) -> None:
        has, upstream = self._points[entry.name], upstream_points(entry.name)
        lacking = {at: why for at, why in unmet(plugin).items() if point in (at, MULTI_POINT)}
        for at, why in lacking.items():
            text = f'"{entry.name}" cannot run at {at}: {why}'
            self._findings.problem(f"{entry.where}.name", text)
        if lacking:
            return
        if point in has or (point == MULTI_POINT and (has or upstream)):
            return
        if point == MULTI_POINT:
            text = f'"{entry.name}" has no extension point, so it never runs'
            self._findings.warning(f"{entry.where}.name", text)
        elif point not in upstream:
            points = ", ".join(sorted({*has, *upstream})) or "none"
            text = f'"{entry.name}" does not implement {point} (its extension points: {points})'
            self._findings.problem(f"{entry.where}.name", text)
        elif not has:
            text = f'"{entry.name}" is accepted, and does nothing yet'
            self._findings.warning(f"{entry.where}.name", text)

    def _check_arguments(self) -> None:
        """Arguments of plugins that do not run are checked as well: they may be misspelt."""
        for name, arguments in self._arguments.items():
            if name not in self._plugins and arguments.where:
                self._make(PluginEntry(name, where=arguments.where.removesuffix(".args")))

    def _check_points(self, points: Mapping[Point, Sequence[PluginEntry]]) -> None:
        where = f"{self._wanted.where}.plugins"
        sorts, binders = points[Point.QUEUE_SORT], points[Point.BIND]
        if len(sorts) != 1:
            names = ", ".join(f'"{entry.name}"' for entry in sorts) or "none"
            text = f"exactly one plugin is needed, but enabled are {names}"
            self._findings.problem(f"{where}.{Point.QUEUE_SORT}", text)
        else:
            self.queue_sort = self._plugins[sorts[0].name]
        if not binders:
            text = "at least one plugin is needed; enable DefaultBinder"
            self._findings.problem(f"{where}.{Point.BIND}", text)
        for before, point in PREPARES.items():
            self._check_prepared(before, point, points)
        if all(entry.name != GANGS for entry in points[Point.PRE_ENQUEUE]):
            text = (
                f'"{GANGS}" is off at {Point.PRE_ENQUEUE}: groups are still placed whole or not '
                "at all, but do not report what they wait for"
            )
            self._findings.warning(where, text, SettingOutcome.KEPT)

    def _check_prepared(
        self, before: Point, point: Point, points: Mapping[Point, Sequence[PluginEntry]]
    ) -> None:
        """Note plugins that answer at a point only through the evaluator of the point before."""
        prepared = {entry.name for entry in points[before]}
        for entry in points[point]:
            plugin = self._plugins[entry.name]
            if entry.name not in prepared and not _answers(plugin, point):
                text = f'"{entry.name}" needs {before} for its {point}: enable both or neither'
                self._findings.problem(f"{self._wanted.where}.plugins.{before}", text)


def _answers(plugin: object, point: Point) -> bool:
    """Whether a plugin filters or scores by itself, or through its memory."""
    if point in memory_points(plugin):
        return True
    if point is Point.FILTER:
        return implements(plugin, decide.Filter)
    return implements(plugin, decide.Score) or implements(plugin, decide.ScoreAmong)


def _check_names(profiles: Sequence[WantedProfile], findings: Findings) -> None:
    seen: dict[str, str] = {}
    for profile in profiles:
        where = f"{profile.where}.schedulerName"
        if not profile.name:
            findings.problem(where, "Required: with several profiles each needs a name")
        elif profile.name in seen:
            findings.problem(
                where, f'Duplicate "{profile.name}": it is already at {seen[profile.name]}'
            )
        seen.setdefault(profile.name, where)
        lacking = not_served(profile.name)
        if lacking:
            findings.warning(where, lacking, SettingOutcome.CHANGED)


def _check_queue_sort(sorts: Sequence[tuple[WantedProfile, Plugin]], findings: Findings) -> None:
    """All profiles share one queue, so they sort it alike; equal plugins have equal arguments."""
    if not sorts:
        return
    first, common = sorts[0]
    for profile, plugin in sorts[1:]:
        if plugin != common:
            text = f"must be the same plugin with the same arguments as in {first.where}"
            findings.problem(f"{profile.where}.plugins.{Point.QUEUE_SORT}", text)


def _left_to_extenders(extenders: Iterable[Extender]) -> tuple[str, ...]:
    """The resources that only an extender counts."""
    return tuple(
        sorted({name for each in extenders for name, ignored in each.managed.items() if ignored})
    )


def _with_ignored(
    arguments: Mapping[str, Arguments], ignored: Sequence[str]
) -> Mapping[str, Arguments]:
    """NodeResourcesFit ignores what is left to extenders, as upstream."""
    if not ignored:
        return arguments
    fit = arguments.get(FIT, Arguments({}, ""))
    already = fit.given.get(_IGNORED) or []
    if not isinstance(already, list):
        return arguments  # wrong, and found when the arguments are decoded
    more = [name for name in ignored if name not in already]
    return {**arguments, FIT: Arguments({**fit.given, _IGNORED: [*already, *more]}, fit.where)}
