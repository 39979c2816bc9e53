# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every example is applied to a real API server and runs; stand-ins play other controllers."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.model.names import NAMESPACE
from enbloc_sandbox.nodes import DeviceDriver, Provisioner, Shape
from tests.charts.releases import Cluster, Release, opened
from tests.controlplane import ControlPlane
from tests.e2e.native_objects import native_control_plane
from tests.e2e.processes import environment, finished
from tests.manifests import operators

pytestmark = pytest.mark.controlplane
EXAMPLES = Path("manifests/examples")
INTEGRATIONS = EXAMPLES / "integrations"
PLUGINS = EXAMPLES / "plugins"
KINDS = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("ray.io", "v1", "RayCluster"),
    ("sparkoperator.k8s.io", "v1beta2", "SparkApplication"),
    ("kubeflow.org", "v2beta1", "MPIJob"),
)
#: What the examples need of a node: the largest is an application of 196 CPUs beside its driver.
NODE = {"cpu": 400_000, "memory": 1024 * 2**30, "gpus": 64}


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with native_control_plane(jobs=False) as running:
        crds = [operators.kind(*each) for each in KINDS]
        running.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(crds))
        for crd in crds:
            running.established(crd["metadata"]["name"])
        yield running


@pytest.fixture
async def cluster(controlplane: ControlPlane, tmp_path: Path) -> AsyncGenerator[Cluster]:
    async with opened(controlplane, tmp_path, **NODE) as cluster:
        release = cluster.release("enbloc", NAMESPACE)
        await release.helm("install")
        cluster.cp.established("podgroups.enbloc.dev")
        for process in ("scheduler", "controller"):
            await release.start(process)
        yield cluster
        await cluster.kubectl("delete", "podgroups.enbloc.dev,jobs,services", "--all")


async def applied(cluster: Cluster, path: Path) -> dict[str, dict[str, Any]]:
    """Apply an example; its objects as the server has them, by kind."""
    await cluster.kubectl("apply", "-f", str(path))
    listed = await cluster.kubectl("get", "-f", str(path), "-o", "json")
    found = json.loads(listed)
    return {each["kind"]: each for each in found.get("items", [found])}


async def created(cluster: Cluster, objects: Iterable[dict[str, Any]]) -> None:
    await cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all([*objects]))


async def runs(cluster: Cluster, pods: int, *groups: str) -> None:
    """Wait until so many pods, all that there are, run, and so do the groups."""
    phases = ("get", "pods", "-o", "jsonpath={.items[*].status.phase}")
    await cluster.reads(" ".join(["Running"] * pods), *phases)
    reason = "jsonpath={.status.conditions[?(@.type=='Ready')].reason}"
    for group in groups:
        await cluster.reads("Running", "get", "podgroups.enbloc.dev", group, "-o", reason)


@pytest.mark.parametrize(
    ("name", "pods", "groups"),
    [
        ("gang", 8, ["train"]),
        ("indexed-job", 8, ["epochs"]),
        ("survive-a-node", 8, ["training"]),
        ("whole-gang-service", 4, ["ring"]),
        ("two-gangs", 12, ["left", "right"]),
        ("driver-and-executors", 2, ["etl", "report"]),
        ("placeholders", 2, []),
    ],
)
async def test_an_example_of_pods_and_jobs_runs(
    cluster: Cluster, name: str, pods: int, groups: list[str]
) -> None:
    await applied(cluster, EXAMPLES / f"{name}.yaml")

    await runs(cluster, pods, *groups)


async def test_the_gang_of_the_example_runs_once_nodes_tell_their_block(cluster: Cluster) -> None:
    await applied(cluster, EXAMPLES / "topology.yaml")
    for key in ("topology.kubernetes.io/zone", "example.com/block", "example.com/rack"):
        await cluster.kubectl("label", "nodes", "--all", f"{key}=one")

    await runs(cluster, 8, "train")


async def test_of_the_gangs_that_wait_for_reasons_the_one_for_a_label_starts_with_it(
    cluster: Cluster,
) -> None:
    await applied(cluster, EXAMPLES / "why-it-waits.yaml")  # these nodes have GPUs for all
    phases = ("get", "pods", "--sort-by=.status.phase", "-o", "jsonpath={.items[*].status.phase}")
    await cluster.reads(" ".join(["Pending"] * 2 + ["Running"] * 6), *phases)

    await cluster.kubectl("label", "nodes", "--all", "accelerator=h100")

    await runs(cluster, 8, "early", "late", "large", "picky")


