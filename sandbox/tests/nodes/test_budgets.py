# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets say what they allow, and evictions live by it."""

from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import TooManyRequests
from enbloc.client.paths import PODS
from enbloc_sandbox.nodes.budgets import BUDGETS, budget_status
from enbloc_sandbox.nodes.objects import Metadata, Object, timestamp
from enbloc_sandbox.nodes.shapes import Shape
from sandbox.tests.nodes.conftest import Yard

NODE = Shape("n1", 64_000, 64 * 2**30)
LABELS = {"app": "train"}


def budget(status: dict[str, Any] | None = None, **spec: Any) -> Object:
    spec = {"selector": {"matchLabels": LABELS}, **spec}
    return Object(Metadata("B", "b", "ns", generation=2), spec, status or {})


def pod(name: str, *, ready: bool = True, namespace: str = "ns", **more: Any) -> Object:
    conditions = [{"type": "Ready", "status": str(ready)}]
    meta = Metadata(name, name, namespace, labels=LABELS, **more)
    return Object(meta, {}, {"phase": "Running", "conditions": conditions})


def counts(found: Object, *pods: Object) -> tuple[int, int, int]:
    status = budget_status(found, pods)
    return status["currentHealthy"], status["desiredHealthy"], status["disruptionsAllowed"]


def test_what_is_above_the_minimum_may_go() -> None:
    pods = [pod("a"), pod("b"), pod("c"), pod("d", ready=False), pod("e", namespace="other")]
    status = budget_status(budget(minAvailable=2), pods)

    assert counts(budget(minAvailable=2), *pods) == (3, 2, 1)
    assert (status["expectedPods"], status["observedGeneration"]) == (4, 2)
    assert status["conditions"][0]["reason"] == "SufficientPods"


def test_pods_on_their_way_out_are_not_healthy() -> None:
    leaving = pod("a", deletion_timestamp="2026-01-01T00:00:00Z")
    spent = {"disruptedPods": {"a": timestamp(), "b": timestamp(), "x": timestamp()}}
    found = budget(spent, minAvailable=1)

    assert counts(found, leaving, pod("b"), pod("c")) == (1, 1, 0)
    assert set(budget_status(found, [leaving, pod("b"), pod("c")])["disruptedPods"]) == {"b"}


def test_an_eviction_that_never_came_is_forgotten() -> None:
    found = budget({"disruptedPods": {"a": "2026-01-01T00:00:00Z"}}, minAvailable=0)

    assert counts(found, pod("a")) == (1, 0, 1)


@pytest.mark.parametrize("spec", [{"minAvailable": "50%"}, {"maxUnavailable": 1}])
def test_a_budget_that_needs_a_scale_allows_nothing_and_says_so(spec: dict[str, Any]) -> None:
    status = budget_status(budget(**spec), [pod("a"), pod("b")])

    assert status["disruptionsAllowed"] == 0
    assert status["conditions"][0]["reason"] == "SyncFailed"


async def test_evictions_go_on_as_replacements_become_ready(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    spec = {"minAvailable": 1, "selector": {"matchLabels": LABELS}}
    body = {"apiVersion": "policy/v1", "kind": BUDGETS.kind, "metadata": {"name": "b"}}
    await yard.client.create(BUDGETS, {**body, "spec": spec}, "default")
    await member(yard, "a")
    await member(yard, "b")
    await allowed(yard, 1)

    await evict(yard, "a")
    await yard.gone(PODS, "a")
    await allowed(yard, 0)
    with pytest.raises(TooManyRequests, match="disruption budget"):
        await evict(yard, "b")

    await member(yard, "c")
    found = await allowed(yard, 1)
    assert not found["status"].get("disruptedPods")
    await evict(yard, "b")
    await yard.gone(PODS, "b")


async def member(yard: Yard, name: str) -> None:
    await yard.pod(name, "n1")
    labels = {"metadata": {"labels": LABELS}}
    await yard.client.patch(PODS, name, labels, "default", kind=PatchType.MERGE)
    await yard.phase(name, "Running")


async def allowed(yard: Yard, number: int) -> dict[str, Any]:
    return await yard.until(
        BUDGETS, "b", lambda found: found.get("status", {}).get("disruptionsAllowed") == number
    )


async def evict(yard: Yard, name: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await yard.client.request(
        "create", PODS, name, "default", subresource="eviction", body=body, tries=1
    )
