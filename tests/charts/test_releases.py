# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Releases come, are upgraded and go on a real API server, and run with their roles alone."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from pathlib import Path

import aiohttp
import pytest
import yaml

from enbloc.client.permissions import ROLES
from enbloc.model.names import NAMESPACE
from hack.build_controlplane import CHECK_TOOLS, built
from tests.charts.releases import CHART, Cluster, Release, opened
from tests.charts.test_granted import granted
from tests.controlplane import ControlPlane
from tests.e2e.processes import Ended, run
from tests.hack.processes import free_port

pytestmark = pytest.mark.controlplane
#: The chart before CRDs could be left alone, and Leases had owners.
FORMER = "tests/charts/former/enbloc-0.1.0-dev.0.tgz"
CRD = "podgroups.enbloc.dev"
OWNER = r"jsonpath={.metadata.annotations.meta\.helm\.sh/release-name}"


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane() as running:
        yield running


@pytest.fixture
async def cluster(controlplane: ControlPlane, tmp_path: Path) -> AsyncGenerator[Cluster]:
    async with opened(controlplane, tmp_path) as cluster:
        yield cluster
        assert cluster.refused() == []


@pytest.fixture(params=["helm", "helm3"])
def with_helm(request: pytest.FixtureRequest, cluster: Cluster) -> Cluster:
    """The cluster, as seen by this helm and by the one before."""
    if request.param == "helm3":
        cluster.helm_binary = built(["helm3"], tools=CHECK_TOOLS) / "helm3"
    return cluster


async def served(release: Release, gang: str, scheduler: str = "enbloc") -> None:
    """The release's scheduler and controller place a gang and say so."""
    await release.cluster.gang(gang, scheduler)
    await release.cluster.bound(gang)


async def leases(release: Release) -> list[str]:
    found = await release.cluster.get("leases", "", release, "")
    return [each["metadata"]["name"] for each in found["items"]]


async def test_a_release_lives_from_the_former_chart_to_its_end_and_leaves_the_kind_alone(
    with_helm: Cluster,
) -> None:
    cluster = with_helm
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install", chart=FORMER)
    await cluster.kubectl("wait", "--for=condition=Established", f"crd/{CRD}")

    await release.helm("upgrade")
    scheduler = await release.start("scheduler")
    await release.start("controller")
    await served(release, "upgraded")
    await cluster.reads(
        "Running",
        "get",
        "podgroups.enbloc.dev",
        "upgraded",
        "-o",
        "jsonpath={.status.conditions[?(@.type=='Ready')].reason}",
    )
    assert await leases(release) == ["enbloc-controller", "enbloc-scheduler"]
    assert "Started scheduling" in scheduler.text()

    assert cluster.refused() == []
    await release.helm("uninstall")  # the rights of the processes are gone before they are
    await cluster.reads("", "get", "leases", "-n", NAMESPACE, "-o", "name")
    for server in release.servers:
        server.kill()
    release.servers.clear()
    assert await leases(release) == []
    await cluster.kubectl("get", CRD, "upgraded")
    cluster.refused()


async def test_the_kind_that_is_there_already_is_left_alone_and_can_be_taken_over(
    with_helm: Cluster,
) -> None:
    cluster = with_helm
    await cluster.kubectl("apply", "-f", "crds/")
    cluster.cp.established(CRD)
    await cluster.gang("before")
    release = cluster.release("gangs", "gangs")

    notes = await release.helm("install")
    await release.start("scheduler")
    await cluster.bound("before")
    again = await release.helm("upgrade")

    for said in (notes, again):
        assert "belongs to no release: it was left as it is" in said
    assert await cluster.kubectl("get", "crd", CRD, "-o", OWNER) == ""
    await release.helm("upgrade", "--take-ownership", "--set", "crds.existing=adopt")
    assert await cluster.kubectl("get", "crd", CRD, "-o", OWNER) == "gangs"
    assert "was left as it is" not in await release.helm("upgrade", "--reset-values")
    assert await cluster.kubectl("get", "crd", CRD, "-o", OWNER) == "gangs"
    await release.stop()

    await release.helm("uninstall")
    other = cluster.release("other", "others")
    assert "belongs to release gangs in namespace gangs" in await other.helm("install")
    await other.start("scheduler")
    await cluster.gang("after")
    await cluster.bound("after")


