# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the scheduler last reported: the answer for users who may read only one namespace."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from enbloc.cli.failures import forbidden, lines
from enbloc.cli.present import Access, configured, of_cluster, outlook, reached
from enbloc.cli.running import run
from enbloc.model.names import Condition
from enbloc.model.pending import Pending

if TYPE_CHECKING:
    from enbloc.client.client import Client
    from enbloc.client.paths import Resource
    from enbloc.model.groups import Group, GroupKey
    from enbloc.model.pods import Pod, PodKey, PodUID
    from enbloc.simulation import Outlook
    from enbloc.wire.codec import PodObject

T = TypeVar("T")

_POD_SCHEDULED: Final = "PodScheduled"
_PENDING: Final = "Pending"


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Decodes camelCase objects; skips undeclared fields."""


class _Condition(_Struct):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class _Status(_Struct):
    conditions: tuple[_Condition, ...] | None = None


class _Object(_Struct):
    """The conditions of a PodGroup or a pod."""

    status: _Status | None = None

    def refusal(self, kind: str) -> tuple[str, str] | None:
        """Reason and message of the condition of this type, if it is False."""
        for each in (self.status.conditions or ()) if self.status is not None else ():
            if each.type == kind and each.status != "True":
                return each.reason or _PENDING, each.message or "no message"
        return None


@dataclass(frozen=True, slots=True)
class Reported(Pending):
    """A waiting group, or a waiting pod without one, as its status describes it.

    Attributes:
        key: of the group; for a pod without one, of its implied group.
        pending: its members without a node, the oldest first.
        members: all live members.
        minimum: how many the group needs; None = it may not be read, or does not exist.
        priority: the lowest of those members.
        reason: of the condition.
        message: of the condition.
    """

    key: "GroupKey"
    pending: "tuple[Pod, ...]"
    members: int
    minimum: int | None
    priority: int
    reason: str
    message: str

    @property
    def starts(self) -> bool | None:
        """Whether it gets nodes now: unknown here."""
        return None

    @property
    def placed(self) -> "Mapping[PodKey, str]":
        """Its members that get a node now: unknown here."""
        return {}

    @property
    def victims(self) -> "Sequence[PodKey]":
        """The pods to evict for it: unknown here."""
        return ()


class NamespaceView(NamedTuple):
    """What one namespace shows; the names are those of Outlook, which knows more.

    Attributes:
        rows: the waiting groups and pods, the oldest first.
        pods: all pods.
        groups: the keys of all PodGroups; none if they may not be read.
        schedulers: the schedulerNames that enbloc serves.
        now: server time, seconds since the epoch.
    """

    rows: Sequence[Reported]
    pods: "Sequence[Pod]"
    groups: "Collection[GroupKey]"
    schedulers: Sequence[str]
    now: float


def seen(
    access: Access, namespace: str | None, *, everywhere: bool = False
) -> "tuple[Outlook | NamespaceView, str]":
    """The outlook of the cluster; without the permissions for it, what was last reported.

    In the second case it prints notes on stderr.

    Args:
        access: to the cluster.
        namespace: None = the namespace of the kubeconfig's context.
        everywhere: whether all namespaces are asked for.

    Returns:
        The outlook or the report, and the namespace that is meant.

    Raises:
        ExceptionGroup: the APIErrors, if not even that may be read, or for other reasons.
        EnblocError: the configuration or the kubeconfig cannot be used.
    """
    from enbloc.client.errors import APIError  # noqa: PLC0415  # not for `--help`

    try:
        try:
            found, default = outlook(access)
        except ExceptionGroup as group:
            if not forbidden(group):
                raise
            known, default, unread = run(_read(access, namespace))
            access.note(_notes(group, default, everywhere=everywhere))
            access.warn([unread] if unread else [])
            return known, default
    except APIError as error:
        raise ExceptionGroup("reading the cluster", [error]) from error
    return found, namespace or default


def _notes(group: ExceptionGroup[Exception], namespace: str, *, everywhere: bool) -> Iterator[str]:
    """The notes that say why no more is known."""
    first, *others = lines(group)
    more = f" (and {len(others)} more)" if others else ""
    yield (
        f"this is what the scheduler reported last in namespace {namespace}; order, START and what "
        f"would help are unknown: {first}{more}"
    )
    if everywhere:
        yield (
            f"--all-namespaces has no effect: only namespace {namespace} is listed; "
            "pass --namespace for another"
        )


async def _read(access: Access, namespace: str | None) -> tuple[NamespaceView, str, str]:
    """What is known, the namespace, and why the cluster's configuration cannot be used."""
    from enbloc.client.client import Client  # noqa: PLC0415  # not for `--help`

    cluster, given = await reached(access)
    async with Client(cluster, component=access.command) as client:
        found, unread = ((), "") if given is not None else await of_cluster(client)
        schedulers = (given or configured(found, access.warn)).profiles
        chosen = namespace or cluster.namespace
        return await _known(client, chosen, tuple(schedulers)), chosen, unread


