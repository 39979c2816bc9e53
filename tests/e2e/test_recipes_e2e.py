# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The recipes that users of kube-scheduler follow work with image and command exchanged.

The manifests are applied to a real API server with RBAC on; what a kubelet would start from them is
a process here, with the same flags and files, and a token of the same service account.
"""

import asyncio
import json
import subprocess
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.errors import NotFound
from enbloc.client.paths import EVENTS, LEASES, NODES, PODS
from tests.controlplane import ControlPlane
from tests.e2e import manifests
from tests.e2e.bare import bare_control_plane
from tests.e2e.pods_as_processes import Container, Files, can_mount, get, running
from tests.e2e.processes import COMMAND, environment, run
from tests.hack.processes import Process, free_port
from tests.patience import PATIENCE

pytestmark = pytest.mark.controlplane

RECIPES = Path(__file__).parent / "recipes"
SYSTEM = "kube-system"
SAMPLE_ENTRY = "[enbloc.plugins]\nSample = sample:Sample\n"
SAMPLE_METADATA = "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with bare_control_plane() as cp:
        yield cp


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncGenerator[Client]:
    async with Client(await load(plane.kubeconfig), component="e2e") as client:
        node = {
            "metadata": {"name": "node-1"},
            "status": {
                "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "50"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        await client.create(NODES, node)
        yield client
        async for pod in client.list(PODS, "default", shape=dict[str, Any]):
            gone = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
            await client.request("delete", PODS, pod["metadata"]["name"], "default", body=gone)
        await client.delete(NODES, "node-1")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((RECIPES / name).read_text(encoding="utf-8")))


async def eventually(what: str, probe: Callable[[], Any]) -> Any:
    """What an awaited probe gives once that is true."""
    deadline = time.monotonic() + PATIENCE
    while not (found := await probe()):
        assert time.monotonic() < deadline, f"not within {PATIENCE:g} s: {what}"
        await asyncio.sleep(0.1)
    return found


async def create(admin: Client, name: str, scheduler: str = "") -> None:
    """A pod of this scheduler; "" = its author did not name any."""
    pod = manifests.pod(name, scheduler=scheduler)
    if not scheduler:
        del pod["spec"]["schedulerName"]
    await admin.create(PODS, pod, "default")


async def node_of(admin: Client, pod: str) -> str:
    found = await admin.get(PODS, pod, "default")
    return str(found["spec"].get("nodeName", ""))


async def bound(admin: Client, pod: str) -> None:
    await eventually(f"{pod} is bound", lambda: node_of(admin, pod))


async def bound_by(admin: Client, pod: str) -> str:
    """Whom the event `Scheduled` of a pod is from."""

    async def reporter() -> str:
        async for event in admin.list(EVENTS, "default"):
            if event["regarding"]["name"] == pod and event["reason"] == "Scheduled":
                return str(event.get("reportingController") or event["deprecatedSource"])
        return ""

    return str(await eventually(f"{pod} has an event Scheduled", reporter))


def kube_scheduler(plane: ControlPlane, tmp_path: Path) -> Process:
    """The real one, electing as kubeadm has it."""
    kubeconfig = plane.kubeconfig_for_user("system:kube-scheduler")
    command = [str(plane.bin("kube-scheduler")), f"--kubeconfig={kubeconfig}", "--secure-port=0"]
    lease = ["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"]
    more = ["--leader-elect=true", "--leader-elect-retry-period=500ms"]
    return Process("kube-scheduler", [*command, *lease, *more], tmp_path / "kube-scheduler.log")


def token(plane: ControlPlane, namespace: str, name: str) -> str:
    made = plane.kubectl("create", "token", name, "-n", namespace, "--duration=1h")
    return made.stdout.strip()


# ── a second scheduler ───────────────────────────────────────────────────────────────────────


def second_scheduler(
    plane: ControlPlane, files: Files, change: Callable[[str], str] = lambda text: text
) -> Container:
    """Applied, and as the process that its Deployment describes."""
    text = change((RECIPES / "second-scheduler.yaml").read_text(encoding="utf-8"))
    plane.kubectl("apply", "-f", "-", stdin=text)
    applied = list(yaml.safe_load_all(text))
    config_maps = {
        one["metadata"]["name"]: one["data"] for one in applied if one["kind"] == "ConfigMap"
    }
    shown = plane.kubectl("get", "deployment", "my-scheduler", "-n", SYSTEM, "-o", "json").stdout
    spec = json.loads(shown)["spec"]["template"]["spec"]
    files.mount(spec, config_maps)
    account = plane.kubeconfig_for_service_account(SYSTEM, spec["serviceAccountName"])
    return Container(spec, files, account)


@pytest.mark.skipif(not can_mount(), reason="nothing may be mounted for one process here")
async def test_it_finds_the_cluster_by_its_service_account(
    plane: ControlPlane, admin: Client, files: Files
) -> None:
    by_file = second_scheduler(plane, files)
    account = files.root / "account"
    files.write("/account/token", token(plane, SYSTEM, "my-scheduler"))
    files.write("/account/ca.crt", plane.ca_file.read_text(encoding="utf-8"))
    files.write("/account/namespace", SYSTEM)
    server = urlsplit(plane.url)
    variables = {
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
    }
    async with running(Container(by_file.spec, files, None, variables, account)) as scheduler:
        await scheduler.well()
        await create(admin, "in-a-pod", "my-scheduler")
        await bound(admin, "in-a-pod")
        assert '"by": "the pod\'s service account"' in scheduler.text()


@pytest.mark.parametrize("version", ["v1", "v1beta3", "v1beta2", "v1beta1"])
async def test_a_second_scheduler_with_the_built_in_roles_binds_its_own_pods(
    plane: ControlPlane, admin: Client, files: Files, tmp_path: Path, version: str
) -> None:
    def older(text: str) -> str:
        return text.replace(
            "kubescheduler.config.k8s.io/v1\n", f"kubescheduler.config.k8s.io/{version}\n"
        )

    default = kube_scheduler(plane, tmp_path)
    default.start()
    try:
        async with running(second_scheduler(plane, files, older)) as scheduler:
            await scheduler.well()
            for name, who in {
                "no-annotation": "",
                "annotation-default-scheduler": "default-scheduler",
                "annotation-second-scheduler": "my-scheduler",
                "annotation-nobody": "nobodys-scheduler",
            }.items():
                await create(admin, name, who)
            for name, who in {
                "no-annotation": "default-scheduler",
                "annotation-default-scheduler": "default-scheduler",
                "annotation-second-scheduler": "my-scheduler",
            }.items():
                await bound(admin, name)
                assert await bound_by(admin, name) == who
            assert await node_of(admin, "annotation-nobody") == ""
    finally:
        default.stop()


async def test_what_the_built_in_roles_lack_is_said_once_and_keeps_nothing_from_ready(
    plane: ControlPlane, admin: Client, files: Files
) -> None:
    async with running(second_scheduler(plane, files)) as scheduler:
        await create(admin, "early", "my-scheduler")
        await bound(admin, "early")
        code, text = await scheduler.get("/readyz?verbose")
        assert code == 200
        assert "[!]podgroups-readable failed: does not count, see the log" in text
        assert "[!]priorityclasses-readable failed: does not count" in text
        assert "[+]nodes-synced ok" in text
        await asyncio.sleep(8)  # some more tries
        said = scheduler.text()
    lacking = 'grant the verb \\"list\\" on podgroups.enbloc.dev); until then: pods without a group'
    assert said.count(lacking) == 1
    assert said.count("annot list podgroups.enbloc.dev") == 1
    assert '"severity": "error"' not in said


async def test_what_is_granted_and_installed_later_is_noticed(
    plane: ControlPlane, admin: Client, files: Files
) -> None:
    async with running(second_scheduler(plane, files)) as scheduler:
        await scheduler.well()
        await eventually("it does without", lambda: _has(scheduler, "until then"))
        plane.kubectl("apply", "-f", "crds/")
        plane.established("podgroups.enbloc.dev")
        role = ("clusterrole", "groups", "--verb=get,list,watch,patch,create")
        groups = "--resource=podgroups.enbloc.dev,podgroups.enbloc.dev/status"
        plane.kubectl("create", *role, groups)
        account = f"--serviceaccount={SYSTEM}:my-scheduler"
        plane.kubectl("create", "clusterrolebinding", "groups", "--clusterrole=groups", account)
        try:
            plane.kubectl(
                "apply", "-f", "-", stdin=json.dumps(_in_default(manifests.group("g", 2)))
            )
            for name in ("g-0", "g-1"):
                pod = manifests.pod(name, "g", scheduler="my-scheduler")
                await admin.create(PODS, pod, "default")
            await bound(admin, "g-0")
            await bound(admin, "g-1")
            assert "Can read podgroups.enbloc.dev now" in scheduler.text()
        finally:
            plane.kubectl("delete", "clusterrole,clusterrolebinding", "groups")
            plane.kubectl("delete", "-f", "crds/")


def _in_default(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "namespace": "default"}}


async def _has(container: Container, text: str) -> bool:
    container.check()
    return text in container.text()


async def test_it_elects_on_a_lease_of_its_own_that_the_built_in_role_was_extended_by(
    plane: ControlPlane, admin: Client, files: Files
) -> None:
    def electing(text: str) -> str:
        names = "resourceNamespace: kube-system\n      resourceName: my-scheduler"
        return text.replace("leaderElect: false", f"leaderElect: true\n      {names}")

    role = "clusterrole/system:kube-scheduler"
    rules = json.loads(plane.kubectl("get", role, "-o", "json").stdout)["rules"]
    [index] = [
        number
        for number, rule in enumerate(rules)
        if rule["resources"] == ["leases"] and "resourceNames" in rule
    ]
    path = f"/rules/{index}/resourceNames/-"
    patch = json.dumps([{"op": "add", "path": path, "value": "my-scheduler"}])
    plane.kubectl("patch", role, "--type=json", f"--patch={patch}")
    async with running(second_scheduler(plane, files, electing)) as scheduler:
        await scheduler.well()
        await create(admin, "elected", "my-scheduler")
        await bound(admin, "elected")
        lease = await admin.get(LEASES, "my-scheduler", SYSTEM)
        assert lease["spec"]["holderIdentity"]
    lease = await admin.get(LEASES, "my-scheduler", SYSTEM)
    assert not lease["spec"].get("holderIdentity")  # given back


# ── a plugin scheduler that is started by hand ───────────────────────────────────────────────


def command(*arguments: str) -> tuple[list[str], int]:
    """`enbloc scheduler` on a port of its own, and that port."""
    port = free_port()
    return [*COMMAND, "scheduler", *arguments, f"--secure-port={port}"], port


async def test_a_plugin_of_a_users_is_asked_where_a_v1beta1_file_says(
    plane: ControlPlane, admin: Client, files: Files
) -> None:
    kubeconfig, diary = plane.kubeconfig_for_user("system:kube-scheduler"), files.root / "diary"
    text = (RECIPES / "sample-scheduler.yaml").read_text(encoding="utf-8")
    text = text.replace("/etc/kubernetes/scheduler.conf", str(kubeconfig))
    config = files.write("/scheduler-config.yaml", text.replace("/var/log/sample", str(diary)))
    files.write("/site/sample.py", (RECIPES / "sample.py").read_text(encoding="utf-8"))
    files.write("/site/sample-1.0.dist-info/entry_points.txt", SAMPLE_ENTRY)
    files.write("/site/sample-1.0.dist-info/METADATA", SAMPLE_METADATA)
    flags, _ = command(
        f"--config={config}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
    )
    env = environment()
    env["PYTHONPATH"] += f":{files.root / 'site'}"
    scheduler = Process("sample-scheduler", flags, files.root / "sample-scheduler.log", env)
    scheduler.start()
    try:
        await create(admin, "sampled", "sample-scheduler")
        await bound(admin, "sampled")

        async def told() -> list[str]:
            return [line for line in diary.read_text().splitlines() if "postBind" in line]

        assert await eventually("postBind was told", told) == ["postBind sampled node-1"]
        assert "preFilter sampled" in diary.read_text()
    finally:
        scheduler.stop()
        print(scheduler.tail(60))


# ── a Policy file ────────────────────────────────────────────────────────────────────────────


async def test_a_policy_file_with_comments_places_pods(
    plane: ControlPlane, admin: Client, files: Files
) -> None:
    flags, _ = command(
        f"--config={RECIPES / 'policy.json'}",
        f"--kubeconfig={plane.kubeconfig_for_user('system:kube-scheduler')}",
        "--leader-elect=false",
    )
    scheduler = Process("policy", flags, files.root / "policy.log", environment())
    scheduler.start()
    try:
        await create(admin, "by-policy", "enbloc")
        await bound(admin, "by-policy")
    finally:
        scheduler.stop()
        print(scheduler.tail(60))


async def test_names_of_a_policy_in_another_spelling_are_all_named_at_once(files: Files) -> None:
    text = (RECIPES / "policy.json").read_text(encoding="utf-8")
    misspelt = {
        "NoDiskConflict": "NodiskConflict",
        "LeastRequestedPriority": "LeastRequestPriority",
        "BalancedResourceAllocation": "BalanceResourceAllocation",
    }
    for right, wrong in misspelt.items():
        text = text.replace(right, wrong)
    policy = files.write("/policy.json", text)
    ended = await run("scheduler", f"--config={policy}", "--log-format=text", "--secure-port=0")
    assert ended.returncode == 2
    for right, wrong in misspelt.items():
        assert f'"{wrong}" (did you mean "{right}"?' in ended.stderr


# ── in the place of kube-scheduler, as kubeadm runs it ───────────────────────────────────────

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
profiles:
  - schedulerName: default-scheduler
"""


