# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every rule of the CRD accepts what it should and refuses the rest, on a live API server."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import pytest_asyncio
import yaml

from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.config import Cluster
from enbloc.client.errors import Invalid
from enbloc.client.paths import POD_GROUPS, TOPOLOGIES
from enbloc_sandbox import Sandbox
from tests.controlplane import ControlPlane

ROLES = [{"name": "launcher", "minMember": 1}, {"name": "worker", "minMember": 7}]
SCHEDULED = {
    "type": "Scheduled",
    "status": "True",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-11-21T05:00:00Z",
    "reason": "Scheduled",
    "message": "",
}
WAITING = SCHEDULED | {"status": "False", "reason": "Unschedulable"}
ROLE_SUM = "the minimums of the roles add up to more than minMember"
NAMES = "resource names must be like cpu or example.com/gpu"
FROZEN_CLASS = "priorityClassName is immutable while the group is scheduled"
FROZEN_ROLES = "the parent of a role is immutable while the group is scheduled"
FROZEN_GROUPS = "the parent of a sub-group is immutable while the group is scheduled"
NO_PARENT = "the parent of a role must be the name of a sub-group"
TOO_DEEP = "the parent of a sub-group must be the name of a sub-group without a parent"
TOO_MANY = "minGroupCount must not exceed the number of"
CHILDLESS = "a sub-group must have at least one child"
NO_LEVEL = "topology must have required, preferred, slices or apart"
NOBODY = "minMember of a role must be at least 1 if its parent has a minGroupCount"
SLICES = {
    "subGroups": [{"name": "slices", "minGroupCount": 1}, {"name": "one", "parent": "slices"}],
    "roles": [
        {"name": "launcher"},
        {"name": "worker", "minMember": 7, "parent": "one"},
        {"name": "spare", "parent": "slices"},
    ],
}

NUMBER = count()


@dataclass(frozen=True)
class Case:
    """A spec; perhaps a condition and then a change of the spec; and what the server says."""

    spec: dict[str, Any]
    condition: dict[str, Any] = field(default_factory=dict)
    change: dict[str, Any] = field(default_factory=dict)
    refused: str = ""


