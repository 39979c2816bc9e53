# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A Lease goes with the service account of who made it."""

import base64
import json

import pytest

from enbloc.client.errors import Forbidden
from tests.client.candidates import Candidate, lease
from tests.client.memory import MemoryClient, Store


def token(namespace: str) -> str:
    """The header with a service account's token, as the API server signs them."""
    claims = {
        "iss": "https://kubernetes.default.svc",
        "kubernetes.io": {
            "namespace": namespace,
            "serviceaccount": {"name": "enbloc-scheduler", "uid": "5e1f"},
        },
    }
    parts: list[object] = [{"alg": "RS256"}, claims, {}]
    encoded = [base64.urlsafe_b64encode(json.dumps(each).encode()).decode() for each in parts]
    return "Bearer " + ".".join(each.rstrip("=") for each in encoded)


OWNER = {"apiVersion": "v1", "kind": "ServiceAccount", "name": "enbloc-scheduler", "uid": "5e1f"}


@pytest.mark.parametrize(
    ("authorization", "owners"),
    [
        pytest.param(token("enbloc-system"), [OWNER], id="its own"),
        pytest.param(token("kube-system"), None, id="not across namespaces"),
        pytest.param("Bearer opaque", None, id="not of another token"),
        pytest.param("Bearer a.!.c", None, id="nor of a broken one"),
        pytest.param(None, None, id="nor without any"),
    ],
)
async def test_a_lease_belongs_to_the_service_account_that_leads(
    authorization: str | None, owners: object
) -> None:
    store = Store()
    one = Candidate(store, "one", MemoryClient(store, authorization)).start()
    await one.leading.wait()
    await one.stop()
    metadata = store.objects["leases", "enbloc-scheduler"]["metadata"]
    assert metadata.get("ownerReferences") == owners


async def test_a_lease_of_a_former_release_is_adopted_and_an_owner_is_kept() -> None:
    store = Store()
    former = Candidate(store, "former").start()
    await former.leading.wait()
    await former.stop()
    one = Candidate(store, "one", MemoryClient(store, token("enbloc-system"))).start()
    await one.leading.wait()
    await one.stop()
    assert store.objects["leases", "enbloc-scheduler"]["metadata"]["ownerReferences"] == [OWNER]
    store.objects["leases", "enbloc-scheduler"]["metadata"]["ownerReferences"] = ["another"]
    two = Candidate(store, "two", MemoryClient(store, token("enbloc-system"))).start()
    await two.leading.wait()
    await two.stop()
    assert store.objects["leases", "enbloc-scheduler"]["metadata"]["ownerReferences"] == ["another"]


async def test_who_may_not_set_an_owner_leads_all_the_same() -> None:
    store = Store()
    former = Candidate(store, "former").start()
    await former.leading.wait()
    await former.stop()
    one = Candidate(store, "one", MemoryClient(store, token("enbloc-system")))

    def enforces(verb: str) -> None:
        _, _, body = one.client.sent[-1]
        if verb == "update" and "ownerReferences" in body["metadata"]:
            raise Forbidden("update", "leases.coordination.k8s.io", "cannot set an ownerRef")

    one.client.before = enforces
    one.start()
    await one.leading.wait()
    await one.stop()
    assert "ownerReferences" not in store.objects["leases", "enbloc-scheduler"]["metadata"]
    assert lease(store)["holderIdentity"] == ""
