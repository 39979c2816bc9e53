# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The calls to one HTTP extender, with the types of `k8s.io/kube-scheduler/extender/v1`.

The Go types have no JSON tags, so fields are sent as Go spells them and read in any case.
"""

import asyncio
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import aiohttp
import msgspec

from enbloc.client.binding import Binding
from enbloc.client.config import Cluster
from enbloc.client.decoding import UNREADABLE, decoded, why
from enbloc.client.errors import MOST_SAID, APIError
from enbloc.client.transport import Call, Transport
from enbloc.errors import EnblocError
from enbloc.framework.extenders import TLS, Extender, NodeVictims
from enbloc.model.pods import PodUID
from enbloc.model.text import clipped, printable
from enbloc.wire.objects import Int64

#: The longest answer, unless twice the length of the request is more (bytes).
ANSWER_BYTES: Final = 2**24
#: The most questions to an extender at a time; kube-scheduler asks about one pod after the other.
QUESTIONS: Final = 16
#: The most connections to an extender: enough for all questions and Bindings in flight, since a
#: wait for one would count towards the extender's timeout.
CONNECTIONS: Final = QUESTIONS + 128
#: The longest part of an extender's reason for one node that is kept (characters).
_REASON_SAID: Final = 256

_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode

T = TypeVar("T", bound=msgspec.Struct)


class ExtenderFailed(EnblocError):  # noqa: N818  # what happened, not a fault of ours
    """An extender gave no usable answer.

    Attributes:
        unknown: the request may have taken effect, or still may.
    """

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(clipped(printable(message), MOST_SAID))
        self.unknown = unknown


@dataclass(frozen=True, slots=True)
class ExtenderRequest:
    """One pod, and the nodes that it could go to.

    Attributes:
        pod: the object as JSON.
        nodes: their names.
        objects: the nodes as JSON, by name, for an extender that has no cache of nodes.
    """

    pod: msgspec.Raw
    nodes: Sequence[str]
    objects: Mapping[str, msgspec.Raw] = field(default_factory=dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Filtered:
    """The answer of an extender's filter.

    Attributes:
        feasible: the names of the nodes that pass.
        refused: `(node, why)`.
        unresolvable: `(node, why)`; preemption does not help there. No node is in both.
    """

    feasible: tuple[str, ...]
    refused: tuple[tuple[str, str], ...] = ()
    unresolvable: tuple[tuple[str, str], ...] = ()


class _Name(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Name


class _Nodes(msgspec.Struct):
    items: list[_Named] | None = None


class _Result(msgspec.Struct, rename=lambda name: name.replace("_", "")):
    """The base of all answers: names in lower case; null and absent are the same."""


class _FilterResult(_Result):
    nodes: _Nodes | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    error: str | None = None


class _PreemptionResult(_Result):
    node_name_to_meta_victims: dict[str, msgspec.Raw] | None = None


class _MetaVictims(_Result):
    pods: list[msgspec.Raw] | None = None
    num_pdb_violations: Int64 | None = None


class _MetaPod(_Result):
    uid: str | None = None


class _HostPriority(_Result):
    host: str | None = None
    score: Int64 | None = None


class _BindingResult(_Result):
    error: str | None = None


class ExtenderClient:
    """The client of one extender; an async context manager. It sends nothing twice.

    Args:
        extender: its address and configuration.
    """

    def __init__(self, extender: Extender) -> None:
        self.extender: Final = extender
        self._timeout = aiohttp.ClientTimeout(total=extender.timeout)
        self._transport: Transport | None = None
        self._questions = asyncio.Semaphore(QUESTIONS)

    async def __aenter__(self) -> Self:
        """Make the pool of connections.

        Raises:
            ConfigError: a certificate cannot be used.
        """
        with tempfile.TemporaryDirectory(prefix="enbloc-") as folder:
            reached = _reached(self.extender, Path(folder))
            self._transport = Transport(reached, "scheduler", CONNECTIONS)
            await self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport is not None:
            await self._transport.close()

    async def filter(self, question: ExtenderRequest) -> Filtered:
        """Ask which of the nodes pass.

        Raises:
            ExtenderFailed: it gave no answer, an error, or a node that was not in the question.
        """
        verb = self.extender.filter_verb
        result = _read(await self._consult(verb, self._arguments(question)), _FilterResult, verb)
        if result.error:
            raise ExtenderFailed(f"{verb}: {result.error}")
        names = result.node_names if self.extender.node_cache_capable else None
        if names is None:
            listed = result.nodes or _Nodes()
            names = [node.metadata.name for node in listed.items or ()]
        _check_known(names, question.nodes, verb)
        refused, hopeless = result.failed_nodes or {}, result.failed_and_unresolvable_nodes or {}
        return Filtered(
            tuple(dict.fromkeys(names)),
            tuple((node, _said(why)) for node, why in refused.items() if node not in hopeless),
            tuple((node, _said(why)) for node, why in hopeless.items()),
        )

    async def prioritize(self, question: ExtenderRequest) -> tuple[tuple[str, int], ...]:
        """Ask for scores: `(node, score)` as the extender gives them, usually 0 to 10.

        Raises:
            ExtenderFailed: it gave no answer, or not a list of scores.
        """
        verb = self.extender.prioritize_verb
        raw = await self._consult(verb, self._arguments(question))
        asked = set(question.nodes)
        each = (_read(item, _HostPriority, verb) for item in _items(raw, verb))
        return tuple((found.host, found.score or 0) for found in each if found.host in asked)

    async def preempt(
        self,
        pod: msgspec.Raw,
        candidates: Sequence[NodeVictims],
        objects: Mapping[PodUID, msgspec.Raw],
    ) -> tuple[NodeVictims, ...]:
        """Ask on which of the candidate nodes a pod may preempt, and which pods there.

        Args:
            pod: the object as JSON.
            candidates: the nodes, with the victims on each.
            objects: the victims as JSON, for an extender that has no cache of nodes.

        Raises:
            ExtenderFailed: it gave no answer, or a node that was not in the question.
        """
        verb = self.extender.preempt_verb
        meta = self.extender.node_cache_capable
        named = {
            each.node: {
                "Pods": [{"UID": uid} if meta else objects[uid] for uid in each.pods],
                "NumPDBViolations": each.violations,
            }
            for each in candidates
        }
        arguments = {
            "Pod": pod,
            "NodeNameToVictims": None if meta else named,
            "NodeNameToMetaVictims": named if meta else None,
        }
        result = _read(await self._consult(verb, arguments), _PreemptionResult, verb)
        left = result.node_name_to_meta_victims or {}
        _check_known(left, named, verb)
        return tuple(_victims(node, raw, verb) for node, raw in left.items())

    async def bind(self, binding: Binding) -> None:
        """Have the extender bind a pod.

        Raises:
            ExtenderFailed: it reports an error, or gives no readable answer.
        """
        verb = self.extender.bind_verb
        raw = await self._ask(
            verb,
            {
                "PodName": binding.name,
                "PodNamespace": binding.namespace,
                "PodUID": binding.uid,
                "Node": binding.node,
            },
        )
        result = _read(raw, _BindingResult, verb)
        if result.error:
            raise ExtenderFailed(f"{verb}: {result.error}")

    def _arguments(self, question: ExtenderRequest) -> dict[str, Any]:
        """The ExtenderArgs of a question."""
        if self.extender.node_cache_capable:
            return {"Pod": question.pod, "Nodes": None, "NodeNames": question.nodes}
        objects = question.objects
        items = [objects[name] for name in question.nodes if name in objects]
        return {"Pod": question.pod, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}

    async def _consult(self, verb: str, arguments: dict[str, Any]) -> bytes:
        """Ask a question once it is its turn: only then does the extender's timeout begin."""
        async with self._questions:
            return await self._ask(verb, arguments)

    async def _ask(self, verb: str, arguments: dict[str, Any]) -> bytes:
        assert self._transport is not None, "the client is not open"
        body = msgspec.json.encode(arguments)
        path = "/" + verb
        call = Call("create", path, path, body, timeout=self._timeout, limit=_limit(body))
        try:
            return await self._transport.exchange(call)
        except APIError as error:
            why = f"answered {error.code} {error.message}" if error.code else error.message
            raise ExtenderFailed(f"{verb}: {why}", unknown=error.outcome_unknown) from error


