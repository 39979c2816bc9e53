# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: kube-scheduler's verdicts and words, for one pod and for a gang."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enbloc.framework.facts import Floor, GroupFacts
from enbloc.framework.hints import Action, Happening, Hint, Resource
from enbloc.framework.reads import Reads
from enbloc.framework.status import Code, Status
from enbloc.ledgers import Ledgers, ledgers_of, own_ledgers
from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import ContainerResource, Pod, PodSpec
from enbloc.model.resources import ResourceSpace
from enbloc.plugins.dynamic_resources.filter import DeviceFilter
from enbloc.plugins.dynamic_resources.plugin import DynamicResources
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from tests.devices.objects import (
    DRIVER,
    allocated,
    ask,
    claim,
    device,
    device_class,
    every,
    exactly,
    first_of,
    pod,
    slice_of,
)
from tests.world.tables import snapshot

PLUGIN = DynamicResources()
MODEL = f'device.attributes["{DRIVER}"].model == "a100"'


def world(*facts: Any, offers: tuple[tuple[str, int], ...] = ()) -> Nodes:
    """Nodes a and b with these objects; node a also offers these resources."""
    table = Nodes(ResourceSpace(), Ledgers())
    for name, more in (("a", offers), ("b", ())):
        allocatable = (("cpu", 64000), *more, ("pods", 110))
        table.put(Node(name, labels=(("zone", name),), allocatable=allocatable))
    for fact in facts:
        own_ledgers(table).put(fact)
    return table


def refusal(table: Nodes, of: Pod) -> str:
    """What PreFilter says; "" = it asks the nodes."""
    answer = PLUGIN.pre_filter(of, snapshot(table))
    if isinstance(answer, Status):
        assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return answer.message
    return ""


def evaluator(table: Nodes, of: Pod) -> DeviceFilter:
    answer = PLUGIN.pre_filter(of, snapshot(table))
    assert isinstance(answer, DeviceFilter), answer
    return answer


def feasible(table: Nodes, of: Pod) -> list[str]:
    mask = evaluator(table, of).filter(of, table)
    return [name for name, fits in zip(table.names, mask, strict=True) if fits]


def reasons(table: Nodes, of: Pod) -> Counter[str]:
    asked = evaluator(table, of)
    return asked.explain(of, table, ~asked.filter(of, table))


# ── the pod as a whole ───────────────────────────────────────────────────────────────────────


def test_a_pod_without_claims_is_no_business_of_devices() -> None:
    assert PLUGIN.pre_filter(pod("p"), snapshot(world())) is None


@pytest.mark.parametrize(
    ("facts", "member", "message"),
    [
        pytest.param(
            (), pod("p", ""), 'pod "default/p": ResourceClaim not created yet', id="not-made-yet"
        ),
        pytest.param(
            (),
            pod("p", *["c"] * 129),
            "spec.resourceClaims: 129 claims; use at most 128",
            id="more-claims-than-anybody-needs",
        ),
        pytest.param((), pod("p", "c"), 'could not find ResourceClaim "default/c"', id="missing"),
        pytest.param(
            (
                claim(
                    "c",
                    exactly(),
                    owner="p",
                    metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"},
                ),
            ),
            pod("p", "c"),
            'resourceclaim "c" is being deleted',
            id="being-deleted",
        ),
        pytest.param(
            (claim("c", exactly(), owner="other"),),
            pod("p", "c"),
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
            id="of-another-pod",
        ),
        pytest.param(
            (claim("c", exactly(), owner="p"),),
            pod("p", "c"),
            "request gpus: device class gpu does not exist",
            id="no-class",
        ),
        pytest.param(
            (claim("c", first_of("r", ask("one")), owner="p"),),
            pod("p", "c"),
            "request r/one: device class gpu does not exist",
            id="no-class-of-an-alternative",
        ),
        pytest.param(
            (device_class(), claim("c", {"name": "r"}, owner="p")),
            pod("p", "c"),
            "resource claim default/c, request r: unknown request type",
            id="a-request-of-another-kind",
        ),
        pytest.param(
            (device_class(), claim("c", exactly("r", 20), exactly("s", 20), owner="p")),
            pod("p", "c"),
            "claim default/c: number of requested devices 40 exceeds the claim limit of 32",
            id="more-devices-than-a-claim-may-have",
        ),
        pytest.param(
            (device_class("gpu", "device.nonsense"), claim("c", exactly(), owner="p")),
            pod("p", "c"),
            "class gpu: selector #0: CEL compile error: ",
            id="a-class-whose-selector-does-not-compile",
        ),
        pytest.param(
            (
                device_class(),
                claim("c", exactly(), owner="p", constraints=({"requests": ["gpus"]},)),
            ),
            pod("p", "c"),
            "claim default/c, constraint #0: empty constraint (unsupported constraint type?)",
            id="a-constraint-of-another-kind",
        ),
    ],
)
def test_a_pod_that_no_node_can_serve_is_refused_in_the_words_of_kube_scheduler(
    facts: tuple[Any, ...], member: Pod, message: str
) -> None:
    assert refusal(world(*facts), member).startswith(message)


