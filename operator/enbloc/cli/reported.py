# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the scheduler reported last: all that can be said to who may see one namespace alone."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from enbloc.cli.present import Access
from enbloc.cli.running import run
from enbloc.cli.tables import say
from enbloc.model.names import Condition

if TYPE_CHECKING:
    from enbloc.client.client import Client

#: What is said where the cluster cannot be listed.
NOTE: Final = (
    "note: this is what the scheduler reported last; order, who is ahead and what would help take "
    "permission to list nodes and the pods of all namespaces"
)
_POD_SCHEDULED: Final = "PodScheduled"


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Decodes camelCase objects; fields that are not declared are skipped."""


class _Condition(_Struct):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class _Metadata(_Struct):
    name: str = ""


class _Status(_Struct):
    phase: str | None = None
    conditions: tuple[_Condition, ...] | None = None


class _Spec(_Struct):
    node_name: str | None = None


class _Object(_Struct):
    """A PodGroup or a pod, as far as its conditions go."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)

    def condition(self, kind: str) -> _Condition | None:
        """The condition of this type; None = there is none."""
        return next((each for each in self.status.conditions or () if each.type == kind), None)


class Reported(NamedTuple):
    """A group, or a pod, that waits, in the words of its status.

    Attributes:
        kind: "PodGroup" or "Pod".
        reason: of the condition.
        message: of the condition.
    """

    kind: str
    namespace: str
    name: str
    reason: str
    message: str


def reported(access: Access, namespace: str | None) -> Sequence[Reported]:
    """What waits in a namespace, groups first.

    Args:
        access: to the cluster.
        namespace: None = that of the kubeconfig's context.

    Raises:
        APIError: not even that may be read.
    """
    return run(_read(access, namespace))


async def _read(access: Access, namespace: str | None) -> Sequence[Reported]:
    from enbloc.client.client import Client  # noqa: PLC0415  # not for `--help`
    from enbloc.client.cluster_access import load  # noqa: PLC0415

    cluster = await load(access.kubeconfig, access.context)
    async with Client(cluster, component=access.command) as client:
        return await _waiting(client, namespace or cluster.namespace)


async def _waiting(client: "Client", namespace: str) -> Sequence[Reported]:
    from enbloc.client.paths import POD_GROUPS, PODS  # noqa: PLC0415

    groups = [each async for each in client.list(POD_GROUPS, namespace, shape=_Object)]
    pods = [each async for each in client.list(PODS, namespace, shape=_Object)]
    unbound = (pod for pod in pods if pod.status.phase == "Pending" and not pod.spec.node_name)
    return [
        *_said("PodGroup", namespace, groups, Condition.SCHEDULED),
        *_said("Pod", namespace, unbound, _POD_SCHEDULED),
    ]


def _said(
    kind: str, namespace: str, objects: Iterable[_Object], condition: str
) -> Iterator[Reported]:
    for each in objects:
        found = each.condition(condition)
        if found is None or found.status != "True":
            reason = found.reason if found is not None and found.reason else "Pending"
            text = found.message if found is not None and found.message else "waiting for its turn"
            yield Reported(kind, namespace, each.metadata.name, reason, text)


def say_note() -> None:
    """Say on stderr that more is known to who may see more."""
    say(NOTE, err=True)
