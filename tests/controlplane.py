# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes control plane on 127.0.0.1, for the end-to-end tests and for developers.

    with ControlPlane() as cp:
        cp.kubectl("get", "nodes")

or in the foreground, until Ctrl-C:

    python -m tests.controlplane --kubeconfig my.kubeconfig

`make build-all` builds the binaries; no test does.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hack.build_controlplane import BuildError, built
from tests.hack.certificates import Authority, Pair, signing_keys
from tests.hack.processes import STOP_SECONDS, Process, ProcessError, free_port, wait_until

HOST = "127.0.0.1"
API_SERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
ISSUER = "https://kubernetes.default.svc.cluster.local"
ADMIN_GROUP = "system:masters"

# Who asked for what, and whether it was allowed: enough to find refusals and unused rules.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class KubectlError(AssertionError):
    """A checked kubectl command failed; the message holds what it said."""


class RequestError(AssertionError):
    """The API server refused a request; the message holds what it said."""


class ControlPlane:
    """etcd, kube-apiserver and, if asked for, kube-controller-manager and kube-scheduler.

    Everything listens on 127.0.0.1 with certificates of its own, and everything is gone after
    the `with` block, or when this process dies. RBAC is on; `kubeconfig` is the administrator's.
    `flags` adds command-line flags to a component by its name, and they win over ours.
    Without a controller-manager nobody makes service accounts, so pods may do without theirs.
    """

    def __init__(
        self,
        *,
        controller_manager: bool = True,
        scheduler: bool = False,
        node_monitor_period: float = 1.0,
        node_monitor_grace: float = 20.0,
        flags: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._flags = flags or {}
        self._with_controller_manager = controller_manager
        self._with_scheduler = scheduler
        self._node_flags = [
            f"--node-monitor-period={node_monitor_period}s",
            f"--node-monitor-grace-period={node_monitor_grace}s",
            f"--node-startup-grace-period={node_monitor_grace}s",
        ]
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._processes: dict[str, Process] = {}

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything, and return when it is ready for use."""
        self._binaries = built(["etcd", API_SERVER, *self._wanted()])
        self._temporary = tempfile.TemporaryDirectory(prefix="enbloc-controlplane-")
        try:
            self._prepare(Path(self._temporary.name))
            self._start_all()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything and remove all files; harmless when already stopped."""
        clients = [process for name, process in self._processes.items() if name != "etcd"]
        for process in clients:
            process.terminate()
        # etcd goes last: an API server without it would wait in vain to end well.
        for process in [*clients, *self._processes.values()]:
            process.stop()
        self._processes = {}
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def stop_apiserver(self, *, crash: bool = False) -> None:
        """Stop kube-apiserver, or let it crash; everything else runs on."""
        self._processes[API_SERVER].stop(0 if crash else STOP_SECONDS)

    def start_apiserver(self) -> None:
        """Start kube-apiserver again, on the same port and the same etcd."""
        self._processes[API_SERVER].start()
        self._wait("kube-apiserver is ready", "/readyz")

    def restart_apiserver(self, down_seconds: float = 1.0, *, crash: bool = False) -> None:
        """Stop kube-apiserver, leave its port closed for a while, and start it again."""
        self.stop_apiserver(crash=crash)
        time.sleep(down_seconds)  # noqa: TID251  # nothing tells when it is over
        self.start_apiserver()

    def crash(self, down_seconds: float = 1.0) -> None:
        """Kill etcd and kube-apiserver at once, and start them again after a while."""
        self.stop_apiserver(crash=True)
        self._processes["etcd"].stop(0)
        time.sleep(down_seconds)  # noqa: TID251  # nothing tells when it is over
        self._start_etcd()
        self.start_apiserver()

    def check(self) -> None:
        """Raise if a component has died."""
        for process in self._processes.values():
            process.check()

    @property
    def pids(self) -> dict[str, int]:
        """The process id of each component that runs."""
        return {name: process.pid for name, process in self._processes.items() if process.pid}

    # ── use ──────────────────────────────────────────────────────────────────────────────────

    def bin(self, name: str) -> Path:
        """The path of a binary that was built, though not needed until here."""
        path = self._binaries / name
        return path if path.exists() else built([name]) / name

    def ask(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json"
    ) -> dict[str, Any]:
        """Send a request to the API server as the administrator, without kubectl; the answer.

        Raises:
            RequestError: the server refuses it.
        """
        sent = None if body is None else json.dumps(body)
        https = http.client.HTTPSConnection(HOST, self._port, timeout=60, context=self._tls)
        with contextlib.closing(https):
            https.request(method, path, sent, {"Content-Type": kind})
            answer = https.getresponse()
            text = answer.read()
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise RequestError(f"{method} {path}: {answer.status} {text.decode()}")
        found: dict[str, Any] = json.loads(text)
        return found

    def apply(self, document: Mapping[str, Any]) -> None:
        """`kubectl apply --server-side`, without kubectl."""
        version, meta = document["apiVersion"], document["metadata"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        [resource] = (
            one
            for one in self.ask("GET", root)["resources"]
            if one["kind"] == document["kind"] and "/" not in one["name"]
        )
        where = f"/namespaces/{meta['namespace']}" if resource["namespaced"] else ""
        path = f"{root}{where}/{resource['name']}/{meta['name']}"
        as_yaml = "application/apply-patch+yaml"  # JSON is YAML
        self.ask("PATCH", f"{path}?fieldManager=tests&force=true", document, kind=as_yaml)

    def kubectl(
        self,
        *arguments: str,
        stdin: str | None = None,
        check: bool = True,
        kubeconfig: Path | None = None,
        timeout: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl, as the administrator unless told otherwise."""
        command = [str(self.bin("kubectl")), *arguments]
        done = subprocess.run(
            command,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            env=os.environ | self.kubectl_environment(kubeconfig),
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
        if check and done.returncode != 0:
            raise KubectlError(
                f"kubectl {' '.join(arguments)}: code {done.returncode}\n{done.stderr}{done.stdout}"
            )
        return done

    def established(self, crd: str, timeout: float = 60.0) -> None:
        """Wait until the kind of a CRD is served: `kubectl wait` fails before it has conditions."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd}"

        def is_established() -> bool:
            conditions = self.ask("GET", path).get("status", {}).get("conditions") or ()
            return any(
                (one["type"], one["status"]) == ("Established", "True") for one in conditions
            )

        wait_until(f"{crd} is established", is_established, [], timeout)

    def kubectl_environment(self, kubeconfig: Path | None = None) -> dict[str, str]:
        """Variables that keep kubectl (and helm) away from the developer's own settings."""
        return {
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            # kubectl keeps discovery by host and port, and a later server may have this port.
            "KUBECACHEDIR": str(self.directory / "kubectl-cache"),
            "KUBERC": "off",
        }

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a fresh token of an existing service account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        day = 24 * 60 * 60
        answer = self.ask("POST", path, {"spec": {"expirationSeconds": day}})
        return self._write_kubeconfig(
            f"sa-{namespace}-{name}", {"token": answer["status"]["token"]}
        )

    def kubeconfig_for_user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate for a user in these groups."""
        file = "user-" + re.sub(r"[^\w.-]+", "-", name)
        return self._write_kubeconfig(
            file, _certificate_user(self._authority.client(file, name, groups))
        )

    def logs(self, name: str) -> str:
        """What a component has written so far, over all its restarts."""
        return self._processes[name].log.read_text(errors="replace")

    def audit_events(self) -> Iterator[dict[str, Any]]:
        """The audit log so far, oldest first."""
        with self.audit_log.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):  # else the server is in the middle of writing it
                    yield json.loads(line)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _wanted(self) -> list[str]:
        wanted = {
            CONTROLLER_MANAGER: self._with_controller_manager,
            SCHEDULER: self._with_scheduler,
        }
        return [name for name, asked in wanted.items() if asked]

    def _prepare(self, directory: Path) -> None:
        """Make certificates, kubeconfigs and commands; nothing runs yet."""
        self.directory = directory
        self.audit_log = directory / "audit.jsonl"
        self._authority = Authority(directory)
        self._service_accounts = signing_keys(directory)
        self.ca_file = self._authority.pair.certificate
        self._etcd_port, self._port = free_port(), free_port()
        self.url = f"https://{HOST}:{self._port}"
        self.kubeconfig = self.kubeconfig_for_user("admin", [ADMIN_GROUP])
        self._tls = ssl.create_default_context(cafile=self.ca_file)
        self._tls.load_cert_chain(directory / "user-admin.crt", directory / "user-admin.key")
        self._add("etcd", self._etcd_flags())
        self._add(API_SERVER, self._apiserver_flags())
        if self._with_controller_manager:
            self._add(CONTROLLER_MANAGER, self._controller_manager_flags())
        if self._with_scheduler:
            self._add(SCHEDULER, self._client_flags(SCHEDULER))

    def _add(self, name: str, flags: Sequence[str]) -> None:
        command = [str(self._binaries / name), *flags, *self._flags.get(name, ())]
        self._processes[name] = Process(name, command, self.directory / f"{name}.log")

    def _start_etcd(self) -> None:
        self._processes["etcd"].start()
        etcd = http.client.HTTPConnection
        wait_until(
            "etcd is healthy",
            lambda: _status(etcd(HOST, self._etcd_port, timeout=5), "/health") == 200,
            [self._processes["etcd"]],
        )

    def _start_all(self) -> None:
        """Start the components in order, each when what it needs is there."""
        self._start_etcd()
        self.start_apiserver()
        for name in self._wanted():
            self._processes[name].start()
        self._wait("the default namespace is there", "/api/v1/namespaces/default")
        if self._with_controller_manager:
            path = "/api/v1/namespaces/default/serviceaccounts/default"
            self._wait("the default service account is there", path)

    def _wait(self, what: str, path: str) -> None:
        https = http.client.HTTPSConnection
        wait_until(
            what,
            lambda: _status(https(HOST, self._port, timeout=5, context=self._tls), path) == 200,
            [process for process in self._processes.values() if process.pid],
        )

    def _etcd_flags(self) -> list[str]:
        client = f"http://{HOST}:{self._etcd_port}"
        peer = f"http://{HOST}:{free_port()}"
        return [
            "--name=enbloc",
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=enbloc={peer}",
            # The data lives as long as the test: waiting for the disk buys nothing.
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _apiserver_flags(self) -> list[str]:
        policy = self.directory / "audit-policy.json"
        policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
        server = self._authority.server(
            API_SERVER, [HOST, "localhost", "10.0.0.1", "kubernetes.default.svc"]
        )
        flags = [
            f"--etcd-servers=http://{HOST}:{self._etcd_port}",
            f"--bind-address={HOST}",
            f"--secure-port={self._port}",
            f"--advertise-address={HOST}",
            # A loopback address is no valid endpoint, and no pod here looks for one.
            "--endpoint-reconciler-type=none",
            # Without it an open watch holds up the end of the server for a minute.
            "--shutdown-watch-termination-grace-period=1s",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--allow-privileged=true",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--client-ca-file={self.ca_file}",
            f"--tls-cert-file={server.certificate}",
            f"--tls-private-key-file={server.key}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self._service_accounts.certificate}",
            f"--service-account-signing-key-file={self._service_accounts.key}",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.audit_log}",
            "--audit-log-maxsize=0",  # no rotation: the tests read one file
        ]
        if not self._with_controller_manager:
            flags.append("--disable-admission-plugins=ServiceAccount")
        return flags

    def _controller_manager_flags(self) -> list[str]:
        authority = self._authority.pair
        return [
            *self._client_flags(CONTROLLER_MANAGER),
            *self._node_flags,
            "--controllers=*",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self._service_accounts.key}",
            f"--root-ca-file={self.ca_file}",
            f"--cluster-signing-cert-file={authority.certificate}",
            f"--cluster-signing-key-file={authority.key}",
            # At the default of 20 requests a second a Job of a thousand pods takes a minute.
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ]

    def _client_flags(self, name: str) -> list[str]:
        """Flags of a component that is a client of the API server."""
        kubeconfig = self.kubeconfig_for_user(f"system:{name}")
        return [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]

    def _write_kubeconfig(self, file: str, user: Mapping[str, str]) -> Path:
        """Write a kubeconfig that holds all it needs, so that it may be copied anywhere."""
        context = {"cluster": "enbloc", "user": "enbloc", "namespace": "default"}
        cluster = {
            "server": self.url,
            "certificate-authority-data": _base64(self.ca_file),
            "disable-compression": True,  # it is on this machine
        }
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "enbloc", "cluster": cluster}],
            "users": [{"name": "enbloc", "user": dict(user)}],
            "contexts": [{"name": "enbloc", "context": context}],
            "current-context": "enbloc",
        }
        path = self.directory / f"{file}.kubeconfig"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")  # JSON is YAML
        path.chmod(0o600)
        return path


def _certificate_user(pair: Pair) -> dict[str, str]:
    return {
        "client-certificate-data": _base64(pair.certificate),
        "client-key-data": _base64(pair.key),
    }


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _status(connection: http.client.HTTPConnection, path: str) -> int:
    """The status of a GET, or 0 while nobody answers."""
    # Not urllib: it would send the request through the proxy of the environment, if there is one.
    with contextlib.closing(connection):
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0


# ── in the foreground ────────────────────────────────────────────────────────────────────────


def _serve(cp: ControlPlane, kubeconfig: Path) -> None:
    """Hand out the kubeconfig and stay, until interrupted or a component dies."""
    try:
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_bytes(cp.kubeconfig.read_bytes())
        print(f"# kubectl: {cp.bin('kubectl')}; logs: {cp.directory}; Ctrl-C stops it")
        print(f"export KUBECONFIG={kubeconfig.resolve()}", flush=True)
        while True:
            time.sleep(1)  # noqa: TID251  # nothing tells when it is over
            cp.check()
    finally:
        kubeconfig.unlink(missing_ok=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a control plane until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.controlplane", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--kubeconfig", type=Path, default=Path("controlplane.kubeconfig"))
    parser.add_argument("--no-controller-manager", action="store_true")
    parser.add_argument("--scheduler", action="store_true", help="run kube-scheduler too")
    options = parser.parse_args(arguments)
    if options.kubeconfig.exists():
        # It is removed at the end, so it must not be a file that somebody needs.
        parser.error(f"{options.kubeconfig} exists already")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with ControlPlane(
            controller_manager=not options.no_controller_manager, scheduler=options.scheduler
        ) as cp:
            _serve(cp, options.kubeconfig)
    except KeyboardInterrupt:
        return 0
    except (BuildError, ProcessError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
