# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What helm renders: the objects of manifests/, from values."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.model.names import NAMESPACE
from hack.build_controlplane import built
from tests.charts.rendering import CHART, CI, by_key, helm, hooked, render
from tests.examples.pages import BLOCK

pytestmark = pytest.mark.controlplane
OVERLAYS = sorted(path.name for path in Path("manifests/overlays").iterdir())

KINDS = ("podgroups.enbloc.dev", "topologies.enbloc.dev")


def settled(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose configuration counts by its meaning, and not by how it is written."""
    if document["kind"] == "ConfigMap":
        data = {name: [*yaml.safe_load_all(text)] for name, text in document["data"].items()}
        return {**document, "data": data}
    return document


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_values_render_what_an_overlay_holds(overlay: str) -> None:
    second = overlay == "second-scheduler"
    release, namespace = ("batch", "batch-system") if second else ("enbloc", NAMESPACE)
    values = str(CI / f"{overlay}-values.yaml")
    kubectl = built(["kubectl"]) / "kubectl"
    overlaid = subprocess.check_output([kubectl, "kustomize", f"manifests/overlays/{overlay}"])

    rendered = render("-f", values, release=release, namespace=namespace)

    ours = by_key([settled(each) for each in rendered if not hooked(each)])
    theirs = by_key([settled(each) for each in yaml.safe_load_all(overlaid)])
    for kind in KINDS:
        ours.pop(f"CustomResourceDefinition/{kind}", None)
    del theirs[f"Namespace/{namespace}"]  # `helm install --create-namespace` makes it
    assert ours == theirs


def test_the_chart_s_kinds_are_those_of_the_manifests() -> None:
    rendered = by_key(render())
    theirs = [*yaml.safe_load_all(Path("manifests/enbloc-crds.yaml").read_text(encoding="utf-8"))]

    assert [each["metadata"]["name"] for each in theirs] == list(KINDS)
    for each in theirs:
        ours = rendered[f"CustomResourceDefinition/{each['metadata']['name']}"]
        del ours["metadata"]["labels"]["app.kubernetes.io/instance"]  # the text is of no release
        del ours["metadata"]["labels"]["app.kubernetes.io/component"]
        assert ours == each


def test_the_kinds_of_other_projects_are_installed_where_asked_for() -> None:
    kind = "CustomResourceDefinition"

    def added(*wanted: str) -> set[str]:
        settings = [part for name in wanted for part in ("--set", f"compat.crds.{name}=true")]
        found = {one["metadata"]["name"] for one in render(*settings) if one["kind"] == kind}
        return found - set(KINDS)

    theirs = {"podgroups.scheduling.volcano.sh", "queues.scheduling.volcano.sh"}
    assert added() == set()
    assert added("schedulerPlugins") == {"podgroups.scheduling.x-k8s.io"}
    assert added("volcano") == theirs
    assert added("volcano", "schedulerPlugins") == {*theirs, "podgroups.scheduling.x-k8s.io"}


def test_the_controller_knows_every_scheduler_name_that_is_served() -> None:
    rendered = by_key(render("--set", "scheduler.extraSchedulerNames={volcano}"))
    spec = rendered["Deployment/enbloc-controller"]["spec"]["template"]["spec"]
    told = [each for each in spec["containers"][0]["args"] if "scheduler-name" in each]
    assert told == ["--scheduler-name=enbloc", "--scheduler-name=volcano"]


def test_the_doctor_is_asked_before_anything_is_installed_and_only_where_wanted() -> None:
    found = [each for each in render("--set", "doctor.enabled=true") if hooked(each)]
    weights = {
        each["kind"]: int(each["metadata"]["annotations"]["helm.sh/hook-weight"])
        for each in found
        if each["metadata"]["annotations"]["helm.sh/hook"] == "pre-install"
    }

    assert weights.pop("Job") > max(weights.values())
    assert set(weights) >= {"ServiceAccount", "ConfigMap", "ClusterRoleBinding", "RoleBinding"}


def test_nothing_of_a_hook_runs_but_the_test() -> None:
    hooks = {each["kind"]: each["metadata"]["annotations"] for each in render() if hooked(each)}

    assert {each["helm.sh/hook"] for each in hooks.values()} == {"test"}
    assert set(hooks) == {"PodGroup", "Job"}


@pytest.mark.parametrize(
    ("given", "warnings"),
    [
        ("image.tag=1.0.0", 1),
        ("image.repository=registry.example.com/enbloc", 0),
        ("global.imageRegistry=registry.example.com", 0),
    ],
)
def test_notes_warn_of_an_image_that_no_registry_has(given: str, warnings: int) -> None:
    done = helm("install", "enbloc", CHART, "--dry-run=client", "--set", given)
    assert done.returncode == 0, done.stderr
    notes = done.stdout.partition("NOTES:")[2]
    assert notes.count("set image.repository") == warnings


VALUES = sorted(path.name for path in CI.iterdir())


@pytest.mark.parametrize("values", VALUES)
def test_the_chart_passes_a_strict_lint(values: str) -> None:
    done = helm("lint", "--strict", CHART, "-f", str(CI / values))

    assert done.returncode == 0, done.stdout


class UniqueKeys(yaml.SafeLoader):
    """Refuses what Helm 4 and server-side apply refuse: a key that is given twice."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:  # PyYAML's
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"twice among {keys}: {node.start_mark}"
        return super().construct_mapping(node, deep)


@pytest.mark.parametrize("values", VALUES)
def test_no_key_is_rendered_twice(values: str) -> None:
    done = helm("template", "enbloc", CHART, "-f", str(CI / values))

    for document in yaml.load_all(done.stdout, Loader=UniqueKeys):  # a SafeLoader
        assert document


def test_an_annotation_never_replaces_the_digest_of_the_configuration() -> None:
    name = r"scheduler.podAnnotations.checksum/config"
    given = helm("template", "enbloc", CHART, "--set", f"{name}=mine").stdout

    pods = [
        document["spec"]["template"]["metadata"].get("annotations", {})
        for document in yaml.load_all(given, Loader=UniqueKeys)  # a SafeLoader
        if document["kind"] == "Deployment"
    ]
    digests = [annotations.get("checksum/config") for annotations in pods]
    assert "mine" not in digests
    assert any(digests)


def test_a_common_label_never_replaces_one_of_ours() -> None:
    label = r"app\.kubernetes\.io/part-of"
    settings = rf"commonLabels.{label}=platform,commonLabels.example\.com/team=ml"

    for document in render("--set", settings):
        labels = document["metadata"]["labels"]
        assert (labels["app.kubernetes.io/part-of"], labels["example.com/team"]) == ("enbloc", "ml")


def test_the_ids_of_security_contexts_are_left_out_where_openshift_assigns_them() -> None:
    force = "global.compatibility.openshift.adaptSecurityContext=force"
    found = by_key(render("--set", force))["Deployment/enbloc-scheduler"]

    assert found["spec"]["template"]["spec"]["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_more_scheduler_names_are_served_as_the_first_is(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    first = {"schedulerName": "enbloc", "percentageOfNodesToScore": 50}
    values.write_text(
        yaml.safe_dump(
            {"scheduler": {"extraSchedulerNames": ["batch"], "config": {"profiles": [first]}}}
        )
    )

    config = settled(by_key(render("-f", str(values)))["ConfigMap/enbloc-scheduler"])

    [theirs, _] = config["data"]["config.yaml"]
    assert theirs["profiles"] == [first, {**first, "schedulerName": "batch"}]


def test_a_monitor_of_a_kind_that_is_not_served_is_named_with_what_to_do() -> None:
    settings = ("--set", "serviceMonitor.enabled=true")
    served = "monitoring.coreos.com/v1/ServiceMonitor"

    refused = helm("template", "enbloc", CHART, *settings)
    skipped = render(*settings, "--set", "serviceMonitor.renderMode=skipIfMissing")
    there = render(*settings, "--api-versions", served)

    assert "the cluster does not serve ServiceMonitor" in refused.stderr
    assert "renderMode" in refused.stderr
    assert [sum(d["kind"] == "ServiceMonitor" for d in each) for each in (skipped, there)] == [0, 2]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        pytest.param("scheduler.replica=1", "/scheduler", id="an unknown key"),
        pytest.param("image.tag=latest", "/image/tag", id="the tag latest"),
        pytest.param("controller.replicas=two", "/controller/replicas", id="a wrong type"),
        pytest.param(
            "scheduler.config.podMaxBackofSeconds=1",
            "/scheduler/config",
            id="an unknown field of KubeSchedulerConfiguration",
        ),
        pytest.param("config.searchStep=1", "/config", id="one of EnblocConfiguration"),
        pytest.param(
            "scheduler.leaderElection.leaseDuration=15",
            "/scheduler/leaderElection/leaseDuration",
            id="a duration without a unit",
        ),
        pytest.param(
            "scheduler.leaderElection.enabled=false",
            "scheduler.leaderElection.enabled: must be true with 2 replicas",
            id="two schedulers without election",
        ),
        pytest.param(
            "scheduler.leaderElection.renewDeadline=1m0.5s",
            "scheduler.leaderElection.leaseDuration: must be above renewDeadline (1m0.5s), is 15s",
            id="a Lease that ends before its leader stops",
        ),
        pytest.param(
            "controller.leaderElection.retryPeriod=10s",
            "controller.leaderElection.renewDeadline: must be above retryPeriod (10s), is 10s",
            id="a leader that renews too late",
        ),
        pytest.param(
            "scheduler.config.leaderElection.leaderElect=false",
            "scheduler.leaderElection.enabled is true; set the latter alone",
            id="a configuration without election",
        ),
        pytest.param(
            "controller.serviceAccount.create=false",
            "controller.serviceAccount.name: name the account to use",
            id="no account at all",
        ),
        pytest.param(
            "scheduler.extraSchedulerNames={batch,enbloc}",
            "must be named once, here or by a profile; named are: enbloc, batch, enbloc",
            id="a name that is served twice",
        ),
        pytest.param(
            "priorityClassQuota.create=true,scheduler.priorityClassName=,"
            "controller.priorityClassName=",
            "priorityClassQuota.create: no pod has a priorityClassName",
            id="a quota for no class",
        ),
        pytest.param(
            "mode=combined,controller.enabled=false",
            "controller.enabled: is false, and mode combined runs the controller too",
            id="one process without half of it",
        ),
        pytest.param(
            "admission.enabled=true,admission.mode=webhook,controller.enabled=false",
            "admission.mode: the controller serves the webhook",
            id="a webhook that nobody serves",
        ),
        pytest.param(
            "admission.enabled=true,admission.mode=webhook,admission.webhook.certificate=secret",
            "admission.webhook.caBundle: give the CA of the certificate in secretName",
            id="a certificate that the API server cannot verify",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(setting: str, said: str) -> None:
    done = helm("template", "enbloc", CHART, "--set", setting)

    assert done.returncode != 0
    assert said in done.stderr


SENTINELS = {
    "mode": "combined",
    "global.compatibility.openshift.adaptSecurityContext": "force",
    "rbac.useBuiltinSchedulerRoles": True,
    "metrics.service.enabled": False,
    "metrics.service.annotations": {"example.com/a": "b"},
    "metrics.tls.secretName": "other",
    "metrics.clientCertificates": True,
    "dashboard.enabled": True,
    "networkPolicy.enabled": True,
    "priorityClassQuota.create": True,
    "apf.enabled": True,
    "doctor.enabled": True,
    "ui.enabled": True,
    "extraObjects": ["{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}"],
    "tests.podAnnotations": {"example.com/a": "b"},
    "scheduler.extraSchedulerNames": ["other"],
    "controller.enabled": False,
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
    "compat.crds.schedulerPlugins": True,
    "compat.crds.volcano": True,
    "rbac.create": False,
    "rbac.aggregateClusterRoles": False,
}
#: What changes nothing unless something else is on.
WITHIN: dict[str, dict[str, Any]] = {
    "serviceMonitor.": {"serviceMonitor": {"enabled": True, "renderMode": "alwaysRender"}},
    "podMonitor.": {"podMonitor": {"enabled": True, "renderMode": "alwaysRender"}},
    "prometheusRule.": {"prometheusRule": {"enabled": True, "renderMode": "alwaysRender"}},
    "dashboard.": {"dashboard": {"enabled": True}},
    "networkPolicy.": {"networkPolicy": {"enabled": True}},
    "priorityClassQuota.": {"priorityClassQuota": {"create": True}},
    "apf.": {"apf": {"enabled": True}},
    "ui.": {
        "ui": {"enabled": True, "bindAddress": "0.0.0.0"},
        "networkPolicy": {"enabled": True},
    },
}
MONITOR = {
    "namespace": "other",
    "labels": {"example.com/a": "b"},
    "interval": "7s",
    "scrapeTimeout": "6s",
    "authorization": {"credentials": {"name": "other", "key": "token"}},
    "tlsConfig": {"serverName": "other"},
    "relabelings": [{"action": "labeldrop", "regex": "other"}],
    "metricRelabelings": [{"action": "labeldrop", "regex": "other"}],
}
OF_MONITORS = {
    f"{monitor}.{key}": value
    for monitor in ("serviceMonitor", "podMonitor")
    for key, value in MONITOR.items()
}
GATED = {
    "prometheusRule.namespace": "other",
    "prometheusRule.labels": {"example.com/a": "b"},
    "dashboard.namespace": "other",
    "dashboard.labels": {"example.com/a": "b"},
    "dashboard.annotations": {"example.com/a": "b"},
    "networkPolicy.metricsFrom": [{"podSelector": {}}],
    "networkPolicy.apiServerCIDRs": ["10.0.0.1/32"],
    "networkPolicy.apiServerPorts": [7443],
    "networkPolicy.extraIngress": [{"from": [{"podSelector": {}}]}],
    "networkPolicy.extraEgress": [{"to": [{"podSelector": {}}]}],
    "priorityClassQuota.pods": "7",
    "apf.leaseConcurrencyShares": 7,
    "apf.priorityLevel": "other",
}
FOR_EACH_PROCESS = {
    "leaderElection.leaseDuration": "77s",
    "leaderElection.renewDeadline": "9s",
    "leaderElection.retryPeriod": "1s",
    "securePort": 7777,
    "hostNetwork": True,
    "dnsPolicy": "Default",
    "runtimeClassName": "other",
    "extraContainers": [{"name": "other", "image": "other"}],
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
OF_UI = {
    "ui.bindAddress": "::",
    "ui.port": 7777,
    "ui.tls.secretName": "other",
    "ui.from": [{"podSelector": {}}],
    "ui.resources": {"limits": {"cpu": "7"}},
    "ui.nodeSelector": {"example.com/a": "b"},
    "ui.tolerations": [{"key": "example.com/a"}],
    "ui.podSecurityContext": {"fsGroup": 1},
    "ui.containerSecurityContext": {"runAsUser": 1},
    "ui.serviceAccount.name": "other",
    "ui.serviceAccount.annotations": {"example.com/a": "b"},
    "ui.startupProbe": {"failureThreshold": 99},
    "ui.readinessProbe": {"failureThreshold": 99},
    "ui.livenessProbe": {"failureThreshold": 99},
}
CASES = {**SENTINELS, **OF_MONITORS, **GATED, **OF_UI} | {
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
    on = next(
        (
            each
            for prefix, each in WITHIN.items()
            if path in GATED | OF_MONITORS | OF_UI and path.startswith(prefix)
        ),
        {},
    )
    before.write_text(yaml.safe_dump({"scheduler": process, "controller": process, **on}))
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
        pytest.param("mode=separate", f"{NAMESPACE}/enbloc-scheduler", id="by default"),
        pytest.param("fullnameOverride=other", f"{NAMESPACE}/other-scheduler", id="of the release"),
        pytest.param(
            "scheduler.config.leaderElection.resourceName=mine",
            f"{NAMESPACE}/mine",
            id="or the one that is set",
        ),
        pytest.param(
            "scheduler.config.leaderElection.resourceNamespace=kube-system",
            "kube-system/enbloc-scheduler",
            id="or where it is set",
        ),
        pytest.param(
            "scheduler.config.profiles[0].schedulerName=default-scheduler",
            "kube-system/kube-scheduler",
            id="kube-scheduler's own, in its place",
        ),
    ],
)
def test_a_scheduler_takes_the_lease_that_its_role_allows(settings: str, lease: str) -> None:
    namespace, name = lease.split("/")
    documents = render("--set", settings)
    [role] = [d for d in documents if d["kind"] == "Role" and "scheduler" in d["metadata"]["name"]]
    [config] = [settled(d) for d in documents if d["kind"] == "ConfigMap"]

    [theirs, _] = config["data"]["config.yaml"]
    election = theirs["leaderElection"]
    assert (election["resourceName"], election.get("resourceNamespace", NAMESPACE)) == (
        name,
        namespace,
    )
    assert role["metadata"]["namespace"] == namespace
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, [name]]


@pytest.mark.parametrize("mode", ["separate", "combined"])
def test_no_two_releases_share_a_lease(mode: str) -> None:
    def leases(release: str) -> set[str]:
        documents = render("--set", f"mode={mode}", release=release)
        roles = [each for each in documents if each["kind"] == "Role"]
        return {name for role in roles for name in role["rules"][1]["resourceNames"]}

    assert leases("enbloc") == {"enbloc-scheduler", "enbloc-controller"}
    assert leases("batch") == {"batch-enbloc-scheduler", "batch-enbloc-controller"}


def test_a_controller_is_told_the_lease_that_its_role_allows() -> None:
    [process] = by_key(render(release="batch"))["Deployment/batch-enbloc-controller"]["spec"][
        "template"
    ]["spec"]["containers"]

    assert "--leader-elect-resource-name=batch-enbloc-controller" in process["args"]


def test_combined_has_one_account_with_the_roles_of_both() -> None:
    documents = render("--set", "mode=combined")
    accounts = [d["metadata"]["name"] for d in documents if d["kind"] == "ServiceAccount"]
    bound = {
        (d["kind"], d["roleRef"]["name"], d["subjects"][0]["name"])
        for d in documents
        if "subjects" in d
    }

    assert accounts == ["enbloc-scheduler"]
    assert bound == {
        (kind, f"enbloc-{process}", "enbloc-scheduler")
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for process in ("scheduler", "controller")
    }


PAGES = sorted(
    path.relative_to("docs/how-to").as_posix()
    for path in Path("docs/how-to").glob("*.md")
    if "values.yaml" in path.read_text("utf-8")
)


@pytest.mark.parametrize("page", PAGES)
def test_the_chart_takes_the_values_that_a_page_shows(page: str, tmp_path: Path) -> None:
    text = Path("docs/how-to", page).read_text("utf-8")
    shown = [body for _, title, body in BLOCK.findall(text) if title == "values.yaml"]
    for number, body in enumerate(shown):
        values = tmp_path / f"{number}.yaml"
        values.write_text(body, encoding="utf-8")
        config = by_key(render("-f", str(values)))["ConfigMap/enbloc-scheduler"]["data"]
        profiles = yaml.safe_load(body).get("scheduler", {}).get("config", {}).get("profiles", [])
        for profile in profiles:
            assert f"schedulerName: {profile['schedulerName']}" in "".join(config.values())
