# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes and claims find each other, lose each other, and pods start when they have."""

import asyncio

from enbloc.client.client import PatchType
from enbloc.client.paths import (
    CSI_STORAGE_CAPACITIES,
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
)
from enbloc_sandbox.nodes import DISK_DRIVER, Provisioner
from sandbox.tests.nodes.claims import (
    NODE,
    SELECTED,
    bind,
    bound,
    claim,
    claimed,
    mounting,
    node,
    on_node,
    select_node,
    storage_class,
    volume,
    volume_is,
)
from sandbox.tests.nodes.conftest import Yard


async def test_a_claim_gets_the_smallest_volume_that_fits(yard: Yard) -> None:
    yard.controllers()
    for name, size in (("large", "8Gi"), ("small", "2Gi"), ("tiny", "1Gi")):
        await yard.client.create(PERSISTENT_VOLUMES, volume(name, size=size))
        await volume_is(yard, name, "Available")
    await claimed(yard, claim("data", size="2Gi"))

    found = await bound(yard, "data")
    assert found["spec"]["volumeName"] == "small"
    assert found["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] == "yes"
    assert found["status"]["capacity"] == {"storage": "2Gi"}
    owner = (await volume_is(yard, "small", "Bound"))["spec"]["claimRef"]
    assert owner["uid"] == found["metadata"]["uid"]


async def test_two_claims_never_get_one_volume(yard: Yard) -> None:
    yard.controllers()
    await asyncio.gather(*(claimed(yard, claim(name)) for name in "abcd"))
    await asyncio.gather(
        *(yard.client.create(PERSISTENT_VOLUMES, volume(f"v{i}")) for i in range(4))
    )
    found = [await bound(yard, name) for name in "abcd"]
    assert {one["spec"]["volumeName"] for one in found} == {"v0", "v1", "v2", "v3"}


async def test_a_class_that_waits_leaves_the_choice_to_a_scheduler(yard: Yard) -> None:
    yard.controllers()
    await storage_class(yard, "local")
    await yard.client.create(PERSISTENT_VOLUMES, volume("free", "local"))
    await volume_is(yard, "free", "Available")
    made = await claimed(yard, claim("data", "local"))
    await asyncio.sleep(0.2)
    assert (await yard.get(PERSISTENT_VOLUME_CLAIMS, "data") or {})["status"] == made["status"]

    owner = {"namespace": "default", "name": "data", "uid": made["metadata"]["uid"]}
    body = {"spec": {"claimRef": owner}}
    await yard.client.patch(PERSISTENT_VOLUMES, "free", body, kind=PatchType.MERGE)
    assert (await bound(yard, "data"))["spec"]["volumeName"] == "free"


async def test_a_volume_kept_for_a_claim_by_name_waits_for_it(yard: Yard) -> None:
    yard.controllers()
    owner = {"namespace": "default", "name": "data"}
    await yard.client.create(PERSISTENT_VOLUMES, volume("kept", size="9Gi", claimRef=owner))
    await volume_is(yard, "kept", "Available")
    await claimed(yard, claim("other"))
    await claimed(yard, claim("data"))

    assert (await bound(yard, "data"))["spec"]["volumeName"] == "kept"
    other = await yard.get(PERSISTENT_VOLUME_CLAIMS, "other") or {}
    assert other["status"]["phase"] == "Pending"


async def test_a_claim_whose_volume_is_gone_is_lost(yard: Yard) -> None:
    yard.controllers()
    await yard.client.create(PERSISTENT_VOLUMES, volume("v"))
    await claimed(yard, claim("data"))
    await bound(yard, "data")
    body = {"metadata": {"finalizers": None}}
    await yard.client.patch(PERSISTENT_VOLUMES, "v", body, kind=PatchType.MERGE)
    await yard.client.delete(PERSISTENT_VOLUMES, "v")
    await yard.until(PERSISTENT_VOLUME_CLAIMS, "data", lambda one: one["status"]["phase"] == "Lost")


async def test_the_provisioner_serves_the_selected_node(yard: Yard) -> None:
    yard.controllers()
    yard.start(Provisioner(yard.client).run())
    await node(yard)
    await storage_class(yard, "fast")
    await claimed(yard, claim("data", "fast", size="3Gi"))
    await select_node(yard, "data", "n1")

    name = (await bound(yard, "data"))["spec"]["volumeName"]
    made = await volume_is(yard, name, "Bound")
    assert made["spec"]["nodeAffinity"] == on_node("n1")
    assert made["spec"]["csi"] == {"driver": DISK_DRIVER, "volumeHandle": name}
    assert made["spec"]["capacity"] == {"storage": "3Gi"}


async def test_a_volume_for_several_nodes_is_reached_from_everywhere(yard: Yard) -> None:
    yard.controllers()
    yard.start(Provisioner(yard.client).run())
    await node(yard)
    await storage_class(yard, "fast")
    many = claim("data", "fast")
    many["spec"]["accessModes"] = ["ReadWriteMany"]
    await claimed(yard, many)
    await select_node(yard, "data", "n1")
    name = (await bound(yard, "data"))["spec"]["volumeName"]
    made = await volume_is(yard, name, "Bound")
    assert "nodeAffinity" not in made["spec"]


async def test_an_immediate_class_is_provisioned_at_once_and_taken_back(yard: Yard) -> None:
    yard.controllers()
    yard.start(Provisioner(yard.client).run())
    await storage_class(yard, "now", waits=False)
    await claimed(yard, claim("data", "now"))
    name = (await bound(yard, "data"))["spec"]["volumeName"]

    await yard.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", "default")
    await yard.gone(PERSISTENT_VOLUME_CLAIMS, "data")
    await yard.gone(PERSISTENT_VOLUMES, name)


async def test_a_retained_volume_is_released_and_given_to_nobody(yard: Yard) -> None:
    yard.controllers()
    await yard.client.create(PERSISTENT_VOLUMES, volume("v"))
    await claimed(yard, claim("data"))
    await bound(yard, "data")
    await yard.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", "default")
    await volume_is(yard, "v", "Released")
    await claimed(yard, claim("data"))
    await asyncio.sleep(0.2)
    again = await yard.get(PERSISTENT_VOLUME_CLAIMS, "data") or {}
    assert again["status"]["phase"] == "Pending"


async def test_a_refused_claim_loses_its_node_and_may_be_served_later(yard: Yard) -> None:
    yard.controllers()
    yard.start(Provisioner(yard.client).run())
    await node(yard)
    await storage_class(yard, "fast")
    refused = {"sandbox.enbloc.dev/refuse": "the array is on fire"}
    await claimed(yard, claim("data", "fast", annotations=refused))
    await select_node(yard, "data", "n1")
    await yard.until(
        PERSISTENT_VOLUME_CLAIMS,
        "data",
        lambda one: (
            SELECTED not in one["metadata"]["annotations"]
            and "volume.kubernetes.io/storage-provisioner" in one["metadata"]["annotations"]
        ),
    )
    notes = [
        one["note"]
        async for one in yard.client.list(EVENTS, "default")
        if one["reason"] == "ProvisioningFailed"
    ]
    assert notes == ['failed to provision volume with StorageClass "fast": the array is on fire']

    well = {"metadata": {"annotations": {"sandbox.enbloc.dev/refuse": None, SELECTED: "n1"}}}
    await yard.client.patch(PERSISTENT_VOLUME_CLAIMS, "data", well, "default", kind=PatchType.MERGE)
    await bound(yard, "data")


async def test_capacity_is_published_charged_and_never_exceeded(yard: Yard) -> None:
    yard.controllers()
    yard.start(Provisioner(yard.client).run())
    await node(yard)
    await storage_class(yard, "fast", capacityPerNode="10Gi")

    async def left(amount: str) -> None:
        await yard.until(
            CSI_STORAGE_CAPACITIES, "fast-n1", lambda one: one["capacity"] == amount, "kube-system"
        )

    await left("10Gi")
    for name in ("one", "two"):
        await claimed(yard, claim(name, "fast", size="6Gi"))
        await select_node(yard, name, "n1")
        if name == "one":
            await bound(yard, name)
            await left("4Gi")
    await yard.until(
        PERSISTENT_VOLUME_CLAIMS, "two", lambda one: SELECTED not in one["metadata"]["annotations"]
    )


async def test_capacity_that_was_once_asked_for_is_published_of_every_later_class(
    yard: Yard,
) -> None:
    yard.start(Provisioner(yard.client).run())
    await node(yard)
    await storage_class(yard, "scarce", capacityPerNode="10Gi")
    await yard.until(CSI_STORAGE_CAPACITIES, "scarce-n1", bool, "kube-system")
    await yard.client.delete(STORAGE_CLASSES, "scarce")
    await storage_class(yard, "plenty")
    await yard.until(
        CSI_STORAGE_CAPACITIES,
        "plenty-everywhere",
        lambda one: one["capacity"] == "1Ei",
        "kube-system",
    )


async def test_a_pod_starts_once_its_claims_are_bound(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await yard.pod("p", volumes=mounting("data"))
    await bind(yard, "p")
    await claimed(yard, claim("data"))
    await asyncio.sleep(0.2)
    assert (await yard.get(PODS, "p") or {})["status"]["phase"] == "Pending"

    await yard.client.create(PERSISTENT_VOLUMES, volume("v", nodeAffinity=on_node("n1")))
    await yard.phase("p", "Running")


async def test_a_pod_does_not_start_where_its_volume_is_not(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await yard.client.create(PERSISTENT_VOLUMES, volume("v", nodeAffinity=on_node("elsewhere")))
    await claimed(yard, claim("data"))
    await bound(yard, "data")
    await yard.pod("p", volumes=mounting("data"))
    await bind(yard, "p")
    await asyncio.sleep(0.3)
    assert (await yard.get(PODS, "p") or {})["status"]["phase"] == "Pending"


async def test_a_pods_own_volume_comes_and_goes_with_it(yard: Yard) -> None:
    yard.controllers()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": claim("x")["spec"]}
    own = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    made = await yard.pod("p", volumes=own)
    found = await yard.until(PERSISTENT_VOLUME_CLAIMS, "p-scratch", bool)
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]

    await yard.client.delete(PODS, "p", "default")
    await yard.gone(PERSISTENT_VOLUME_CLAIMS, "p-scratch")


async def test_a_claim_in_use_outlives_its_deletion_until_the_pod_is_gone(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await yard.client.create(PERSISTENT_VOLUMES, volume("v"))
    await claimed(yard, claim("data"))
    await yard.pod("p", volumes=mounting("data"))
    await bind(yard, "p")
    await yard.phase("p", "Running")
    await yard.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", "default")
    await asyncio.sleep(0.2)
    held = await yard.get(PERSISTENT_VOLUME_CLAIMS, "data") or {}
    assert held["metadata"]["deletionTimestamp"]

    await yard.client.delete(PODS, "p", "default")
    await yard.gone(PERSISTENT_VOLUME_CLAIMS, "data")


# ── what claims wait for ─────────────────────────────────────────────────────────────────────


async def test_a_claim_says_that_it_waits_for_a_pod_then_for_its_node_then_for_its_volume(
    yard: Yard,
) -> None:
    """No provisioner runs."""
    yard.controllers()
    await storage_class(yard, "slow")
    made = await claimed(yard, claim("data", "slow"))
    first = await yard.told("data", "WaitForFirstConsumer")
    assert first["note"] == "waiting for first consumer to be created before binding"
    assert (first["type"], first["reportingController"]) == (
        "Normal",
        "persistentvolume-controller",
    )
    assert first["regarding"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "data",
        "uid": made["metadata"]["uid"],
    }

    await yard.pod("p", volumes=mounting("data"))
    waits = await yard.told("data", "WaitForPodScheduled")
    assert waits["note"] == "waiting for pod p to be scheduled"

    await select_node(yard, "data", "n1")
    last = await yard.told("data", "ExternalProvisioning")
    assert last["note"] == (
        "Waiting for a volume to be created either by the external provisioner "
        f"'{DISK_DRIVER}' or manually by the system administrator. If volume creation is delayed, "
        "please verify that the provisioner is running and correctly registered."
    )


async def test_a_claim_that_nobody_serves_says_why(yard: Yard) -> None:
    yard.controllers()
    by_hand = {
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "Immediate",
    }
    await yard.client.create(STORAGE_CLASSES, by_hand)
    for name, of in (("a", "fastt"), ("b", "local"), ("c", "")):
        await claimed(yard, claim(name, of))

    gone = await yard.told("a", "ProvisioningFailed")
    assert (gone["type"], gone["note"]) == (
        "Warning",
        'storageclass.storage.k8s.io "fastt" not found',
    )
    local = await yard.told("b", "ProvisioningFailed")
    assert local["note"] == "no volume plugin matched name: kubernetes.io/no-provisioner"
    none = await yard.told("c", "FailedBinding")
    assert (none["type"], none["note"]) == (
        "Normal",
        "no persistent volumes available for this claim and no storage class is set",
    )


async def test_what_a_claim_waits_for_is_said_once_however_many_pods_use_it(yard: Yard) -> None:
    yard.controllers()
    await storage_class(yard, "slow")
    await claimed(yard, claim("data", "slow"))
    await yard.told("data", "WaitForFirstConsumer")
    for number in range(3):
        await yard.pod(f"p{number}", volumes=mounting("data"))
        await yard.told("data", "WaitForPodScheduled")
    await asyncio.sleep(0.2)
    said = [one["reason"] async for one in yard.client.list(EVENTS, "default")]
    assert sorted(said) == ["WaitForFirstConsumer", "WaitForPodScheduled"]