def static_pod(plane: ControlPlane, files: Files) -> Container:
    [pod] = documents("static-pod.yaml")
    kubeconfig = plane.kubeconfig_for_user("system:kube-scheduler")
    files.write("/etc/kubernetes/scheduler.conf", kubeconfig.read_text(encoding="utf-8"))
    files.write("/etc/kubernetes/scheduler-config.yaml", CONFIG)
    return Container(pod["spec"], files, files.root / "no-service-account")


async def test_kubeadms_static_pod_takes_kube_schedulers_place_and_its_lease(
    plane: ControlPlane, admin: Client, files: Files, tmp_path: Path
) -> None:
    default = kube_scheduler(plane, tmp_path)
    default.start()
    try:
        await create(admin, "before")
        await bound(admin, "before")
        before = (await admin.get(LEASES, "kube-scheduler", SYSTEM))["spec"]["holderIdentity"]
        async with running(static_pod(plane, files)) as scheduler:
            await scheduler.well()  # a standby is ready
            assert "Waiting for the Lease" in scheduler.text()
            held = await admin.get(LEASES, "kube-scheduler", SYSTEM)
            assert held["spec"]["holderIdentity"] == before
            default.stop()
            await create(admin, "after")
            await bound(admin, "after")
            held = await admin.get(LEASES, "kube-scheduler", SYSTEM)
            assert held["spec"]["holderIdentity"] != before
            assert await bound_by(admin, "after") == "default-scheduler"
            with pytest.raises(NotFound):
                await admin.get(LEASES, "enbloc-scheduler", "default")
    finally:
        default.stop()


