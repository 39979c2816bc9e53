# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Dump file: a dump as JSON, with the configuration of its decisions.

Pods and their specs are written once and referred to by their index in a list; of every object only
fields that differ from the defaults are written. Reading a dump never runs anything.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from enbloc.devices.owners import Withdrawn
from enbloc.engine.decide import Decision, DecisionInput, NamedOpinion, VictimSearch
from enbloc.engine.events import (
    FactGone,
    FactSeen,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PriorityClassSeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.engine.plan import Assignment, Plan, PlanResult
from enbloc.engine.preemption import Preemption, Searched, Unit
from enbloc.engine.replay.dump import Dump, Entry, ShownObjects
from enbloc.engine.state import (
    Checkpoint,
    ClaimUserSeen,
    GroupAmount,
    PlanWithdrawn,
    Seat,
    SeatLeft,
)
from enbloc.errors import UsageError
from enbloc.framework.facts import GroupFacts
from enbloc.ledgers import FACTS, Decisions
from enbloc.model.budgets import Budget
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.selectors import Labels, Selector
from enbloc.model.topology import Topology
from enbloc.model.workloads import WorkloadKey

FORMAT: Final = "enbloc-dump"

#: Grows with each change of the format that older readers cannot read.
VERSION: Final = 8

#: An object as its fields that differ from their defaults.
Sparse = dict[str, Any]

#: The index of a pod in the list of pods.
Ref = int


class DumpFile(NamedTuple):
    """The content of one file.

    Attributes:
        written: when, RFC 3339, by the server's clock.
        by: the version of enbloc that wrote it.
        configuration: documents from which the profiles can be recreated.
    """

    written: str
    by: str
    configuration: Sequence[Mapping[str, Any]]
    dump: Dump


# ── the shape of the file ────────────────────────────────────────────────────────────────────────


class _Struct(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Fields in camelCase; a value that equals its default is left out."""


class _Seat(_Struct, frozen=True, tag="seat", tag_field="is"):
    node: str
    pod: Ref
    decided: Decisions | None = None


class _SeatLeft(_Struct, frozen=True, tag="seat left", tag_field="is"):
    uid: PodUID


class _Node(_Struct, frozen=True, tag="node", tag_field="is"):
    node: Sparse


class _NodeDropped(_Struct, frozen=True, tag="node dropped", tag_field="is"):
    name: str


class _Namespace(_Struct, frozen=True, tag="namespace", tag_field="is"):
    name: str
    labels: Labels | None = None


class _Workload(_Struct, frozen=True, tag="workload", tag_field="is"):
    key: WorkloadKey
    selector: Selector | None = None


class _Fact(_Struct, frozen=True, tag="fact", tag_field="is"):
    kind: str
    key: str
    fact: Sparse | None = None


class _Pending(_Struct, frozen=True, tag="pending", tag_field="is"):
    uid: PodUID
    pod: Ref | None = None


class _Withdrawn(_Struct, frozen=True, tag="plan withdrawn", tag_field="is"):
    member: Withdrawn
    decided: Decisions | None = None


class _Plan(_Struct, frozen=True):
    id: str
    group: GroupKey
    verdict: PlanResult
    assignments: tuple[tuple[Ref, str, bool, Decisions], ...] = ()
    message: str = ""
    search: str = ""
    steps: int = 0


class _Reservation(_Struct, frozen=True):
    group: GroupKey
    family: str
    order: int
    due: dict[str, int]
    labels: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


class _Question(_Struct, frozen=True):
    at: float
    profile: str
    facts: Sparse
    pending: tuple[Ref, ...] = ()
    held: tuple[Ref, ...] = ()
    lifted: tuple[tuple[Ref, str], ...] = ()
    opinions: tuple[NamedOpinion, ...] = ()
    consulted: tuple[tuple[Ref, tuple[NamedOpinion, ...]], ...] = ()
    plans: tuple[_Plan, ...] = ()
    reserved: tuple[_Reservation, ...] = ()
    wanted: _Reservation | None = None
    selected: dict[str, tuple[str, ...] | None] = {}


class _Decision(_Struct, frozen=True, tag="decision", tag_field="is"):
    plan: _Plan
    question: _Question


class _Unit(_Struct, frozen=True):
    pods: tuple[Ref, ...]
    fields: Sparse
    of: int | None = None


class _VictimSearch(_Struct, frozen=True, tag="victims", tag_field="is"):
    plan: str
    question: _Question
    units: list[_Unit]
    by_node: dict[str, tuple[int, ...]]
    budgets: tuple[Budget, ...] = ()
    nodes: tuple[tuple[Ref, str], ...] = ()
    victims: tuple[int, ...] = ()
    beyond: tuple[int, ...] = ()
    message: str = ""
    steps: int = 0


_Entry = (
    _Seat
    | _SeatLeft
    | _Node
    | _NodeDropped
    | _Namespace
    | _Workload
    | _Fact
    | _Pending
    | _Withdrawn
    | _Decision
    | _VictimSearch
)


class _Shown(_Struct, frozen=True):
    pods: tuple[Ref, ...] = ()
    groups: list[Sparse] = []
    classes: tuple[PriorityClassSeen, ...] = ()
    budgets: tuple[Budget, ...] = ()
    topologies: tuple[Topology, ...] = ()


class _File(_Struct, frozen=True):
    format: str
    version: int
    written: str
    by: str
    configuration: list[dict[str, Any]]
    search_steps: int
    solver: bool
    whole: bool
    specs: list[Sparse]
    pods: list[Sparse]
    resources: tuple[str, ...]
    nodes: list[Sparse]
    seats: list[tuple[Ref, str, Decisions | None]]
    facts: list[_Fact]
    holders: list[Ref]
    withdrawn: list[_Withdrawn]
    namespaces: dict[str, Labels]
    workloads: list[tuple[WorkloadKey, Selector]]
    entries: list[_Entry]
    shown: _Shown


class _Head(_Struct, frozen=True):
    format: str = ""
    version: int = 0


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def encoded(file: DumpFile) -> bytes:
    """Return a dump as JSON."""
    dump, writer = file.dump, _Writer()
    tables = dump.checkpoint
    made = _File(
        format=FORMAT,
        version=VERSION,
        written=file.written,
        by=file.by,
        configuration=[dict(document) for document in file.configuration],
        search_steps=dump.search_steps,
        solver=dump.solver,
        whole=dump.whole,
        specs=writer.specs,
        pods=writer.pods,
        resources=tuple(tables.resources),
        nodes=[sparse(node) for node in tables.nodes],
        seats=[(writer.pod(s.pod), s.node, s.decided) for s in tables.seats.values()],
        facts=[_fact(fact) for fact in tables.facts.values()],
        holders=[writer.pod(pod) for pod in tables.holders.values()],
        withdrawn=[_Withdrawn(*each) for each in tables.withdrawn.items()],
        namespaces=tables.namespaces,
        workloads=list(tables.workloads.items()),
        entries=[writer.entry(entry) for entry in dump.entries],
        shown=writer.shown(dump.shown),
    )
    return msgspec.json.encode(made)


def sparse(thing: Any, *without: str) -> Sparse:
    """Return the fields of a dataclass that differ from their defaults."""
    given = [field for field in fields(thing) if field.init and field.name not in without]
    return {
        field.name: value
        for field in given
        if (value := getattr(thing, field.name)) != field.default or field.default is MISSING
    }


class _Writer:
    """Gives each pod and each spec its index; objects are distinguished by identity."""

    def __init__(self) -> None:
        self.specs: list[Sparse] = []
        self.pods: list[Sparse] = []
        self._places: dict[int, tuple[object, int]] = {}

    def pod(self, pod: Pod) -> Ref:
        known = self._places.get(id(pod))
        if known is not None:
            return known[1]
        self.pods.append({**sparse(pod, "spec"), "spec": self._spec(pod.spec)})
        return self._placed(pod, len(self.pods) - 1)

    def _spec(self, spec: PodSpec) -> int:
        known = self._places.get(id(spec))
        if known is not None:
            return known[1]
        self.specs.append(sparse(spec))
        return self._placed(spec, len(self.specs) - 1)

    def _placed(self, thing: object, place: int) -> int:
        self._places[id(thing)] = (thing, place)  # a kept object keeps its identity
        return place

    def shown(self, shown: ShownObjects) -> _Shown:
        return _Shown(
            tuple(map(self.pod, shown.pods)),
            [sparse(group) for group in shown.groups],
            tuple(shown.classes),
            tuple(shown.budgets),
            tuple(shown.topologies),
        )

    def entry(self, entry: Entry) -> _Entry:  # noqa: C901  # one line for each kind
        match entry:
            case Seat(node, pod, decided):
                return _Seat(node, self.pod(pod), decided)
            case SeatLeft(uid):
                return _SeatLeft(uid)
            case NodeSeen(made):
                return _Node(sparse(made))
            case NodeGone(name):
                return _NodeDropped(name)
            case NamespaceSeen(name, labels):
                return _Namespace(name, labels)
            case NamespaceGone(name):
                return _Namespace(name)
            case WorkloadSeen(key, selector):
                return _Workload(key, selector)
            case WorkloadGone(key):
                return _Workload(key)
            case FactSeen(fact):
                return _fact(fact)
            case FactGone(kind, name):
                return _Fact(kind, name)
            case ClaimUserSeen(uid, pending):
                return _Pending(uid, None if pending is None else self.pod(pending))
            case PlanWithdrawn(member, decided):
                return _Withdrawn(member, decided)
            case Decision(question, plan):
                return _Decision(self._plan(plan), self._question(question))
            case VictimSearch(plan_id, question, searched):
                return self._search(plan_id, question, searched)

    def _search(self, plan: str, question: DecisionInput, searched: Searched) -> _VictimSearch:
        units, found = searched.units, searched.found
        every = [unit for each in (*units.values(), found.victims) for unit in each]
        first = [unit.of or unit for unit in every]  # a minimum precedes what goes with it
        numbers = {unit: number for number, unit in enumerate(dict.fromkeys((*first, *every)))}
        return _VictimSearch(
            plan,
            self._question(question),
            [self._unit(unit, numbers) for unit in numbers],
            {node: tuple(map(numbers.__getitem__, each)) for node, each in units.items()},
            tuple(searched.budgets),
            tuple((self.pod(pod), node) for pod, node in found.nodes),
            tuple(map(numbers.__getitem__, found.victims)),
            tuple(sorted(map(numbers.__getitem__, found.beyond))),
            found.message,
            found.steps,
        )

    def _unit(self, unit: Unit, numbers: Mapping[Unit, int]) -> _Unit:
        of = None if unit.of is None else numbers[unit.of]
        return _Unit(tuple(map(self.pod, unit.pods)), sparse(unit, "pods", "of"), of)

    def _question(self, question: DecisionInput) -> _Question:
        consulted = ((self.pod(pod), named) for pod, named in question.consulted)
        return _Question(
            at=question.at,
            profile=question.profile,
            facts=sparse(question.facts, "pending"),
            pending=tuple(map(self.pod, question.facts.pending)),
            held=tuple(map(self.pod, question.held)),
            lifted=tuple((self.pod(pod), node) for pod, node in question.lifted),
            opinions=question.opinions,
            consulted=tuple(consulted),
            plans=tuple(map(self._plan, question.plans)),
            reserved=tuple(map(_reservation, question.reserved)),
            wanted=None if question.wanted is None else _reservation(question.wanted),
            selected={
                key: None if values is None else tuple(sorted(values))
                for key, values in question.selected.items()
            },
        )

    def _plan(self, plan: Plan) -> _Plan:
        assignments = (
            (self.pod(each.pod), each.node, each.needed, each.decided) for each in plan.assignments
        )
        return _Plan(
            plan.id,
            plan.group,
            plan.verdict,
            tuple(assignments),
            plan.message,
            plan.search,
            plan.steps,
        )


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def decoded(data: bytes) -> DumpFile:
    """Return the dump that a file holds.

    Raises:
        UsageError: it is no dump, or one of another version; names the field if possible.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.format != FORMAT:
            raise UsageError(f'not a dump: its format is "{head.format}", not "{FORMAT}"')
        if head.version != VERSION:
            raise UsageError(
                f"its version is {head.version}, and this program reads {VERSION}; use the "
                "version of enbloc that wrote it"
            )
        file = msgspec.json.decode(data, type=_File)
        return _Reader(file).file()
    except msgspec.DecodeError as error:
        raise UsageError(f"not a dump: {error}") from error
    except RecursionError as error:
        raise UsageError("not a dump: it nests too deep") from error
    except (LookupError, TypeError, ValueError) as error:
        raise UsageError("not a dump: it refers to objects that it does not hold") from error


T = TypeVar("T")


def _thing(kind: type[T], given: Sparse) -> T:
    return msgspec.convert(given, type=kind)


class _Reader:
    """Recreates the objects of a file; identical pods share one spec, as they did."""

    def __init__(self, file: _File) -> None:
        self._file = file
        specs = [_thing(PodSpec, given) for given in file.specs]
        self._pods = [_pod(given, specs) for given in file.pods]

    def file(self) -> DumpFile:
        file = self._file
        seats = [Seat(node, self._pods[ref], decided) for ref, node, decided in file.seats]
        holders = [self._pods[ref] for ref in file.holders]
        tables = Checkpoint(
            resources=file.resources,
            nodes=[_thing(Node, given) for given in file.nodes],
            seats={seat.pod.uid: seat for seat in seats},
            namespaces=file.namespaces,
            workloads=dict(file.workloads),
            facts={(fact.kind, fact.key): _read(fact) for fact in file.facts},
            holders={pod.uid: pod for pod in holders},
            withdrawn={each.member: each.decided for each in file.withdrawn if each.decided},
        )
        entries = tuple(map(self._entry, file.entries))
        shown = ShownObjects(
            tuple(self._pods[ref] for ref in file.shown.pods),
            tuple(_thing(Group, given) for given in file.shown.groups),
            file.shown.classes,
            file.shown.budgets,
            file.shown.topologies,
        )
        dump = Dump(file.search_steps, file.solver, tables, entries, file.whole, shown)
        dump.present()  # raises if the entries do not follow: someone has changed the file
        return DumpFile(file.written, file.by, file.configuration, dump)

    def _entry(self, entry: _Entry) -> Entry:  # noqa: C901  # one line for each kind
        match entry:
            case _Seat(node, pod, decided):
                return Seat(node, self._pods[pod], decided)
            case _SeatLeft(uid):
                return SeatLeft(uid)
            case _Node(made):
                return NodeSeen(_thing(Node, made))
            case _NodeDropped(name):
                return NodeGone(name)
            case _Namespace(name, labels):
                return NamespaceGone(name) if labels is None else NamespaceSeen(name, labels)
            case _Workload(key, selector):
                return WorkloadGone(key) if selector is None else WorkloadSeen(key, selector)
            case _Fact(kind, key, fact):
                return FactGone(kind, key) if fact is None else FactSeen(_read(entry))
            case _Pending(uid, ref):
                return ClaimUserSeen(uid, None if ref is None else self._pods[ref])
            case _Withdrawn(member, decided):
                return PlanWithdrawn(member, decided)
            case _Decision():
                return Decision(self._question(entry.question), self._plan(entry.plan))
            case _VictimSearch():
                return VictimSearch(
                    entry.plan, self._question(entry.question), self._searched(entry)
                )

    def _searched(self, entry: _VictimSearch) -> Searched:
        units: list[Unit] = []
        for each in entry.units:
            pods = tuple(self._pods[ref] for ref in each.pods)
            of = None if each.of is None else units[each.of]
            units.append(replace(_thing(Unit, {**each.fields, "pods": []}), pods=pods, of=of))
        found = Preemption(
            tuple((self._pods[ref], node) for ref, node in entry.nodes),
            tuple(units[number] for number in entry.victims),
            frozenset(units[number] for number in entry.beyond),
            entry.message,
            entry.steps,
        )
        by_node = {
            node: tuple(units[number] for number in each) for node, each in entry.by_node.items()
        }
        return Searched(by_node, entry.budgets, found)

    def _question(self, entry: _Question) -> DecisionInput:
        pending = tuple(self._pods[ref] for ref in entry.pending)
        facts = _thing(GroupFacts, {**entry.facts, "pending": []})
        return DecisionInput(
            at=entry.at,
            profile=entry.profile,
            facts=replace(facts, pending=pending),
            held=tuple(self._pods[ref] for ref in entry.held),
            lifted=tuple((self._pods[ref], node) for ref, node in entry.lifted),
            opinions=entry.opinions,
            consulted=tuple((self._pods[ref], named) for ref, named in entry.consulted),
            plans=tuple(map(self._plan, entry.plans)),
            reserved=tuple(map(_reserved, entry.reserved)),
            wanted=None if entry.wanted is None else _reserved(entry.wanted),
            selected={
                key: None if values is None else frozenset(values)
                for key, values in entry.selected.items()
            },
        )

    def _plan(self, plan: _Plan) -> Plan:
        return Plan(
            plan.id,
            plan.group,
            plan.verdict,
            tuple(
                Assignment(self._pods[ref], node, needed, decided)
                for ref, node, needed, decided in plan.assignments
            ),
            message=plan.message,
            search=plan.search,
            steps=plan.steps,
        )


def _fact(fact: Fact) -> _Fact:
    return _Fact(fact.kind, fact.key, sparse(fact))


def _read(written: _Fact) -> Fact:
    """Return the object that was written; KeyError = its kind is unknown."""
    kinds: Mapping[str, type[Any]] = FACTS
    fact: Fact = _thing(kinds[written.kind], written.fact or {})
    return fact


def _pod(given: Sparse, specs: Sequence[PodSpec]) -> Pod:
    pod = _thing(Pod, {**given, "spec": {}})
    return replace(pod, spec=specs[msgspec.convert(given.get("spec"), type=int)])


def _reservation(of: GroupAmount) -> _Reservation:
    [order] = of.order
    return _Reservation(of.group, of.family, order, dict(of.due), of.labels, of.nodes)


def _reserved(read: _Reservation) -> GroupAmount:
    due = Counter(read.due)
    return GroupAmount(read.group, read.family, (read.order,), due, read.labels, read.nodes)