async def test_notes_followed_to_the_letter_run_a_gang(cluster: Cluster) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    notes = (await release.helm("install")).partition("NOTES:")[2]
    await release.start("scheduler")
    await release.start("controller")
    cluster.cp.established(CRD)

    script = notes[notes.index("kubectl get deployments") : notes.index("kubectl get podgroups")]
    printed = await cluster.shell(script)

    assert "enbloc-scheduler" in printed
    assert len(notes.strip().splitlines()) <= 25
    await cluster.bound("first")
    last = next(each for each in notes.splitlines() if each.startswith("kubectl get podgroups"))

    async def runs() -> bool:
        return "Running" in await cluster.shell(last)

    await cluster.until(runs, lambda: "the gang of NOTES runs")


async def test_helm_test_runs_a_gang_of_two(cluster: Cluster) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    runs = r"tests.podAnnotations.sandbox\.enbloc\.dev/run-seconds=1"
    await release.helm("install", "--set-string", runs)
    await release.start("scheduler")
    cluster.cp.established(CRD)

    assert "Succeeded" in await release.helm("test")


async def test_helm_test_that_fails_leaves_the_gang_to_look_at(cluster: Cluster) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install")
    cluster.cp.established(CRD)

    done = await cluster.helm("test", "enbloc", "-n", NAMESPACE, "--timeout=3s")

    assert done.returncode != 0
    await cluster.kubectl("get", "epg", "enbloc-test", "-n", NAMESPACE)


@pytest.mark.parametrize("namespace", [NAMESPACE, "batch-system"])
async def test_two_releases_place_the_pods_of_their_own_schedulernames(
    cluster: Cluster, namespace: str
) -> None:
    first, second = cluster.release("enbloc", NAMESPACE), cluster.release("batch", namespace)
    await first.helm("install")
    values = "helm/enbloc/ci/second-scheduler-values.yaml"
    await second.helm("install", "-f", values)
    for release in (first, second):
        await release.start("scheduler")

    await asyncio.gather(served(first, "one"), served(second, "two", "batch"))

    assert "enbloc-scheduler" in await leases(first)
    assert "batch-enbloc-scheduler" in await leases(second)
    for release in (first, second):
        await release.stop()


async def test_two_releases_of_one_namespace_have_four_leases(cluster: Cluster) -> None:
    first, second = cluster.release("enbloc", NAMESPACE), cluster.release("batch", NAMESPACE)
    await first.helm("install")
    name = "scheduler.config.profiles[0].schedulerName=batch"
    await second.helm("install", "--set", name, "--set", "rbac.aggregateClusterRoles=false")
    for release in (first, second):
        for process in ("scheduler", "controller"):
            await release.start(process)

    async def all_there() -> bool:
        return await leases(first) == [
            "batch-enbloc-controller",
            "batch-enbloc-scheduler",
            "enbloc-controller",
            "enbloc-scheduler",
        ]

    await cluster.until(all_there, lambda: "each process has a Lease of its own")
    for release in (first, second):
        await release.stop()


async def test_both_processes_in_one_have_the_leases_and_roles_of_both(cluster: Cluster) -> None:
    release = cluster.release("small", "small")
    await release.helm("install", "--set", "mode=combined")
    await release.start("scheduler")

    await served(release, "combined")

    reason = "jsonpath={.status.conditions[?(@.type=='Ready')].reason}"
    await cluster.reads("Running", "get", CRD, "combined", "-o", reason)
    assert await leases(release) == ["small-enbloc-controller", "small-enbloc-scheduler"]
    await release.stop()


