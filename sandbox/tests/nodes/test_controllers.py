# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from typing import Any

from enbloc.client.client import PatchType
from enbloc.client.paths import JOBS, NODES, PODS
from enbloc.model.names import EXIT_CODE_KEY, RUN_SECONDS_KEY
from enbloc_sandbox.nodes.controllers import ControllerPace
from enbloc_sandbox.nodes.kubelet import Pace
from enbloc_sandbox.nodes.shapes import Shape
from sandbox.tests.nodes.conftest import Yard, condition, job

NODE = Shape("n1", 64_000, 64 * 2**30)
IMPATIENT = ControllerPace(grace=0.5, retry=0.02)


def taints(node: dict[str, Any]) -> set[str]:
    return {one["key"].rpartition("/")[2] for one in node["spec"].get("taints") or ()}


async def bind_all(yard: Yard) -> None:
    """Put every pod that has no node on the only one."""
    for pod in await yard.pods():
        if not pod["spec"].get("nodeName"):
            name = pod["metadata"]["name"]
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name},
                "target": {"kind": "Node", "name": "n1"},
            }
            await yard.client.create(PODS, binding, "default", name=name, subresource="binding")


async def until_job(yard: Yard, name: str, **status: Any) -> dict[str, Any]:
    return await yard.until(
        JOBS,
        name,
        lambda found: all(found["status"].get(key) == value for key, value in status.items()),
    )