CASES = {
    "roles that need the minimum": Case({"minMember": 8, "roles": ROLES}),
    "roles that need more than the minimum": Case(
        {"minMember": 7, "roles": ROLES}, refused=ROLE_SUM
    ),
    "roles that need less than the minimum": Case({"minMember": 9, "roles": ROLES}),
    "one role, and the default minimum": Case({"roles": [{"name": "worker"}]}),
    "two roles, and the default minimum": Case(
        {"roles": [{"name": "a"}, {"name": "b"}]}, refused=ROLE_SUM
    ),
    "a minimum lowered below the roles": Case(
        {"minMember": 8, "roles": ROLES}, change={"minMember": 7}, refused=ROLE_SUM
    ),
    "a tree": Case(SLICES),
    "roles of which some are enough": Case(
        {"minGroupCount": 2, "roles": [{"name": name, "minMember": 4} for name in "abc"]}
    ),
    "a tree of which all children are needed": Case(
        {"subGroups": [{"name": "all"}], "roles": [{"name": "a", "minMember": 2, "parent": "all"}]},
        refused=ROLE_SUM,
    ),
    "a role of a sub-group that is not there": Case(
        {"roles": [{"name": "a", "parent": "none"}]}, refused=NO_PARENT
    ),
    "a sub-group of one that is not there": Case(
        {"minGroupCount": 1, "subGroups": [{"name": "one", "parent": "none"}]}, refused=TOO_DEEP
    ),
    "a sub-group that is its own parent": Case(
        {"minGroupCount": 1, "subGroups": [{"name": "one", "parent": "one"}]}, refused=TOO_DEEP
    ),
    "five levels": Case(
        {
            "subGroups": [*SLICES["subGroups"], {"name": "deep", "parent": "one"}],
            "roles": [{"name": "a", "parent": "deep"}],
        },
        refused=TOO_DEEP,
    ),
    "a sub-group without children": Case(
        {"subGroups": [{"name": "one"}]}, refused="must have at least one child"
    ),
    "more children needed than a sub-group has": Case(
        {
            "subGroups": [{"name": "one", "minGroupCount": 2}],
            "roles": [{"name": "a", "parent": "one"}],
        },
        refused="minGroupCount must not exceed the number of its children",
    ),
    "more children needed than there are": Case(
        {"minGroupCount": 2, "roles": [{"name": "a"}]}, refused=TOO_MANY
    ),
    "no child needed": Case(
        {"minGroupCount": 0, "roles": [{"name": "a"}]}, refused="minGroupCount"
    ),
    "a role that needs nobody, of which the PodGroup can do without some": Case(
        {"minGroupCount": 1, "roles": [{"name": "a", "minMember": 0}, {"name": "b"}]},
        refused=NOBODY,
    ),
    "seventeen sub-groups": Case(
        {
            "minGroupCount": 1,
            "subGroups": [{"name": f"g{index}"} for index in range(17)],
        },
        refused="must have at most 16 items",
    ),
    "another number of sub-groups while it is scheduled": Case(
        {"minGroupCount": 2, "roles": [{"name": name} for name in "abc"]},
        SCHEDULED,
        {"minGroupCount": 1},
    ),
    "a role more and one less in a tree while it is scheduled": Case(
        SLICES, SCHEDULED, {"roles": [*SLICES["roles"][:2], {"name": "late", "parent": "slices"}]}
    ),
    "a sub-group more in a tree while it is scheduled": Case(
        {"minGroupCount": 1, "roles": [{"name": "a"}]},
        SCHEDULED,
        {
            "roles": [{"name": "a"}, {"name": "b", "parent": "late"}],
            "subGroups": [{"name": "late"}],
        },
    ),
    "a first tree while it is scheduled that leaves a role out": Case(
        {"minMember": 8, "roles": ROLES},
        SCHEDULED,
        {
            "minGroupCount": 1,
            "roles": [{"name": "worker", "parent": "x"}],
            "subGroups": [{"name": "x"}],
        },
        FROZEN_ROLES,
    ),
    "a role whose pods are those of a PodGroup": Case(
        {"roles": [{"name": "a", "podGroupName": "train.left"}]}
    ),
    "a role whose pods are those of what is no name": Case(
        {"roles": [{"name": "a", "podGroupName": "Left"}]}, refused="podGroupName"
    ),
    "a role under another parent while it is scheduled": Case(
        SLICES,
        SCHEDULED,
        {"roles": [*SLICES["roles"][:2], {"name": "spare", "parent": "one"}]},
        FROZEN_ROLES,
    ),
    "a sub-group under another parent while it is scheduled": Case(
        SLICES,
        SCHEDULED,
        {"subGroups": [{"name": "slices", "minGroupCount": 1}, {"name": "one"}]},
        FROZEN_GROUPS,
    ),
    "two roles of one name": Case(
        {"minMember": 8, "roles": [ROLES[0], ROLES[0]]}, refused="Duplicate value"
    ),
    "another priority class while it waits": Case(
        {"priorityClassName": "low"}, WAITING, {"priorityClassName": "high"}
    ),
    "another priority class while it is scheduled": Case(
        {"priorityClassName": "low"}, SCHEDULED, {"priorityClassName": "high"}, FROZEN_CLASS
    ),
    "no priority class any more while it is scheduled": Case(
        {"priorityClassName": "low"}, SCHEDULED, {"priorityClassName": None}, FROZEN_CLASS
    ),
    "a first priority class while it is scheduled": Case(
        {}, SCHEDULED, {"priorityClassName": "high"}, FROZEN_CLASS
    ),
    "another role while it waits": Case(
        {"minMember": 8, "roles": ROLES}, WAITING, {"roles": [{"name": "server"}]}
    ),
    "another role while it is scheduled": Case(
        {"minMember": 8, "roles": ROLES}, SCHEDULED, {"roles": [{"name": "server"}]}
    ),
    "a role more while it is scheduled": Case(
        {"minMember": 8, "roles": ROLES},
        SCHEDULED,
        {"minMember": 10, "roles": [*ROLES, {"name": "server", "minMember": 2}]},
    ),
    "no roles any more while it is scheduled": Case(
        {"minMember": 8, "roles": ROLES}, SCHEDULED, {"roles": None}
    ),
    "first roles while it is scheduled": Case({"minMember": 8}, SCHEDULED, {"roles": ROLES}),
    "the same roles in another order and with other minimums while it is scheduled": Case(
        {"minMember": 8, "roles": ROLES},
        SCHEDULED,
        {"roles": [{"name": "worker", "minMember": 3}, {"name": "launcher", "minMember": 0}]},
    ),
    "what may always be changed, while it is scheduled": Case(
        {"minMember": 8},
        SCHEDULED,
        {
            "minMember": 4,
            "minResources": {"cpu": "4"},
            "scheduleTimeoutSeconds": 5,
            "onIncomplete": "Restart",
        },
    ),
    "to be kept when it is incomplete": Case({"onIncomplete": "Keep"}),
    "another choice for when it is incomplete": Case(
        {"onIncomplete": "Evict"}, refused="onIncomplete"
    ),
    "another spelling of it": Case({"onIncomplete": "keep"}, refused="onIncomplete"),
    "quantities": Case({"minResources": {"cpu": "500m", "memory": "1.5Ti", "example.com/x": 8}}),
    "a negative number": Case({"minResources": {"cpu": -1}}, refused="minResources"),
    "a negative quantity": Case({"minResources": {"cpu": "-1"}}, refused="minResources"),
    "what is no quantity": Case({"minResources": {"cpu": "1 Ti"}}, refused="minResources"),
    "every name of a resource that there is": Case(
        {
            "minResources": {
                "cpu": 1,
                "ephemeral-storage": 1,
                "hugepages-2Mi": 1,
                "nvidia.com/mig-1g.5gb": 1,
                "example.com/A_b.C": 1,
                f"{'d' * 253}/{'n' * 63}": 1,
            }
        }
    ),
    **{
        f"a name that no resource has: {what}": Case({"minResources": {name: 1}}, refused=NAMES)
        for what, name in {
            "escape codes": "\x1b[31mred",
            "a line break": "cpu\n",
            "a change of direction": "\u202eupc",
            "a domain in upper case": "Example.com/gpu",
            "two slashes": "a/b/c",
            "no name": "example.com/",
            "a name too long": "n" * 64,
            "a hundred thousand characters": "n" * 10**5,
        }.items()
    },
    "a minimum of none": Case({"minMember": 0}, refused="minMember"),
    "a time limit of a day": Case({"scheduleTimeoutSeconds": 86_400}),
    "a time limit of more than a day": Case({"scheduleTimeoutSeconds": 86_401}, refused="Timeout"),
    "a level of the only Topology": Case({"topology": {"required": "rack"}}),
    "two levels of a Topology": Case(
        {"topology": {"name": "default", "required": "block", "preferred": "rack"}}
    ),
    "a node label": Case({"topology": {"preferred": "topology.kubernetes.io/zone"}}),
    "a Topology without a level": Case({"topology": {"name": "default"}}, refused=NO_LEVEL),
    "a Topology with the levels of roles": Case(
        {"topology": {"name": "default"}, "roles": [{"name": "a", "topology": {"required": "r"}}]}
    ),
    "a Topology with the levels of sub-groups": Case(
        {
            "topology": {"name": "default"},
            "subGroups": [{"name": "g", "topology": {"required": "r"}}],
            "roles": [{"name": "a", "parent": "g"}],
        }
    ),
    "a Topology of another project": Case(
        {"topology": {"name": "kueue.x-k8s.io/default", "required": "example.com/rack"}}
    ),
    "whichever Topology of another project": Case(
        {"topology": {"name": "kueue.x-k8s.io/*", "required": "example.com/rack"}}
    ),
    "whichever Topology of nobody": Case(
        {"topology": {"name": "*", "required": "rack"}}, refused="topology.name"
    ),
    "a Topology in a group in a group": Case(
        {"topology": {"name": "a/b/c", "required": "rack"}}, refused="topology.name"
    ),
    "slices beside the topology of a role": Case(
        {
            "topology": {"slices": [{"size": 2, "required": "rack"}]},
            "roles": [{"name": "a", "topology": {"required": "rack"}}],
        },
        refused="slices and a topology of roles or subGroups cannot be used together",
    ),
    "slices beside the topology of a sub-group": Case(
        {
            "topology": {"slices": [{"size": 2, "required": "rack"}]},
            "subGroups": [{"name": "g", "topology": {"required": "rack"}}],
            "roles": [{"name": "a", "parent": "g"}],
        },
        refused="slices and a topology of roles or subGroups cannot be used together",
    ),
    "slices where some roles are enough": Case(
        {
            "topology": {"slices": [{"size": 2, "required": "rack"}]},
            "minGroupCount": 1,
            "roles": [{"name": "a"}, {"name": "b"}],
        },
        refused="slices and minGroupCount cannot be used together",
    ),
    "slices where some roles of a sub-group are enough": Case(
        {
            "topology": {"slices": [{"size": 2, "required": "rack"}]},
            "subGroups": [{"name": "g", "minGroupCount": 1}],
            "roles": [{"name": "a", "parent": "g"}, {"name": "b", "parent": "g"}],
        },
        refused="slices and minGroupCount cannot be used together",
    ),
    "a topology that says nothing": Case({"topology": {}}, refused=NO_LEVEL),
    "the name of a Topology that none can have": Case(
        {"topology": {"name": "Default", "required": "rack"}}, refused="topology.name"
    ),
    "a level that is no label key": Case(
        {"topology": {"required": "a/b/c"}}, refused="topology.required"
    ),
    "an empty level": Case({"topology": {"preferred": ""}}, refused="topology.preferred"),
    "a label key too long": Case(
        {"topology": {"required": f"{'d' * 254}/{'n' * 63}"}}, refused="topology.required"
    ),
    "another topology while it is scheduled": Case(
        {"topology": {"required": "rack"}},
        SCHEDULED,
        {"topology": {"required": None, "preferred": "rack"}},
    ),
    "a topology that loses its level": Case(
        {"topology": {"name": "default", "required": "rack"}},
        change={"topology": {"required": None}},
        refused=NO_LEVEL,
    ),
}