def test_a_claim_that_the_pod_does_not_need_is_passed_over() -> None:
    table = world()
    assert feasible(table, pod("p", None)) == ["a", "b"]


# ── nodes ────────────────────────────────────────────────────────────────────────────────────


def test_nodes_with_enough_devices_of_the_class_are_feasible() -> None:
    table = world(
        device_class("gpu", MODEL),
        slice_of("a", device("0", attributes={"model": "a100"})),
        slice_of("b", device("0", attributes={"model": "t4"})),
        claim("c", exactly(), owner="p"),
    )

    assert feasible(table, pod("p", "c")) == ["a"]
    assert reasons(table, pod("p", "c")) == {"cannot allocate all claims": 1}


def test_a_selector_that_has_no_answer_for_a_device_is_named() -> None:
    table = world(
        device_class("gpu", MODEL),
        slice_of("a", device("0", attributes={"model": "a100"})),
        slice_of("b", device("0", attributes={"brand": "x"})),
        claim("c", exactly(), owner="p"),
    )

    assert feasible(table, pod("p", "c")) == ["a"]
    assert reasons(table, pod("p", "c")) == {
        "class gpu: selector #0: CEL runtime error: no such key: model": 1
    }


def test_a_selector_without_an_answer_is_named_where_the_search_came_by() -> None:
    """kube-scheduler stops at the first request that cannot be served, and asks no further one."""
    table = world(
        device_class(),
        device_class("model", MODEL),
        slice_of("a", device("0", attributes={"brand": "x"})),
        slice_of("b", *(device(f"{at}", attributes={"brand": "x"}) for at in range(3))),
        claim("c", exactly("first", 2), exactly("second", 1, "model"), owner="p"),
    )

    assert feasible(table, pod("p", "c")) == []
    assert reasons(table, pod("p", "c")) == {
        "cannot allocate all claims": 1,
        "class model: selector #0: CEL runtime error: no such key: model": 1,
    }


def test_a_selector_without_an_answer_for_devices_in_use_is_not_named() -> None:
    """kube-scheduler asks no selector of a device that is in use, or that it has just taken."""
    brand = {"brand": "x"}
    table = world(
        device_class(),
        device_class("model", MODEL),
        slice_of("a", *(device(f"{at}", attributes=brand) for at in range(2))),
        slice_of("b", *(device(f"{at}", attributes=brand) for at in range(3))),
        claim("c", exactly("first", 2), exactly("second", 1, "model"), owner="p"),
    )

    assert feasible(table, pod("p", "c")) == []
    assert reasons(table, pod("p", "c")) == {
        "cannot allocate all claims": 1,
        "class model: selector #0: CEL runtime error: no such key: model": 1,
    }


def test_a_claim_that_has_devices_pins_the_pod_to_where_they_are() -> None:
    status = allocated("0", pool="b")
    status["allocation"]["nodeSelector"] = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
        ]
    }
    table = world(device_class(), slice_of("b", device("0")), claim("c", exactly(), status=status))
    member = pod("p", "c", shared=True)

    assert feasible(table, member) == ["b"]
    assert reasons(table, member) == {"resourceclaim not available on the node": 1}


def test_devices_that_will_not_become_ready_are_not_available() -> None:
    status = allocated("0", pool="a")
    result = status["allocation"]["devices"]["results"][0]
    result |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    state = {"driver": DRIVER, "pool": "a", "device": "0"}
    status["devices"] = [{**state, "conditions": [{"type": "Broken", "status": "True"}]}]
    table = world(device_class(), claim("c", exactly(), owner="p", status=status))

    assert feasible(table, pod("p", "c")) == []
    assert reasons(table, pod("p", "c")) == {"resourceclaim not available on the node": 2}


