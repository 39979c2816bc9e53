# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Values of the user's that helm merges with the chart's own render objects that are valid."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from enbloc.config import Source, configure
from tests.charts.rendering import by_key, render

pytestmark = pytest.mark.controlplane


def test_more_scheduler_names_are_served_beside_a_profile_without_a_name(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    profiles = {"profiles": [{"percentageOfNodesToScore": 50}]}
    values.write_text(
        yaml.safe_dump({"scheduler": {"extraSchedulerNames": ["batch"], "config": profiles}})
    )

    config = by_key(render("-f", str(values)))["ConfigMap/enbloc-scheduler"]

    found = configure([Source("values", config["data"]["config.yaml"])])
    assert list(found.profiles) == ["enbloc", "batch"]


def test_a_deployment_that_is_recreated_has_no_rolling_update() -> None:
    rendered = by_key(render("--set", "scheduler.strategy.type=Recreate"))

    kept = rendered["Deployment/enbloc-controller"]["spec"]["strategy"]
    assert rendered["Deployment/enbloc-scheduler"]["spec"]["strategy"] == {"type": "Recreate"}
    assert kept["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_a_scheduler_without_election_never_runs_twice_during_an_update() -> None:
    alone = "scheduler.leaderElection.enabled=false,scheduler.replicas=1"
    rendered = by_key(render("--set", alone))

    # With one pod more while pods are replaced, two schedulers would place the same pods.
    kept = rendered["Deployment/enbloc-controller"]["spec"]["strategy"]
    assert rendered["Deployment/enbloc-scheduler"]["spec"]["strategy"] == {"type": "Recreate"}
    assert kept["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}


def test_a_selector_of_namespaces_replaces_the_label_that_asks_by_default() -> None:
    asked = ["--set", "admission.enabled=true"]
    team = ["--set", "admission.namespaceSelector.matchLabels.team=ml"]

    def selectors(*settings: str) -> list[Any]:
        rendered = by_key(render(*asked, *settings))
        policy = rendered["MutatingAdmissionPolicy/enbloc-scheduler-name"]["spec"]
        webhook = by_key(render(*asked, *settings, "--set", "admission.mode=webhook"))
        hooks = webhook["MutatingWebhookConfiguration/enbloc"]["webhooks"]
        return [policy["matchConstraints"]["namespaceSelector"], hooks[0]["namespaceSelector"]]

    default = {"matchLabels": {"enbloc.dev/inject-scheduler-name": "true"}}
    assert selectors() == [default] * 2
    assert selectors(*team) == [{"matchLabels": {"team": "ml"}}] * 2


def test_a_certificate_that_a_monitor_may_verify_is_verified() -> None:
    asked = "serviceMonitor.enabled=true,serviceMonitor.renderMode=alwaysRender"
    name = "serviceMonitor.tlsConfig.serverName=metrics.example.com"

    def verified(*settings: str) -> Any:
        rendered = by_key(render("--set", asked, *settings))
        [endpoint] = rendered["ServiceMonitor/enbloc-scheduler"]["spec"]["endpoints"]
        return endpoint["tlsConfig"]

    assert verified() == {"insecureSkipVerify": True}
    assert verified("--set", name) == {"serverName": "metrics.example.com"}


def test_enbloc_s_own_pods_never_wait_for_enbloc() -> None:
    every = "admission.namespaceSelector.matchExpressions[0]"
    settings = f"admission.enabled=true,{every}.key=kubernetes.io/metadata.name,{every}.operator="

    policy = by_key(render("--set", f"{settings}Exists"))
    webhook = by_key(render("--set", f"{settings}Exists,admission.mode=webhook"))

    [*ours] = {
        one["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/part-of"]
        for one in policy.values()
        if one["kind"] == "Deployment"
    }
    excluded = {"key": "app.kubernetes.io/part-of", "operator": "NotIn", "values": ours}
    name = "MutatingAdmissionPolicy/enbloc-scheduler-name"
    [hook] = webhook["MutatingWebhookConfiguration/enbloc"]["webhooks"]
    for selecting in (policy[name]["spec"]["matchConstraints"], hook):
        assert selecting["objectSelector"]["matchExpressions"] == [excluded]


def test_a_spread_constraint_keeps_the_pods_that_it_selects(tmp_path: Path) -> None:
    zone = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    given = {**zone, "labelSelector": {"matchLabels": {"app.kubernetes.io/part-of": "enbloc"}}}
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump({"scheduler": {"topologySpreadConstraints": [zone, given]}}))

    deployment = by_key(render("-f", str(values)))["Deployment/enbloc-scheduler"]["spec"]

    unset, kept = deployment["template"]["spec"]["topologySpreadConstraints"]
    assert unset == {**zone, "labelSelector": deployment["selector"]}
    assert kept == given
