# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Claims for devices: which a container may use, and who may look at devices of others."""

from typing import Any

import pytest

from .conftest import MERGE, PODS, Client, pod

JOBS = "/apis/batch/v1/namespaces/default/jobs"
DEVICES = "/apis/resource.k8s.io/v1/namespaces/default"
NAMESPACE = "/api/v1/namespaces/default"
NO_ADMINS = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` "
    "label on the containing namespace"
)
ADMINS = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}


def using(*claims: dict[str, str], named: tuple[str, ...] = ("gpus",)) -> dict[str, Any]:
    """The spec of a pod whose container uses these claims of those that are named."""
    container = {"name": "c", "image": "x", "resources": {"claims": list(claims)}}
    known = [{"name": each, "resourceClaimTemplateName": "t"} for each in named]
    return {"containers": [container], "resourceClaims": known}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            using({"name": "gpuz"}),
            '[0]: Not found: "gpuz": must be one of the names in pod.spec.resourceClaims: gpus',
            id="another",
        ),
        pytest.param(
            using({"name": "gpuz"}, named=("nics", "gpus")),
            '[0]: Not found: "gpuz": must be one of the names in pod.spec.resourceClaims: gpus, '
            "nics",
            id="another than several",
        ),
        pytest.param(
            using({"name": "gpus"}, named=()),
            '[0]: Not found: "gpus": must be one of the names in pod.spec.resourceClaims which is '
            "empty",
            id="of none",
        ),
        pytest.param(using({}), "[0]: Required value", id="without a name"),
        pytest.param(
            using({"name": "gpus"}, {"name": "gpus", "request": "a"}),
            '[1]: Duplicate value: "gpus"',
            id="twice",
        ),
        pytest.param(
            using({"name": "gpus", "request": "a"}, {"name": "gpus"}),
            '[1]: Duplicate value: "gpus"',
            id="one request of it, and all of it",
        ),
        pytest.param(
            using({"name": "gpus", "request": "a"}, {"name": "gpus", "request": "a"}),
            '[1]: Duplicate value: "gpus/a"',
            id="one request twice",
        ),
    ],
)
async def test_a_container_uses_claims_of_its_pod_each_once(
    api: Client, spec: dict[str, Any], message: str
) -> None:
    status, body = await api.ask("POST", PODS, pod("a", **spec))
    assert (status, body["reason"]) == (422, "Invalid")
    assert body["message"] == f'Pod "a" is invalid: spec.containers[0].resources.claims{message}'


async def test_a_container_may_use_a_claim_whole_or_two_requests_of_it(api: Client) -> None:
    await api.create(PODS, pod("a", **using({"name": "gpus"})))
    both = using({"name": "gpus", "request": "a"}, {"name": "gpus", "request": "b"})
    await api.create(PODS, pod("b", **both))


async def test_the_pods_of_a_job_are_held_to_the_same(api: Client) -> None:
    spec = {**using({"name": "gpuz"}), "restartPolicy": "Never"}
    job = {"metadata": {"name": "j"}, "spec": {"template": {"spec": spec}}}
    status, body = await api.ask("POST", JOBS, job)
    where = "spec.template.spec.containers[0].resources.claims[0]"
    assert (status, f'{where}: Not found: "gpuz"' in body["message"]) == (422, True)


def asking(*, admin: bool = True) -> dict[str, Any]:
    """The spec of a claim whose second request is for admin access."""
    exactly = {"deviceClassName": "gpu"}
    requests = [
        {"name": "gpu", "exactly": exactly},
        {"name": "monitor", "exactly": {**exactly, "adminAccess": admin}},
    ]
    return {"devices": {"requests": requests}}


async def test_admin_access_needs_a_label_of_the_namespace_when_a_claim_is_made(
    api: Client,
) -> None:
    claim = {"metadata": {"name": "c"}, "spec": asking()}
    template = {"metadata": {"name": "t"}, "spec": {"spec": asking()}}
    for plural, body in (("resourceclaims", claim), ("resourceclaimtemplates", template)):
        status, answer = await api.ask("POST", f"{DEVICES}/{plural}", body)
        assert (status, answer["reason"]) == (422, "Invalid")
        assert answer["message"].endswith(f"spec.devices.requests[1].adminAccess: {NO_ADMINS}")
    await api.create(
        f"{DEVICES}/resourceclaims", {"metadata": {"name": "plain"}, "spec": asking(admin=False)}
    )

    await api.patch(NAMESPACE, ADMINS)
    await api.create(f"{DEVICES}/resourceclaims", claim)
    await api.create(f"{DEVICES}/resourceclaimtemplates", template)
    no_more = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": None}}}
    await api.patch(NAMESPACE, no_more)
    await api.patch(f"{DEVICES}/resourceclaims/c", {"metadata": {"labels": {"still": "there"}}})


async def test_devices_are_allocated_for_admin_access_only_where_the_namespace_allows_it(
    api: Client,
) -> None:
    await api.patch(NAMESPACE, ADMINS)
    path = f"{DEVICES}/resourceclaims"
    await api.create(path, {"metadata": {"name": "c"}, "spec": asking()})
    device = {"driver": "gpu.example.com", "pool": "n", "device": "gpu-0"}
    results = [
        {**device, "request": "gpu"},
        {**device, "request": "monitor", "adminAccess": True},
    ]
    allocated = {"status": {"allocation": {"devices": {"results": results}}}}
    await api.patch(
        NAMESPACE, {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "yes"}}}
    )
    status, answer = await api.ask("PATCH", f"{path}/c/status", allocated, MERGE)
    where = "status.allocation.devices.results[1].adminAccess"
    assert (status, answer["message"].endswith(f"{where}: {NO_ADMINS}")) == (422, True)

    await api.patch(NAMESPACE, ADMINS)
    await api.patch(f"{path}/c/status", allocated)
