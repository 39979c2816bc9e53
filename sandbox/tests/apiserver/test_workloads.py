# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads: their defaults, what may not change, what their rows show."""

from typing import Any

import aiohttp
import pytest

from enbloc_sandbox import Sandbox

from .conftest import MERGE, PODS, TABLE, Client, pod

APPS = "/apis/apps/v1/namespaces/default"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
SELECTOR = {"matchLabels": {"app": "x"}}
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": pod("a")["spec"]}


def workload(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "w"}, "spec": {"selector": SELECTOR, "template": TEMPLATE, **spec}}


def job(**spec: Any) -> dict[str, Any]:
    template = {"spec": {**pod("a")["spec"], "restartPolicy": "Never"}}
    return {"metadata": {"name": "j"}, "spec": {"template": template, **spec}}


@pytest.mark.parametrize(
    ("plural", "field", "value"),
    [
        ("deployments", "progressDeadlineSeconds", 600),
        ("deployments", "replicas", 1),
        ("statefulsets", "podManagementPolicy", "OrderedReady"),
        (
            "statefulsets",
            "updateStrategy",
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        ),
        ("daemonsets", "revisionHistoryLimit", 10),
        ("replicasets", "replicas", 1),
    ],
)
async def test_workloads_are_defaulted(api: Client, plural: str, field: str, value: Any) -> None:
    created = await api.create(f"{APPS}/{plural}", workload())
    assert created["spec"][field] == value
    assert created["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"replicas": -1}, "greater than or equal to 0", id="negative replicas"),
        pytest.param({"selector": None}, "spec.selector: Required value", id="no selector"),
        pytest.param(
            {"selector": {"matchLabels": {"app": "y"}}}, "does not match template", id="mismatch"
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}},
            "does not match template",
            id="an expression that does not match",
        ),
        pytest.param({"template": {}}, "spec.template.spec.containers: Required", id="no template"),
    ],
)
async def test_a_wrong_workload_is_invalid(api: Client, spec: Any, message: str) -> None:
    status, body = await api.ask("POST", f"{APPS}/deployments", workload(**spec))
    assert (status, message in body["message"]) == (422, True), body


async def test_the_selector_of_a_workload_is_for_ever(api: Client) -> None:
    await api.create(f"{APPS}/deployments", workload())
    more = {"more": "y"}
    template = {"metadata": {"labels": more}}
    change = {"spec": {"selector": {"matchLabels": more}, "template": template}}
    status, body = await api.ask("PATCH", f"{APPS}/deployments/w", change, MERGE)
    assert (status, "field is immutable" in body["message"]) == (422, True)


async def test_jobs_are_defaulted(api: Client) -> None:
    spec = (await api.create(JOBS, job()))["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)
    assert (spec["completionMode"], spec["suspend"]) == ("NonIndexed", False)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"completionMode": "Indexed", "parallelism": 2}, "spec.completions", id="index"
        ),
        pytest.param({"parallelism": -1}, "greater than or equal to 0", id="negative"),
        pytest.param({"template": {"spec": pod("a")["spec"]}}, "restartPolicy", id="restarts"),
    ],
)
async def test_a_wrong_job_is_invalid(api: Client, spec: Any, message: str) -> None:
    status, body = await api.ask("POST", JOBS, job(**spec))
    assert (status, message in body["message"]) == (422, True), body


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param({"completions": 3}, 422, id="completions of a plain job stay"),
        pytest.param({"completionMode": "Indexed"}, 422, id="the mode stays"),
        pytest.param({"parallelism": 3, "suspend": True}, 200, id="parallelism may change"),
    ],
)
async def test_little_of_a_job_may_change(api: Client, change: Any, status: int) -> None:
    await api.create(JOBS, job())
    assert (await api.ask("PATCH", f"{JOBS}/j", {"spec": change}, MERGE))[0] == status


@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param({"completions": 3}, 422, id="not alone"),
        pytest.param({"completions": 3, "parallelism": 4}, 422, id="not to another number"),
        pytest.param({"completions": 3, "parallelism": 3}, 200, id="with parallelism"),
    ],
)
async def test_completions_of_an_indexed_job_change_with_its_parallelism(
    api: Client, change: Any, status: int
) -> None:
    """An elastic Indexed Job: both end up at one number.

    Source: kube-apiserver v1.36 pkg/apis/batch/validation/validation.go validateCompletions.
    """
    await api.create(JOBS, job(completionMode="Indexed", completions=2, parallelism=2))
    assert (await api.ask("PATCH", f"{JOBS}/j", {"spec": change}, MERGE))[0] == status


async def test_a_job_with_its_own_selector_keeps_it(api: Client) -> None:
    own = job(manualSelector=True, selector=SELECTOR)
    own["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
    created = await api.create(JOBS, own)
    assert created["spec"]["selector"] == SELECTOR


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (5, "5s"),
        (119, "119s"),
        (125, "2m5s"),
        (180, "3m"),
        (11 * 60, "11m"),
        (4 * 3600 + 120, "4h2m"),
        (5 * 3600, "5h"),
        (30 * 3600, "30h"),
        (72 * 3600 + 3600, "3d1h"),
        (5 * 86400, "5d"),
        (100 * 86400, "100d"),
        (3 * 365 * 86400, "3y0d"),
    ],
)
async def test_ages_are_shown_as_kubectl_shows_them(seconds: int, shown: str) -> None:
    now = 1_800_000_000.0
    async with Sandbox(crds=[], clock=lambda: now) as sandbox, aiohttp.ClientSession() as session:
        api = Client(sandbox.url, session)
        await api.create(PODS, pod("a"))
        now += seconds
        table = await api.get(PODS, Accept=TABLE)
        assert table["rows"][0]["cells"][4] == shown
