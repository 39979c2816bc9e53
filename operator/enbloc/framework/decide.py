# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extension points of the scheduling cycle: what a plugin may decide, and when it is asked.

A plugin is any object with a `name` and some of these methods; the profile discovers them once, at
start-up. It is its own configuration: a frozen dataclass whose fields are the arguments. It gets no
handle to the engine or the cluster. The names that it needs can be imported from `enbloc`;
docs/tutorials/write-a-plugin.md starts from an empty folder.

Order of one decision (names are kube-scheduler's, methods their snake case)::

    PreEnqueue   may this group enter the queue?              first refusal ends it
    QueueSort    which group goes first?                      exactly one plugin
    PreFilter    once per class of alike members              a final refusal ends it
    Filter       which nodes are feasible?                    all plugins, masks joined with AND
    PostFilter   nothing fits: can capacity be freed?         first plugin that can
    PreScore     once per class of alike members
    Score        how good is each node?                       arrays, normalised, weighted, summed
    Reserve      the plan is accepted: keep your own ledger
    Permit       may the whole group be bound now?            WAIT holds the group's reservation

What filters may declare for searches is in `searching`.

A pod that enters `filter` or `score` stands for its class: every pod of its namespace with the same
`spec`, the same declared annotations, and the same labels as far as selectors of pods in that
namespace distinguish them: values that none of them names count as equal.

An answer may be cached for as long as `reads` says, so a plugin keeps no state that changes its
answers, and does not modify its arguments. If a plugin learns from what nodes and kubelets do, the
engine keeps its memory: see `Observes`.

After an exception, or an answer of a wrong shape or type, the group backs off, with a message that
names the plugin and the extension point.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol, Self, TypeGuard, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent, Happening, Hint
from enbloc.framework.observations import Expired, NodeNote, Observation
from enbloc.framework.reads import Reads
from enbloc.framework.status import Diagnosis, Status
from enbloc.model.groups import Group
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot

P = TypeVar("P")
Scores = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Normalize = Callable[[Scores], Scores]
MAX_NODE_SCORE: Final = 100


@runtime_checkable
class Plugin(Protocol):
    """What every plugin has: the name that configuration and messages use."""

    name: ClassVar[str]


@runtime_checkable
class PreEnqueue(Plugin, Protocol):
    """Asked each time a group would enter the queue. Must be cheap."""

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        """Decide whether the group may enter; a refusal holds until an event the plugin names.

        Nothing is planned meanwhile. It is also asked again after every change of the group's own
        pods. An exception counts as a refusal; WAIT is not allowed here.

        `group` is None if members name a PodGroup that does not exist.
        """
        ...


@runtime_checkable
class QueueSort(Plugin, Protocol):
    """Orders the groups; exactly one in all profiles."""

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        """The key by which groups are sorted; the smallest goes first.

        All keys have the same length, and the same type at each place: a number other than NaN, a
        string, or a tuple of these. The last place must be unique to the group (`group.key`).
        """
        ...


@runtime_checkable
class Reorders(Plugin, Protocol):
    """A QueueSort plugin whose keys depend on more than the group, such as a fair share."""

    def order_version(self) -> object:
        """A version, asked for once a turn; when it changes, all keys are computed again."""
        ...


@runtime_checkable
class Levels(QueueSort, Protocol):
    """A QueueSort plugin that defines equal groups, whose namespaces take turns.

    Attributes:
        level_places: groups are equal if the first `level_places` places of their keys agree; in
            the default order 1, the priority.
    """

    level_places: ClassVar[int]


@runtime_checkable
class PreFilter(Plugin, Protocol):
    """Looks at the whole snapshot once per class of alike members."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> "Filter | NodeSet | Status | None":
        """Give the object that will filter this pod.

        The object is kept across decisions, and told of each pod that comes or goes if it is
        `TracksPods`; it is replaced when a node object, a namespace or a workload changes. So it
        must hold arrays of its own, never `snapshot` or its tables.

        Return `self` if nothing needs to be computed; None to skip Filter (until a node, a
        namespace or a workload changes, whatever pods come and go); a NodeSet if only nodes with
        certain names are eligible; or a refusing Status, whose message then counts for every node.
        After UNSCHEDULABLE and PENDING the other plugins are still asked, and the last such Status
        counts; UNSCHEDULABLE_AND_UNRESOLVABLE ends PreFilter.
        """
        ...


@runtime_checkable
class GroupPreFilter(Plugin, Protocol):
    """Looks at a whole group before any of its members is placed."""

    def pre_filter_group(self, facts: GroupFacts, snapshot: Snapshot) -> Status:
        """Refuse for good, with the reason, if no placement can satisfy the group.

        Asked only if several members are pending; for a single one PreFilter is enough.
        """
        ...


@dataclass(frozen=True, slots=True)
class NodeSet:
    """PreFilter's answer when only some nodes are eligible.

    The sets of all plugins are intersected; an empty one refuses the pod.

    Attributes:
        names: the names of these nodes.
        then: what filters the pod on them; None to skip Filter.
    """

    names: frozenset[str]
    then: "Filter | None" = None


@runtime_checkable
class Filter(Protocol):
    """Says which nodes are feasible.

    `reads` says when the answer goes stale; `reason` is what a refused node is counted under.

    A class attribute `same_on_any_host = True` says that the answer for a node does not depend on
    which host (`kubernetes.io/hostname`) the pod's nodeSelector names. Then members that differ
    only in that count as one class.

    A class attribute `reads_claims = True` of the plugin says that the evaluators of PreFilter and
    PreScore depend on the claims of the very pod. Then each of several pods with alike claims gets
    evaluators of its own; if one equals (`==`) the previous and reads SPEC or NODE, the earlier
    answers stay valid for nodes that have not changed since.
    """

    reads: ClassVar[Reads]
    reason: ClassVar[str]

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """A new bool array of length `len(nodes)`; True = feasible.

        A node that several filters refuse is counted under the first one's reason.
        """
        ...


@runtime_checkable
class Explain(Protocol):
    """A filter with several reasons; `explain` is called only for a group that failed."""

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """How many of the refused rows gave each reason; a row may count under several."""
        ...


@runtime_checkable
class Unresolvable(Protocol):
    """A filter that knows which of its refusals stay whichever pods leave.

    Without this method, refusals of filters that read SPEC stay; after those of others, preemption
    is tried.
    """

    def unresolvable(self, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
        """A new bool array: of the refused rows, those that stay refused if every pod leaves."""
        ...


@runtime_checkable
class TracksPods(Protocol):
    """An evaluator that reads CLUSTER and is told of each pod that comes or goes.

    It is told of pods in a plan and of real ones; without these methods it sees only `nodes`. Its
    answers are computed again after each call, unless the call returns False: the pod made no
    difference.
    """

    def placed(self, pod: Pod, row: int) -> bool | None:
        """Record that a pod, of this class or another, was placed on `row`."""
        ...

    def removed(self, pod: Pod, row: int) -> bool | None:
        """Record that a pod left `row`, as if it had never been placed."""
        ...


@runtime_checkable
class Ignores(Protocol):
    """An evaluator that reads CLUSTER and knows which pods cannot change its answers.

    Alike members that all evaluators ignore are placed together, many times faster than one by one.
    """

    def ignores(self, pod: Pod) -> bool:
        """Whether a pod like this, of this class or another, makes no difference on any row."""
        ...


@runtime_checkable
class Forks(Protocol):
    """An evaluator that is `TracksPods` and can be copied.

    Each way of placing a group is tried on a copy. If an evaluator cannot be copied, PreFilter or
    PreScore makes a new one, which costs more.
    """

    def fork(self) -> Self:
        """A copy with the same answers, which from now on is told of its own changes only."""
        ...


@runtime_checkable
class Limits(Filter, Protocol):
    """An evaluator that can bound how many alike pods a node takes."""

    def most(self, pod: Pod, nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
        """int64[N]: an upper bound for pods of this class on each row.

        Args:
            pod: any of the class.
            nodes: as they are.
            ever: what others hold now is not counted.
        """
        ...


@runtime_checkable
class Narrows(Protocol):
    """A filter that may promise that added pods never make a refused node feasible."""

    @property
    def narrows(self) -> bool:
        """Whether added pods only ever remove feasible nodes; leaving pods may restore them."""
        ...


@runtime_checkable
class LeavesOut(Plugin, Protocol):
    """A filter plugin that checks what is free on nodes, but leaves some resources out."""

    def leaves_out(self, resource: str) -> bool:
        """Whether something else checks this resource, such as an extender."""
        ...


@runtime_checkable
class PostFilter(Plugin, Protocol):
    """Asked when no placement fits."""

    def post_filter(self, facts: GroupFacts, snapshot: Snapshot, diagnosis: Diagnosis) -> Status:
        """SUCCESS if capacity is being freed; a refusal's message is appended to the diagnosis."""
        ...


@runtime_checkable
class Preempts(Plugin, Protocol):
    """Has the engine look for victims, at this plugin's place among the PostFilter plugins."""

    def candidate_nodes(self, nodes: int) -> int:
        """How many candidates suffice, out of `nodes` that could be feasible after preemption."""
        ...


@runtime_checkable
class PreScore(Plugin, Protocol):
    """As PreFilter, for Score."""

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> "Score | None":
        """Give the object that will score this pod; None to skip Score, as at PreFilter."""
        ...


@runtime_checkable
class Score(Protocol):
    """Ranks the feasible nodes.

    Scores must lie in [0, 100], after `normalize` if the plugin has it.
    """

    reads: ClassVar[Reads]

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        """A new int64 or float64 array of length `len(nodes)`; higher is better."""
        ...


@runtime_checkable
class ScoreAmong(Protocol):
    """A scorer whose raw scores depend on which other nodes are feasible; it reads CLUSTER."""

    reads: ClassVar[Reads]

    def score_among(self, pod: Pod, nodes: Nodes, feasible: Mask) -> Scores:
        """Called instead of `score`; only the feasible rows of the answer count."""
        ...


@runtime_checkable
class NormalizeScore(Protocol):
    """A score plugin whose raw scores are normalised over the feasible nodes.

    A class attribute `by_extremes = True` says that a normalised score depends only on the node's
    raw score and on the least and the greatest of all. Then the engine need not normalise again
    whenever a node becomes full: gangs that fill nodes are placed several times as fast.
    """

    def normalize(self, scores: Scores) -> Scores:
        """Map the raw scores of the feasible nodes to [0, 100]: a new array of the same length.

        Usually `default_normalize` or `default_normalize_reversed`.
        """
        ...


@runtime_checkable
class NodeMemory(Protocol):
    """What a plugin has learned about nodes; the only mutable object of a plugin.

    Only observations change it: the same ones at the same times give the same answers, and reading
    changes nothing. Times are the engine's clock, seconds since the epoch.
    """

    def observe(self, observation: Observation, now: float) -> Sequence[NodeNote]:
        """Learn from an observation, and return events to write on nodes.

        Called for each change after the initial lists, whose contents may be days old.
        """
        ...


@runtime_checkable
class MemoryFilter(NodeMemory, Protocol):
    """A memory that keeps gangs off nodes, and knows when that ends."""

    def refused(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, str]:
        """The nodes that this gang may not use now, by name, each with the reason.

        The node is counted under that reason. Nodes that do not exist may be named.
        """
        ...

    def deadline(self) -> float | None:
        """When to call `expire` next; None = never. A time in the past means at once."""
        ...

    def expire(self, now: float) -> Expired:
        """Return the refusals that have ended by now; called when the deadline is reached.

        The groups that this plugin refused are tried again. Afterwards the deadline must be later
        than `now`.
        """
        ...


@runtime_checkable
class MemoryScore(NodeMemory, Protocol):
    """A memory that scores nodes for gangs."""

    def scores(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, int]:
        """Scores by node name, from 0 to 100; a node that is not named has 100."""
        ...


@runtime_checkable
class Observes(Plugin, Protocol):
    """A plugin that learns from what nodes and kubelets do.

    The methods of its memory determine where it is asked: `refused` at Filter, `scores` at Score,
    once per decision about a gang, after all other plugins. Pods without a group are never
    affected. Its scores are added to cached rankings, at the cost of a pass over every node.

    Profiles whose plugins are equal (`==`) share one memory. It is lost when the scheduler ends.
    After an exception in `observe`, `deadline` or `expire` the memory starts empty, and the next
    gang that is decided reports the exception and backs off.

    Set `events` to an empty tuple if only time ends refusals.
    """

    def new_memory(self) -> NodeMemory:
        """A new, empty memory."""
        ...


@runtime_checkable
class Reserve(Plugin, Protocol):
    """A plugin that keeps a ledger of the plans that are reserved but not bound."""

    def reserve(self, plan: "Proposal", ledger: object) -> object:
        """A new ledger that includes the plan; `ledger` is None the first time.

        There is no unreserve: when a plan is dropped, the ledger is rebuilt from the others.
        """
        ...


@runtime_checkable
class Permit(Plugin, Protocol):
    """The barrier before binding, for the whole group at once."""

    def permit(self, plan: "Proposal", facts: GroupFacts) -> Status:
        """SUCCESS lets the group bind, WAIT holds its reservation, a refusal releases it.

        Asked again on every event that `events` names, until an answer other than WAIT or the
        timeout: the status's own, the group's `scheduleTimeoutSeconds` or 15 minutes, whichever is
        first. After the timeout the group waits for the plugin's events without holding capacity.
        """
        ...


@runtime_checkable
class EnqueueExtensions(Protocol):
    """Declares which events could change this plugin's answer.

    A plugin without `events` is asked again after every event. If it names too few, groups wait
    until the periodic retry of all groups, minutes later.
    """

    events: ClassVar[tuple[ClusterEvent, ...]]


@runtime_checkable
class QueueingHint(Protocol):
    """Decides whether an event that matches `events` could help a group."""

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the event could help this group; an exception, or no Hint, counts as QUEUE."""
        ...


@runtime_checkable
class ReadsAnnotations(Protocol):
    """Declares which annotations of pods, nodes and PodGroups the plugin reads.

    Other annotations are not kept. Declared ones are in `pod.annotations`, `group.annotations` and
    `nodes.annotation`; pods that differ in them are of different classes.

    Attributes:
        annotations: prefixes of keys ("example.com/").
    """

    annotations: ClassVar[tuple[str, ...]]


@runtime_checkable
class Sign(Protocol):
    """Declares what distinguishes two pods for this plugin, beyond their class."""

    def signature(self, pod: Pod) -> object:
        """Hashable; pods with equal signatures share their masks and scores."""
        ...


class Proposal(Protocol):
    """A plan as Reserve and Permit see it."""

    @property
    def id(self) -> str:
        """The plan's id; it becomes part of the binding record on each member."""
        ...

    @property
    def nodes(self) -> Sequence[tuple[Pod, str]]:
        """Each member with its node."""
        ...


_KNOWN: dict[tuple[type, type], bool] = {}


def implements(value: object, point: type[P]) -> TypeGuard[P]:
    """Whether an object has the methods of an extension point.

    Like isinstance, which takes tens of microseconds for a protocol; here the answer is cached per
    class.
    """
    key = (type(value), point)
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN[key] = isinstance(value, point)
    return known
