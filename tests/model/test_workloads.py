# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which pods the Services and controllers of a namespace select together."""

import pytest

from enbloc.model.pods import Owner, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.workloads import SPREADING_KINDS, WorkloadKey, Workloads, equals


def pod(namespace: str = "n", owner: Owner | None = None, **labels: str) -> Pod:
    return Pod(
        PodKey(namespace, "p"),
        PodUID("u"),
        PodSpec(),
        owner=owner,
        labels=tuple(sorted(labels.items())),
    )


def service(name: str, namespace: str = "n") -> WorkloadKey:
    return WorkloadKey("Service", namespace, name)


def requirement(key: str, value: str) -> Requirement:
    return Requirement(key, Operator.IN, (value,))


def test_a_pod_that_nothing_selects_has_no_selector() -> None:
    workloads = Workloads()
    workloads.put(service("other"), equals({"app": "db"}))
    workloads.put(service("elsewhere", "m"), equals({"app": "web"}))
    workloads.put(service("everything"), equals({}))

    assert workloads.selector_of(pod(app="web")) is None


def test_the_services_that_select_a_pod_are_joined() -> None:
    workloads = Workloads()
    workloads.put(service("web"), equals({"tier": "front", "app": "web"}))
    workloads.put(service("all"), equals({"app": "web"}))
    workloads.put(service("db"), equals({"app": "db"}))

    found = workloads.selector_of(pod(app="web", tier="front", version="2"))

    assert found == Selector((requirement("app", "web"), requirement("tier", "front")))


@pytest.mark.parametrize("kind", SPREADING_KINDS)
def test_the_owner_s_selector_is_joined_with_the_services(kind: str) -> None:
    workloads = Workloads()
    workloads.put(service("web"), equals({"app": "web"}))
    workloads.put(WorkloadKey(kind, "n", "r"), equals({"app": "web", "hash": "1"}))
    workloads.put(WorkloadKey(kind, "m", "r"), equals({"hash": "2"}))

    found = workloads.selector_of(pod(owner=Owner(kind, "r", "u"), app="web"))

    assert found == Selector((requirement("app", "web"), requirement("hash", "1")))


def test_an_owner_s_expressions_are_kept() -> None:
    workloads = Workloads()
    old = Requirement("old", Operator.DOES_NOT_EXIST)
    workloads.put(WorkloadKey("StatefulSet", "n", "s"), Selector((old,)))

    assert workloads.selector_of(pod(owner=Owner("StatefulSet", "s", "u"))) == Selector((old,))


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        pytest.param("ReplicationController", ("2",), id="the controller's value replaces it"),
        pytest.param("ReplicaSet", ("1", "2"), id="both count, and no pod has both"),
    ],
)
def test_an_owner_that_contradicts_a_service(kind: str, wanted: tuple[str, ...]) -> None:
    workloads = Workloads()
    workloads.put(service("web"), equals({"app": "1"}))
    workloads.put(WorkloadKey(kind, "n", "r"), equals({"app": "2"}))

    found = workloads.selector_of(pod(owner=Owner(kind, "r", "u"), app="1"))

    assert found == Selector(tuple(requirement("app", value) for value in wanted))


def test_an_owner_of_another_kind_or_unknown_adds_nothing() -> None:
    workloads = Workloads()
    workloads.put(WorkloadKey("Job", "n", "j"), equals({"app": "web"}))

    for owner in (Owner("Job", "j", "u"), Owner("ReplicaSet", "gone", "u")):
        assert workloads.selector_of(pod(owner=owner, app="web")) is None


@pytest.mark.parametrize("kind", ["Service", "ReplicaSet"])
def test_only_a_change_is_a_change(kind: str) -> None:
    workloads, key = Workloads(), WorkloadKey(kind, "n", "x")

    assert not workloads.put(key, None)
    assert not workloads.drop(key)
    assert workloads.version == 0
    assert workloads.put(key, equals({"a": "1"}))
    assert not workloads.put(key, equals({"a": "1"}))
    assert workloads.put(key, equals({"a": "2"}))
    assert workloads.version == 2
    assert workloads.put(key, None)
    assert not workloads.drop(key)
    assert workloads.version == 3
    assert workloads.selector_of(pod(owner=Owner(kind, "x", "u"), a="2")) is None


def test_a_service_that_goes_leaves_the_others() -> None:
    workloads = Workloads()
    workloads.put(service("a"), equals({"app": "web"}))
    workloads.put(service("b"), equals({"tier": "front"}))

    assert workloads.drop(service("a"))

    found = workloads.selector_of(pod(app="web", tier="front"))
    assert found == Selector((requirement("tier", "front"),))
