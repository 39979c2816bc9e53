# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodDisruptionBudgets as the API server sends them, and what is made of what is too much."""

from typing import Any

import msgspec
import pytest

from enbloc.model.budgets import Budget, Budgets
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.wire.budgets import BudgetObject, budget


def read(spec: dict[str, Any] | None, **status: Any) -> Budget:
    obj = {"metadata": {"name": "b", "namespace": "ns"}, "spec": spec, "status": status}
    return budget(msgspec.json.decode(msgspec.json.encode(obj), type=BudgetObject))


def pod(namespace: str = "ns", name: str = "p", **labels: str) -> Pod:
    return Pod(PodKey(namespace, name), PodUID(name), PodSpec(), labels=tuple(labels.items()))


def covers(budget: Budget, pod: Pod) -> bool:
    return bool(Budgets((budget,)).covering(pod))


def selecting(**labels: str) -> dict[str, Any]:
    return {"selector": {"matchLabels": labels}}


def requiring(requirements: int, values: int) -> dict[str, Any]:
    """As many requirements that each `app=x` meets, with as many values each."""
    some = {"key": "app", "operator": "In", "values": ["x", *map(str, range(1, values))]}
    return {"selector": {"matchExpressions": [some] * requirements}}


def test_a_budget_covers_the_pods_of_its_namespace_that_it_selects() -> None:
    found = read(selecting(app="x"), disruptionsAllowed=2)
    assert (found.allowed, found.problem) == (2, "")
    assert covers(found, pod(app="x"))
    assert not covers(found, pod(app="y"))
    assert not covers(found, pod("other", app="x"))


def test_a_pod_whose_eviction_is_counted_already_is_not_covered() -> None:
    found = read(selecting(app="x"), disruptedPods={"p": "2026-01-01T00:00:00Z"})
    assert not covers(found, pod(app="x"))
    assert covers(found, pod(name="q", app="x"))


@pytest.mark.parametrize("spec", [None, {}, {"selector": None}, {"selector": {}}])
def test_a_budget_without_requirements_covers_no_pod(spec: dict[str, Any] | None) -> None:
    assert not covers(read(spec), pod(app="x"))


@pytest.mark.parametrize(("requirements", "values"), [(256, 16), (1, 4096)])
def test_a_selector_as_large_as_can_be_is_read(requirements: int, values: int) -> None:
    found = read(requiring(requirements, values), disruptionsAllowed=1)
    assert (found.allowed, found.problem) == (1, "")
    assert covers(found, pod(app="x"))
    assert not covers(found, pod(app="y"))


@pytest.mark.parametrize(("requirements", "values"), [(257, 1), (1, 4097)])
def test_a_larger_one_allows_nothing_in_its_namespace(requirements: int, values: int) -> None:
    found = read(requiring(requirements, values), disruptionsAllowed=1)
    assert found.problem == (
        f"spec.selector: {requirements} requirements with {requirements * values} values; use at "
        "most 256 with 4096"
    )
    assert found.allowed == 0
    assert found.selector is not None
    assert not found.selector.requirements, "what is too much is not kept"
    assert covers(found, pod(app="y"))
    assert not covers(found, pod("other", app="x"))


def test_an_operator_that_is_unknown_allows_nothing_in_its_namespace() -> None:
    expression = {"key": "app", "operator": "Like", "values": ["x"]}
    found = read({"selector": {"matchExpressions": [expression]}}, disruptionsAllowed=1)
    assert "Like" in found.problem
    assert found.allowed == 0
    assert covers(found, pod(app="y"))


def test_less_than_none_allowed_is_none() -> None:
    assert read(selecting(app="x"), disruptionsAllowed=-3).allowed == 0