async def test_its_metrics_are_for_who_may_read_them(plane: ControlPlane, files: Files) -> None:
    await asyncio.to_thread(_make_readers, plane)
    reader, nobody = (token(plane, "default", name) for name in ("reader", "nobody"))
    async with running(static_pod(plane, files)) as scheduler:
        await scheduler.well()
        code, text = await scheduler.get("/metrics", reader)
        assert code == 200
        assert "enbloc_build_info" in text
        assert await scheduler.get("/metrics", reader, "HEAD") == (200, "")
        code, text = await scheduler.get("/configz", reader)
        assert code == 200
        shown = json.loads(text)["componentconfig"]
        assert shown["profiles"][0]["schedulerName"] == "default-scheduler"
        assert (await scheduler.get("/debug/stacks", reader))[0] == 200
        users = {"": "system:anonymous", nobody: "system:serviceaccount:default:nobody"}
        for who, user in users.items():
            code, text = await scheduler.get("/metrics", who)
            message = f'forbidden: User "{user}" cannot get path "/metrics"'
            assert (code, json.loads(text)["message"]) == (403, message)
        code, text = await scheduler.get("/metrics", "nonsense")
        assert (code, json.loads(text)["reason"]) == (401, "Unauthorized")
        for path in ("/livez", "/livez/ping", "/healthz", "/readyz?verbose"):
            assert (await scheduler.get(path))[0] == 200
            assert (await scheduler.get(path, method="HEAD")) == (200, "")
        assert await asyncio.to_thread(_with_certificate, plane, scheduler.port) == "200"