async def test_executors_join_the_driver_that_was_given_their_capacity(cluster: Cluster) -> None:
    await applied(cluster, EXAMPLES / "driver-and-executors.yaml")
    await runs(cluster, 2, "etl", "report")

    await applied(cluster, EXAMPLES / "executors.yaml")

    await runs(cluster, 5, "etl", "report")


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Have somebody else at work in the cluster."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def first_then_second(cluster: Cluster, what: str, first: int, second: int) -> None:
    """One gang runs and the other waits whole; when the first one goes, the second one runs."""
    await runs(cluster, first, f"{what}-training")
    later = f"{what}-evaluation"
    await cluster.kubectl("patch", "jobs", later, "-p", '{"spec": {"suspend": false}}')
    phases = ("get", "pods", "--sort-by=.status.phase", "-o", "jsonpath={.items[*].status.phase}")
    await cluster.reads(" ".join(["Pending"] * second + ["Running"] * first), *phases)
    await cluster.kubectl("delete", "jobs", f"{what}-training")
    await runs(cluster, second, later)


async def test_of_two_gangs_with_volumes_one_waits_for_the_storage_of_the_other(
    cluster: Cluster,
) -> None:
    text = (EXAMPLES / "gang-with-volumes.yaml").read_text("utf-8")
    on_one_node = text.replace("capacityPerNode: 250Gi", "capacityPerNode: 850Gi")
    async with beside(Provisioner(cluster.client).run()):
        await cluster.kubectl("apply", "-f", "-", stdin=on_one_node)
        await first_then_second(cluster, "scratch", 8, 4)
    await cluster.kubectl("delete", "storageclass", "scratch")


async def test_of_two_gangs_with_devices_one_waits_for_those_of_the_other(
    cluster: Cluster,
) -> None:
    shapes = [Shape("node-0", 0, 0)]
    async with beside(DeviceDriver(cluster.client, shapes, 32).run()):
        await applied(cluster, EXAMPLES / "gang-with-devices.yaml")
        await first_then_second(cluster, "gpu", 8, 2)


async def test_of_jobs_that_are_made_gangs_of_one_runs_and_the_other_waits_whole(
    cluster: Cluster,
) -> None:
    """There are CPUs for eight of their twelve pods."""
    await cluster.kubectl("label", "namespaces", "default", "enbloc.dev/auto-group=Job")
    try:
        await applied(cluster, EXAMPLES / "jobs-without-a-podgroup.yaml")

        # Whichever Job's pods were all there first; both were made within a second.
        phases = ("--sort-by=.status.phase", "-o", "jsonpath={.items[*].status.phase}")
        wanted = " ".join([*["Pending"] * 6, *["Running"] * 6])
        await cluster.reads(wanted, "get", "pods", *phases)
        minimums = ("get", "podgroups.enbloc.dev", "-o", "jsonpath={.items[*].spec.minMember}")
        await cluster.reads("6 6", *minimums)
    finally:
        await cluster.kubectl("label", "namespaces", "default", "enbloc.dev/auto-group-")


async def test_a_job_set_runs(cluster: Cluster) -> None:
    found = (await applied(cluster, INTEGRATIONS / "jobset.yaml"))["JobSet"]

    await created(cluster, operators.of_job_set(found, found["spec"]["replicatedJobs"]))

    await runs(cluster, 3, "fit")


async def test_a_train_job_runs(cluster: Cluster) -> None:
    found = await applied(cluster, INTEGRATIONS / "pytorch.yaml")

    await created(cluster, operators.of_train_job(found["TrainJob"], found["TrainingRuntime"]))

    await runs(cluster, 2, "finetune")


async def test_a_ray_cluster_runs(cluster: Cluster) -> None:
    found = await applied(cluster, INTEGRATIONS / "ray.yaml")

    await created(cluster, operators.of_ray_cluster(found["RayCluster"]))

    await runs(cluster, 3, "cluster")


async def test_a_spark_application_runs(cluster: Cluster) -> None:
    application = (await applied(cluster, INTEGRATIONS / "spark.yaml"))["SparkApplication"]
    await created(cluster, operators.of_spark(application, "driver", 1))
    await runs(cluster, 1, "pi")

    driver = json.loads(await cluster.kubectl("get", "pod", "pi-driver-0", "-o", "json"))
    driver["application"] = application
    await created(cluster, operators.of_spark(driver, "executor", 2))

    await runs(cluster, 3, "pi")


