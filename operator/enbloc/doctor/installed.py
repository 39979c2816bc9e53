# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The installation by its Deployments: its processes, their accounts and Leases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.client.paths import CONFIG_MAPS
from enbloc.doctor.finding import Installation, Process
from enbloc.doctor.schedulers import configurations, configured
from enbloc.doctor.shapes import DEPLOYMENTS, ConfigMap, Deployment
from enbloc.model import names

_NAME_FLAG: Final = "--leader-elect-resource-name="
_NAMESPACE_FLAG: Final = "--leader-elect-resource-namespace="
#: The command that runs scheduler and controller in one process.
_BOTH: Final = "run"


async def installed(client: Client, ours: Installation) -> Installation:
    """The installation, completed from its Deployments, then from the chart's defaults."""
    if ours.planned:
        return ours.expected()
    try:
        query = {"labelSelector": f"{names.PART_OF_KEY}={names.SCHEDULER_NAME}"}
        listed = client.list(DEPLOYMENTS, ours.namespace, query=query, shape=Deployment)
        found = {each.metadata.name: each async for each in listed}
        main = found.get(ours.scheduler)
        if main is None:
            return ours.expected()
        texts = [
            text
            for name in main.config_maps
            for text in (await _data(client, ours.namespace, name)).values()
        ]
    except APIError:
        return ours.expected()
    ours = replace(ours, serves=ours.serves or configured(texts, names.SCHEDULER_NAME)).expected()
    election = _election(texts)
    default = names.KUBE_SCHEDULER_LEASE if _theirs(ours) else names.SCHEDULER_LEASE
    where = names.KUBE_SYSTEM if _theirs(ours) else ours.namespace
    scheduler = Process(
        "scheduler",
        main.pod.account,
        _flag(main.words, _NAMESPACE_FLAG) or election.get("resourceNamespace") or where,
        _flag(main.words, _NAME_FLAG) or election.get("resourceName") or default,
    )
    processes = [scheduler]
    if _BOTH in main.words:
        processes.append(replace(scheduler, role="controller", lease=_beside(scheduler.lease)))
    elif (other := found.get(ours.controller)) is not None:
        lease = _flag(other.words, _NAME_FLAG) or names.CONTROLLER_LEASE
        where = _flag(other.words, _NAMESPACE_FLAG) or ours.namespace
        processes.append(Process("controller", other.pod.account, where, lease))
    return replace(ours, processes=tuple(processes))


async def _data(client: Client, namespace: str, name: str) -> Mapping[str, str]:
    config_map: ConfigMap = await client.get(CONFIG_MAPS, name, namespace, shape=ConfigMap)
    return config_map.data or {}


def _theirs(ours: Installation) -> bool:
    return names.DEFAULT_SCHEDULER in ours.serves


def _election(texts: Sequence[str]) -> Mapping[str, str]:
    """The text fields of `leaderElection`."""
    for document in configurations(texts):
        found: Any = document.get("leaderElection")
        if isinstance(found, Mapping):
            return {key: value for key, value in found.items() if isinstance(value, str)}
    return {}


def _flag(words: Sequence[str], flag: str) -> str:
    """The value of `--flag=value` among the arguments; the last one wins."""
    given = [word.removeprefix(flag) for word in words if word.startswith(flag)]
    return given[-1] if given else ""


def _beside(lease: str) -> str:
    """The Lease that `enbloc run` derives for its controller."""
    release, _, rest = lease.rpartition("-")
    own = rest == "scheduler" and lease != names.KUBE_SCHEDULER_LEASE
    return f"{release}-controller" if own else names.CONTROLLER_LEASE