def _check_known(names: Iterable[str], asked: Iterable[str], verb: str) -> None:
    """Raise ExtenderFailed if the answer names a node that was not in the question."""
    strange = sorted(set(names) - set(asked))
    if strange:
        raise ExtenderFailed(f"{verb}: it names {strange[0]}, about which it was not asked")


def _victims(node: str, raw: msgspec.Raw, verb: str) -> NodeVictims:
    """The victims on a node, as an extender names them."""
    found = _read(raw, _MetaVictims, verb)
    pods = (_read(pod, _MetaPod, verb).uid for pod in found.pods or ())
    uids = tuple(PodUID(uid or "") for uid in pods)
    return NodeVictims(node, uids, found.num_pdb_violations or 0)


def _said(why: str) -> str:
    """An extender's reason for one node, clipped: many of them make one message."""
    return clipped(printable(why), _REASON_SAID)


def _limit(body: bytes) -> int:
    return max(ANSWER_BYTES, 2 * len(body))


def _reached(extender: Extender, folder: Path) -> Cluster:
    """The extender as a Cluster without credentials; writes PEM texts to files."""
    tls = extender.tls or TLS()

    def file(name: str, text: str, path: str) -> Path | None:
        if text:
            (folder / name).write_text(text, encoding="utf-8")
            return folder / name
        return Path(path) if path else None

    cert = file("cert.pem", tls.cert_data, tls.cert_file)
    key = file("key.pem", tls.key_data, tls.key_file)
    return Cluster(
        server=extender.url.full,
        source=f"extender {extender.url}",
        ca_file=file("ca.pem", tls.ca_data, tls.ca_file),
        client_cert=(cert, key) if cert and key else None,
        verify=not tls.insecure,
        server_name=tls.server_name or None,
    )


def _read(raw: bytes | msgspec.Raw, shape: type[T], verb: str) -> T:
    """Decode an object of the answer; its names may be in any case, as in Go."""
    try:
        found = decoded(_FIELDS, raw) or {}
        lowered = msgspec.json.encode({name.lower(): value for name, value in found.items()})
        return msgspec.json.decode(lowered, type=shape)
    except UNREADABLE as error:
        raise _unreadable(verb, error) from error


def _items(raw: bytes, verb: str) -> Sequence[msgspec.Raw]:
    """Decode an answer that is a list into its undecoded items."""
    try:
        return decoded(_LIST, raw) or ()
    except UNREADABLE as error:
        raise _unreadable(verb, error) from error


def _unreadable(verb: str, error: Exception) -> ExtenderFailed:
    return ExtenderFailed(f"{verb}: cannot read the answer: {why(error)}", unknown=True)
