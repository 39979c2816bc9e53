# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rankings that outlive a decision, so that a stream of identical pods does not rebuild them.

::

    decision ──take──► its own ──fork──► places members ──► returns it, with what it placed
                                                            │
    journal: what really came and left  ────────────────────┴──► taken again only if the journal
                                                                 began with just that; updated

For a stream of pods of one class, their rows are computed in advance (`lookahead`), and the ranking
that is kept is updated for many of them at once.

A ranking that was told of members that were not placed is discarded: nothing is undone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple

from enbloc.engine.trial.lookahead import Lookahead
from enbloc.engine.trial.parts import PlacedChange
from enbloc.engine.trial.plugin_calls import asked
from enbloc.engine.trial.ranking import Ranking
from enbloc.engine.trial.selected_labels import Named, SelectedLabels, telling
from enbloc.framework.decide import Sign
from enbloc.framework.profile import Profile
from enbloc.ledgers import Holds, Position, ledgers_of
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.selectors import Labels
from enbloc.model.snapshot import Snapshot

#: How many rankings are kept; each takes about 100 bytes per node.
MOST_RANKINGS: Final = 64

#: A ranking that is further behind than this many changes is rebuilt.
LONGEST_JOURNAL: Final = 16_384

_MOST_CLASSES: Final = 16_384

#: The most bytes of the source of classes, and of the journal, that these keep in memory.
_MOST_BYTES: Final = 16 * 2**20


#: If members name more hosts, the message does not say for each why it does not fit.
MOST_HOSTS_TOLD: Final = 16


class ClassKey(NamedTuple):
    """What makes two pods equal to every plugin of a profile.

    Attributes:
        spec: a number that pods with equal specs share.
        labels: their values of the keys that some selector names.
        annotations: the declared ones.
        signatures: what plugins add.
        holds: what distinguishes pods by volumes and devices; None = they have none.
        host: what nodeSelector names; `spec` is without it. "" = none.
    """

    profile: str
    namespace: str
    spec: int
    labels: Labels
    annotations: Labels
    signatures: tuple[object, ...]
    holds: Holds | None = None
    host: str = ""


def told_apart(keys: Sequence[ClassKey]) -> Sequence[ClassKey]:
    """Return the classes to explain why they do not fit; with many hosts, one for all of them."""
    if len({key.host for key in keys}) <= MOST_HOSTS_TOLD:
        return keys
    return [key._replace(host="") for key in keys]


class Journal:
    """What came to the node table and left it, in order; only the latest is kept."""

    def __init__(self) -> None:
        #: The position of the first of `_changes`.
        self._first = 0
        self._changes: list[PlacedChange] = []
        #: Bytes of the pods in these changes.
        self._bytes = 0

    @property
    def end(self) -> int:
        """The number of changes so far."""
        return self._first + len(self._changes)

    def note(self, change: PlacedChange) -> None:
        """Record a change."""
        self._changes.append(change)
        self._bytes += change.pod.size
        if len(self._changes) > 2 * LONGEST_JOURNAL or self._bytes > _MOST_BYTES:
            dropped = (len(self._changes) + 1) // 2
            del self._changes[:dropped]
            self._first += dropped
            self._bytes = sum(each.pod.size for each in self._changes)

    def since(self, position: int) -> Sequence[PlacedChange] | None:
        """Return the changes from a position on; None if they are not kept any more."""
        if position < self._first:
            return None
        return self._changes[position - self._first :]


@dataclass(slots=True)
class _Kept:
    """A ranking that has seen the journal up to `position`, and then `beyond`.

    Attributes:
        ledgers: the position in the ledgers' changes that it has seen.
    """

    ranking: Ranking
    position: int
    beyond: tuple[PlacedChange, ...]
    ledgers: Position


