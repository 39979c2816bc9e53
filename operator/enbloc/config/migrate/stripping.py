# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Stripping: a KubeSchedulerConfiguration v1 without the plugins that do not run here."""

from collections.abc import Collection, Iterator
from typing import Any, Final

from pydantic_core import PydanticCustomError

from enbloc.config.documents import WHERE, name_of
from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.foreign import (
    COSCHEDULING,
    COSCHEDULING_ARGUMENTS,
    PREEMPTING,
    TIMEOUTS,
    became,
)
from enbloc.config.strict import seconds
from enbloc.config.wanted import EVERY, MULTI_POINT
from enbloc.framework.points import Point

_PREEMPTION: Final = "DefaultPreemption"


def without_foreign(
    document: dict[str, Any], known: Collection[str], findings: Findings
) -> tuple[dict[str, Any], list[int]]:
    """A stamped v1 document without the plugins that do not run here, each noted.

    Args:
        document: stamped.
        known: the names of plugins that run here, or are refused with a text of their own.
        findings: collects what is said on the way.

    Returns:
        The document, and the timeouts of Coscheduling in it, in seconds.
    """
    profiles = document.get("profiles")
    if not isinstance(profiles, list):
        return document, []
    stripped = [_Profile(known, findings) for _ in profiles]
    made = [each.of(profile) for each, profile in zip(stripped, profiles, strict=True)]
    timeouts = [timeout for each in stripped for timeout in each.timeouts]
    return {**document, "profiles": made}, timeouts


class _Profile:
    """The conversion of one profile.

    Attributes:
        timeouts: the timeouts in its Coscheduling arguments, in seconds.
    """

    def __init__(self, known: Collection[str], findings: Findings) -> None:
        self._known = known
        self._findings = findings
        #: Extension point → the plugins that were enabled there and are gone.
        self._gone: dict[str, list[str]] = {}
        self.timeouts: list[int] = []

    def of(self, profile: Any) -> Any:
        """The profile without what does not run here."""
        if not isinstance(profile, dict):
            return profile
        new = dict(profile)
        plugins, configs = profile.get("plugins"), profile.get("pluginConfig")
        if isinstance(plugins, dict):
            new["plugins"] = self._plugins(plugins)
        if isinstance(configs, list):
            new["pluginConfig"] = list(self._arguments(configs))
        return _tidied(new, profile)

    def _plugins(self, plugins: dict[str, Any]) -> dict[str, Any]:
        new = {
            point: self._set(point, found) if isinstance(found, dict) else found
            for point, found in plugins.items()
        }
        for point, gone in self._gone.items():
            # Coscheduling evicts nobody: who has it alone at postFilter wants no preemption.
            if point != MULTI_POINT and (point, {*gone}) != (Point.POST_FILTER, {COSCHEDULING}):
                self._restore(new, point, gone[0], (EVERY,))
        for name in self._gone_from(Point.POST_FILTER):
            if name in PREEMPTING:
                for point in (Point.POST_FILTER, MULTI_POINT):
                    self._restore(new, point, name, (_PREEMPTION,))
        [name, *_] = [*self._gone_from(Point.QUEUE_SORT), ""]
        sort = new.get(Point.QUEUE_SORT) or {}
        if name and isinstance(sort, dict) and not sort.get("enabled"):
            # Who brings a sort of its own has to switch off the default one.
            self._restore(new, Point.QUEUE_SORT, name, (EVERY, "PrioritySort"))
            self._restore(new, MULTI_POINT, name, ("PrioritySort",))
        for point, found in plugins.items():
            if isinstance(found, dict):
                new[point] = _tidied(new[point], found)
        return _tidied(new, plugins)

    def _set(self, point: str, found: dict[str, Any]) -> dict[str, Any]:
        new = dict(found)
        for field in ("enabled", "disabled"):
            entries = found.get(field)
            if not isinstance(entries, list):
                continue
            new[field] = []
            for each in entries:
                if not self._drops(each):
                    new[field].append(each)
                elif field == "enabled":
                    self._gone.setdefault(point, []).append(name_of(each))
        return new

    def _gone_from(self, point: Point) -> list[str]:
        """The plugins that are gone and were enabled at a point, or at all of theirs."""
        return [*self._gone.get(point, ()), *self._gone.get(MULTI_POINT, ())]

    def _drops(self, entry: Any) -> bool:
        """Whether an entry does not run here; that is noted."""
        name = name_of(entry)
        if not name or name == EVERY or name in self._known:
            return False
        self._findings.note(entry[WHERE], *became(name))
        return True

    def _restore(
        self, plugins: dict[str, Any], point: str, name: str, off: Collection[str]
    ) -> None:
        """Enable default plugins again that were disabled in favour of a removed one."""
        found = plugins.get(point)
        if not isinstance(found, dict) or (point != MULTI_POINT and found.get("enabled")):
            return
        entries = found.get("disabled")
        if not isinstance(entries, list):
            return
        for each in entries:
            if name_of(each) in off:
                text = f"default plugins gave way to {name}, which is gone, and run again"
                self._findings.note(each[WHERE], SettingOutcome.CHANGED, text)
        found["disabled"] = [each for each in entries if name_of(each) not in off]

    def _arguments(self, configs: list[Any]) -> Iterator[Any]:
        for each in configs:
            name = name_of(each)
            if not name or name in self._known:
                yield each
                continue
            outcome, text = became(name)
            self._findings.note(each[WHERE], outcome, text)
            args = each.get("args")
            if name == COSCHEDULING and isinstance(args, dict):
                for key, value in args.items():
                    self._coscheduling(f"{each[WHERE]}.args.{key}", key, value)

    def _coscheduling(self, path: str, key: str, value: Any) -> None:
        if key in ("apiVersion", "kind"):
            self._findings.note(path, SettingOutcome.NOT_NEEDED, "the arguments are gone")
        elif key in TIMEOUTS:
            self._timeout(path, value)
        elif key in COSCHEDULING_ARGUMENTS:
            self._findings.note(path, *COSCHEDULING_ARGUMENTS[key])
        else:
            self._findings.note(path, SettingOutcome.LOST, "has no equivalent")

    def _timeout(self, path: str, value: Any) -> None:
        try:
            found = value if type(value) is int else seconds(value)
        except PydanticCustomError:
            found = -1
        if value is None or found == 0:
            self._findings.note(path, SettingOutcome.KEPT, "the default, as here: 60 s")
        elif not 0 < found < 2**31:
            self._findings.problem(path, "must be a number of seconds above 0")
        else:
            self.timeouts.append(max(1, round(found)))
            text = (
                "scheduleTimeoutSeconds of the EnblocConfiguration, for all profiles; a gang in "
                "the queue holds nothing and waits without limit"
            )
            self._findings.note(path, SettingOutcome.CHANGED, text)


def _tidied(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The new mapping without fields of which nothing is left that was there."""
    return {
        key: value for key, value in new.items() if not _is_bare(value) or _is_bare(old.get(key))
    }


def _is_bare(value: Any) -> bool:
    return not value or (isinstance(value, dict) and set(value) == {WHERE})