def test_all_devices_cannot_be_had_of_a_pool_that_is_being_updated() -> None:
    table = world(
        device_class(),
        slice_of("a", device("0"), count=2),
        slice_of("b", device("0")),
        claim("c", every(), owner="p"),
    )

    assert feasible(table, pod("p", "c")) == ["b"]
    assert reasons(table, pod("p", "c")) == {
        f"claim default/c, request gpus: asks for all devices, but resource pool {DRIVER}/a is "
        "currently being updated": 1
    }


def test_two_devices_of_one_name_make_a_pool_invalid() -> None:
    table = world(
        device_class(),
        slice_of("a", device("0"), count=2),
        slice_of("a", device("0"), count=2, name="again"),
        claim("c", exactly(), owner="p"),
    )

    assert feasible(table, pod("p", "c")) == []
    assert reasons(table, pod("p", "c")) == {
        "invalid resource pools were encountered": 1,
        "cannot allocate all claims": 1,
    }
    assert ledgers_of(table).devices.problems() == {f"{DRIVER}/a": "duplicate device name 0"}


def test_only_the_row_of_a_placement_is_asked_again_where_devices_are_of_nodes() -> None:
    table = world(
        device_class(),
        slice_of("a", device("0")),
        slice_of("b", device("0")),
        *(claim(f"c{at}", exactly(), owner=f"p{at}") for at in range(3)),
    )
    members = [pod(f"p{at}", f"c{at}") for at in range(3)]
    asked = evaluator(table, members[0])
    trial = table.snapshot().fork()
    assert asked.reads is Reads.NODE

    trial.add(0, members[0])

    assert asked.filter(members[0], trial.take(np.array([0]))).tolist() == [False]
    assert asked.filter(members[0], trial).tolist() == [False, True]
    assert ledgers_of(table).alike(members[1]) == ledgers_of(table).alike(members[2])


def test_devices_of_a_network_are_asked_of_every_node_again() -> None:
    table = world(
        device_class(),
        slice_of(None, device("0"), pool="net", allNodes=True),
        *(claim(f"c{at}", exactly(), owner=f"p{at}") for at in range(2)),
    )
    members = [pod(f"p{at}", f"c{at}") for at in range(2)]
    asked = evaluator(table, members[0])
    trial = table.snapshot().fork()
    assert asked.reads is Reads.CLUSTER

    trial.add(0, members[0])

    assert asked.filter(members[0], trial).tolist() == [False, False]
    (pool,) = PLUGIN.pools(members, table, ever=False)
    assert (pool.free, pool.amounts.tolist(), pool.rows.tolist()) == (1, [1, 1], [True, True])
    assert f"{pool.unit} {pool.name}" == f"devices of pool {DRIVER}/net"


def test_no_node_has_more_of_a_class_than_its_devices_suffice_for() -> None:
    taken = claim("old", exactly(), status=allocated("0", pool="a"))
    table = world(
        device_class(),
        slice_of("a", *[device(str(at)) for at in range(5)]),
        claim("c", exactly("gpus", 2), owner="p"),
        taken,
    )
    asked = evaluator(table, pod("p", "c"))

    assert asked.most(pod("p", "c"), table, ever=False).tolist() == [2, 0]
    assert asked.most(pod("p", "c"), table, ever=True).tolist() == [2, 0]


def test_nodes_with_the_better_alternative_score_higher() -> None:
    table = world(
        device_class(),
        slice_of("a", device("0")),
        slice_of("b", device("0"), device("1")),
        claim("c", first_of("r", ask("two", 2), ask("one")), owner="p"),
    )
    member = pod("p", "c")
    scorer = PLUGIN.pre_score(member, snapshot(table))
    assert scorer is not None

    assert scorer.score(member, table).tolist() == [7, 8]
    assert PLUGIN.normalize(scorer.score(member, table)).tolist() == [87, 100]


# ── extended resources ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param((), ["a"], id="only-the-node-that-offers-it"),
        pytest.param(
            (device_class("gpu", extendedResourceName="example.com/gpu"),),
            ["a"],
            id="a-class-without-devices",
        ),
        pytest.param(
            (
                device_class("gpu", extendedResourceName="example.com/gpu"),
                slice_of("b", device("0"), device("1")),
            ),
            ["a", "b"],
            id="devices-where-the-node-does-not-offer-it",
        ),
    ],
)
def test_devices_serve_an_extended_resource_where_nodes_do_not(
    facts: tuple[Any, ...], expected: list[str]
) -> None:
    table = world(*facts, offers=(("example.com/gpu", 4),))
    resource = "example.com/gpu"
    member = pod(
        "p",
        spec=PodSpec(
            requests=((resource, 2), ("pods", 1)),
            extended=(ContainerResource(0, "main", resource, 0, 2),),
        ),
    )
    mask = NodeResourcesFit().filter(member, table)
    asked = PLUGIN.pre_filter(member, snapshot(table))
    if isinstance(asked, DeviceFilter):
        mask &= asked.filter(member, table)

    assert [name for name, fits in zip(table.names, mask, strict=True) if fits] == expected