async def test_controllers_that_have_ended_do_nothing_more(yard: Yard) -> None:
    """A failed pod of a Job is replaced a while later, but not by who is gone."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
    controllers = yard.controllers(ControllerPace(retry=0.5))
    await yard.kubelet(NODE)
    fails = {RUN_SECONDS_KEY: "0", EXIT_CODE_KEY: "1"}
    await yard.client.create(JOBS, job("j", annotations=fails), "default")
    await yard.until(JOBS, "j", lambda found: found["status"].get("active") == 1)
    await bind_all(yard)
    await until_job(yard, "j", failed=1)
    await yard.stop(controllers)
    await asyncio.sleep(1.0)
    assert not complaints


async def test_a_new_node_takes_pods_once_its_kubelet_has_spoken(yard: Yard) -> None:
    yard.controllers()
    await yard.client.create(NODES, Shape("mute", 1, 1).manifest())
    await yard.kubelet(NODE)
    await yard.until(NODES, "n1", lambda node: not taints(node))
    mute = await yard.get(NODES, "mute")
    assert mute is not None
    assert taints(mute) == {"not-ready"}


async def test_a_node_without_heartbeat_becomes_unreachable_and_comes_back(yard: Yard) -> None:
    yard.controllers(IMPATIENT)
    kubelet = await yard.kubelet(NODE, pace=Pace(lease=0.05))
    await yard.until(NODES, "n1", lambda node: not taints(node))
    await yard.stop(kubelet)
    lost = await yard.until(NODES, "n1", lambda node: taints(node) == {"unreachable"})
    assert {one["effect"] for one in lost["spec"]["taints"]} == {"NoSchedule", "NoExecute"}
    await yard.until(NODES, "n1", lambda node: condition(node, "Ready") == "Unknown")
    await yard.kubelet(NODE, pace=Pace(lease=0.05))
    await yard.until(NODES, "n1", lambda node: not taints(node))


async def test_a_cordoned_node_is_tainted_until_it_is_uncordoned(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await yard.until(NODES, "n1", lambda node: not taints(node))
    await yard.client.patch(NODES, "n1", {"spec": {"unschedulable": True}}, kind=PatchType.MERGE)
    await yard.until(NODES, "n1", lambda node: taints(node) == {"unschedulable"})
    await yard.client.patch(NODES, "n1", {"spec": {"unschedulable": None}}, kind=PatchType.MERGE)
    await yard.until(NODES, "n1", lambda node: not taints(node))


async def bound_until(yard: Yard, wanted: str) -> dict[str, Any]:
    """Job j, once it has a condition; its pods are bound as they come."""
    while True:
        await bind_all(yard)
        found = await yard.client.get(JOBS, "j", "default")
        if condition(found, wanted) == "True":
            assert isinstance(found, dict)
            return found
        await asyncio.sleep(0.02)


async def test_an_indexed_job_runs_each_index_once_and_completes(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    body = job("j", annotations={RUN_SECONDS_KEY: "0.1"}, completions=4, parallelism=2)
    body["spec"]["completionMode"] = "Indexed"
    await yard.client.create(JOBS, body, "default")
    await until_job(yard, "j", active=2)
    found = await bound_until(yard, "Complete")
    assert found["status"]["succeeded"] == 4
    assert found["status"]["completedIndexes"] == "0-3"
    assert found["status"]["completionTime"]
    assert condition(found, "SuccessCriteriaMet") == "True"
    pods = await yard.pods()
    indexes = [
        pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for pod in pods
    ]
    assert sorted(indexes) == ["0", "1", "2", "3"]
    assert all(pod["metadata"]["ownerReferences"][0]["name"] == "j" for pod in pods)


async def test_a_plain_job_counts_ready_pods(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await yard.client.create(JOBS, job("j", completions=3, parallelism=3), "default")
    await until_job(yard, "j", active=3)
    await bind_all(yard)
    await until_job(yard, "j", active=3, ready=3)


async def test_a_deleted_pod_is_replaced(yard: Yard) -> None:
    yard.controllers(IMPATIENT)
    await yard.client.create(JOBS, job("j", completions=2, parallelism=2), "default")
    await until_job(yard, "j", active=2)
    gone = (await yard.pods())[0]["metadata"]
    await yard.client.delete(PODS, gone["name"], "default")
    await until_job(yard, "j", active=2, failed=1)
    assert gone["uid"] not in {pod["metadata"]["uid"] for pod in await yard.pods()}


async def test_a_job_whose_pods_fail_gives_up_at_its_backoff_limit(yard: Yard) -> None:
    yard.controllers(IMPATIENT)
    await yard.kubelet(NODE)
    fails = {RUN_SECONDS_KEY: "0", EXIT_CODE_KEY: "1"}
    await yard.client.create(JOBS, job("j", annotations=fails, backoffLimit=2), "default")
    found = await bound_until(yard, "Failed")
    assert found["status"]["failed"] == 3
    assert len(await yard.pods()) == 3
    reasons = {one["type"]: one["reason"] for one in found["status"]["conditions"]}
    assert reasons["Failed"] == reasons["FailureTarget"] == "BackoffLimitExceeded"


async def test_a_suspended_job_has_no_pods_until_it_is_resumed(yard: Yard) -> None:
    yard.controllers()
    await yard.client.create(JOBS, job("j", completions=2, parallelism=2), "default")
    await until_job(yard, "j", active=2)
    await suspend(yard, "j", True)
    await until_job(yard, "j", active=0)
    await suspend(yard, "j", False)
    await until_job(yard, "j", active=2)
    pods = [pod for pod in await yard.pods() if "deletionTimestamp" not in pod["metadata"]]
    assert len(pods) == 2


async def suspend(yard: Yard, name: str, wanted: bool) -> None:
    change = {"spec": {"suspend": wanted}}
    await yard.client.patch(JOBS, name, change, "default", kind=PatchType.MERGE)
    await yard.until(JOBS, name, lambda found: condition(found, "Suspended") == str(wanted))


async def test_a_refused_pod_is_tried_again(yard: Yard) -> None:
    yard.controllers(IMPATIENT)
    yard.sandbox.faults.add(verb="create", resource="pods", status=403, times=2)
    await yard.client.create(JOBS, job("j", completions=1), "default")
    await until_job(yard, "j", active=1)


async def test_controllers_that_restart_make_no_second_pod(yard: Yard) -> None:
    first = yard.controllers()
    await yard.client.create(JOBS, job("j", completions=2, parallelism=2), "default")
    await until_job(yard, "j", active=2)
    await yard.stop(first)
    yard.controllers()
    await yard.client.create(JOBS, job("k", completions=1), "default")
    await until_job(yard, "k", active=1)
    assert len(await yard.pods()) == 3


async def test_a_deleted_job_takes_its_pods_with_it(yard: Yard) -> None:
    yard.controllers()
    await yard.client.create(JOBS, job("j", completions=1), "default")
    await until_job(yard, "j", active=1)
    name = (await yard.pods())[0]["metadata"]["name"]
    # As kubectl asks; without a policy, batch/v1 leaves the pods as orphans.
    policy = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    await yard.client.request("delete", JOBS, "j", "default", body=policy)
    await yard.gone(JOBS, "j")
    await yard.gone(PODS, name)
    await yard.client.create(JOBS, job("k", completions=1), "default")
    await until_job(yard, "k", active=1)


async def test_an_evicted_pod_of_a_job_that_ignores_disruptions_is_replaced_for_nothing(
    yard: Yard,
) -> None:
    yard.controllers(IMPATIENT)
    await yard.kubelet(NODE)
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    body = job("j", completions=1, parallelism=1, backoffLimit=0, podFailurePolicy=policy)
    await yard.client.create(JOBS, body, "default")
    await until_job(yard, "j", active=1)
    await bind_all(yard)
    await until_job(yard, "j", ready=1)
    [first] = await yard.pods()
    name = first["metadata"]["name"]
    await yard.client.create(
        PODS,
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}},
        "default",
        name=name,
        subresource="eviction",
    )
    await yard.gone(PODS, name)

    found = await until_job(yard, "j", active=1, ready=0)
    assert not found["status"].get("failed")
    assert condition(found, "FailureTarget") is None
    [second] = await yard.pods()
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