async def test_who_is_bound_to_the_metrics_reader_may_read_metrics_and_nobody_else(
    cluster: Cluster,
) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install", "--set", "metrics.clientCertificates=true")
    port = free_port()
    await release.start("scheduler", f"--secure-port={port}", "--bind-address=127.0.0.1")
    await cluster.kubectl("create", "serviceaccount", "prometheus")
    await cluster.kubectl("create", "serviceaccount", "stranger")
    role = ("--clusterrole=enbloc-metrics-reader", "--serviceaccount=default:prometheus")
    await cluster.kubectl("create", "clusterrolebinding", "prometheus", *role)

    async def answer(path: str, account: str = "") -> int:
        token = await cluster.kubectl("create", "token", account) if account else ""
        headers = {"Authorization": f"Bearer {token.strip()}"} if account else {}
        url = f"https://127.0.0.1:{port}{path}"
        async with aiohttp.ClientSession() as session:
            try:
                async with session.get(url, headers=headers, ssl=False) as response:
                    return response.status
            except aiohttp.ClientConnectionError:
                return 0

    async def ready() -> bool:
        return await answer("/readyz") == 200

    await cluster.until(ready, lambda: "the scheduler is ready")
    assert await answer("/metrics", "prometheus") == 200
    assert await answer("/metrics", "stranger") == 403
    assert await answer("/configz", "prometheus") == 403
    await release.stop()
    await cluster.kubectl("delete", "clusterrolebinding", "prometheus")
    await cluster.kubectl("delete", "serviceaccount", "prometheus", "stranger")


async def test_of_two_releases_with_one_schedulername_the_second_stands_by_and_says_for_whom(
    cluster: Cluster,
) -> None:
    first, second = cluster.release("enbloc", NAMESPACE), cluster.release("batch", "batch-system")
    await first.helm("install")
    leader = await first.start("scheduler")
    await cluster.says(leader, "Started scheduling")
    await second.helm("install")

    standby = await second.start("scheduler")

    await cluster.says(
        standby, f"Standing by: the scheduler of the Lease {NAMESPACE}/enbloc-scheduler"
    )
    await served(first, "one")
    assert "Started scheduling" not in standby.text()
    await first.stop()
    await cluster.says(standby, "Started scheduling")
    await served(second, "two")
    await second.stop()


async def test_the_cluster_s_own_roles_are_enough_with_what_they_lack(cluster: Cluster) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install", "--set", "rbac.useBuiltinSchedulerRoles=true")
    await release.start("scheduler")
    cluster.cp.established(CRD)

    await served(release, "builtin")

    await release.stop()


async def test_a_guarded_release_serves_more_names_and_its_leases_have_a_level_of_their_own(
    cluster: Cluster,
) -> None:
    release = cluster.release("enbloc", "guarded")
    await release.helm("install", "-f", "helm/enbloc/ci/guarded-values.yaml")
    await release.start("scheduler")
    cluster.cp.established(CRD)

    await served(release, "first")
    await served(release, "more", "inference")

    assert "gangs-scheduler" in await leases(release)
    levels = "jsonpath={.spec.priorityLevelConfiguration.name} {.status.conditions[*].status}"
    for schema, level in (("gangs-leases", "gangs-leases"), ("gangs", "workload-high")):
        # False: the level that it names is there.
        await cluster.reads(f"{level} False", "get", "flowschema", schema, "-o", levels)
    await cluster.kubectl("get", "configmap", "gangs-extra", "-n", "guarded")
    await release.stop()