def levels(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "nodeLabel": label} for name, label in pairs]


#: Levels of a Topology, and what the server says.
LEVELS = {
    "one level": (levels(("rack", "example.com/rack")), ""),
    "eight levels": (levels(*((f"l{n}", f"example.com/l{n}") for n in range(8))), ""),
    "a label without a domain": (levels(("rack", "rack")), ""),
    "no level": ([], "spec.levels"),
    "nine levels": (
        levels(*((f"l{n}", f"example.com/l{n}") for n in range(9))),
        "must have at most 8 items",
    ),
    "two levels of one name": (
        levels(("rack", "a"), ("host", "b"), ("rack", "c")),
        "each level must have a unique name",
    ),
    "two levels of one label": (
        levels(("block", "example.com/rack"), ("rack", "example.com/rack")),
        "each level must have a unique nodeLabel",
    ),
    "a level without a name": ([{"nodeLabel": "rack"}], "spec.levels[0].name"),
    "a level without a label": ([{"name": "rack"}], "spec.levels[0].nodeLabel"),
    "a name in upper case": (levels(("Rack", "rack")), "spec.levels[0].name"),
    "a name with a dot": (levels(("a.b", "rack")), "spec.levels[0].name"),
    "a name too long": (levels(("n" * 64, "rack")), "spec.levels[0].name"),
    "a label that is none": (levels(("rack", "a/b/c")), "spec.levels[0].nodeLabel"),
    "a label with a name too long": (levels(("rack", "n" * 64)), "spec.levels[0].nodeLabel"),
}


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane(controller_manager=False) as running:
        running.kubectl("apply", "-f", "crds/")
        running.established("podgroups.enbloc.dev")
        running.established("topologies.enbloc.dev")
        yield running


