# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc doctor` on a real API server with RBAC: before installing, after it, and with rivals."""

import datetime as dt
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "enbloc-system"


@pytest.fixture(scope="module")
def cp() -> Iterator[ControlPlane]:
    with ControlPlane(controller_manager=False) as control_plane:
        yield control_plane


def doctor(
    cp: ControlPlane, *arguments: str, kubeconfig: Path | None = None
) -> tuple[int, dict[str, Any]]:
    """Exit code and answer."""
    done = subprocess.run(
        [sys.executable, "-m", "enbloc", "doctor", "-o", "json", *arguments],
        env={**os.environ, "KUBECONFIG": str(kubeconfig or cp.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["apiVersion"], answer["kind"]) == ("cli.enbloc.dev/v1alpha1", "Diagnosis")
    assert answer["healthy"] == (done.returncode == 0)
    return done.returncode, answer


def faults(answer: dict[str, Any], verdict: str = "fault") -> dict[str, str]:
    return {
        each["object"] or each["check"]: each["message"]
        for each in answer["findings"]
        if each["verdict"] == verdict
    }


def apply(cp: ControlPlane, *documents: dict[str, Any]) -> None:
    text = "\n---\n".join(json.dumps(each) for each in documents)
    cp.kubectl("apply", "--server-side", "-f", "-", stdin=text)


def thing(kind: str, version: str, name: str, namespace: str = "", **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def crd(group: str, plural: str, *short: str) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    kind = plural.removesuffix("s").capitalize()
    return thing(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        f"{plural}.{group}",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "shortNames": list(short)},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    )


def test_it_finds_what_would_clash_and_what_is_missing(cp: ControlPlane) -> None:
    # An empty cluster: it may be installed by an administrator, and by nobody of few rights.
    code, answer = doctor(cp, "--preinstall")
    assert (code, faults(answer)) == (0, {})
    cp.kubectl("create", "clusterrolebinding", "v", "--clusterrole=view", "--user=viewer")
    code, answer = doctor(cp, "--preinstall", kubeconfig=cp.kubeconfig_for_user("viewer"))
    assert code == 3
    assert "create pods/binding" in faults(answer)["clusterrole enbloc-scheduler"]
    assert "customresourcedefinitions" in str(faults(answer, "unknown"))

    # Nothing is installed.
    code, answer = doctor(cp)
    assert code == 3
    assert set(faults(answer)) == {
        "customresourcedefinition podgroups.enbloc.dev",
        f"serviceaccount {NAMESPACE}/enbloc-scheduler",
        f"serviceaccount {NAMESPACE}/enbloc-controller",
    }

    # As the manifests install it.
    cp.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    cp.established("podgroups.enbloc.dev")
    cp.kubectl("apply", "--server-side", "-f", str(ROOT / "manifests/install.yaml"))
    code, answer = doctor(cp)
    assert (code, faults(answer)) == (0, {})

    # Others with the same names, a role that went missing, a Job that a repair would fail.
    profile = {"kind": "KubeSchedulerConfiguration", "profiles": [{"schedulerName": "enbloc"}]}
    container = {"name": "main", "image": "other/scheduler:1"}
    volume = {"name": "config", "configMap": {"name": "rival"}}
    template = {
        "metadata": {"labels": {"app": "rival"}},
        "spec": {"containers": [container], "volumes": [volume]},
    }
    rival = {"selector": {"matchLabels": {"app": "rival"}}, "template": template}
    mark = {"enbloc.dev/component": "scheduler"}
    held = thing(
        "Lease",
        "coordination.k8s.io/v1",
        "mine",
        "default",
        spec={
            "holderIdentity": "them",
            "leaseDurationSeconds": 15,
            "renewTime": f"{dt.datetime.now(dt.UTC) + dt.timedelta(hours=1):%Y-%m-%dT%H:%M:%S.%fZ}",
        },
    )
    held["metadata"] |= {"labels": mark, "annotations": {"enbloc.dev/scheduler-names": "enbloc"}}
    worker = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    pods = {"metadata": {"annotations": {"enbloc.dev/pod-group": "train"}}, "spec": worker}
    apply(
        cp,
        crd("example.com", "podgroups", "pg"),
        crd("example.com", "epigraphs", "epg"),
        thing("ConfigMap", "v1", "rival", "default", data={"config": yaml.safe_dump(profile)}),
        thing("Deployment", "apps/v1", "rival", "default", spec=rival),
        held,
        thing("PodGroup", "enbloc.dev/v1alpha1", "train", "default", spec={"minMember": 8}),
        thing("Job", "batch/v1", "train", "default", spec={"parallelism": 8, "template": pods}),
    )
    cp.kubectl("delete", "clusterrolebinding", "enbloc-controller")
    _, answer = doctor(cp)
    assert set(faults(answer)) == {f"serviceaccount {NAMESPACE}/enbloc-controller"}
    assert faults(answer, "unknown") == {}

    # Who may bind no pods clashes with nobody; now they may.
    role = ("--clusterrole=system:kube-scheduler", "--serviceaccount=default:default")
    cp.kubectl("create", "clusterrolebinding", "rival", *role)
    code, answer = doctor(cp)
    assert code == 3
    found = faults(answer)
    assert "podgroups.enbloc.dev" in found.pop(f"serviceaccount {NAMESPACE}/enbloc-controller")
    assert set(found) == {"deployment default/rival", "lease default/mine"}
    assert "serves enbloc too" in found["deployment default/rival"]
    warned = faults(answer, "warning")
    assert "is called podgroups too" in warned["customresourcedefinition podgroups.example.com"]
    assert "short name epg" in warned["customresourcedefinition epigraphs.example.com"]
    assert "spec.backoffLimit is 6" in warned["job default/train"]

    # A table for people.
    done = subprocess.run(
        [sys.executable, "-m", "enbloc", "doctor"],
        env={**os.environ, "KUBECONFIG": str(cp.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["CHECK", "RESULT", "OBJECT", "MESSAGE"]
    assert rows[0].split()[:2] == ["version", "ok"]


def test_it_warns_of_pods_of_another_scheduler_that_claim_devices(cp: ControlPlane) -> None:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    wants = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}

    def create(name: str, scheduler: str) -> None:
        spec = {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "none"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        }
        apply(
            cp,
            thing("ResourceClaim", "resource.k8s.io/v1", name, "default", spec=wants),
            thing("Pod", "v1", name, "default", spec=spec),
        )

    def allocate(name: str, device: str) -> None:
        result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": device}
        status = {"allocation": {"devices": {"results": [result]}}}
        patch_status(cp, "resourceclaim", name, status)

    create("train", "enbloc")
    create("finished", "default-scheduler")
    patch_status(cp, "pod", "finished", {"phase": "Succeeded"})
    where = "schedulername default-scheduler"
    assert where not in faults(doctor(cp)[1], "warning")

    create("notebook", "default-scheduler")
    allocate("train", "0")
    allocate("notebook", "1")
    message = faults(doctor(cp)[1], "warning")[where]
    assert "its pods (default/notebook) and pods of enbloc (default/train)" in message
    assert "pool gpu.example.com/node-1 has devices of both" in message


def patch_status(cp: ControlPlane, kind: str, name: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    cp.kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patch}")


@pytest.mark.parametrize("shape", ["combined", "replace-default", "second-scheduler"])
def test_each_shape_of_the_manifests_has_what_it_needs(shape: str) -> None:
    with ControlPlane(controller_manager=False) as cluster:
        cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        cluster.established("podgroups.enbloc.dev")
        if shape == "second-scheduler":
            cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "manifests/install.yaml"))
        cluster.kubectl("apply", "--server-side", "-k", str(ROOT / "manifests/overlays" / shape))
        which = ("-n", "batch-system", "--release", "batch-enbloc")
        code, answer = doctor(cluster, *(which if shape == "second-scheduler" else ()))
        assert (code, faults(answer)) == (0, {})
        leases = {each for each in faults(answer, "warning") if each.startswith("lease ")}
        assert (
            leases
            == {
                "combined": {
                    f"lease {NAMESPACE}/enbloc-scheduler",
                    f"lease {NAMESPACE}/enbloc-controller",
                },
                "replace-default": {
                    "lease kube-system/kube-scheduler",
                    f"lease {NAMESPACE}/enbloc-controller",
                },
                "second-scheduler": {"lease batch-system/batch-enbloc-scheduler"},
            }[shape]
        )
