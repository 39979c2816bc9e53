# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own Workloads and PodGroups, and a control plane that serves them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from enbloc.client.errors import NotFound
from enbloc.client.paths import NATIVE_POD_GROUPS, POD_GROUPS, Resource
from tests.controlplane import API_SERVER, CONTROLLER_MANAGER, ControlPlane
from tests.e2e.world import World

GROUPS = NATIVE_POD_GROUPS[-1]
WORKLOADS = Resource(GROUPS.group, GROUPS.version, "workloads", "Workload")


def native_control_plane(*, jobs: bool = True) -> ControlPlane:
    """A control plane of 1.36 that serves them, and perhaps makes them for Jobs."""
    wanted = ["GenericWorkload", "DRAWorkloadResourceClaims", "TopologyAwareWorkloadScheduling"]
    wanted += ["GangScheduling", "WorkloadWithJob"] if jobs else []
    gates = f"--feature-gates={','.join(f'{gate}=true' for gate in wanted)}"
    served = f"--runtime-config={GROUPS.api_version}=true"
    return ControlPlane(flags={API_SERVER: [gates, served], CONTROLLER_MANAGER: [gates]})


def workload(name: str, minimum: int) -> dict[str, Any]:
    """A Workload of one template, `workers`."""
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": minimum}}}
    return {
        "apiVersion": WORKLOADS.api_version,
        "kind": WORKLOADS.kind,
        "metadata": {"name": name},
        "spec": {"podGroupTemplates": [template]},
    }


def group(
    name: str,
    minimum: int,
    *,
    of: str = "",
    claims: Sequence[Mapping[str, str]] = (),
    near: str = "",
) -> dict[str, Any]:
    """A PodGroup, perhaps of a Workload's template; a minimum of 0 is the basic policy.

    Args:
        name: its name.
        minimum: of its members.
        of: the Workload.
        claims: for all of its members.
        near: the node label in one domain of which they must be.
    """
    ref = {"workload": {"workloadName": of, "podGroupTemplateName": "workers"}}
    return {
        "apiVersion": GROUPS.api_version,
        "kind": GROUPS.kind,
        "metadata": {"name": name},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": minimum}} if minimum else {"basic": {}},
            **({"podGroupTemplateRef": ref} if of else {}),
            **({"resourceClaims": claims} if claims else {}),
            **({"schedulingConstraints": {"topology": [{"key": near}]}} if near else {}),
        },
    }


def naming(group: str) -> dict[str, Any]:
    """What a pod's spec has that names a PodGroup."""
    return {"schedulingGroup": {"podGroupName": group}}


async def made(world: World, name: str) -> bool:
    """Whether there is a PodGroup of enbloc of this name."""
    with suppress(NotFound):
        await world.client.get(POD_GROUPS, name, world.namespace)
        return True
    return False


async def told(world: World, kind: Resource, name: str, status: str = "True") -> None:
    """Wait until an object is told whether it was scheduled."""

    async def is_told() -> bool:
        shown = (await world.client.get(kind, name, world.namespace)).get("status") or {}
        return any(
            (one["type"], one["status"]) == (f"{kind.kind}InitiallyScheduled", status)
            for one in shown.get("conditions") or ()
        )

    await world.eventually(is_told, lambda: f"{name} is told {status}")
