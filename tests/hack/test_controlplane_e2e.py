# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The launcher starts what deserves the name of a Kubernetes control plane, and ends it."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hack.build_controlplane import HACK, module_version
from tests.controlplane import ControlPlane, KubectlError
from tests.hack.processes import ProcessError, runs, wait_until
from tests.patience import PATIENCE

pytestmark = pytest.mark.controlplane

NOT_READY = ("node.kubernetes.io/not-ready", "NoSchedule")
UNREACHABLE = ("node.kubernetes.io/unreachable", "NoSchedule")
#: For how long a node may be silent (seconds).
GRACE = 5


@pytest.fixture(scope="module")
def cp() -> Iterator[ControlPlane]:
    with ControlPlane(node_monitor_grace=GRACE) as control_plane:
        yield control_plane


@pytest.fixture(scope="module")
def namespace(cp: ControlPlane) -> str:
    """A namespace whose default service account is there, so that pods may be created."""
    apply(cp, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    eventually(lambda: found(cp, "serviceaccount/default", "team"))
    return "team"


def apply(cp: ControlPlane, document: dict[str, Any]) -> None:
    cp.kubectl("apply", "-f", "-", stdin=json.dumps(document))


def get(cp: ControlPlane, *arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(cp.kubectl("get", *arguments, "-o", "json").stdout)
    return result


def found(cp: ControlPlane, name: str, namespace: str) -> bool:
    return cp.kubectl("get", name, "-n", namespace, check=False).returncode == 0


def eventually(probe: Callable[[], bool], seconds: float = PATIENCE) -> None:
    wait_until("the cluster comes to it", probe, [], seconds)


def always(probe: Callable[[], bool]) -> None:
    """For longer than the controllers wait for a node that does not heartbeat."""
    over = time.monotonic() + GRACE + 2
    while time.monotonic() < over:
        assert probe()
        time.sleep(0.2)  # noqa: TID251  # between two looks


def pod(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "none"}]},
    }


def taints(cp: ControlPlane, node: str) -> set[tuple[str, str]]:
    found_taints = cp.ask("GET", f"/api/v1/nodes/{node}")["spec"].get("taints", [])
    return {(taint["key"], taint["effect"]) for taint in found_taints}


def node(name: str, ready: str | None = None) -> dict[str, Any]:
    """A Node as a kubelet registers it; `ready` is the status of its condition, if it has one."""
    conditions = [] if ready is None else [{"type": "Ready", "status": ready, "reason": "Test"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"conditions": conditions},
    }


def renew_lease(cp: ControlPlane, name: str) -> None:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
    metadata = {"name": name, "namespace": "kube-node-lease"}
    kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    cp.apply(kind | {"metadata": metadata, "spec": spec})


