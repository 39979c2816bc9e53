# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds of pods of other schedulers that claim devices beside those of enbloc."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.paths import DEVICE_VERSIONS, RESOURCE_CLAIMS
from enbloc.doctor import Finding, Installation, Verdict
from enbloc.doctor.devices import MOST_CLAIMS, MOST_NAMESPACES, MOST_PODS, contested
from enbloc.live.fact_informers import FACTS
from tests.client.fake import answer, refusal, talking_to
from tests.doctor.cluster import PLANNED, discovered, found, lease, of

ROOT = Path(__file__).resolve().parents[2]


def claim(name: str, *devices: str, namespace: str = "ml", admin: bool = False) -> dict[str, Any]:
    """A ResourceClaim that has these devices, as `pool/device`."""
    exactly = {"deviceClassName": "gpu", "count": 1, "adminAccess": admin}
    results = [
        {"request": "gpu", "driver": "gpu.example.com", "pool": pool, "device": device}
        for pool, _, device in (each.partition("/") for each in devices)
    ]
    return {
        "metadata": {"namespace": namespace, "name": name, "uid": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
        "status": {"allocation": {"devices": {"results": results}}} if devices else {},
    }


def claiming(name: str, scheduler: str, *claims: str, namespace: str = "ml") -> dict[str, Any]:
    """A pod that names these claims."""
    named = [{"name": each, "resourceClaimName": each} for each in claims]
    spec = {"schedulerName": scheduler, "containers": [], "resourceClaims": named}
    return {"metadata": {"namespace": namespace, "name": name, "uid": name}, "spec": spec}


async def of_devices(lists: Mapping[str, Any]) -> list[Finding]:
    """What is found of pods that claim devices, where enbloc is installed and leads."""
    leases = [lease("enbloc-system", "enbloc-scheduler", "us", names="enbloc")]
    findings = await found({"leases": leases, **lists}, Installation())
    return [each for each in findings if each.check == "devices"]


async def test_pods_of_another_scheduler_that_claim_devices_beside_those_of_enbloc_are_named() -> (
    None
):
    lists = {
        "resourceclaims": [
            claim("train-0", "node-1/0"),
            claim("train-1", "node-2/0"),
            claim("notebook-0", "node-1/1", "node-2/1"),
            claim("notebook-1"),
        ],
        "pods": [
            claiming("train-0", "enbloc", "train-0"),
            claiming("train-1", "enbloc", "train-1"),
            claiming("notebook-0", "default-scheduler", "notebook-0"),
            claiming("notebook-1", "default-scheduler", "notebook-1"),
            claiming("web", "default-scheduler"),
        ],
    }
    [finding] = await of_devices(lists)
    assert (finding.verdict, finding.object) == (
        Verdict.WARNING,
        "schedulername default-scheduler",
    )
    assert finding.message == (
        "its pods (2, such as ml/notebook-0) and pods of enbloc (2, such as ml/train-0) have "
        "resource claims, so both schedulers may allocate the same device; 2 pools, such as "
        "gpu.example.com/node-1, have devices of both; give each scheduler nodes or pools of "
        "devices of its own, or let enbloc schedule all pods with resource claims: see "
        '"Pods with claims" in docs/reference/compatibility.md'
    )
    text = (ROOT / "docs/reference/compatibility.md").read_text("utf-8")
    assert "\n### Pods with claims\n" in text


@pytest.mark.parametrize(
    ("device", "said"),
    [
        pytest.param("node-1/1", "pool gpu.example.com/node-1 has devices of both", id="one"),
        pytest.param("node-2/0", "no pool has devices of both now", id="apart"),
    ],
)
async def test_it_is_said_whether_two_schedulers_have_devices_of_one_pool(
    device: str, said: str
) -> None:
    lists = {
        "resourceclaims": [claim("mine", "node-1/0"), claim("theirs", device)],
        "pods": [claiming("mine", "enbloc", "mine"), claiming("theirs", "volcano", "theirs")],
    }
    [finding] = await of_devices(lists)
    assert (finding.verdict, finding.object) == (Verdict.WARNING, "schedulername volcano")
    assert "its pods (ml/theirs) and pods of enbloc (ml/mine) have" in finding.message
    assert f"; {said}; " in finding.message


async def test_a_claim_that_a_scheduler_made_for_extended_resources_counts() -> None:
    notebook = claiming("notebook", "default-scheduler")
    made = {"resourceClaimName": "notebook-extended", "requestMappings": []}
    notebook["status"] = {"extendedResourceClaimStatus": made}
    lists = {
        "resourceclaims": [claim("train", "node-1/0"), claim("notebook-extended", "node-1/1")],
        "pods": [claiming("train", "enbloc", "train"), notebook],
    }
    [finding] = await of_devices(lists)
    assert finding.object == "schedulername default-scheduler"


@pytest.mark.parametrize(
    ("claims", "pods"),
    [
        pytest.param(
            [claim("train"), claim("notebook")],
            [claiming("train", "enbloc", "train"), claiming("notebook", "default-scheduler")],
            id="only of enbloc",
        ),
        pytest.param(
            [claim("notebook")],
            [claiming("train", "enbloc"), claiming("notebook", "default-scheduler", "notebook")],
            id="only of another",
        ),
        pytest.param(
            [claim("train", "node-1/0"), claim("monitor", "node-1/0", admin=True)],
            [
                claiming("train", "enbloc", "train"),
                claiming("monitor", "default-scheduler", "monitor"),
            ],
            id="admin access",
        ),
        pytest.param(
            [claim("notebook", namespace="other"), claim("train")],
            [
                claiming("train", "enbloc", "train"),
                claiming("notebook", "default-scheduler", "notebook"),
            ],
            id="a claim of another namespace",
        ),
    ],
)
async def test_pods_that_take_no_devices_from_each_other_are_fine(
    claims: list[Any], pods: list[Any]
) -> None:
    [finding] = await of_devices({"resourceclaims": claims, "pods": pods})
    assert finding.verdict is Verdict.OK


async def test_another_install_of_enbloc_takes_no_device_from_pods_of_this_one() -> None:
    lists = {
        "leases": [
            lease("enbloc-system", "enbloc-scheduler", "us", names="enbloc"),
            lease("batch-system", "batch-scheduler", "them", names="batch"),
        ],
        "resourceclaims": [claim("mine"), claim("theirs")],
        "pods": [claiming("mine", "enbloc", "mine"), claiming("theirs", "batch", "theirs")],
    }
    assert [each.verdict for each in await of_devices(lists)] == [Verdict.OK]
    lists["leases"].pop()
    assert [each.object for each in await of_devices(lists)] == ["schedulername batch"]


async def test_so_many_schedulers_are_named_and_of_more_the_number() -> None:
    others = [f"s-{number:02}" for number in range(12)]
    lists = {
        "resourceclaims": [claim(each) for each in ("mine", *others)],
        "pods": [
            claiming("mine", "enbloc", "mine"),
            *(claiming(each, each, each) for each in others),
        ],
    }
    findings = await of_devices(lists)
    assert len(findings) == 11
    assert findings[-1].object == "schedulernames"
    assert findings[-1].message.startswith("pods of 2 more")


async def test_before_the_installation_and_on_an_older_server_nothing_is_said_of_devices() -> None:
    lists = {
        "resourceclaims": [claim("mine"), claim("theirs")],
        "pods": [claiming("mine", "enbloc", "mine"), claiming("theirs", "volcano", "theirs")],
    }
    assert of(await found(lists, PLANNED), "devices") == [(Verdict.OK, "")]

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/apis/resource.k8s.io/"):
            return refusal(404, "NotFound")
        return answer({"metadata": {}, "items": []})

    async with talking_to(handler) as client:
        assert [each async for each in contested(client, Installation().expected())] == []


async def test_who_may_not_list_claims_is_told_so() -> None:
    findings = await found({}, Installation(), forbid="resourceclaims")
    assert of(findings, "devices") == [(Verdict.UNKNOWN, "resourceclaims.resource.k8s.io")]


def test_devices_are_read_in_the_versions_in_which_the_scheduler_reads_them() -> None:
    [versions] = {each.versions for each in FACTS if each.resource.group == RESOURCE_CLAIMS.group}
    assert versions == DEVICE_VERSIONS


@pytest.mark.parametrize("version", DEVICE_VERSIONS)
async def test_a_server_with_an_older_version_of_devices_is_looked_at(version: str) -> None:
    asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    claims = [claim("mine", "node-1/0"), claim("theirs", "node-1/1")]
    for each in claims if version == "v1beta1" else ():
        each["spec"]["devices"]["requests"] = [{"name": "gpu", **asked}]
    lists = {
        "leases": [lease("enbloc-system", "enbloc-scheduler", "us", names="enbloc")],
        "resourceclaims": claims,
        "pods": [claiming("mine", "enbloc", "mine"), claiming("theirs", "volcano", "theirs")],
    }
    findings = await found(lists, Installation(), devices_in=version)
    assert of(findings, "devices") == [(Verdict.WARNING, "schedulername volcano")]


async def asked_about_devices(
    claims: list[Any], pods: list[Any]
) -> tuple[list[Finding], list[str]]:
    """What is found where each namespace has such pods, and the lists of pods that it took."""
    asked: list[str] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if (said := discovered(request.path, "v1")) is not None:
            return said
        items: list[Any] = []
        if parts[-1] == "resourceclaims":
            items = claims
        elif parts[-1] == "pods":
            asked.append(f"{request.path}?fieldSelector={request.query['fieldSelector']}")
            items = pods
        return answer({"metadata": {}, "items": items})

    async with talking_to(handler) as client:
        found = [each async for each in contested(client, Installation().expected())]
    return found, asked


async def test_only_pods_that_have_not_ended_in_namespaces_with_claims_are_read() -> None:
    claims = [claim("a", namespace="ml"), claim("b", namespace="ml"), claim("c", namespace="web")]
    claims.append(claim("monitor", namespace="kube-system", admin=True))
    _, asked = await asked_about_devices(claims, [])
    query = "status.phase!=Succeeded,status.phase!=Failed"
    assert asked == [
        f"/api/v1/namespaces/ml/pods?fieldSelector={query}",
        f"/api/v1/namespaces/web/pods?fieldSelector={query}",
    ]
    assert await asked_about_devices([], []) == ([], [])


BOTH = [claiming("mine", "enbloc", "c"), claiming("theirs", "volcano", "c")]


@pytest.mark.parametrize(
    ("claims", "pods", "requests", "verdict"),
    [
        pytest.param(
            [claim("c", namespace=f"n-{number:03}") for number in range(MOST_NAMESPACES + 1)],
            [],
            MOST_NAMESPACES,
            Verdict.UNKNOWN,
            id="namespaces",
        ),
        pytest.param(
            [claim("c", namespace="a"), claim("c", namespace="b")],
            [claiming("web", "default-scheduler", namespace="a")] * (MOST_PODS + 1),
            1,
            Verdict.UNKNOWN,
            id="pods",
        ),
        pytest.param([claim("c")] * (MOST_CLAIMS + 1), [], 1, Verdict.UNKNOWN, id="claims"),
        pytest.param([claim("c")] * (MOST_CLAIMS + 1), BOTH, 1, Verdict.WARNING, id="enough"),
    ],
)
async def test_where_there_is_more_than_it_reads_it_does_not_say_that_all_is_well(
    claims: list[Any], pods: list[Any], requests: int, verdict: Verdict
) -> None:
    findings, asked = await asked_about_devices(claims, pods)
    assert [each.verdict for each in findings] == [verdict]
    assert len(asked) == requests
