# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Observations: the memories of plugins that learn from what nodes and kubelets do.

::

    change of a bound pod, of a node ──turn──► take_in(now) ──► events on nodes
                                                  │      └───► groups to wake
    decision about a gang ──opinions──► masks and scores beside those of the other plugins

Profiles with equal plugins share a memory, so that what members of one group met counts for the
gangs of all of them, and is written on a node once. Without such a plugin, nothing is collected.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from enbloc.engine.effects import Emit, EventType
from enbloc.engine.trial import NodeView, Opinion, asked, asked_unchecked, checked, shape_of
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import RefusalExpired
from enbloc.framework.observations import Expired, GroupGone, NodeNote, Observation
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey
from enbloc.model.names import SCHEDULER_REPORTER
from enbloc.model.nodes import Nodes


class Observations:
    """What was observed, and what plugins learned from it.

    Args:
        profiles: whose plugins are notified.
    """

    def __init__(self, profiles: Iterable[Profile]) -> None:
        #: One per distinct plugin: profiles with an equal one share a memory.
        self._learners: list[_Learner] = []
        #: By profile, how it uses them.
        self._uses = {
            profile.name: [self._use(profile, plugin) for plugin in profile.observers]
            for profile in profiles
        }
        #: When the plugins were last notified.
        self._now = -math.inf

    def _use(self, profile: Profile, plugin: decide.Observes) -> "_Use":
        learner = next((each for each in self._learners if each.plugin == plugin), None)
        if learner is None:
            learner = _Learner(plugin)
            self._learners.append(learner)
        filters, scores = plugin in profile.filter, plugin in profile.score
        return _Use(learner, filters, scores, profile.weight(plugin))

    @property
    def wanted(self) -> bool:
        """Whether some plugin wants notifications; if not, nothing need be observed."""
        return bool(self._learners)

    def take_in(
        self, observed: Sequence[Observation], now: float
    ) -> tuple[list[Emit], list[RefusalExpired]]:
        """Notify the plugins of what was observed, and of the time.

        Returns:
            Events to write on nodes, each once; and the groups that may be tried again.
        """
        self._now = now
        notes: list[NodeNote] = []
        woken: list[RefusalExpired] = []
        for learner in self._learners:
            notes += learner.observe(observed, now)
            expired = learner.expire(now)
            notes += expired.notes
            woken += (RefusalExpired(group=key, plugin=learner.name) for key in expired.groups)
        return [_event(note) for note in dict.fromkeys(notes)], woken

    def forget_group(self, key: GroupKey) -> list[Emit]:
        """Drop a group that is gone; return what to write on nodes for that."""
        gone = GroupGone(key)
        notes = [note for each in self._learners for note in each.observe((gone,), self._now)]
        return [_event(note) for note in dict.fromkeys(notes)]

    def deadline(self) -> float:
        """Return when to call `take_in` next if nothing is observed; infinity = never."""
        return min((learner.deadline for learner in self._learners), default=math.inf)

    def opinions(
        self, profile: Profile, facts: GroupFacts, nodes: Nodes, now: float
    ) -> list[Opinion]:
        """Return what the memories say for one decision about this group, on this very table.

        Nothing for pods without a group, and nothing if no memory distinguishes nodes.

        Raises:
            PluginError: a plugin raised or broke its contract, now or at an earlier notification.
        """
        if facts.solo:
            return []
        said = (use.opinion(facts, nodes, now) for use in self._uses[profile.name])
        return [opinion for opinion in said if opinion is not None]


class _Learner:
    """A plugin and its memory.

    Attributes:
        failure: why the memory was reset, until that is reported.
    """

    def __init__(self, plugin: decide.Observes) -> None:
        self.plugin = plugin
        self.name = plugin.name
        self.memory: decide.NodeMemory = plugin.new_memory()
        self.failure: PluginError | None = None
        #: The memory's last answer; it is asked after each change.
        self._deadline = math.inf
        #: Whether the memory was reset, and the groups that it refused are still to be woken.
        self._restarted = False

    @property
    def deadline(self) -> float:
        """Return when to call `expire` next; infinity = never."""
        return 0.0 if self._restarted else self._deadline

    def observe(self, observed: Sequence[Observation], now: float) -> Sequence[NodeNote]:
        """Notify the memory of changes; return what to write on nodes."""
        said: list[NodeNote] = []
        for observation in observed:
            try:
                notes = asked(self.name, "observe", self.memory.observe, observation, now)
                said += _checked_notes(self.name, "observe", notes)
            except PluginError as error:
                self._restart(error)
        if observed and decide.implements(self.memory, decide.MemoryFilter):
            try:
                self._look()
            except PluginError as error:
                self._restart(error)
        return said

    def expire(self, now: float) -> Expired:
        """Return what time has ended; everything if the memory was reset."""
        if not self._restarted and self._deadline <= now:
            try:
                return self._expired(now)
            except PluginError as error:
                self._restart(error)
        expired = Expired((None,)) if self._restarted else Expired()
        self._restarted = False
        return expired

    def _expired(self, now: float) -> Expired:
        memory = self.memory
        assert decide.implements(memory, decide.MemoryFilter), "nobody else has a deadline"
        expired = asked_unchecked(self.name, "expire", memory.expire, now)
        if not isinstance(expired, Expired):
            text = f"expected an Expired, got {shape_of(expired)}"
            raise PluginError(self.name, "expire", text)
        _check_groups(self.name, expired.groups)
        _checked_notes(self.name, "expire", expired.notes)
        self._look()
        if self._deadline <= now:
            text = f"the deadline {self._deadline} has not moved beyond {now}"
            raise PluginError(self.name, "expire", text)
        return expired

    def _look(self) -> None:
        """Ask the memory for its deadline, after a possible change."""
        if not decide.implements(self.memory, decide.MemoryFilter):
            return
        deadline = asked_unchecked(self.name, "deadline", self.memory.deadline)
        if deadline is None or (isinstance(deadline, int | float) and deadline >= 0):
            self._deadline = math.inf if deadline is None else deadline
            return
        text = f"expected a time in seconds or None, got {deadline!r}"
        raise PluginError(self.name, "deadline", text)

    def _restart(self, error: PluginError) -> None:
        """Reset a memory in an unknown state, and retry all groups that it refused."""
        self.failure, self._deadline, self._restarted = error, math.inf, True
        try:
            self.memory = asked(self.name, "new_memory", self.plugin.new_memory)
        except PluginError as again:
            self.failure = again