async def test_the_doctor_has_the_rights_to_look_and_finds_who_serves_the_name_already(
    cluster: Cluster,
) -> None:
    # No node here runs a Job: what the hook brings is applied, and its container's command run.
    values = ("-f", "helm/enbloc/ci/doctor-values.yaml", "-n", "planned")
    rendered = await cluster.helm("template", "planned", CHART, *values)
    hooks = [
        each
        for each in yaml.safe_load_all(rendered.stdout)
        if each and each["metadata"].get("annotations", {}).get("helm.sh/hook") == "pre-install"
    ]
    [job] = [each for each in hooks if each["kind"] == "Job"]
    await cluster.kubectl("create", "namespace", "planned")
    brought = yaml.safe_dump_all([each for each in hooks if each is not job])
    await cluster.kubectl("apply", "-f", "-", stdin=brought)
    [config] = [each["data"] for each in hooks if each["kind"] == "ConfigMap"]
    path = cluster.path / "doctor.yaml"
    path.write_text(config["config.yaml"])
    spec = job["spec"]["template"]["spec"]
    kubeconfig = await asyncio.to_thread(
        cluster.cp.kubeconfig_for_service_account, "planned", spec["serviceAccountName"]
    )
    [container] = spec["containers"]
    flags = [each for each in container["args"] if not each.startswith("--config=")]

    async def ends() -> Ended:
        return await run(*flags, f"--config={path}", f"--kubeconfig={kubeconfig}")

    alone = await ends()
    first = cluster.release("enbloc", NAMESPACE)
    await first.helm("install")
    await cluster.says(await first.start("scheduler"), "Started scheduling")
    beside = await ends()

    assert (alone.returncode, beside.returncode) == (0, 3), alone.stdout + alone.stderr
    assert f"{NAMESPACE}/enbloc-scheduler" in beside.stdout
    account = spec["serviceAccountName"]
    rules = [rule for table in ROLES.values() for rule in table]
    processes = {(r.group, each, verb) for r in rules for each in r.resources for verb in r.verbs}
    looks = {grant[1:4] for grant in granted(hooks, account, "planned")} - processes
    assert (
        looks - cluster.used(f"system:serviceaccount:planned:{account}")
        == {
            ("", "resourcequotas", "list"),  # on GKE
            ("coordination.k8s.io", "leases", "get"),  # kube-scheduler's, where that is replaced
        }
        - processes
    )
    await first.stop()
    await cluster.kubectl("delete", "-f", "-", stdin=brought)
    await cluster.kubectl("delete", "namespace", "planned", "--wait=false")
    cluster.refused()  # other installs' ConfigMaps are not its to read: it says that it cannot


async def test_in_place_of_kube_scheduler_it_takes_kube_scheduler_s_lease(
    cluster: Cluster,
) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install", "-f", "helm/enbloc/ci/replace-default-values.yaml")
    await release.start("scheduler")
    cluster.cp.established(CRD)

    await served(release, "default", "default-scheduler")

    lease = await cluster.kubectl(
        "get", "lease", "kube-scheduler", "-n", "kube-system", "-o", "json"
    )
    assert json.loads(lease)["spec"]["holderIdentity"]
    assert "ownerReferences" not in json.loads(lease)["metadata"]
    await release.stop()


async def test_the_cluster_s_roles_for_users_cover_podgroups(cluster: Cluster) -> None:
    release = cluster.release("enbloc", NAMESPACE)
    await release.helm("install")
    may = {"view": "get", "edit": "create", "admin": "delete"}

    for role, verb in may.items():
        binding = ("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}er")
        await cluster.kubectl(*binding)

        async def can(verb: str = verb, role: str = role) -> bool:
            asked = ("auth", "can-i", verb, CRD, f"--as={role}er")
            done = await asyncio.to_thread(cluster.cp.kubectl, *asked, check=False)
            return done.stdout.strip() == "yes"

        await cluster.until(can, partial("{} may {} PodGroups".format, role, verb))
    refused = ("auth", "can-i", "create", CRD, "--as=viewer")
    assert (await asyncio.to_thread(cluster.cp.kubectl, *refused, check=False)).stdout == "no\n"
    await cluster.kubectl("delete", "rolebinding", *may)
