# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Of two installs that serve the same schedulerName one leads, and the other says why it does not.

In virtual time; semantics §6.4.
"""

import asyncio
import copy
from typing import Any

import pytest

from enbloc.client.errors import Forbidden, NotFound, ServerError
from enbloc.client.lease import LeaseLost
from enbloc.client.paths import CLUSTER_ROLE_BINDINGS, LEASES, Resource
from enbloc.model.names import COMPONENT_KEY, HOLDER_KEY, SCHEDULER_NAMES_KEY
from tests.client.installs import Install, binding, leads
from tests.client.memory import MemoryClient, Store


@pytest.fixture
def store() -> Store:
    return Store()


async def test_the_second_install_of_a_scheduler_name_stands_by_and_names_the_lease(
    store: Store,
) -> None:
    one, two = Install(store, "one").start(), Install(store, "two", ["batch", "enbloc"])
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(120)
    assert leads(one, two) == [True, False]
    [conflict] = two.conflicts
    assert conflict == (
        "the scheduler of the Lease one/one-lease (held by one-0) serves schedulerName enbloc "
        "too; give each scheduler a schedulerName of its own, or remove one of the two"
    )
    assert two.problems == one.conflicts == []
    await one.stop()
    await two.stop()


async def test_installs_of_different_scheduler_names_both_lead(store: Store) -> None:
    one, two = Install(store, "one").start(), Install(store, "two", ["batch"]).start()
    await asyncio.sleep(10)
    assert leads(one, two) == [True, True]
    assert one.conflicts == two.conflicts == []
    await one.stop()
    await two.stop()


@pytest.mark.parametrize("attempt", range(20))
async def test_of_installs_that_start_at_the_same_moment_at_most_one_leads(
    store: Store, attempt: int
) -> None:
    installs = [Install(store, f"ns{index}") for index in range(3)]
    for index, install in enumerate(installs):
        install.client.latency = 0.1 + 0.01 * ((attempt * (index + 1)) % 7)
        install.start()
    led = False
    for _ in range(600):
        await asyncio.sleep(0.05)
        leading = sum(install.leading for install in installs)
        assert leading <= 1
        led = led or leading == 1
    assert led, "nobody leads"
    for install in installs:
        await install.stop()


@pytest.mark.parametrize("ends", ["crash", "stop"])
async def test_a_standby_of_another_install_takes_over_when_the_lease_is_over(
    store: Store, ends: str
) -> None:
    one, two = Install(store, "one").start(), Install(store, "two")
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(60)
    await getattr(one, ends)()
    await asyncio.sleep(25)
    assert leads(two) == [False], "replicas of the first come first"
    await asyncio.sleep(15)
    assert leads(two) == [True]
    assert two.conflicts[-1] is None
    await two.stop()


@pytest.mark.parametrize("ends", ["crash", "stop"])
async def test_a_replica_of_the_same_install_comes_first(store: Store, ends: str) -> None:
    one, two = Install(store, "one").start(), Install(store, "two")
    await asyncio.sleep(5)
    again = Install(store, "one", replica="1").start()
    two.start()
    await asyncio.sleep(60)
    assert again.conflicts == []
    await getattr(one, ends)()
    await asyncio.sleep(60)
    assert leads(again, two) == [True, False]
    await again.stop()
    await two.stop()


async def test_a_rival_whose_lease_is_deleted_leads_until_it_notices(store: Store) -> None:
    one, two = Install(store, "one").start(), Install(store, "two")
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(60)
    one.client.latency = 1e9
    del store.objects["leases", one.lease]
    await asyncio.sleep(6)
    assert leads(one, two) == [True, False]
    await asyncio.sleep(34)
    assert leads(one, two) == [False, True]
    with pytest.raises(LeaseLost):
        await one.stop()
    await two.stop()


async def test_a_rival_s_lease_that_is_found_deleted_late_counts_from_then(store: Store) -> None:
    """What it said last before the looks failed is no sign that its holder has ended."""
    one, two = Install(store, "one").start(), Install(store, "two")
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(30)

    def fails(verb: str) -> None:
        raise ServerError(verb, "leases", "no quorum")

    two.client.before = fails
    await asyncio.sleep(40)
    one.client.latency = 1e9
    del store.objects["leases", one.lease]
    two.client.before = lambda _: None
    for _ in range(200):
        await asyncio.sleep(0.1)
        assert leads(one, two) != [True, True]
    await asyncio.sleep(20)
    assert leads(one, two) == [False, True]
    with pytest.raises(LeaseLost):
        await one.stop()
    await two.stop()


@pytest.mark.parametrize(
    "edited",
    [
        pytest.param({"annotations": {}}, id="the names are removed"),
        pytest.param({"annotations": {SCHEDULER_NAMES_KEY: "other"}}, id="the names are others"),
        pytest.param({"annotations": {HOLDER_KEY: "other"}}, id="another has written the names"),
        pytest.param({"labels": {}}, id="the label is removed"),
    ],
)
async def test_a_rival_whose_lease_names_us_no_longer_leads_until_it_notices(
    store: Store, edited: dict[str, Any]
) -> None:
    one, two = Install(store, "one").start(), Install(store, "two")
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(60)
    lease = store.objects["leases", one.lease]
    changed = {**lease, "metadata": {**lease["metadata"], **edited}}
    store.apply("update", LEASES, one.lease, "one", changed)
    await asyncio.sleep(120)
    assert leads(one, two) == [True, False]
    assert ("leases", two.lease) not in store.objects
    await one.stop()
    await two.stop()


async def test_a_rival_s_lease_restored_to_one_given_back_in_vain_counts_until_it_notices(
    store: Store,
) -> None:
    """It has fewer transitions than the holder that was seen."""
    one, two = Install(store, "one").start(), Install(store, "two")
    await asyncio.sleep(5)
    await one.stop()
    old = copy.deepcopy(store.objects["leases", one.lease])
    old["metadata"]["annotations"] = {SCHEDULER_NAMES_KEY: "", HOLDER_KEY: ""}
    one = Install(store, "one", replica="1").start()
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(60)
    store.objects["leases", one.lease] = old
    await asyncio.sleep(120)
    assert leads(one, two) == [True, False]
    assert ("leases", two.lease) not in store.objects
    await one.stop()
    await two.stop()


async def test_what_is_remembered_of_large_leases_is_small(store: Store) -> None:
    for index in range(3):
        name = f"lease-{index}"
        metadata = {
            "name": name,
            "namespace": "one",
            "labels": {COMPONENT_KEY: "scheduler"},
            "annotations": {SCHEDULER_NAMES_KEY: "enbloc," + "x" * 50_000},
        }
        spec = {"holderIdentity": "y" * 50_000}
        store.objects["leases", name] = {"metadata": metadata, "spec": spec}
    two = Install(store, "two").start()
    await asyncio.sleep(5)
    assert not two.leading
    assert len(repr(two.rivals._seen)) < 5_000
    await two.stop()


async def test_a_lease_that_was_given_back_long_ago_keeps_nobody_waiting(store: Store) -> None:
    one = Install(store, "one").start()
    await asyncio.sleep(5)
    await one.stop()
    two = Install(store, "two").start()
    await asyncio.sleep(1)
    assert two.leading
    await two.stop()


async def test_an_install_that_shares_the_lease_and_serves_others_says_so(store: Store) -> None:
    one = Install(store, "ns", lease="l").start()
    two = Install(store, "ns", ["batch"], lease="l", replica="1")
    await asyncio.sleep(5)
    two.start()
    await asyncio.sleep(5)
    [conflict] = two.conflicts
    assert conflict == (
        "the Lease ns/l is held by ns-0, which serves schedulerName enbloc, and not schedulerName "
        "batch; if that is another install, give this one a Lease of its own with "
        "leaderElection.resourceName"
    )
    await one.stop()
    await asyncio.sleep(5)
    assert two.leading, "it was the same install, with other profiles"
    assert two.conflicts[1:] == [None]
    await two.stop()


@pytest.mark.parametrize(
    ("namespaces", "leads"),
    [
        pytest.param(["two"], True, id="one of a tenant's does not count"),
        pytest.param(["one", "two"], False, id="one of another install's does"),
        pytest.param([], False, id="without bindings of enbloc all do"),
    ],
)
async def test_a_lease_counts_where_an_install_may_be(
    store: Store, namespaces: list[str], *, leads: bool
) -> None:
    """Whoever may edit a namespace may write Leases there, with any label."""
    store.objects["clusterrolebindings", "enbloc"] = binding(*namespaces)
    one = Install(store, "one").start()
    await asyncio.sleep(5)
    two = Install(store, "two").start()
    await asyncio.sleep(60)
    assert two.leading is leads
    await one.stop()
    await two.stop()


@pytest.mark.parametrize("code", [403, 404])
async def test_a_lease_of_a_tenant_counts_no_longer_than_the_bindings_cannot_be_read(
    store: Store, code: int
) -> None:
    """It is not there when fewer namespaces are read, but nobody has deleted it."""

    class Denied(MemoryClient):
        """It may not list ClusterRoleBindings yet."""

        async def request(self, verb: str, resource: Resource, *args: Any, **more: Any) -> bytes:
            if resource == CLUSTER_ROLE_BINDINGS and denied:
                raise (Forbidden if code == 403 else NotFound)(verb, "it", "no", code=code)
            return await super().request(verb, resource, *args, **more)

    denied = [True]
    store.objects["clusterrolebindings", "enbloc"] = binding("two")
    tenant = Install(store, "team").start()
    await asyncio.sleep(5)
    await tenant.crash()
    store.objects["leases", tenant.lease]["spec"]["leaseDurationSeconds"] = 300
    two = Install(store, "two", client=Denied(store)).start()
    await asyncio.sleep(10)
    assert leads(two) == [False]
    denied.clear()
    await asyncio.sleep(5)
    assert leads(two) == [True]
    await two.stop()


async def test_a_lease_of_a_tenant_does_not_count_for_who_takes_kube_scheduler_s(
    store: Store,
) -> None:
    """Its Lease is in kube-system, and the binding names the namespace of its pods."""
    store.objects["clusterrolebindings", "enbloc"] = binding("enbloc-system")
    tenant = Install(store, "team", ["default-scheduler"]).start()
    await asyncio.sleep(5)
    ours = Install(store, "kube-system", ["enbloc", "default-scheduler"]).start()
    await asyncio.sleep(60)
    assert leads(tenant, ours) == [True, True]
    await tenant.stop()
    await ours.stop()


async def test_who_takes_kube_scheduler_s_lease_is_seen_by_other_installs(store: Store) -> None:
    store.objects["clusterrolebindings", "enbloc"] = binding("enbloc-system", "two")
    instead = Install(store, "kube-system", ["enbloc", "default-scheduler"]).start()
    await asyncio.sleep(5)
    two = Install(store, "two").start()
    await asyncio.sleep(60)
    assert leads(instead, two) == [True, False]
    await instead.stop()
    await two.stop()


async def test_names_on_a_lease_that_kube_scheduler_has_taken_back_keep_nobody_waiting(
    store: Store,
) -> None:
    """It keeps the annotations that it finds."""
    store.objects["clusterrolebindings", "enbloc"] = binding("enbloc-system", "two")
    instead = Install(store, "kube-system", ["enbloc", "default-scheduler"]).start()
    await asyncio.sleep(5)
    await instead.crash()
    spec = store.objects["leases", instead.lease]["spec"]
    spec |= {"holderIdentity": "control-plane-1", "renewTime": "2026-01-01T00:00:00.000000Z"}
    two = Install(store, "two").start()
    await asyncio.sleep(5)
    assert two.leading
    assert two.conflicts == []
    await two.stop()


class Flooded(MemoryClient):
    """A server with so many Leases that to list those of all namespaces takes too long."""

    async def request(
        self, verb: str, resource: Resource, name: str = "", namespace: str | None = None, **of: Any
    ) -> bytes:
        if (verb, resource, namespace) == ("list", LEASES, None):
            await asyncio.sleep(60)
        return await super().request(verb, resource, name, namespace, **of)


async def test_however_many_leases_tenants_write_a_scheduler_leads_and_sees_its_rivals(
    store: Store,
) -> None:
    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one", client=Flooded(store)).start()
    await asyncio.sleep(10)
    two = Install(store, "two", client=Flooded(store)).start()
    await asyncio.sleep(60)
    assert leads(one, two) == [True, False]
    await one.stop()
    await two.stop()


async def test_without_the_permission_it_leads_and_says_what_it_cannot_see(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    one = Install(store, "one")

    def forbidden(verb: str) -> None:
        if verb == "list":
            raise Forbidden("list", "leases.coordination.k8s.io", "no")

    one.client.before = forbidden
    one.start()
    await asyncio.sleep(10)
    assert one.leading
    assert caplog.text.count("Cannot see whether another scheduler") == 1
    await one.stop()


async def test_a_namespace_whose_leases_it_may_not_list_hides_no_rival_in_another(
    store: Store,
) -> None:
    class Denied(MemoryClient):
        async def request(
            self,
            verb: str,
            resource: Resource,
            name: str = "",
            namespace: str | None = None,
            **of: Any,
        ) -> bytes:
            if (verb, resource, namespace) == ("list", LEASES, "a"):
                raise Forbidden(verb, resource.label(), "no", code=403)
            return await super().request(verb, resource, name, namespace, **of)

    store.objects["clusterrolebindings", "enbloc"] = binding("a", "one", "two")
    one = Install(store, "one").start()
    await asyncio.sleep(5)
    two = Install(store, "two", client=Denied(store)).start()
    await asyncio.sleep(60)
    assert leads(one, two) == [True, False]
    await one.stop()
    await two.stop()


async def test_while_the_leases_cannot_be_read_nobody_new_leads(store: Store) -> None:
    one = Install(store, "one")

    def fails(verb: str) -> None:
        if verb == "list":
            raise ServerError("list", "leases", "no quorum")

    one.client.before = fails
    one.start()
    await asyncio.sleep(30)
    assert leads(one) == [False]
    assert one.problems
    one.client.before = lambda _: None
    await asyncio.sleep(5)
    assert leads(one) == [True]
    await one.stop()


@pytest.mark.parametrize(
    ("reads", "writes"),
    [
        pytest.param(2.0, 2.0, id="whatever is asked"),
        pytest.param(20.0, 0.1, id="what is listed"),
    ],
)
async def test_an_api_server_that_answers_late_only_delays_who_leads(
    store: Store, reads: float, writes: float
) -> None:
    """Each look reads the bindings and three namespaces, one after another."""

    class Late(MemoryClient):
        async def request(self, verb: str, *args: Any, **more: Any) -> bytes:
            self.latency = reads if verb == "list" else writes
            return await super().request(verb, *args, **more)

    store.objects["clusterrolebindings", "enbloc"] = binding("one", "two")
    one = Install(store, "one", client=Late(store)).start()
    two = Install(store, "two", client=Late(store))
    await asyncio.sleep(8 * reads + 10)
    assert leads(one) == [True]
    two.start()
    for _ in range(300):
        await asyncio.sleep(1)
        assert one.elector.holds()
        assert not two.leading
    assert one.problems == []
    await one.stop()
    await two.stop()


async def test_who_is_stopped_while_it_looks_gives_its_lease_back(store: Store) -> None:
    one = Install(store, "one")
    one.client.latency = 0.5
    one.start()
    await asyncio.sleep(2.2)
    assert store.objects["leases", one.lease]["spec"]["holderIdentity"] == "one-0"
    assert not one.leading
    await one.stop()
    assert store.objects["leases", one.lease]["spec"]["holderIdentity"] == ""