class Rankings:
    """The kept rankings of all profiles, and their classes.

    Attributes:
        journal: the owner of the tables records here what came and left.
        selected: the labels that selectors in the cluster name; as it grows, pods that were equal
            may come to differ.
        made: how many rankings of nodes were rebuilt, with every node asked.

    Args:
        every_label: distinguish pods by all of their labels, since it is unknown what is selected.
    """

    def __init__(self, *, every_label: bool = False) -> None:
        self.journal = Journal()
        self.selected = SelectedLabels()
        self.made = 0
        self._every_label = every_label
        #: Rankings for later decisions, all of `_epoch`, oldest first.
        self._kept: dict[ClassKey, _Kept] = {}
        self._ahead: dict[ClassKey, Lookahead] = {}
        self._epoch: object = None
        #: Numbers of distinct templates: equal ones share one; and the same by identity.
        self._numbers: dict[PodSpec, int] = {}
        self._count = count()
        self._known: dict[int, tuple[PodSpec, int]] = {}
        self._bytes = 0

    def key(
        self,
        pod: Pod,
        profile: Profile,
        names: Named | None = None,
        holds: Holds | None = None,
    ) -> ClassKey:
        """Return the class of a pod in a profile; `names` replaces the labels that distinguish."""
        labels = pod.labels
        if names is not None:
            labels = telling(labels, names)
        elif not self._every_label:
            labels = telling(labels, self.selected.in_namespace(pod.key.namespace))
        return ClassKey(
            profile.name,
            pod.key.namespace,
            self.number(pod.spec),
            labels,
            pod.annotations,
            signatures(pod, profile),
            holds,
        )

    def number(self, spec: PodSpec) -> int:
        """Return the same number for equal specs; comparing them is expensive, identity cheap."""
        known = self._known.get(id(spec))
        if known is not None and known[0] is spec:
            return known[1]
        if len(self._known) >= _MOST_CLASSES or self._bytes > _MOST_BYTES:
            self._known.clear()
            self._numbers.clear()
            self._forget()
            self._bytes = 0
        self._bytes += spec.size
        # Never reuse a number, even after forgetting: a decision may still use the old ones.
        number = self._numbers.setdefault(spec, next(self._count))
        self._known[id(spec)] = (spec, number)
        return number

    def _stamp(self, epoch: object) -> object:
        """Return a value that changes with the epoch, or when labels distinguish more pods."""
        return epoch, self.selected.version

    def _begin(self, epoch: object) -> None:
        if self._stamp(epoch) != self._epoch:
            self._forget()
            self._epoch = self._stamp(epoch)

    def _forget(self) -> None:
        self._kept.clear()
        self._ahead.clear()

    def foreseen(self, key: ClassKey, pods: Sequence[Pod], epoch: object) -> list[int] | None:
        """Return where pods of a class go, if that was computed; the caller places them there.

        Args:
            key: the class.
            pods: to be placed now, on the cluster as it is.
            epoch: as in `take`.
        """
        self._begin(epoch)
        ahead = self._ahead.get(key)
        if ahead is None or not ahead.has(len(pods), self.journal.end):
            return None
        return ahead.next(pods, self.journal.since(ahead.position))

    def ahead(self, key: ClassKey) -> Lookahead | None:
        """Return where to store the lookahead of a class; None = not needed."""
        ahead = self._ahead.get(key)
        if ahead is None:  # the first pod of a class may be the only one
            while len(self._ahead) >= MOST_RANKINGS:
                del self._ahead[next(iter(self._ahead))]
            self._ahead[key] = Lookahead()
            return None
        return ahead if ahead.wanted() else None

    def take(
        self, key: ClassKey, pod: Pod, profile: Profile, snapshot: Snapshot, epoch: object
    ) -> Ranking | None:
        """Return the kept ranking of a class, updated to the snapshot; the caller owns it now.

        Args:
            key: the class.
            pod: of the class, to be represented.
            profile: of the class.
            snapshot: the cluster as it is.
            epoch: changes whenever what plugins see at PreFilter has changed, other than by pods,
                or by what these hold beyond resources.
        """
        self._begin(epoch)
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        changes = self.journal.since(kept.position)
        seen = len(kept.beyond)
        if changes is None or len(changes) > seen + len(snapshot.nodes):
            return None
        if seen and tuple(changes[:seen]) != kept.beyond:
            return None
        ranking, left, nodes = kept.ranking, changes[seen:], snapshot.nodes
        if key.holds is not None:
            touched = ledgers_of(nodes).touched(kept.ledgers)
            if touched is None or len(touched) > len(nodes):
                return None
            rows = [row for row in map(nodes.row, touched) if row is not None]
            return ranking if ranking.renew(pod, profile, snapshot, left, rows) else None
        if left and not ranking.catch_up(nodes, left):
            return None
        return ranking

    def give(
        self,
        key: ClassKey,
        ranking: Ranking,
        beyond: Sequence[PlacedChange],
        epoch: object,
        ledgers: Position = None,
    ) -> None:
        """Keep a ranking that has seen all of the journal, and then what a plan placed.

        Only the last ranking of a class is kept. A ranking for pods with volumes or devices is kept
        only if nothing was placed, and if changes for them are recorded.

        Args:
            key: the class.
            ranking: of it.
            beyond: what the plan placed.
            epoch: as in `take`.
            ledgers: the position of the ledgers that it has seen.
        """
        if self._stamp(epoch) != self._epoch:
            return
        if key.holds is not None and (beyond or key.holds.named or ledgers is None):
            return
        self._kept.pop(key, None)
        if len(self._kept) >= MOST_RANKINGS:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _Kept(ranking, self.journal.end, tuple(beyond), ledgers)

    def check(self, profiles: Mapping[str, Profile], snapshot: Snapshot, epoch: object) -> None:
        """Assert that each kept ranking, once updated, equals a new one.

        Raises:
            AssertionError: an incremental answer is wrong.
        """
        ledgers = ledgers_of(snapshot.nodes)
        for key, kept in list(self._kept.items()):
            profile, pod = profiles[key.profile], kept.ranking.pod
            if ledgers.alike(pod) != key.holds:
                continue  # it is of another class by now
            ranking = self.take(key, pod, profile, snapshot, epoch)
            if ranking is None:
                continue
            fresh = Ranking(pod, profile, snapshot)
            assert fresh.refused == ranking.refused, f"{key}: the refusal went stale"
            assert (fresh.mask == ranking.mask).all(), f"{key}: the mask went stale"
            assert (fresh.totals == ranking.totals).all(), f"{key}: the scores went stale"
            if (ahead := self._ahead.get(key)) is not None:
                ahead.check(self.journal.since(ahead.position), fresh.best())
            self.give(key, ranking, (), epoch, ledgers.position)


def signatures(pod: Pod, profile: Profile) -> tuple[object, ...]:
    """Return what plugins add to the class of a pod."""
    return tuple(asked(name, "Sign", _signature, signer, pod) for name, signer in profile.signers)


def _signature(signer: Sign, pod: Pod) -> object:
    signature = signer.signature(pod)
    hash(signature)
    return signature
