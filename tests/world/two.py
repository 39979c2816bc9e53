# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two of our schedulers, with different profiles, on one API server."""

from collections import deque
from dataclasses import replace
from typing import Any, ClassVar

from enbloc.config import default_profiles
from enbloc.engine.effects import Emit, SetGroupStatus
from enbloc.engine.events import BindRefused, Bound, Event, SlotsFree
from enbloc.framework.profile import Profile
from enbloc.model.binding import RefusalCause
from enbloc.model.field_managers import field_manager
from tests.world.builders import remembered
from tests.world.cluster import Cluster
from tests.world.server import SHOWN, Server


def profile(name: str) -> dict[str, Profile]:
    [given] = default_profiles().values()
    return {name: replace(given, name=name)}


class Scheduler(Cluster):
    """One of the two: what it decides is told to the server of both."""

    def __init__(self, served: "Both", name: str, *, sync: bool = True) -> None:
        super().__init__(profiles=profile(name), identity=name, sync=sync)
        self.served = served
        #: What the watch has yet to show.
        self.inbox: deque[Event] = deque()
        self.manager = field_manager(self.profiles)

    def step(self) -> list[Any]:
        effects = super().step()
        for effect in effects:
            if isinstance(effect, SetGroupStatus):
                self.served.write(effect, self.manager)
        return effects

    def confirm(self, effect: Any) -> None:
        target = effect.target
        if self.served.bind(target):
            self.tell(Bound(target.plan, target.uid))
        else:
            self.tell(BindRefused(target.plan, target.uid, RefusalCause.MEMBER_CHANGED, "gone"))
        self.tell(SlotsFree(1))

    def hear(self, most: int | None = None) -> None:
        """The watch shows so many changes more; None = all."""
        for _ in range(len(self.inbox) if most is None else min(most, len(self.inbox))):
            self.tell(self.inbox.popleft())


class Both(Server):
    """An API server and two schedulers, "enbloc" and "batch".

    Args:
        lagging: nobody sees what has happened before they are to hear it.

    Attributes:
        shown: the status as it stands: what was applied last.
        written: every write: who, and which group.
    """

    NAMES: ClassVar = ("enbloc", "batch")

    def __init__(self, *, lagging: bool = False) -> None:
        super().__init__()
        self.lagging = lagging
        self.schedulers = {name: Scheduler(self, name) for name in self.NAMES}
        self.shown: dict[str, SetGroupStatus] = {}
        self.written: list[tuple[str, str]] = []
        self.nodes("n1 n2", cpu=100)

    def changed(self, event: Event) -> None:
        for scheduler in self.schedulers.values():
            scheduler.inbox.append(event)
            if not self.lagging:
                scheduler.hear()

    def write(self, effect: SetGroupStatus, manager: str) -> None:
        """As server-side apply does, by force, for this manager and empty for those replaced."""
        name = effect.group.name
        if name not in self.groups:
            return
        self.written.append((manager.partition(":")[2], name))
        self.shown[name] = effect
        group = self.groups[name]
        writers = {manager, *group.writers} - set(effect.replaced)
        self.put_group(replace(group, memory=remembered(effect), writers=tuple(sorted(writers))))

    def settle(self) -> None:
        for _ in range(100):
            before = self._version
            for scheduler in self.schedulers.values():
                scheduler.hear()
                scheduler.settle()
            if self._version == before:
                return
        raise AssertionError("the two never come to rest")

    def restart(self, name: str) -> None:
        """This scheduler ends, and another process of it starts."""
        again = Scheduler(self, name, sync=False)
        for stream in SHOWN:
            for event in self.listed(stream):
                again.tell(event)
        again.sync()
        self.schedulers[name] = again

    def condition(self, group: str) -> tuple[bool | None, str, str]:
        [found] = [c for c in self.shown[group].conditions if c.type == "Scheduled"]
        return found.status, str(found.reason), found.message

    def authors(self, group: str) -> tuple[str, ...]:
        """The schedulers that own a part of its status."""
        return tuple(writer.partition(":")[2] for writer in self.groups[group].writers)

    def events(self) -> list[str]:
        """Reasons of the events on PodGroups, with who wrote them."""
        return [
            f"{name} {effect.reason}"
            for name, scheduler in self.schedulers.items()
            for effect in scheduler.effects
            if isinstance(effect, Emit) and effect.group is not None
        ]
