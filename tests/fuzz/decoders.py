# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every decoder of what comes in, as a function from bytes to what is wrong with them.

Each gives "" for what it accepts, else the message that a user gets; any exception but the one that
the decoder documents gets through, and is a crash.
"""

import json
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from multidict import CIMultiDict

from enbloc.client import binding, eviction, kubeconfig, transport
from enbloc.client.binding import Binding
from enbloc.client.client import _read
from enbloc.client.decoding import UNREADABLE
from enbloc.client.errors import APIError, TooManyRequests, Unreachable, from_status, readable
from enbloc.client.extender import ExtenderClient, ExtenderFailed, ExtenderRequest
from enbloc.client.items import Identified, Wire
from enbloc.client.lease import _checked
from enbloc.client.lease_objects import LeaseObject, RoleBindingObject
from enbloc.client.reflector import _ERROR
from enbloc.config import Findings, Source, configure, convert
from enbloc.controller import answers
from enbloc.controller.creator_objects import JobObject, SetObject, job, replica_set, stateful_set
from enbloc.controller.reconcile import reconcile
from enbloc.controller.sources import SOURCES
from enbloc.controller.sources.at_once import KINDS as GROUP_KINDS
from enbloc.controller.sources.declaring_pods import DeclaringPods
from enbloc.controller.sources.derived_groups import checked
from enbloc.controller.sources.source import GroupView, RefusedGroup
from enbloc.controller.sources.source import Source as Origin
from enbloc.controller.submission import SubmissionContext, submission
from enbloc.errors import ConfigError, UsageError
from enbloc.framework.extenders import Extender, NodeVictims
from enbloc.live.group_status import GroupObject
from enbloc.live.informers import PriorityClassObject
from enbloc.live.raw_nodes import RawNode, without_managed_fields
from enbloc.model.binding_record import read_binding_record
from enbloc.model.credentials import URL
from enbloc.model.dialects import membership
from enbloc.model.dialects import readable as readable_membership
from enbloc.model.names import PLAN_KEY, POD_GROUP_KEY, RANK_KEY, ROLE_KEY
from enbloc.model.quantity import amount
from enbloc.model.times import seconds_of
from enbloc.wire import codec
from enbloc.wire.foreign_topologies import koordinators, kueues
from enbloc.wire.hyper_nodes import HyperNodeObject, hyper_node
from enbloc.wire.objects import (
    NamespaceObject,
    NodeObject,
    PodGroupObject,
    PodObject,
    ReplicaSetObject,
    ServiceObject,
    StatefulSetObject,
)
from enbloc.wire.topologies import TopologyObject, topology
from enbloc.workloads import Admission, expand, manifests
from tests import recorded as workloads
from tests.controller.fake import KINDS, _discovery
from tests.fuzz.corpus import configurations, recorded, sample

Decode = Callable[[bytes], str]


@dataclass(frozen=True)
class Decoder:
    """One of them.

    Attributes:
        seeds: real inputs.
        share: how often it is tried; those that take milliseconds are tried less.
    """

    name: str
    decode: Decode
    seeds: Sequence[bytes] = field(repr=False)
    share: int = 100


# ── watches and lists ────────────────────────────────────────────────────────────────────────


def _stream(shape: type[Any], use: Callable[[Any], Any]) -> tuple[Decode, Decode]:
    """Of the lines of a watch, and of the pages of a list."""
    wire: Wire[Any] = Wire(shape)

    def taken(found: Any, problem: str) -> str:
        if found is None:
            assert problem, "what is malformed has a message"
            return problem
        return str(getattr(use(found), "problem", ""))

    def line(raw: bytes) -> str:
        if b"\n" in raw:
            raw = raw.replace(b"\n", b" ")
        try:
            kind, meta, found, problem = readable(wire.line, raw, "watch", "pods")
            assert meta.version >= 0
            if kind == "ERROR":
                status = readable(_ERROR, raw, "watch", "pods").object
                code = status.get("code")
                return str(
                    from_status("watch", "pods", code if isinstance(code, int) else 500, status)
                )
        except Unreachable as error:
            return str(error)
        return taken(found, problem)

    def page(raw: bytes) -> str:
        try:
            found = readable(wire.page, raw, "list", "pods")
        except Unreachable as error:
            return str(error)
        assert found.version > 0
        problems = [taken(shown, problem) for _, shown, problem in found.objects]
        return next(filter(None, problems), "")

    return line, page


def _in_line(raw: bytes) -> bytes:
    return b'{"type":"MODIFIED","object":' + raw + b"}"


def _in_page(*raw: bytes) -> bytes:
    return b'{"metadata":{"resourceVersion":"9","continue":""},"items":[' + b",".join(raw) + b"]}"


THEIRS: Final = {
    kind: json.dumps(each).encode()
    for kind, each in json.loads(sample("topologies_of_others.json")).items()
}


def _streams() -> list[Decoder]:
    kinds: list[tuple[str, type[Any], Callable[[Any], Any], list[bytes]]] = [
        ("pods", PodObject, _pod, [sample("pod.json"), *recorded("Pod")]),
        ("nodes", NodeObject, partial(codec.node, keep=("a",)), [sample("node.json"),
        *recorded("Node")]),
        ("raw nodes", RawNode, lambda node: codec.node(node.plain), [sample("node.json")]),
        ("podgroups", GroupObject, _group, [sample("podgroup.json"), *recorded("PodGroup")]),
        ("services", ServiceObject, codec.service_selector, [sample("service.json")]),
        ("replicasets", ReplicaSetObject, codec.controller_selector, [sample("statefulset.json")]),
        ("statefulsets", StatefulSetObject, codec.controller_selector,
        [sample("statefulset.json")]),
        ("namespaces", NamespaceObject, codec.namespace_labels, [sample("namespace.json")]),
        ("priorityclasses", PriorityClassObject, lambda found: found.value,
        [sample("priorityclass.json")]),
        ("topologies", TopologyObject, topology, [sample("topology.json")]),
        ("topologies of Kueue", TopologyObject, kueues, [THEIRS["topologies"]]),
        ("topologies of Koordinator", TopologyObject, koordinators,
        [THEIRS["clusternetworktopologies"]]),
        ("hypernodes", HyperNodeObject, hyper_node, [THEIRS["hypernodes"]]),
        ("jobs", JobObject, job, [sample("job.json"), *recorded("Job")]),
        ("sets", SetObject, lambda found: (stateful_set(found), replica_set(found)),
        [sample("statefulset.json")]),
    ]  # fmt: skip
    made: list[Decoder] = []
    for name, shape, use, seeds in kinds:
        line, page = _stream(shape, use)
        error = b'{"type":"ERROR","object":' + sample("status.json") + b"}"
        bookmark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}'
        made.append(Decoder(f"watch {name}", line, [*map(_in_line, seeds), error, bookmark]))
        made.append(Decoder(f"list {name}", page, [*map(_in_page, seeds), _in_page(*seeds[:2])]))
    return made


def _sources() -> list[Decoder]:
    """Objects that PodGroups are made for, and pods that declare one."""
    samples = json.loads(sample("sources.json"))
    made: list[Decoder] = []
    for label, seeds in samples.items():
        sources = [each for each in SOURCES if each.resources[0].label() == label]
        shape, use = (
            (sources[0].shape, partial(_derived, sources[0])) if sources else (PodObject, _declared)
        )
        line, _ = _stream(shape, use)
        raw = [json.dumps(seed).encode() for seed in seeds]
        made.append(Decoder(f"source {label}", line, [*map(_in_line, raw)]))
    return made


def _derived(source: Origin[Any], found: Any) -> RefusedGroup | None:
    """Why no PodGroup can be made for an object, or what it is told."""
    derived = checked(source.derive(found))
    if source.report is not None and not isinstance(derived, RefusedGroup):
        source.report(found, GroupView(version=source.resources[0].version))
    return derived if isinstance(derived, RefusedGroup) else None


def _declared(found: PodObject) -> None:
    declaring = DeclaringPods(["enbloc"], lambda _: None)
    declaring.put(found)
    for key in declaring.groups:
        declaring.outcome(key)


def _pod(found: PodObject) -> Any:
    pod = codec.pod(found, ("a",))
    read_binding_record(pod.binding_record)
    assert pod.owner_key is not None
    return pod


def _group(found: GroupObject) -> Any:
    return codec.group(PodGroupObject(found.metadata, found.spec, found.status), ("a",))


# ── answers ──────────────────────────────────────────────────────────────────────────────────


def _answer(shape: Any, use: Callable[[Any], Any] = lambda found: found) -> Decode:
    def decode(raw: bytes) -> str:
        try:
            use(_read(raw, "get", "pods", shape))
        except APIError as error:
            return str(error)
        return ""

    return decode


def _listed(shape: Any) -> Decode:
    from enbloc.client.client import _Page  # noqa: PLC0415

    def use(page: _Page) -> None:
        for item in page.items or ():
            _read(item, "list", "leases", shape)

    return _answer(_Page, use)


def _refusal(raw: bytes) -> str:
    """The code of the answer is that of its body, or 429; its headers are texts of the body."""
    try:
        status = transport._STATUS(raw)
    except UNREADABLE:
        status = {}
    text = str(status.get("message") or "")[:200]
    headers = CIMultiDict({"Retry-After": text, "Date": text})
    wait = transport.asked_to_wait(headers)
    code = status.get("code")
    code = code if isinstance(code, int) and 400 <= code < 600 else 429
    error = from_status("create", "pods/binding", code, status, wait)
    assert isinstance(error.causes, list)
    binding.cause(error)
    binding._is_unknown(error)
    eviction._look_again(error)
    eviction._why(error)
    if isinstance(error, TooManyRequests):
        assert 0 <= error.retry_after < float("inf")
    return error.advice


def _kopf(read: Callable[[bytes], Sequence[Mapping[str, Any] | None]]) -> Decode:
    """What kopf is given it can decode, and what it then tells us of can be reconciled."""

    def decode(raw: bytes) -> str:
        try:
            given = read(raw.replace(b"\n", b" "))
        except APIError as error:
            return str(error)
        for shown in given:
            if shown is None:
                return "left out"
            each = json.loads(answers.event_line("ADDED", shown))["object"]
            if each.get("kind") == "PodGroup":
                group = codec.group(msgspec.convert(each, PodGroupObject))
                reconcile(group, each.get("status") or {}, (), {}, 1e9)
        return ""

    return decode


def _answers() -> list[Decoder]:
    pods, groups = [sample("pod.json")], [sample("podgroup.json"), *recorded("PodGroup")]
    lease, status = (
        [sample("lease.json"), *recorded("Lease")],
        [sample("status.json"), *recorded("Status")],
    )
    return [
        Decoder("answer binding", _answer(binding._Success), [sample("success.json"), *status]),
        Decoder("answer pod, binding", _answer(binding._Pod), pods),
        Decoder("answer pod, eviction",
            _answer(eviction._Pod, partial(eviction._settled, bare=False)), pods),
        Decoder("answer identity", _answer(Identified), [*pods, *groups]),
        Decoder("answer podgroup", _answer(GroupObject,
            lambda found: found.status and found.status.own()), groups),
        Decoder("answer lease", _answer(dict[str, Any], partial(_checked, "get")), lease),
        Decoder("answer leases", _listed(LeaseObject), [_in_page(*lease)]),
        Decoder("answer bindings", _listed(RoleBindingObject),
            [_in_page(sample("rolebinding.json"))]),
        Decoder("answer refusal", _refusal, status),
        Decoder("extender's pod", _unmanaged, pods),
        Decoder("kopf list", _kopf(lambda raw: answers.listed(raw).groups), [_in_page(*groups)]),
        Decoder("kopf watch", _kopf(lambda raw: [answers.watched(raw)[1]]),
            [*map(_in_line, groups)]),
        Decoder("kopf discovery", _kopf(lambda raw: [answers.discovered(answers.ROOT, raw)]),
            [_DISCOVERY]),
    ]  # fmt: skip


#: A server's discovery of PodGroups.
_DISCOVERY = json.dumps(_discovery(answers.ROOT, KINDS)).encode()


def _unmanaged(raw: bytes) -> str:
    """As extenders are sent a pod: after it was identified."""
    try:
        shown: Identified = _read(raw, "get", "pods", Identified)
        readable(without_managed_fields, raw, "get", "pods")
    except APIError as error:
        return str(error)
    return "" if shown.metadata.uid else "another pod"


# ── extenders ────────────────────────────────────────────────────────────────────────────────


class _Fed(ExtenderClient):
    """One that is answered with given bytes."""

    raw = b""

    async def _ask(self, verb: str, arguments: dict[str, Any]) -> bytes:
        del verb, arguments
        return self.raw


def _extender(ask: Callable[[_Fed], Coroutine[Any, Any, Any]]) -> Decode:
    fed = _Fed(Extender(URL("http://x"), "f", "p", "e", "b", node_cache_capable=True))

    def decode(raw: bytes) -> str:
        fed.raw = raw
        try:
            ask(fed).send(None)
        except StopIteration:
            return ""
        except ExtenderFailed as error:
            return str(error)
        raise AssertionError("it waits for something")

    return decode


def _extenders() -> list[Decoder]:
    question = ExtenderRequest(msgspec.Raw(b"{}"), ["n1", "n2"])
    bound = Binding("ns", "p", "u", "n1")
    pod, candidates = msgspec.Raw(b"{}"), [NodeVictims("n1", ()), NodeVictims("n2", ())]
    return [
        Decoder("extender filter", _extender(lambda fed: fed.filter(question)),
            [sample("extender.json")]),
        Decoder("extender prioritize", _extender(lambda fed: fed.prioritize(question)),
            [sample("priorities.json")]),
        Decoder("extender preempt", _extender(lambda fed: fed.preempt(pod, candidates, {})),
            [sample("victims.json")]),
        Decoder("extender bind", _extender(lambda fed: fed.bind(bound)), [sample("extender.json")]),
    ]  # fmt: skip


# ── texts ────────────────────────────────────────────────────────────────────────────────────


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _record(raw: bytes) -> str:
    return "" if read_binding_record(_text(raw)) else "no record"


def _annotation(raw: bytes) -> str:
    text = _text(raw)
    keys = (POD_GROUP_KEY, ROLE_KEY, PLAN_KEY, RANK_KEY, text)
    pairs = dict.fromkeys(keys, text)
    metadata = {
        "name": "p",
        "uid": "u",
        "annotations": pairs,
        "labels": {POD_GROUP_KEY: text[::-1]},
    }
    found = msgspec.convert({"metadata": metadata, "spec": {"nodeName": "n"}}, PodObject)
    member = readable_membership(membership(pairs, pairs))
    assert len(member.group) <= 253
    pod = codec.pod(found)
    assert len(pod.problem) <= 1024
    assert len(pod.binding_record) <= 1024
    return pod.problem


def _quantity(raw: bytes) -> str:
    try:
        amount("cpu", _text(raw))
    except ValueError as error:
        return str(error)
    return ""


def _time(raw: bytes) -> str:
    return "" if seconds_of(_text(raw)) is not None else "no time"


def _date(raw: bytes) -> str:
    return "" if transport._timestamp(_text(raw)) is not None else "no date"


def _texts() -> list[Decoder]:
    record = b'{"plan":"p-1","run":"j1/2","floor":8,"queueTime":1795237200.5,"started":true}'
    names = [b"train", b"team-a/train", b"worker", b"3", record]
    amounts = [b"500m", b"1Gi", b"1e3", b"0.5", b"-1", b"9223372036854775807", b"12E", b"1.5Mi"]
    times = [b"2026-11-21T05:00:00Z", b"2026-11-21T05:00:00.123456+01:00", b"2026-W01-1"]
    dates = [b"Sat, 21 Nov 2026 05:00:00 GMT", b"Sat, 21 Nov 26 05:00:00 -0000", b"3600"]
    return [
        Decoder("annotation plan", _record, [record]),
        Decoder("annotations", _annotation, names),
        Decoder("quantity", _quantity, amounts),
        Decoder("time", _time, times),
        Decoder("date", _date, dates),
    ]


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _configuration(raw: bytes) -> str:
    try:
        configure([Source("file", _text(raw))])
    except ConfigError as error:
        return str(error)
    return ""


def _conversion(raw: bytes) -> str:
    try:
        convert([Source("file", _text(raw))], Findings())
    except ConfigError as error:
        return str(error)
    return ""


def _kubeconfig(raw: bytes) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw)
        file.flush()
        try:
            kubeconfig._check([Path(file.name)], None)
        except ConfigError as error:
            return str(error)
    return ""


#: A cluster in which every kind of workload is a gang.
_KNOWN: Final = SubmissionContext(
    schedulers=("enbloc", "volcano"),
    pods=(),
    groups={},
    facts={},
    namespaces={"default": (("enbloc.dev/auto-group", "all"),)},
    admission=Admission(),
)


def _manifest(raw: bytes) -> str:
    """What is asked of `enbloc what-if`, which nobody has admitted."""
    try:
        submission(expand(manifests("file", raw), GROUP_KINDS, "default"), _KNOWN)
    except UsageError as error:
        return str(error)
    return ""


def _manifests() -> list[bytes]:
    """What users of each project have written."""
    return [
        json.dumps({"apiVersion": "v1", "kind": "List", "items": written}).encode()
        for name in workloads.FILES
        if (written := [e for e in workloads.objects(name) if not _owned(e)])
    ]


def _owned(body: dict[str, Any]) -> bool:
    return bool(body["metadata"].get("ownerReferences"))


def _files() -> list[Decoder]:
    return [
        Decoder("manifest", _manifest, _manifests(), share=20),
        Decoder("configuration", _configuration, configurations(), share=1),
        Decoder("conversion", _conversion, configurations(), share=1),
        Decoder("kubeconfig", _kubeconfig, [sample("kubeconfig.yaml")], share=4),
    ]


DECODERS = [*_streams(), *_sources(), *_answers(), *_extenders(), *_texts(), *_files()]
