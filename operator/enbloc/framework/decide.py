# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extension points of the scheduling cycle: what a plugin may decide, and when it is asked.

A plugin is any object with a `name` and some of these methods; the profile discovers them once,
at start-up. It is its own configuration: a frozen dataclass whose fields are the arguments. It
gets no handle to anything. What it cannot see it cannot break. The names that it needs can be
imported from `enbloc`; docs/tutorials/write-a-plugin.md begins with an empty folder.

Order of one decision (names are kube-scheduler's, methods their snake case)::

    PreEnqueue   may this group enter the queue?              first refusal ends it
    QueueSort    which group goes first?                      exactly one plugin
    PreFilter    once per class of alike members              a refusal for good ends it
    Filter       which nodes are feasible?                    all plugins, masks joined with AND
    PostFilter   nothing fits: may room be made?              first plugin that can
    PreScore     once per class of alike members
    Score        how good is each node?                       arrays, normalised, weighted, summed
    Reserve      the plan is taken: keep your own ledger
    Permit       may the whole group be bound now?            WAIT holds the group's reservation

A pod that enters `filter` or `score` stands for its class: every pod of its namespace with the
same `spec`, the same declared annotations, and the same labels as far as selectors of pods in that
namespace tell them apart: a value that none of them names is as good as any other.

An answer may be kept and used again for as long as `reads` says: a plugin keeps no state that
changes it, and writes into nothing that it is given. A plugin that learns from what nodes and
kubelets do has the engine keep its memory: see `Observes`.

An exception, or an answer of another shape or type, costs the group one backoff and a message that
names plugin and point.
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
    """What every plugin has: the name by which configuration and messages call it."""

    name: ClassVar[str]


@runtime_checkable
class PreEnqueue(Plugin, Protocol):
    """Asked each time a group would enter the queue. Must be cheap."""

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        """A refusal keeps the group out until an event that the plugin names; nothing is planned.

        It is also asked again after every change of the group's own pods. An exception counts as a
        refusal; to WAIT is not possible here.

        `group` is None when members name a PodGroup that does not exist.
        """
        ...


@runtime_checkable
class QueueSort(Plugin, Protocol):
    """Orders the groups; exactly one in all profiles."""

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        """The smallest key goes first.

        Each key has the same number of places, and in each the same: a number other than NaN, a
        string, or such a tuple. What tells all groups apart (`group.key`) stands in the last.
        """
        ...


@runtime_checkable
class Reorders(Plugin, Protocol):
    """A QueueSort plugin whose keys depend on more than the group, as a fair share does."""

    def order_version(self) -> object:
        """Differs whenever keys may differ; asked once a turn, and then for all keys again."""
        ...


@runtime_checkable
class Levels(QueueSort, Protocol):
    """A QueueSort plugin that says which groups are equals: namespaces of equals take turns.

    Attributes:
        level_places: equal are groups whose keys agree in so many places from the first; in the
            default order in the first, the priority.
    """

    level_places: ClassVar[int]


@runtime_checkable
class PreFilter(Plugin, Protocol):
    """Looks at the whole snapshot once per class of alike members."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> "Filter | NodeSet | Status | None":
        """Give the object that will filter this pod.

        It is kept across decisions, and hears of each pod that comes or goes if it is `Placed`;
        it is made anew when a node object, a namespace or a workload changes. So it holds arrays
        of its own, never `snapshot` or its tables.

        `self` where nothing needs to be computed, None to skip Filter (which holds until a node,
        a namespace or a workload changes, whatever pods come and go), a NodeSet where only nodes
        with certain names come into question, or a refusing Status, which refuses every node with
        its message: UNSCHEDULABLE and PENDING let the other plugins speak, and the last such word
        counts; UNSCHEDULABLE_AND_UNRESOLVABLE ends it.
        """
        ...


@runtime_checkable
class GroupPreFilter(Plugin, Protocol):
    """Looks at a whole group before any of its members is placed."""

    def pre_filter_group(self, facts: GroupFacts, snapshot: Snapshot) -> Status:
        """A refusal for good says what no placement of the group could satisfy.

        Asked where several members are pending; of one alone PreFilter says all.
        """
        ...


@dataclass(frozen=True, slots=True)
class NodeSet:
    """PreFilter's answer when only some nodes come into question.

    The sets of all plugins are intersected; an empty one refuses the pod.

    Attributes:
        names: of these nodes.
        then: what filters the pod on them; None to skip Filter.
    """

    names: frozenset[str]
    then: "Filter | None" = None


@runtime_checkable
class Filter(Protocol):
    """Says which nodes are feasible.

    `reads` says when the answer goes stale; `reason` is what a refused node is counted under.

    A class attribute `same_on_any_host = True` says that what a node is told does not depend on
    which host (`kubernetes.io/hostname`) the pod's nodeSelector names. Then members that differ in
    that alone are decided about as one class.

    A class attribute `reads_claims = True` of the plugin says that what PreFilter and PreScore give
    knows the claims of the pod that they were asked about. Then they are asked for each of several
    pods with alike claims; where what they give is equal (`==`) to what they gave before, and reads
    SPEC or NODE, its answers count on for the nodes that have not changed since.
    """

    reads: ClassVar[Reads]
    reason: ClassVar[str]

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """A new bool array of length `len(nodes)`; True = feasible.

        Where several filters refuse a node, it is counted under the first one's reason.
        """
        ...


@runtime_checkable
class Explain(Protocol):
    """A filter with several reasons implements this too; called only when the group failed."""

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """How many of the refused rows gave each reason; a row may count under several."""
        ...


@runtime_checkable
class Unresolvable(Protocol):
    """A filter that tells which of its refusals last whichever pods leave.

    Of one that does not, those that read SPEC last; where others refuse, preemption is tried.
    """

    def unresolvable(self, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
        """A new bool array: of the refused rows, those that stay refused if every pod leaves."""
        ...


@runtime_checkable
class Placed(Protocol):
    """An evaluator that reads CLUSTER and hears of each pod that comes or goes.

    In a plan, or for real; without this, all that it knows is `nodes`. Either answer is asked anew
    after that, unless this says False: it made no difference.
    """

    def placed(self, pod: Pod, row: int) -> bool | None:
        """A pod, of this class or another, was placed on `row`."""
        ...

    def removed(self, pod: Pod, row: int) -> bool | None:
        """A pod left `row`, as if it had never been placed."""
        ...


@runtime_checkable
class Ignores(Protocol):
    """An evaluator that reads CLUSTER and knows beforehand of whom it need not hear.

    Alike members whom all evaluators ignore are placed together, many times as fast as one by one.
    """

    def ignores(self, pod: Pod) -> bool:
        """Whether such a pod, of this class or another, makes no difference on any row."""
        ...


@runtime_checkable
class Forks(Protocol):
    """An evaluator that hears of pods, and can be copied before it hears of more.

    Each way of placing a group is tried on a copy. An evaluator that is `Placed` and cannot be
    copied is made anew there, by PreFilter or PreScore, which costs more.
    """

    def fork(self) -> Self:
        """A copy that says the same, and from now on hears of changes of its own."""
        ...


@runtime_checkable
class Takes(Plugin, Protocol):
    """A filter plugin that shares out resources says so, and a search need not try to find out.

    Where no order of placing suffices, a search looks for one placement of the whole group. It
    knows what Takes, KeepsApart, Gathers and Narrows tell it; everybody else is asked about what
    it found.
    """

    def takes(self, pod: Pod) -> Sequence[str]:
        """Of the resources that the pod requests, those that it must find free on its node."""
        ...


@runtime_checkable
class Limits(Filter, Protocol):
    """An evaluator that knows how many alike pods a node has something for."""

    def most(self, pod: Pod, nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
        """int64[N]: no row can take more pods of this class than that.

        Args:
            pod: any of the class.
            nodes: as they are.
            ever: what others hold now is not counted.
        """
        ...


@dataclass(frozen=True, slots=True)
class Pool:
    """Something that several nodes share, such as a network's devices or a zone's storage.

    Attributes:
        rows: bool[N]: a pod on one of these takes of it.
        amounts: int64[P]: how much each of the pods that were asked about takes.
        free: how much there is.
        unit: of what: "bytes", or what is counted ("devices").
        name: what it is, after an amount: "of class fast-local in zone a".
    """

    rows: Mask
    amounts: npt.NDArray[np.int64]
    free: int
    unit: str
    name: str


@runtime_checkable
class Pools(Plugin, Protocol):
    """A filter plugin that shares out what several nodes have together."""

    def pools(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[Pool]:
        """The pools of which any of these pods would take.

        Args:
            pods: one of each class.
            nodes: as they are.
            ever: what others hold now is not counted.
        """
        ...


@runtime_checkable
class TellsNodesApart(Plugin, Protocol):
    """A filter plugin by which nodes differ in more than in how many pods of a class they take."""

    def likeness(self, pods: Sequence[Pod], nodes: Nodes) -> npt.NDArray[np.int64]:
        """int64[N]: nodes with the same number offer the same to these pods, together or alone.

        Args:
            pods: one of each class.
            nodes: as they are.
        """
        ...


@runtime_checkable
class KeepsApart(Plugin, Protocol):
    """A filter plugin that never lets certain pods share a node or a topology domain."""

    def apart(self, pod: Pod, other: Pod, snapshot: Snapshot) -> Sequence[str]:
        """Keys of node labels in whose domains the two exclude each other; "" = on one node.

        Only if the filter refuses the later of the two, whichever it is and whoever else is
        there. `other` may be a pod of the same class, or `pod` itself to stand for one. Nodes
        without the label belong to no domain.
        """
        ...


@runtime_checkable
class Gathers(Plugin, Protocol):
    """A filter plugin that wants certain pods near each other."""

    def gathers(self, pod: Pod, snapshot: Snapshot) -> Sequence[str]:
        """Keys of node labels in one of whose domains the pod must be with others; "" = on a node.

        A search tries these domains one by one, since the first of a group may go to any of
        them, and binds the others.
        """
        ...


@runtime_checkable
class Narrows(Protocol):
    """A filter that may promise: where it refuses now it refuses, whoever else comes."""

    @property
    def narrows(self) -> bool:
        """Pods that come only ever take nodes away; those that leave may give them back."""
        ...


@runtime_checkable
class PostFilter(Plugin, Protocol):
    """Asked when nothing fits."""

    def post_filter(self, facts: GroupFacts, snapshot: Snapshot, diagnosis: Diagnosis) -> Status:
        """SUCCESS if room is being made; a refusal's message is appended to the diagnosis."""
        ...


@runtime_checkable
class Preempts(Plugin, Protocol):
    """Lets the engine look for pods that give way, in its place among PostFilter plugins."""

    def candidate_nodes(self, nodes: int) -> int:
        """How many candidates are enough, of so many nodes that a pod could have if others left."""
        ...


@runtime_checkable
class PreScore(Plugin, Protocol):
    """As PreFilter, for Score."""

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> "Score | None":
        """Give the object that will score this pod; None to skip, as at PreFilter."""
        ...


@runtime_checkable
class Score(Protocol):
    """Ranks the feasible nodes.

    Without `normalize` each score must lie in [0, 100]; with it, after it.
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
        """As `score`, which is not called; only the feasible rows of the answer count."""
        ...


@runtime_checkable
class NormalizeScore(Protocol):
    """A score plugin whose raw scores need the other nodes for comparison.

    A class attribute `by_extremes = True` says that what a node gets depends on its own raw score
    and on the least and the greatest of all, and on nothing else. Then the engine need not ask
    again whenever a node becomes full: gangs that fill nodes are placed several times as fast.
    """

    def normalize(self, scores: Scores) -> Scores:
        """From the raw scores of the feasible nodes to [0, 100]; same length, a new array.

        Usually `default_normalize` or `default_normalize_reversed`.
        """
        ...


@runtime_checkable
class NodeMemory(Protocol):
    """What a plugin learned of the nodes; the one object of a plugin that changes.

    Only what it is told changes it: the same observations at the same times give the same
    answers. Asking changes nothing. Times are the engine's clock, seconds since the epoch.
    """

    def observe(self, observation: Observation, now: float) -> Sequence[NodeNote]:
        """Learn; give what to write on nodes as events.

        Told of each change after the first lists: what a list shows may be days old.
        """
        ...


@runtime_checkable
class MemoryFilter(NodeMemory, Protocol):
    """A memory that keeps gangs off nodes, and knows when that ends."""

    def refused(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, str]:
        """The names of the nodes that this gang may not use now, each with the reason.

        The reason is what the node is counted under. Nodes that do not exist may be among them.
        """
        ...

    def deadline(self) -> float | None:
        """When to call `expire` next; None = never. A time that is past means at once."""
        ...

    def expire(self, now: float) -> Expired:
        """Say which refusals have ended by now; called when the deadline is reached.

        The groups that this plugin refused are tried again. The deadline must lie after `now`
        then.
        """
        ...


@runtime_checkable
class MemoryScore(NodeMemory, Protocol):
    """A memory by which some nodes are better for gangs than others."""

    def scores(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, int]:
        """The scores of nodes by name, from 0 to 100; a node that is not named has 100."""
        ...


@runtime_checkable
class Observes(Plugin, Protocol):
    """A plugin that learns from what nodes and kubelets do.

    The methods of its memory say where it is asked: `refused` at Filter, `scores` at Score, once
    for each decision about a gang, after all other plugins. Pods without a group are never
    affected. What it says is added to kept rankings, at the cost of a look at every node.

    Profiles in which the plugin is equal (`==`) share one memory. It is lost when the scheduler
    ends. An exception in `observe`, `deadline` or `expire` is told by the next gang that is
    decided, which backs off, and the memory begins anew.

    Name no `events` (an empty tuple) where only time ends what was refused.
    """

    def new_memory(self) -> NodeMemory:
        """A memory that has been told nothing."""
        ...


@runtime_checkable
class Reserve(Plugin, Protocol):
    """A plugin that keeps a ledger of its own over the plans that are reserved but not bound."""

    def reserve(self, plan: "Proposal", ledger: object) -> object:
        """A new ledger with the plan in it; the first one is given None.

        There is no unreserve: when a plan is forgotten, the ledger is made again from the others.
        """
        ...


@runtime_checkable
class Permit(Plugin, Protocol):
    """The barrier before binding, for the whole group at once."""

    def permit(self, plan: "Proposal", facts: GroupFacts) -> Status:
        """SUCCESS releases the group, WAIT holds its reservation, a refusal gives it back.

        Asked again on every event that `events` names, until an answer other than WAIT, or the
        timeout: the status's own, the group's `scheduleTimeoutSeconds` or 15 minutes, whichever is
        first. Then the group waits for the plugin's events without holding any room.
        """
        ...


@runtime_checkable
class EnqueueExtensions(Protocol):
    """Which events could make this plugin change its mind.

    A plugin without `events` is asked again after every event. One that names too few leaves groups
    waiting until everybody is tried again, minutes later.
    """

    events: ClassVar[tuple[ClusterEvent, ...]]


@runtime_checkable
class QueueingHint(Protocol):
    """A second, finer look at an event that `events` named."""

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if the event could help this group; an exception counts as QUEUE."""
        ...


@runtime_checkable
class ReadsAnnotations(Protocol):
    """Which annotations of pods, nodes and PodGroups the plugin reads.

    Others are not kept. They are in `pod.annotations`, `group.annotations` and
    `nodes.annotation`; pods that differ in them are of different classes.

    Attributes:
        annotations: prefixes of keys ("example.com/").
    """

    annotations: ClassVar[tuple[str, ...]]


@runtime_checkable
class Sign(Protocol):
    """What this plugin looks at to tell two pods apart, beyond what makes their class."""

    def signature(self, pod: Pod) -> object:
        """Hashable; pods with equal signatures share their masks and scores."""
        ...


class Proposal(Protocol):
    """What Reserve and Permit see of a plan."""

    @property
    def id(self) -> str:
        """The plan's identity; it becomes part of the binding record on each member."""
        ...

    @property
    def nodes(self) -> Sequence[tuple[Pod, str]]:
        """Which member goes to which node."""
        ...


_KNOWN: dict[tuple[type, type], bool] = {}


def implements(value: object, point: type[P]) -> TypeGuard[P]:
    """Whether an object has the methods of an extension point.

    As isinstance, which takes tens of microseconds for a protocol; objects of one class are
    taken to be alike, and asked once.
    """
    key = (type(value), point)
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN[key] = isinstance(value, point)
    return known