@contextmanager
def beating(cp: ControlPlane, name: str) -> Generator[None]:
    """Renew a node's Lease all the time, whatever the test waits for."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(0.5):
            renew_lease(cp, name)

    thread = threading.Thread(target=beat)
    renew_lease(cp, name)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def patch_status(cp: ControlPlane, name: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    cp.kubectl("patch", "node", name, "--subresource=status", f"--patch={patch}")


def test_the_server_says_the_version_that_was_built(cp: ControlPlane) -> None:
    version = json.loads(cp.kubectl("version", "-o", "json").stdout)
    built = module_version("controlplane", "k8s.io/kubernetes")
    assert version["serverVersion"]["gitVersion"] == built
    assert version["clientVersion"]["gitVersion"] == built


def listening(pid: int) -> list[str]:
    """The addresses at which a process listens, as the kernel writes them (in hexadecimal)."""
    sockets = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    table = [
        line.split()
        for family in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]
    ]
    return [row[1] for row in table if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def test_everything_listens_on_the_loopback_address_only(cp: ControlPlane) -> None:
    addresses = {name: listening(pid) for name, pid in cp.pids.items()}
    counts = {name: len(found) for name, found in addresses.items()}
    assert counts == {"etcd": 2, "kube-apiserver": 1, "kube-controller-manager": 0}
    assert {found.split(":")[0] for some in addresses.values() for found in some} == {"0100007F"}


def test_a_node_is_tainted_until_it_reports_ready_and_again_when_its_lease_is_stale(
    cp: ControlPlane,
) -> None:
    cp.kubectl("create", "-f", "-", stdin=json.dumps(node("n1", ready="False")))
    with beating(cp, "n1"):
        always(lambda: taints(cp, "n1") == {NOT_READY})
        patch_status(cp, "n1", node("n1", ready="True")["status"])
        eventually(lambda: taints(cp, "n1") == set())
        always(lambda: taints(cp, "n1") == set())
    eventually(lambda: UNREACHABLE in taints(cp, "n1"))


def test_a_node_without_a_ready_condition_loses_its_taint_at_once(cp: ControlPlane) -> None:
    created = cp.ask("POST", "/api/v1/nodes", node("bare"))
    assert created["spec"]["taints"] == [{"key": NOT_READY[0], "effect": NOT_READY[1]}]
    eventually(lambda: taints(cp, "bare") == set())
    # It counts as silent from the start, so the grace ends in the other taint.
    eventually(lambda: UNREACHABLE in taints(cp, "bare"))


def test_a_pod_is_bound_by_the_binding_subresource_once(cp: ControlPlane, namespace: str) -> None:
    cp.kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(pod("bound")))
    binding = json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "bound"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "anywhere"},
        }
    )
    path = f"/api/v1/namespaces/{namespace}/pods/bound/binding"
    cp.kubectl("create", "--raw", path, "-f", "-", stdin=binding)
    assert get(cp, "pod", "bound", "-n", namespace)["spec"]["nodeName"] == "anywhere"
    with pytest.raises(KubectlError, match="already assigned"):
        cp.kubectl("create", "--raw", path, "-f", "-", stdin=binding)


def test_the_controllers_make_pods_for_a_job_and_collect_them(
    cp: ControlPlane, namespace: str
) -> None:
    template = {"spec": pod("")["spec"] | {"restartPolicy": "Never"}}
    apply(
        cp,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "job", "namespace": namespace},
            "spec": {"parallelism": 2, "completions": 2, "template": template},
        },
    )
    selector = ("pods", "-n", namespace, "-l", "job-name=job")
    eventually(lambda: len(get(cp, *selector)["items"]) == 2)
    cp.kubectl("delete", "job", "job", "-n", namespace, "--wait=false")
    eventually(lambda: not get(cp, *selector)["items"])


def test_a_service_account_may_do_what_its_roles_say_and_the_audit_log_tells(
    cp: ControlPlane, namespace: str
) -> None:
    cp.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    cp.kubectl("create", "role", "reader", "-n", namespace, "--verb=list", "--resource=pods")
    cp.kubectl(
        "create",
        "rolebinding",
        "reader",
        "-n",
        namespace,
        "--role=reader",
        f"--serviceaccount={namespace}:reader",
    )
    kubeconfig = cp.kubeconfig_for_service_account(namespace, "reader")
    eventually(
        lambda: (
            cp.kubectl(
                "get", "pods", "-n", namespace, kubeconfig=kubeconfig, check=False
            ).returncode
            == 0
        )
    )
    with pytest.raises(KubectlError, match="Forbidden"):
        cp.kubectl("get", "secrets", "-n", namespace, kubeconfig=kubeconfig)
    refused = [
        event
        for event in cp.audit_events()
        if event["user"]["username"] == f"system:serviceaccount:{namespace}:reader"
        and event["objectRef"]["resource"] == "secrets"
    ]
    assert [event["responseStatus"]["code"] for event in refused] == [403]
    assert refused[0]["annotations"]["authorization.k8s.io/decision"] == "forbid"


def test_a_client_certificate_carries_the_user_and_the_groups(cp: ControlPlane) -> None:
    kubeconfig = cp.kubeconfig_for_user("jane", ["team:a", "team:b"])
    said = cp.kubectl("auth", "whoami", "-o", "json", kubeconfig=kubeconfig)
    info = json.loads(said.stdout)["status"]["userInfo"]
    assert info["username"] == "jane"
    assert {"team:a", "team:b", "system:authenticated"} <= set(info["groups"])


@pytest.mark.parametrize("crash", [False, True], ids=["stopped well", "crashed"])
def test_an_api_server_that_comes_back_keeps_its_port_and_its_data(
    cp: ControlPlane, crash: bool
) -> None:
    name = f"kept-{crash}".lower()
    cp.kubectl("create", "configmap", name)
    url, before = cp.url, cp.pids
    cp.restart_apiserver(down_seconds=0.2, crash=crash)
    assert get(cp, "configmap", name)["metadata"]["name"] == name
    assert cp.url == url
    changed = {name for name, pid in cp.pids.items() if pid != before[name]}
    assert changed == {"kube-apiserver"}
    cp.check()


def test_a_stopped_api_server_answers_nobody(cp: ControlPlane) -> None:
    cp.stop_apiserver()
    with pytest.raises(KubectlError, match="refused"):
        cp.kubectl("get", "nodes")
    cp.start_apiserver()
    cp.kubectl("get", "nodes")


def test_kube_scheduler_binds_pods_without_a_controller_manager() -> None:
    with ControlPlane(controller_manager=False, scheduler=True) as cp:
        apply(cp, node("n1"))
        patch_status(cp, "n1", {"allocatable": {"cpu": "1", "pods": "9"}})
        cp.kubectl("taint", "node", "n1", f"{NOT_READY[0]}-")
        wanted = pod("p")
        del wanted["spec"]["schedulerName"]
        apply(cp, wanted)
        eventually(lambda: get(cp, "pod", "p")["spec"].get("nodeName") == "n1")


def test_it_stops_without_leaving_a_process_or_a_file() -> None:
    with ControlPlane() as cp:
        pids, directory = cp.pids, cp.directory
        assert set(pids) == {"etcd", "kube-apiserver", "kube-controller-manager"}
        assert all(runs(pid) for pid in pids.values())
        begin = time.monotonic()
    print(f"stopped in {time.monotonic() - begin:.1f} s")
    assert not [name for name, pid in pids.items() if runs(pid)]
    assert not directory.exists()


def test_a_component_that_cannot_start_is_named_with_its_log() -> None:
    broken = ControlPlane(flags={"kube-apiserver": ["--no-such-flag"]})
    with pytest.raises(ProcessError, match=r"kube-apiserver ended by itself(.|\n)*no-such-flag"):
        broken.start()
    assert broken.pids == {}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGTERM, id="asked to end"),
        pytest.param(signal.SIGKILL, id="killed"),
    ],
)
def test_nothing_outlives_the_foreground_mode_when_that_is(
    how: signal.Signals, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "tests.controlplane", "--no-controller-manager"]
    with subprocess.Popen(
        [*command, f"--kubeconfig={kubeconfig}"],
        stdout=subprocess.PIPE,
        cwd=HACK.parent,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as foreground:
        assert foreground.stdout is not None
        assert foreground.stdout.readline().startswith(b"# kubectl: ")
        assert foreground.stdout.readline().startswith(b"export KUBECONFIG=")
        children = Path(f"/proc/{foreground.pid}/task").glob("*/children")
        pids = [int(pid) for task in children for pid in task.read_text().split()]
        assert len(pids) == 2
        foreground.send_signal(how)
    eventually(lambda: not any(runs(pid) for pid in pids))
    assert kubeconfig.exists() == (how == signal.SIGKILL)