async def test_refusals_and_health_are_what_kube_scheduler_answers(
    plane: ControlPlane, files: Files, tmp_path: Path
) -> None:
    plane.kubectl("create", "serviceaccount", "stranger")
    stranger = token(plane, "default", "stranger")
    kubeconfig, port = plane.kubeconfig_for_user("system:kube-scheduler"), free_port()
    reviews = [f"--{what}-kubeconfig={kubeconfig}" for what in ("authentication", "authorization")]
    serving = [f"--secure-port={port}", "--bind-address=127.0.0.1", "--leader-elect=false"]
    theirs = Process(
        "kube-scheduler",
        [str(plane.bin("kube-scheduler")), f"--kubeconfig={kubeconfig}", *reviews, *serving],
        tmp_path / "kube-scheduler.log",
    )
    theirs.start()
    try:
        async with running(static_pod(plane, files)) as ours:
            await ours.well()

            async def healthy() -> bool:
                return (await get(port, "/healthz"))[0] == 200

            await eventually("kube-scheduler is well", healthy)
            for path, who in [
                ("/healthz", ""),
                ("/livez", ""),
                ("/readyz", ""),
                ("/metrics", ""),
                ("/metrics", "nonsense"),
                ("/metrics", stranger),
                ("/configz", ""),
                ("/configz", stranger),
            ]:
                code, text = await ours.get(path, who)
                their_code, their_text = await get(port, path, who)
                assert code == their_code, path
                if code == 200:
                    assert text == their_text, path
                else:  # kube-scheduler indents for curl and browsers only
                    assert json.loads(text) == json.loads(their_text), path
    finally:
        theirs.stop()


def _make_readers(plane: ControlPlane) -> None:
    for name in ("reader", "nobody"):
        plane.kubectl("create", "serviceaccount", name)
    urls = "--non-resource-url=/metrics,/configz,/debug/*"
    plane.kubectl("create", "clusterrole", "shown", "--verb=get", urls)
    who = ("--serviceaccount=default:reader", "--group=monitoring")
    plane.kubectl("create", "clusterrolebinding", "shown", "--clusterrole=shown", *who)


def _with_certificate(plane: ControlPlane, port: int) -> str:
    """The status that a client certificate of the cluster's authority gets, by curl."""
    plane.kubeconfig_for_user("prometheus", ["monitoring"])
    pair = [str(plane.directory / f"user-prometheus.{end}") for end in ("crt", "key")]
    files = ["--cert", pair[0], "--key", pair[1]]
    url = f"https://127.0.0.1:{port}/metrics"
    done = subprocess.run(
        ["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", *files, url],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
