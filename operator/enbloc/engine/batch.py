# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Batch: the events between two checks, sorted by which plugins want them.

Thousands of pods may end at once while thousands of groups wait. A group is checked once for the
whole batch, not for each event, and the cost of a check does not grow with the batch.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, takewhile
from typing import Final, NamedTuple

from enbloc.engine.plan import Release
from enbloc.framework.hints import Action, Happening, RefusalExpired, Resource
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey

#: The most events that are passed to a plugin's hint for one group. With more, one of them counts
#: as helpful without further checks: a wasted attempt is better than a lost wake-up.
MOST_HINTS: Final = 32

#: A plugin's queueing hint about one group: could this event help?
HintOf = Callable[[str, Happening], bool]


class Concerned(NamedTuple):
    """What a batch must know of a refused group.

    Attributes:
        counted: how many plans had been opened at its last attempt.
        infeasible: no change of load can help it.
    """

    group: GroupKey
    counted: int
    infeasible: bool


class _Heard(NamedTuple):
    """What one plugin of a profile wants of a batch.

    Attributes:
        expired: the groups whose refusals time has ended; None stands for every group.
        of_pods, others: events, by whether they are of pods.
        releases: capacity that plans released unused, by the numbers of the plans.
    """

    expired: frozenset[GroupKey | None]
    of_pods: Sequence[Happening]
    others: Sequence[Happening]
    releases: Sequence[Release]

    def for_group(self, group: Concerned) -> Iterator[Happening]:
        """Yield the events that could help a group, as far as its plugin is not needed to tell.

        Capacity that a plan reserved after the group's last decision and released unused was there
        before: without this rule two groups that Permit refuses would wake each other for ever.
        """
        if group.infeasible:  # load is not what keeps it out
            return iter(self.others)
        new = takewhile(lambda release: release.number < group.counted, self.releases)
        return chain(self.others, self.of_pods, new)


class Batch:
    """Events, to be checked for each waiting group.

    Args:
        happened: the events, in any order.
    """

    def __init__(self, happened: Sequence[Happening]) -> None:
        self._alike: dict[object, list[Happening]] = {}
        for happening in happened:
            self._alike.setdefault(_signature(happening), []).append(happening)
        self._heard: dict[tuple[str, str], _Heard | None] = {}

    def concerns(self, profile: Profile, plugin: str) -> bool:
        """Whether a plugin wants any of the events."""
        return self._of(profile, plugin) is not None

    def helps(self, group: Concerned, profile: Profile, plugin: str, hint: HintOf) -> str:
        """Return the event that could help a group which this plugin refused; "" = none."""
        heard = self._of(profile, plugin)
        if heard is None:
            return ""
        if None in heard.expired or group.group.podgroup in heard.expired:
            return "RefusalExpired"
        for asked, event in enumerate(heard.for_group(group)):
            if asked >= MOST_HINTS or hint(plugin, event):
                return _label(event)
        return ""

    def _of(self, profile: Profile, plugin: str) -> _Heard | None:
        key = profile.name, plugin
        if key not in self._heard:
            wanted = [e for e in self._alike.values() if profile.wants(plugin, e[0])]
            self._heard[key] = _sorted(wanted) if wanted else None
        return self._heard[key]


def _label(happening: Happening) -> str:
    """Return the name of an event, as the metrics have it: "NodeAdd", "AssignedPodDelete"."""
    resource = "AssignedPod" if happening.resource is Resource.POD else happening.resource
    if happening.action is Action.ADD:
        return f"{resource}Add"
    return f"{resource}{'Delete' if happening.action is Action.DELETE else 'Update'}"


def _signature(happening: Happening) -> object:
    """Return a value equal for events of which a plugin wants either all or none."""
    if isinstance(happening, RefusalExpired):
        return happening.plugin
    return happening.resource, happening.action


def _sorted(wanted: Sequence[Sequence[Happening]]) -> _Heard:
    expired: set[GroupKey | None] = set()
    of_pods: list[Happening] = []
    others: list[Happening] = []
    releases: list[Release] = []
    for happening in chain.from_iterable(wanted):
        if isinstance(happening, RefusalExpired):
            expired.add(happening.group)
        elif isinstance(happening, Release):
            releases.append(happening)
        elif happening.resource is Resource.POD:
            of_pods.append(happening)
        else:
            others.append(happening)
    releases.sort(key=lambda release: release.number)
    return _Heard(frozenset(expired), of_pods, others, releases)