async def _known(client: "Client", namespace: str, schedulers: Sequence[str]) -> NamespaceView:
    from enbloc.client.errors import Forbidden, NotFound  # noqa: PLC0415
    from enbloc.client.paths import POD_GROUPS, PODS  # noqa: PLC0415
    from enbloc.simulation import group_of, members_waiting  # noqa: PLC0415
    from enbloc.wire import codec  # noqa: PLC0415

    groups: dict[GroupKey, Group] = {}
    told: dict[PodUID | GroupKey, tuple[str, str] | None] = {}
    try:
        for raw in [each async for each in client.list(POD_GROUPS, namespace, shape=msgspec.Raw)]:
            group = codec.group(_as(raw, POD_GROUPS, codec.PodGroupObject))
            groups[group.key] = group
            told[group.key] = _as(raw, POD_GROUPS, _Object).refusal(Condition.SCHEDULED)
    except (Forbidden, NotFound):  # the conditions of the pods remain
        groups = {}
    pods: list[Pod] = []
    for raw in [each async for each in client.list(PODS, namespace, shape=msgspec.Raw)]:
        shown = _as(raw, PODS, codec.PodObject)
        pod = _grouped(shown, codec.pod(shown), groups)
        pods.append(pod)
        told[pod.uid] = _as(raw, PODS, _Object).refusal(_POD_SCHEDULED)
    live: dict[GroupKey, int] = {}
    for pod in pods:
        if pod.live:
            live[group_of(pod)] = live.get(group_of(pod), 0) + 1
    rows = [
        Reported(
            key,
            members,
            live[key],
            1 if key.name.startswith("/") else groups[key].least if key in groups else None,
            min(pod.priority for pod in members),
            *_why([told.get(key), *(told[pod.uid] for pod in members)], members),
        )
        for key, members in members_waiting(pods, schedulers).items()
    ]
    rows.sort(key=lambda row: (row.since, row.key))
    return NamespaceView(rows, pods, tuple(groups), schedulers, client.server_clock().now())


def _grouped(shown: "PodObject", pod: "Pod", groups: "Collection[GroupKey]") -> "Pod":
    """The pod, as a member of the group made for its workload if it names no group itself."""
    from enbloc.model.groups import GroupKey  # noqa: PLC0415
    from enbloc.wire.auto_groups import auto_group  # noqa: PLC0415
    from enbloc.wire.objects import controller_of  # noqa: PLC0415

    if pod.group is not None:
        return pod
    found = auto_group(shown.metadata.labels or {}, controller_of(shown.metadata.owner_references))
    made = (found.wave, found.name) if found is not None else ()
    keys = (GroupKey(pod.key.namespace, name) for name in made if name)
    return replace(pod, group=next((key for key in keys if key in groups), None))


def _as(raw: msgspec.Raw, resource: "Resource", shape: type[T]) -> T:
    """Decode an object as this type."""
    from enbloc.client.errors import readable  # noqa: PLC0415  # not for `--help`

    decode = msgspec.json.Decoder(shape).decode
    return readable(decode, raw, "list", resource.label())


def _why(told: Sequence[tuple[str, str] | None], pods: "Sequence[Pod]") -> tuple[str, str]:
    """The first reason and message reported, or why there is none."""
    for each in told:
        if each is not None:
            return each
    gates = sorted({gate for pod in pods for gate in pod.gates})
    if gates:
        return _PENDING, f"scheduling gates keep it from being tried: {', '.join(gates)}"
    return _PENDING, "the scheduler has not reported anything yet"