def test_the_claim_of_an_attempt_that_failed_has_to_go_first() -> None:
    owner = {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}
    table = world(
        device_class("gpu", extendedResourceName="example.com/gpu"),
        slice_of("a", device("0")),
        claim("left", exactly(), owner="p", metadata=owner),
    )
    wants = (ContainerResource(0, "main", "example.com/gpu", 0, 1),)

    assert reasons(table, pod("p", spec=PodSpec(extended=wants))) == {
        "cannot schedule extended resource claim": 2
    }


# ── waiting ──────────────────────────────────────────────────────────────────────────────────


def facts_of(*members: Pod, minimum: int = 1) -> GroupFacts:
    key = GroupKey("default", "g")
    return GroupFacts(key, None, False, members, Floor("", minimum, len(members), 0, 0))


def test_a_group_waits_until_enough_members_have_their_claims() -> None:
    ready, waiting = pod("a", "c"), pod("b", "")

    assert PLUGIN.pre_enqueue(None, facts_of(ready, waiting, minimum=1)).ok
    refused = PLUGIN.pre_enqueue(None, facts_of(ready, waiting, minimum=2))
    assert refused.message == (
        'pod "default/b": ResourceClaim not created yet for entry "claim-0" of its resourceClaims: '
        'check that ResourceClaimTemplate "template-0" exists in namespace "default"'
    )


BEFORE = claim("c", exactly(), owner="p", status=allocated("0", pool="a"))
FREED = claim("c", exactly(), owner="p")


@pytest.mark.parametrize(
    ("event", "member", "expected"),
    [
        pytest.param(
            Happening(Resource.RESOURCE_CLAIM, Action.UPDATE_OTHER, fact=FREED, old_fact=BEFORE),
            pod("q", "d"),
            Hint.QUEUE,
            id="devices-of-any-claim-are-free-again",
        ),
        pytest.param(
            Happening(Resource.RESOURCE_CLAIM, Action.ADD, fact=FREED),
            pod("q", "d"),
            Hint.SKIP,
            id="the-claim-of-somebody-else",
        ),
        pytest.param(
            Happening(Resource.RESOURCE_CLAIM, Action.ADD, fact=FREED),
            pod("p", "c"),
            Hint.QUEUE,
            id="the-claim-that-was-missing",
        ),
        pytest.param(
            Happening(Resource.RESOURCE_CLAIM, Action.UPDATE_OTHER, fact=FREED, old_fact=FREED),
            pod("p", "c"),
            Hint.SKIP,
            id="a-claim-whose-status-is-as-before",
        ),
        pytest.param(
            Happening(Resource.RESOURCE_CLAIM, Action.DELETE, fact=BEFORE),
            pod("q", "d"),
            Hint.QUEUE,
            id="devices-of-a-claim-that-is-gone",
        ),
        pytest.param(
            Happening(Resource.RESOURCE_CLAIM, Action.DELETE, fact=FREED),
            pod("q", "d"),
            Hint.SKIP,
            id="a-claim-that-had-none-is-gone",
        ),
        pytest.param(
            Happening(
                Resource.RESOURCE_CLAIM, Action.DELETE, fact=replace(FREED, extended_for="uid-q")
            ),
            pod("q", "d"),
            Hint.QUEUE,
            id="a-claim-that-was-left-of-an-earlier-attempt-is-gone",
        ),
        pytest.param(
            Happening(Resource.POD, Action.UPDATE_GENERATED_CLAIM, pod=pod("p", "c")),
            pod("p", "c"),
            Hint.QUEUE,
            id="the-names-of-its-claims",
        ),
        pytest.param(
            Happening(Resource.POD, Action.UPDATE_GENERATED_CLAIM, pod=pod("p", "")),
            pod("p", ""),
            Hint.SKIP,
            id="some-of-them",
        ),
        pytest.param(
            Happening(Resource.RESOURCE_SLICE, Action.ADD, fact=slice_of("a", device("0"))),
            pod("p", "c"),
            Hint.QUEUE,
            id="new-devices",
        ),
    ],
)
def test_what_may_help_a_pod_wakes_its_group(event: Happening, member: Pod, expected: Hint) -> None:
    assert PLUGIN.hint(event, facts_of(member)) is expected