async def test_an_mpi_job_runs(cluster: Cluster) -> None:
    found = await applied(cluster, INTEGRATIONS / "mpi.yaml")

    await created(cluster, operators.of_mpi_job(found["MPIJob"]))

    await runs(cluster, 3, "rings")


async def test_a_pod_group_of_kubernetes_runs(cluster: Cluster) -> None:
    await applied(cluster, INTEGRATIONS / "kubernetes-pod-group.yaml")

    await runs(cluster, 2, "pair")
    status = "jsonpath={.status.conditions[?(@.type=='PodGroupScheduled')].status}"
    await cluster.reads("True", "get", "podgroups.scheduling.k8s.io", "pair", "-o", status)
    await cluster.kubectl("delete", "podgroups.scheduling.k8s.io", "pair", "--wait=false")


async def test_the_gangs_of_two_schedulers_run(cluster: Cluster) -> None:
    second: Release = cluster.release("batch", "batch-system")
    await second.helm("install", "-f", "helm/enbloc/ci/second-scheduler-values.yaml")
    await second.start("scheduler")

    await applied(cluster, INTEGRATIONS / "two-schedulers.yaml")

    await runs(cluster, 4, "day", "night")
    await asyncio.gather(second.stop())


async def with_plugin(cluster: Cluster, name: str) -> Path:
    """Have the release run a plugin of the examples, as an image that holds it; the package."""
    package, installed = PLUGINS / name, cluster.path / "plugins"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    copy = shutil.copytree(package, cluster.path / name)  # a build leaves files beside the source
    done = await finished([*pip, "--target", str(installed), str(copy)], environment())
    assert done.returncode == 0, done.stderr
    [release] = cluster.releases
    await release.stop()
    config = yaml.safe_load((package / "scheduler.yaml").read_text(encoding="utf-8"))
    values = cluster.path / "values.yaml"
    values.write_text(
        yaml.safe_dump({"scheduler": {"config": {"profiles": config["profiles"]}}}),
        encoding="utf-8",
    )
    await release.helm("upgrade", "-f", str(values))
    release.plugins = [installed]
    for process in ("scheduler", "controller"):
        await release.start(process)
    return package


async def test_a_plugin_keeps_a_pod_off_its_node_until_the_label_is_gone(cluster: Cluster) -> None:
    await cluster.kubectl("label", "node", "node-0", "example.com/maintenance=true")
    package = await with_plugin(cluster, "maintenance")

    await applied(cluster, package / "pods.yaml")

    message = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}"
    said = (
        "0/1 nodes are available: 1 node(s) were under maintenance. preemption: 0/1 nodes are "
        "available: 1 Preemption is not helpful for scheduling."
    )
    await cluster.reads(said, "get", "pod", "careful", "-o", message)
    await cluster.kubectl("label", "node", "node-0", "example.com/maintenance-")
    await runs(cluster, 1)


async def test_a_plugin_scores_the_nodes_of_a_pod_that_runs(cluster: Cluster) -> None:
    await cluster.kubectl("annotate", "node", "node-0", "example.com/price=100")
    package = await with_plugin(cluster, "cheapest")

    await applied(cluster, package / "pods.yaml")

    await runs(cluster, 1)


async def test_a_plugin_lets_a_gang_run_once_its_podgroup_is_annotated(cluster: Cluster) -> None:
    package = await with_plugin(cluster, "approval")
    await applied(cluster, package / "pods.yaml")
    group = ("podgroups.enbloc.dev", "train")
    reason = "jsonpath={.status.conditions[?(@.type=='Ready')].reason}"
    await cluster.reads("WaitingOnPermit", "get", *group, "-o", reason)

    await cluster.kubectl("annotate", *group, "example.com/approved=true")

    await runs(cluster, 2, "train")


def test_every_example_is_run_by_a_test() -> None:
    text = Path(__file__).read_text(encoding="utf-8")

    files = [*EXAMPLES.glob("*.yaml"), *INTEGRATIONS.glob("*.yaml")]
    packages = [path.parent for path in PLUGINS.glob("*/pyproject.toml")]
    for path in [*files, *packages]:
        assert f'"{path.stem}"' in text or f'"{path.name}"' in text, path
