# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the doctor finds of pods whose claims, templates or classes do not exist."""

from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from enbloc.doctor import Finding, Installation, Verdict
from enbloc.doctor.claims import MOST_NAMESPACES, MOST_OBJECTS, MOST_PODS, devices, volumes
from tests.client.fake import answer, talking_to
from tests.doctor.cluster import PLANNED, discovered, found, lease, of


def waiting(
    name: str,
    *,
    claims: Mapping[str, Any] | None = None,
    volumes: tuple[Mapping[str, Any], ...] = (),
    scheduler: str = "enbloc",
    namespace: str = "ml",
    requests: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A pending pod: claims by their names in the pod, and volumes."""
    spec = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "resources": {"requests": requests or {}}}],
        "resourceClaims": [{"name": key, **each} for key, each in (claims or {}).items()],
        "volumes": list(volumes),
    }
    return {"metadata": {"namespace": namespace, "name": name, "uid": name}, "spec": spec}


def mounts(claim: str) -> dict[str, Any]:
    return {"name": "data", "persistentVolumeClaim": {"claimName": claim}}


def of_volumes(name: str, storage_class: str = "", **more: Any) -> dict[str, Any]:
    """A PersistentVolumeClaim."""
    spec = {"storageClassName": storage_class, **more}
    return {"metadata": {"namespace": "ml", "name": name, "uid": name}, "spec": spec}


def of_devices(name: str, device_class: str = "gpu") -> dict[str, Any]:
    """A ResourceClaim."""
    request = {"name": "gpus", "exactly": {"deviceClassName": device_class, "count": 1}}
    spec = {"devices": {"requests": [request]}}
    return {"metadata": {"namespace": "ml", "name": name, "uid": name}, "spec": spec}


def named(name: str, namespace: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {})}}


async def of_claims(lists: Mapping[str, Any], **options: Any) -> list[Finding]:
    """What is found of claims where enbloc is installed and leads."""
    leases = [lease("enbloc-system", "enbloc-scheduler", "us", names="enbloc")]
    findings = await found({"leases": leases, **lists}, Installation(), **options)
    return [each for each in findings if each.check == "claims"]


async def test_a_persistentvolumeclaim_that_does_not_exist_is_named_with_the_pods_that_wait() -> (
    None
):
    lists = {
        "pods": [
            waiting("train-0", volumes=(mounts("date"),)),
            waiting("train-1", volumes=(mounts("date"),)),
            waiting("train-2", volumes=(mounts("data"),)),
            waiting("theirs", volumes=(mounts("gone"),), scheduler="volcano"),
        ],
        "persistentvolumeclaims": [of_volumes("data")],
    }
    [finding] = await of_claims(lists)
    assert (finding.verdict, finding.object) == (
        Verdict.WARNING,
        "persistentvolumeclaim ml/date",
    )
    assert finding.message == (
        "does not exist; create it, or fix claimName in spec.volumes of the pods "
        "(2 pods wait, such as ml/train-0)"
    )


async def test_a_storageclass_that_does_not_exist_is_named_with_a_claim_that_names_it() -> None:
    own = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}
    lists = {
        "pods": [
            waiting("a", volumes=(mounts("slow"), mounts("fine"), mounts("bound"))),
            waiting("b", volumes=(own,)),
            waiting("not-made-yet", volumes=(own,)),
        ],
        "persistentvolumeclaims": [
            of_volumes("slow", "fastt"),
            of_volumes("b-scratch", "fastt"),
            of_volumes("fine", "fast"),
            of_volumes("bound", "by-hand", volumeName="pv-1"),
        ],
        "storageclasses": [named("fast")],
    }
    [finding] = await of_claims(lists)
    assert finding.object == "storageclass fastt"
    assert finding.message == (
        "does not exist, and PersistentVolumeClaim ml/slow names it; create it, or create the "
        "claim again with a class that exists (2 pods wait, such as ml/a)"
    )


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
async def test_a_template_and_a_resourceclaim_that_do_not_exist_are_named(version: str) -> None:
    template = {"resourceClaimTemplateName": "four-gpuss"}
    made = {"resourceClaimTemplateName": "four-gpus"}
    lists = {
        "pods": [
            waiting("a", claims={"gpus": template}),
            waiting("b", claims={"gpus": made}),
            waiting("c", claims={"gpus": {"resourceClaimName": "shared"}}),
            waiting("d", claims={"gpus": {"resourceClaimName": "shred"}}),
        ],
        "resourceclaimtemplates": [named("four-gpus", "ml"), named("four-gpuss", "elsewhere")],
        "resourceclaims": [of_devices("shared")],
        "deviceclasses": [named("gpu")],
    }
    findings = await of_claims(lists, devices_in=version)
    assert [(each.object, each.message) for each in findings] == [
        (
            "resourceclaim ml/shred",
            (
                "does not exist; create it, or fix resourceClaimName in spec.resourceClaims of the "
                "pods (ml/d waits)"
            ),
        ),
        (
            "resourceclaimtemplate ml/four-gpuss",
            (
                "does not exist; create it, or fix resourceClaimTemplateName in "
                "spec.resourceClaims of the pods (ml/a waits)"
            ),
        ),
    ]


async def test_a_deviceclass_that_does_not_exist_is_named_whoever_names_it() -> None:
    allocated = of_devices("old", "gone")
    allocated["status"] = {"allocation": {"devices": {"results": []}}}
    lists = {
        "pods": [
            waiting("a", claims={"gpus": {"resourceClaimName": "mine"}}),
            waiting("b", claims={"gpus": {"resourceClaimName": "old"}}),
            waiting("c", requests={"deviceclass.resource.kubernetes.io/tpu": "1"}),
        ],
        "resourceclaims": [of_devices("mine", "gpuz"), allocated],
        "deviceclasses": [named("gpu")],
    }
    findings = await of_claims(lists)
    assert [(each.object, each.message) for each in findings] == [
        (
            "deviceclass gpuz",
            (
                "does not exist, and ResourceClaim ml/mine names it; create it, or fix the name of "
                "the class (ml/a waits)"
            ),
        ),
        (
            "deviceclass tpu",
            "does not exist; create it, or fix the name of the class (ml/c waits)",
        ),
    ]


async def test_where_all_exists_before_the_installation_and_without_devices_all_is_well() -> None:
    broken = {"pods": [waiting("a", claims={"gpus": {"resourceClaimName": "gone"}})]}
    assert of(await found(broken, PLANNED), "claims") == [(Verdict.OK, "")]
    assert [each.verdict for each in await of_claims(broken, devices_in="")] == [Verdict.OK]
    assert [each.verdict for each in await of_claims(broken)] == [Verdict.WARNING]
    lists = {
        "pods": [
            waiting(
                "a",
                claims={"gpus": {"resourceClaimName": "mine"}},
                volumes=(mounts("data"),),
            )
        ],
        "persistentvolumeclaims": [of_volumes("data", "fast")],
        "storageclasses": [named("fast")],
        "resourceclaims": [of_devices("mine")],
        "deviceclasses": [named("gpu")],
    }
    assert [each.verdict for each in await of_claims(lists)] == [Verdict.OK]


async def test_who_may_not_read_one_kind_is_told_of_it_and_of_what_the_others_lack() -> None:
    gone = {"gpus": {"resourceClaimName": "gone"}}
    lists = {"pods": [waiting("a", claims=gone, volumes=(mounts("gone"),))]}
    findings = await of_claims(lists, forbid="persistentvolumeclaims")
    assert [(each.verdict, each.object) for each in findings] == [
        (Verdict.UNKNOWN, "persistentvolumeclaims"),
        (Verdict.WARNING, "resourceclaim ml/gone"),
    ]


async def test_who_may_not_read_pods_is_told_so_once() -> None:
    findings = await of_claims({}, forbid="pods")
    assert [(each.verdict, each.object) for each in findings] == [(Verdict.UNKNOWN, "pods")]


async def test_so_many_names_are_listed_and_of_more_the_number() -> None:
    pods = [waiting(f"p{n:02}", volumes=(mounts(f"gone-{n:02}"),)) for n in range(12)]
    findings = await of_claims({"pods": pods})
    assert len(findings) == 11
    assert findings[-1].object == "persistentvolumeclaims"
    assert findings[-1].message == "pods wait in vain for 2 more of these"


async def asked_about(lists: Mapping[str, list[Any]]) -> tuple[list[Finding], list[str]]:
    """What both parts find where each namespace has these objects, and the lists they took."""
    asked: list[str] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        if (said := discovered(request.path, "v1")) is not None:
            return said
        asked.append(request.path)
        return answer({"metadata": {}, "items": lists.get(parts[-1], [])})

    async with talking_to(handler) as client:
        ours = Installation().expected()
        findings = [each for part in (volumes, devices) async for each in part(client, ours)]
    return findings, asked


async def test_only_namespaces_with_pods_that_wait_for_claims_are_read() -> None:
    pods = [
        waiting("a", volumes=(mounts("gone"),), namespace="ml"),
        waiting("b", claims={"gpus": {"resourceClaimName": "gone"}}, namespace="web"),
        waiting("c", namespace="other"),
    ]
    _, asked = await asked_about({"pods": pods})
    devices_at = "/apis/resource.k8s.io/v1"
    assert [each for each in asked if "leases" not in each and each != "/api/v1/pods"] == [
        "/api/v1/namespaces/ml/persistentvolumeclaims",
        "/apis/storage.k8s.io/v1/storageclasses",
        f"{devices_at}/namespaces/web/resourceclaims",
        f"{devices_at}/namespaces/web/resourceclaimtemplates",
        f"{devices_at}/deviceclasses",
    ]
    _, asked = await asked_about({"pods": [waiting("c")]})
    assert {each for each in asked if "leases" not in each} == {"/api/v1/pods"}


GONE = (mounts("gone"),)


@pytest.mark.parametrize(
    ("lists", "verdict"),
    [
        pytest.param({"pods": [waiting("p")] * (MOST_PODS + 1)}, Verdict.UNKNOWN, id="more pods"),
        pytest.param(
            {"pods": [waiting("p", volumes=GONE), *[waiting("q")] * MOST_PODS]},
            Verdict.WARNING,
            id="more pods, and one that waits",
        ),
        pytest.param(
            {
                "pods": [
                    waiting("p", volumes=(mounts("there"),), namespace=f"n-{n:03}")
                    for n in range(MOST_NAMESPACES + 1)
                ],
                "persistentvolumeclaims": [
                    {"metadata": {"namespace": f"n-{n:03}", "name": "there"}}
                    for n in range(MOST_NAMESPACES + 1)
                ],
            },
            Verdict.UNKNOWN,
            id="more namespaces",
        ),
        pytest.param(
            {
                "pods": [waiting("p", volumes=GONE)],
                "persistentvolumeclaims": [of_volumes("there")] * (MOST_OBJECTS + 1),
            },
            Verdict.UNKNOWN,
            id="more claims, so that it may be among them",
        ),
    ],
)
async def test_where_there_is_more_than_it_reads_it_says_neither_that_all_is_well_nor_what_lacks(
    lists: Mapping[str, list[Any]], verdict: Verdict
) -> None:
    findings, _ = await asked_about(lists)
    assert {each.verdict for each in findings} >= {verdict}
    if verdict is Verdict.UNKNOWN:
        assert {each.verdict for each in findings} == {verdict}