@asynccontextmanager
async def target(request: pytest.FixtureRequest) -> AsyncGenerator[Cluster]:
    if request.param == "sandbox":
        async with Sandbox() as sandbox:
            yield Cluster(sandbox.url)
    else:
        yield await load(request.getfixturevalue(request.param).kubeconfig)


@pytest_asyncio.fixture(
    params=["sandbox", pytest.param("controlplane", marks=pytest.mark.controlplane)],
)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    async with target(request) as cluster, Client(cluster, component="tests") as client:
        yield client


async def play(client: Client, case: Case) -> None:
    name = f"case-{next(NUMBER)}"
    document = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": name},
        "spec": case.spec,
    }
    await client.create(POD_GROUPS, document, "default")
    if case.condition:
        await client.patch(
            POD_GROUPS,
            name,
            {"status": {"conditions": [case.condition]}},
            "default",
            kind=PatchType.MERGE,
            subresource="status",
        )
    if case.change:
        change = {"spec": case.change}
        await client.patch(POD_GROUPS, name, change, "default", kind=PatchType.MERGE)


@pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items() if c.refused])
async def test_refused_with_a_reason(client: Client, case: Case) -> None:
    with pytest.raises(Invalid) as refused:
        await play(client, case)

    assert case.refused in str(refused.value)


@pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items() if not c.refused])
async def test_accepted(client: Client, case: Case) -> None:
    await play(client, case)


@pytest.mark.parametrize(("given", "refused"), LEVELS.values(), ids=list(LEVELS))
async def test_levels_of_a_topology(
    client: Client, given: list[dict[str, str]], refused: str
) -> None:
    document = {
        "apiVersion": TOPOLOGIES.api_version,
        "kind": TOPOLOGIES.kind,
        "metadata": {"name": f"case-{next(NUMBER)}"},
        "spec": {"levels": given},
    }
    if not refused:
        created = await client.create(TOPOLOGIES, document)
        assert created["spec"] == document["spec"]
        return

    with pytest.raises(Invalid) as answer:
        await client.create(TOPOLOGIES, document)

    assert refused in str(answer.value)


@pytest.mark.controlplane
def test_a_topology_is_listed_with_its_outermost_and_its_innermost_level(
    controlplane: ControlPlane,
) -> None:
    document = {
        "apiVersion": TOPOLOGIES.api_version,
        "kind": TOPOLOGIES.kind,
        "metadata": {"name": "listed"},
        "spec": {"levels": levels(("zone", "z"), ("block", "b"), ("rack", "r"))},
    }
    controlplane.kubectl("create", "-f", "-", stdin=yaml.safe_dump(document))

    shown = controlplane.kubectl("get", "ebtopo", "listed", "--no-headers").stdout.split()

    assert shown[:3] == ["listed", "zone", "rack"]


async def test_what_is_not_said_has_its_default(client: Client) -> None:
    document = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": "plain"},
        "spec": {"roles": [{"name": "worker"}]},
    }

    created = await client.create(POD_GROUPS, document, "default")

    assert created["spec"] == {
        "minMember": 1,
        "onIncomplete": "Repair",
        "roles": [{"name": "worker", "minMember": 1}],
    }
