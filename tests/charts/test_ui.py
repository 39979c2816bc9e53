# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page in the chart: off by default, and reached by port forwarding unless it is asked to."""

from typing import Any

import pytest

from tests.charts.rendering import by_key, render

pytestmark = pytest.mark.controlplane
NAME = "enbloc-ui"
TEAM = "ui.enabled=true,ui.bindAddress=0.0.0.0"


def container(documents: dict[str, Any]) -> dict[str, Any]:
    spec = documents[f"Deployment/{NAME}"]["spec"]["template"]["spec"]
    [found] = spec["containers"]
    assert isinstance(found, dict)
    return found


def granted(documents: dict[str, Any]) -> set[tuple[str, str]]:
    """Each verb on each resource."""
    rules = documents[f"ClusterRole/{NAME}"]["rules"]
    return {(v, r) for rule in rules for v in rule["verbs"] for r in rule["resources"]}


def test_there_is_no_page_unless_it_is_asked_for() -> None:
    assert not [key for key in by_key(render()) if key.endswith(f"/{NAME}")]


def test_it_is_for_port_forwarding_and_may_only_read() -> None:
    found = by_key(render("--set", "ui.enabled=true"))
    assert {key for key in found if key.endswith(f"/{NAME}")} == {
        f"{kind}/{NAME}"
        for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment")
    }
    assert {verb for verb, _ in granted(found)} == {"list", "watch"}
    ui = container(found)
    assert ui["args"] == ["ui", "--config=/etc/enbloc/config.yaml", "--bind-address=127.0.0.1"]
    assert not [key for key in ui if key.endswith("Probe")]


def test_for_a_team_it_has_a_service_and_asks_who_may_see_what() -> None:
    found = by_key(render("--set", f"{TEAM},ui.tls.secretName=own"))
    assert found[f"Service/{NAME}"]["spec"]["ports"][0]["targetPort"] == "https"
    assert {each for each in granted(found) if each[0] not in ("list", "watch")} == {
        ("create", "tokenreviews"),
        ("create", "subjectaccessreviews"),
    }
    ui = container(found)
    assert "--bind-address=0.0.0.0" in ui["args"]
    assert "--tls-cert-file=/etc/enbloc-tls/tls.crt" in ui["args"]
    assert ui["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_a_network_policy_lets_in_who_is_named() -> None:
    local = by_key(render("--set", "ui.enabled=true,networkPolicy.enabled=true"))
    assert local[f"NetworkPolicy/{NAME}"]["spec"]["ingress"] == []
    team = by_key(render("--set", f"{TEAM},networkPolicy.enabled=true"))
    assert team[f"NetworkPolicy/{NAME}"]["spec"]["ingress"] == [
        {"ports": [{"port": "https", "protocol": "TCP"}]}
    ]
