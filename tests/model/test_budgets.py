# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets are looked up exactly, and in a bounded time, whatever their selectors ask."""

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from enbloc.model.budgets import Allowance, Budget, Budgets, BudgetTable
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector


def budget(
    name: str, *requirements: Requirement, allowed: int = 1, namespace: str = "ns"
) -> Budget:
    return Budget(f"{namespace}/{name}", namespace, Selector(requirements), allowed)


def pod(name: str, namespace: str = "ns", **labels: str) -> Pod:
    return Pod(PodKey(namespace, name), PodUID(name), PodSpec(), labels=tuple(labels.items()))


def app(value: str) -> Requirement:
    return Requirement("app", Operator.IN, (value,))


def names(budgets: Iterable[Budget]) -> Sequence[str]:
    return sorted(each.key for each in budgets)


def allows_nothing(budgets: Budgets, pod: Pod) -> bool:
    return Allowance(budgets).violates((pod,))


def any_budget(dice: Random) -> Budget:
    requirements = [
        dice.choice(
            (
                Requirement(key, Operator.IN, tuple(dice.sample("abcdef", dice.randint(1, 4)))),
                Requirement(key, Operator.NOT_IN, tuple(dice.sample("abc", 2))),
                Requirement(key, Operator.EXISTS),
                Requirement(key, Operator.DOES_NOT_EXIST),
            )
        )
        for key in dice.sample(("app", "tier"), dice.randint(0, 2))
    ]
    made = budget(str(dice.randint(0, 5)), *requirements, namespace=dice.choice(("ns", "other")))
    return made._replace(
        problem=dice.choice(("", "", "", "", "bad")),
        disrupted=frozenset(dice.choice(((), ("p0",)))),
    )


def test_a_table_that_changes_says_what_a_list_of_its_budgets_says() -> None:
    for number in range(100):
        dice, table, there = Random(f"budgets {number}"), BudgetTable(), dict[str, Budget]()
        for _ in range(30):
            each = any_budget(dice)
            if dice.random() < 0.3:
                table.drop(each.key)
                there.pop(each.key, None)
            else:
                table.put(each)
                there[each.key] = each
            labels = {key: dice.choice("abcdef") for key in ("app", "tier") if dice.random() < 0.7}
            one = pod(dice.choice(("p0", "p1")), dice.choice(("ns", "other")), **labels)
            wanted = [
                each
                for each in there.values()
                if each.selects(one.key.namespace, one.labels)
                and one.key.name not in each.disrupted
            ]
            assert names(Budgets(table).covering(one)) == names(wanted), number
            assert bool(table) >= bool(wanted)
            assert Budgets(table).refused([one]) == Budgets(there.values()).refused([one])
            assert names(table) == names(there.values())
        for key in there:
            table.drop(key)
        assert not table
        assert not list(table)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a requirement is held against a label."""
    seen, matches = Counter[str](), Requirement.matches

    def counted(self: Requirement, value: str | None) -> bool:
        seen["looks"] += 1
        return matches(self, value)

    monkeypatch.setattr(Requirement, "matches", counted)
    return seen


def large(name: str, namespace: str = "ns") -> Budget:
    """As large as a selector may be, and of all pods."""
    absent = [Requirement(f"{name}-{n}", Operator.DOES_NOT_EXIST) for n in range(256)]
    return budget(name, *absent, allowed=10_000, namespace=namespace)


def test_selectors_that_are_too_much_for_one_pod_allow_nothing(looks: Counter[str]) -> None:
    """Semantics §10.2."""
    budgets = Budgets([*(large(f"b{n}") for n in range(30)), budget("x", app("x"), namespace="on")])
    assert allows_nothing(budgets, pod("p", app="x"))
    assert not looks
    assert not allows_nothing(budgets, pod("p", "on", app="x")), "another namespace does not suffer"


def test_a_search_looks_at_a_bounded_number_of_requirements(looks: Counter[str]) -> None:
    """Semantics §10.2: the pods that come late are under a budget that allows nothing."""
    budgets = Budgets([large("b"), budget("x", app("x"), namespace="on")])
    beyond = [allows_nothing(budgets, pod(f"p{n}", app=str(n))) for n in range(1000)]

    assert not beyond[0], "one selector alone is never too much"
    assert beyond == sorted(beyond)
    assert beyond[-1]
    assert looks["looks"] <= 100_000
    assert budgets.steps >= looks["looks"] // 10, "what was looked at is charged"
    assert not allows_nothing(budgets, pod("p", "on", app="x")), "another namespace does not suffer"


def test_a_budget_of_each_deployment_is_found_by_its_label(looks: Counter[str]) -> None:
    budgets = Budgets(budget(str(n), app(str(n)), allowed=n % 2) for n in range(2000))
    for n in range(2000):
        one = pod("p", app=str(n))
        assert [each.key for each in budgets.covering(one)] == [f"ns/{n}"]
        assert allows_nothing(budgets, one) == (n % 2 == 0)
    assert looks["looks"] == 2000


def test_pods_under_more_than_eight_budgets_are_under_one_that_allows_nothing() -> None:
    """Semantics §10.2."""
    budgets = Budgets(budget(str(n), app(str(n)), allowed=5) for n in range(9))
    pods = tuple(pod(f"p{n}", app=str(n)) for n in range(9))
    assert not Allowance(budgets).violates(pods[:8])
    assert Allowance(budgets).violates(pods)

    several = [budget(str(n), app("x"), allowed=5) for n in range(9)]
    assert not allows_nothing(Budgets(several[:8]), pod("p", app="x"))
    assert allows_nothing(Budgets(several), pod("p", app="x"))
    assert len(Budgets(several).covering(pod("p", app="x"))) == 1, "the others are not counted"


def test_pods_that_go_together_use_a_disruption_each() -> None:
    budgets = Budgets([budget("x", app("x"), allowed=3)])
    pods = tuple(pod(f"p{n}", app="x") for n in range(2))
    allowance = Allowance(budgets)
    assert not allowance.violates(pods)
    assert allowance.violates(pods)