class _Use(NamedTuple):
    """How one profile uses a plugin that learns."""

    learner: _Learner
    filters: bool
    scores: bool
    weight: int

    def opinion(self, facts: GroupFacts, nodes: Nodes, now: float) -> Opinion | None:
        """Return what the memory says for this group on this table; None = nothing."""
        learner = self.learner
        if learner.failure is not None:
            failure, learner.failure = learner.failure, None
            raise failure
        name, memory = learner.name, learner.memory
        reasons: Mapping[int, str] = {}
        scores: npt.NDArray[np.int64] | int = 0  # the same for all nodes
        if self.filters and decide.implements(memory, decide.MemoryFilter):
            refused = asked(name, "Filter", memory.refused, facts, nodes, now)
            reasons = checked(name, "Filter", _reasons, refused, nodes)
        if self.scores and decide.implements(memory, decide.MemoryScore):
            given = asked(name, "Score", memory.scores, facts, nodes, now)
            scores = checked(name, "Score", _scores, given, nodes)
        if isinstance(scores, int):
            if not reasons:  # as nearly always; this avoids an array of all nodes
                return None
            scores = np.full(len(nodes), scores, np.int64)
        elif not reasons and (scores == scores[:1]).all():
            return None
        feasible = np.ones(len(nodes), np.bool_)
        feasible[list(reasons)] = False
        return Opinion(name, NodeView(feasible, scores, reasons), self.weight)


def _reasons(refused: Mapping[str, str], nodes: Nodes) -> dict[int, str]:
    return {row: str(why) for name, why in refused.items() if (row := nodes.row(name)) is not None}


def _scores(given: Mapping[str, int], nodes: Nodes) -> npt.NDArray[np.int64] | int:
    """Return int64[N], or the value of every node."""
    if not len(given):
        return decide.MAX_NODE_SCORE
    scores = np.full(len(nodes), decide.MAX_NODE_SCORE, np.int64)
    for name, score in given.items():
        row = nodes.row(name)
        if row is not None:
            scores[row] = index(score)
    return scores


def _checked_notes(plugin: str, point: str, notes: object) -> Sequence[NodeNote]:
    """Return what a memory wants written on nodes, after a check of its type."""
    if type(notes) in {tuple, list} and not notes:
        return ()
    if not isinstance(notes, Sequence) or not all(isinstance(each, NodeNote) for each in notes):
        raise PluginError(plugin, point, f"expected NodeNotes, got {shape_of(notes)}")
    for note in notes:
        fields = note.node, note.reason, note.note, note.warning
        if not all(map(isinstance, fields, (str, str, str, bool | np.bool_))):
            got = ", ".join(map(shape_of, fields))
            text = f"expected a NodeNote of three texts and a bool, got {got}"
            raise PluginError(plugin, point, text)
        if not (note.node and note.reason):
            raise PluginError(plugin, point, "expected a NodeNote with a node and a reason")
    return notes


def _check_groups(plugin: str, groups: object) -> None:
    """Check the type of the groups whose refusals a memory has ended."""
    if not isinstance(groups, tuple | list):
        raise PluginError(plugin, "expire", f"expected a tuple of groups, got {shape_of(groups)}")
    for key in groups:
        if not (key is None or isinstance(key, GroupKey)):
            raise PluginError(plugin, "expire", f"expected a GroupKey or None, got {shape_of(key)}")


def _event(note: NodeNote) -> Emit:
    return Emit(
        type=EventType.WARNING if note.warning else EventType.NORMAL,
        reason=note.reason,
        action="Binding",
        note=note.note,
        reporter=SCHEDULER_REPORTER,
        uid=note.node,
        node=note.node,
    )
