# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What helm renders and installs: the objects of manifests/, from values."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.model.names import NAMESPACE
from hack.build_controlplane import ensure
from tests.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane
CHART = "helm/enbloc"
INSTALL = Path("manifests/install.yaml")

# What helm adds, and plain manifests cannot have.
HELM_KEYS = {
    "helm.sh/chart",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "checksum/config",
}


def helm(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ensure(["helm"]) / "helm"), *arguments],
        env=os.environ | (env or {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def render(*arguments: str) -> list[dict[str, Any]]:
    done = helm("template", "enbloc", CHART, "-n", NAMESPACE, *arguments)
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def plain(value: Any) -> Any:
    """A document without what only helm sets."""
    if isinstance(value, dict):
        # A mapping that helm alone has filled goes with it.
        kept = {key: plain(inner) for key, inner in value.items() if key not in HELM_KEYS}
        return {key: inner for key, inner in kept.items() if inner or value[key] == inner}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def by_key(documents: list[dict[str, Any]], *, everything: bool = False) -> dict[str, Any]:
    return {
        f"{d['kind']}/{d['metadata']['name']}": d if everything else plain(d) for d in documents
    }


def test_defaults_render_what_the_manifests_hold() -> None:
    ours = by_key(render())
    theirs = by_key(list(yaml.safe_load_all(INSTALL.read_text(encoding="utf-8"))))
    crd = ours["CustomResourceDefinition/podgroups.enbloc.dev"]["metadata"]
    del theirs[f"Namespace/{NAMESPACE}"]  # `helm install --create-namespace` makes it

    assert crd.pop("annotations") == {"helm.sh/resource-policy": "keep"}
    del crd["labels"]["app.kubernetes.io/instance"]  # the text in crds/ is of no release
    del crd["labels"]["app.kubernetes.io/component"]
    assert ours == theirs


def test_the_chart_passes_a_strict_lint() -> None:
    done = helm("lint", "--strict", CHART)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        pytest.param("scheduler.replica=1", "/scheduler", id="an unknown key"),
        pytest.param("image.tag=latest", "/image/tag", id="the tag latest"),
        pytest.param("controller.replicas=two", "/controller/replicas", id="a wrong type"),
        pytest.param(
            "scheduler.leaderElection.enabled=false",
            "scheduler.leaderElection.enabled: must be true with 2 replicas",
            id="two schedulers without election",
        ),
        pytest.param(
            "controller.serviceAccount.create=false",
            "controller.serviceAccount.name: name the account to use",
            id="no account at all",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(setting: str, said: str) -> None:
    done = helm("template", "enbloc", CHART, "--set", setting)

    assert done.returncode != 0
    assert said in done.stderr


SENTINELS = {
    "global.imageRegistry": "mirror.example",
    "global.imagePullSecrets": [{"name": "pull"}],
    "commonLabels": {"example.com/team": "ml"},
    "nameOverride": "other",
    "fullnameOverride": "other",
    "namespaceOverride": "other",
    "image.repository": "other",
    "image.tag": "other",
    "image.digest": "sha256:" + "0" * 64,
    "image.pullPolicy": "Always",
    "logging.format": "text",
    "logging.level": "debug",
    "config": {"scheduleTimeoutSeconds": 5},
    "scheduler.config": {"podMaxBackoffSeconds": 99},
    "crds.enabled": False,
    "crds.keep": False,
    "crds.annotations": {"example.com/a": "b"},
    "rbac.create": False,
    "rbac.aggregateClusterRoles": False,
}
FOR_EACH_PROCESS = {
    "replicas": 3,
    "leaderElection.enabled": False,
    "resources": {"limits": {"cpu": "7"}},
    "priorityClassName": "",
    "nodeSelector": {"example.com/a": "b"},
    "affinity": {"nodeAffinity": {}},
    "tolerations": [{"key": "example.com/a"}],
    "topologySpreadConstraints": [],
    "podSecurityContext": {"fsGroup": 1},
    "containerSecurityContext": {"runAsUser": 1},
    "podDisruptionBudget.maxUnavailable": 2,
    "podDisruptionBudget.unhealthyPodEvictionPolicy": "IfHealthyBudget",
    "serviceAccount.name": "other",
    "serviceAccount.annotations": {"example.com/a": "b"},
    "strategy": {"rollingUpdate": {"maxSurge": 2}},
    "revisionHistoryLimit": 9,
    "terminationGracePeriodSeconds": 9,
    "startupProbe": {"failureThreshold": 99},
    "readinessProbe": {"failureThreshold": 99},
    "livenessProbe": {"failureThreshold": 99},
    "deploymentAnnotations": {"example.com/a": "b"},
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"example.com/a": "b"},
    "extraArgs": ["--other"],
    "extraEnv": [{"name": "A", "value": "b"}],
    "extraEnvFrom": [{"configMapRef": {"name": "other"}}],
    "extraVolumes": [{"name": "other", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "other", "mountPath": "/other"}],
}
CASES = SENTINELS | {
    f"{process}.{key}": value
    for process in ("scheduler", "controller")
    for key, value in FOR_EACH_PROCESS.items()
}


def nested(path: str, value: Any) -> dict[str, Any]:
    """{"a.b": 1} as {"a": {"b": 1}}."""
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("path", CASES)
def test_a_value_changes_what_is_rendered(path: str, tmp_path: Path) -> None:
    # One replica and a budget of its own: every key can then be tried alone.
    process = {"replicas": 1, "podDisruptionBudget": {"enabled": "true"}}
    before, after = tmp_path / "before.yaml", tmp_path / "after.yaml"
    before.write_text(yaml.safe_dump({"scheduler": process, "controller": process}))
    after.write_text(yaml.safe_dump(nested(path, CASES[path])))

    assert render("-f", str(before)) != render("-f", str(before), "-f", str(after))


@pytest.mark.parametrize(
    ("enabled", "replicas", "there"),
    [("auto", 1, False), ("auto", 2, True), ("true", 1, True), ("false", 2, False)],
)
def test_a_disruption_budget_is_there_when_it_helps(
    enabled: str, replicas: int, *, there: bool
) -> None:
    settings = f"controller.replicas={replicas},controller.podDisruptionBudget.enabled={enabled}"

    assert ("PodDisruptionBudget/enbloc-controller" in by_key(render("--set", settings))) is there


def test_the_configuration_is_mounted_and_a_change_of_it_replaces_the_pods(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    profile = {"schedulerName": "enbloc", "plugins": {"score": {"disabled": [{"name": "*"}]}}}
    values.write_text(yaml.safe_dump({"scheduler": {"config": {"profiles": [profile]}}}))

    before = by_key(render(), everything=True)
    after = by_key(render("-f", str(values)), everything=True)

    data = after["ConfigMap/enbloc-scheduler"]["data"]["config.yaml"]
    theirs, ours = yaml.safe_load_all(data)
    assert theirs["kind"] == "KubeSchedulerConfiguration"
    assert theirs["profiles"] == [profile]
    assert ours == {"apiVersion": "config.enbloc.dev/v1alpha1", "kind": "EnblocConfiguration"}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"ConfigMap/enbloc-scheduler", "Deployment/enbloc-scheduler"}


@pytest.mark.parametrize(
    ("settings", "lease"),
    [
        pytest.param("fullnameOverride=other", "other-scheduler", id="that of the release"),
        pytest.param(
            "scheduler.config.leaderElection.resourceName=mine", "mine", id="or the one that is set"
        ),
    ],
)
def test_a_release_has_a_lease_of_its_own_which_its_role_allows(settings: str, lease: str) -> None:
    documents = render("--set", settings)
    [role] = [d for d in documents if d["kind"] == "Role" and "scheduler" in d["metadata"]["name"]]
    [config] = [d for d in documents if d["kind"] == "ConfigMap"]

    theirs, _ = yaml.safe_load_all(config["data"]["config.yaml"])
    assert theirs["leaderElection"]["resourceName"] == lease
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, [lease]]


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane(controller_manager=False) as running:
        yield running


def test_a_release_is_installed_upgraded_and_removed_but_for_the_crd(
    controlplane: ControlPlane,
) -> None:
    env = controlplane.kubectl_environment()
    release = ("enbloc", CHART, "-n", NAMESPACE, "--wait=false")

    installed = helm("install", *release, "--create-namespace", env=env)
    upgraded = helm("upgrade", *release, "--set", "scheduler.replicas=3", env=env)
    deployments = controlplane.kubectl("get", "deployments", "-n", NAMESPACE, "-o", "name").stdout
    removed = helm("uninstall", "enbloc", "-n", NAMESPACE, "--wait=false", env=env)

    for done in (installed, upgraded, removed):
        assert done.returncode == 0, done.stderr
    assert "is installed in namespace enbloc-system" in installed.stdout
    assert deployments.split() == [
        "deployment.apps/enbloc-controller",
        "deployment.apps/enbloc-scheduler",
    ]
    controlplane.kubectl("get", "crd", "podgroups.enbloc.dev")
