# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The chart grants each process what the table of permissions holds, and no more.

The end-to-end suite judges that table by the audit log of the API server: nothing is refused, and
nothing unused (tests/e2e/test_permissions_e2e.py). What holds of the table holds of each release.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from enbloc.cli.doctor import installation
from enbloc.client.permissions import (
    BEYOND_KUBE_SCHEDULER,
    REVIEWING,
    ROLES,
    SIMULATION,
    VIEWER,
    VIEWING,
    Rule,
)
from enbloc.doctor.permissions import wanted
from enbloc.model import names
from tests.charts.rendering import CI, hooked, render

pytestmark = pytest.mark.controlplane
RELEASE, NAMESPACE = "gangs", "batch-system"
BUILTIN = {"system:kube-scheduler", "system:volume-scheduler"}
READER = "kube-system/extension-apiserver-authentication-reader"
#: Where a rule holds ("" = everywhere), its API group, resource, verb, and name ("" = any).
Grant = tuple[str, str, str, str, str]


def bound(
    documents: Sequence[dict[str, Any]], account: str, namespace: str
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Where each role bound to an account holds, the role ({}: not of the chart), and its name."""
    roles = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
        for each in documents
        if each["kind"] in ("ClusterRole", "Role")
    }
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    for binding in documents:
        if binding["kind"].endswith("RoleBinding") and subject in binding["subjects"]:
            where, ref = binding["metadata"].get("namespace", ""), binding["roleRef"]
            key = (ref["kind"], where if ref["kind"] == "Role" else "", ref["name"])
            yield where, roles.get(key, {}), "/".join(filter(None, (where, ref["name"])))


def granted(
    documents: Sequence[dict[str, Any]], account: str, namespace: str = NAMESPACE
) -> set[Grant]:
    """What the chart's own roles grant an account."""
    return {
        (where, group, resource, verb, name)
        for where, role, _ in bound(documents, account, namespace)
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def foreign(documents: Sequence[dict[str, Any]], account: str) -> set[str]:
    """The cluster's own roles that are bound to an account, with their namespace."""
    return {name for _, role, name in bound(documents, account, NAMESPACE) if not role}


def needed(rules: Sequence[Rule], leases: dict[str, tuple[str, str]]) -> set[Grant]:
    """What a table holds, for Leases of these names in these namespaces."""
    [(where, _)] = {leases[name] for rule in rules for name in rule.names} or {("", "")}
    return {
        (
            where if rule.scope == "namespace" else "",
            rule.group,
            resource,
            verb,
            leases[name][1] if name else "",
        )
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
        for name in rule.names or [""]
    }


@pytest.mark.parametrize("builtin", [False, True], ids=["own roles", "the cluster's roles"])
@pytest.mark.parametrize("values", sorted(path.name for path in CI.iterdir()))
def test_a_release_grants_its_processes_what_the_table_holds(values: str, builtin: bool) -> None:
    builtin_roles = f"rbac.useBuiltinSchedulerRoles={str(builtin).lower()}"
    settings = ("-f", str(CI / values), "--set", builtin_roles)
    documents = [
        each for each in render(*settings, release=RELEASE, namespace=NAMESPACE) if not hooked(each)
    ]
    pods = {
        each["metadata"]["labels"]["app.kubernetes.io/component"]: each["spec"]["template"]["spec"]
        for each in documents
        if each["kind"] == "Deployment"
    }
    accounts = {process: spec["serviceAccountName"] for process, spec in pods.items()}
    fullname = accounts["scheduler"].removesuffix("-scheduler")
    leases = {
        names.SCHEDULER_LEASE: (NAMESPACE, f"{fullname}-scheduler"),
        names.CONTROLLER_LEASE: (NAMESPACE, f"{fullname}-controller"),
    }
    if values.startswith("replace-default"):
        leases[names.SCHEDULER_LEASE] = ("kube-system", "kube-scheduler")
    tables = {**ROLES, "ui": (*VIEWING, *REVIEWING)}
    if builtin:
        here = [rule for rule in ROLES["scheduler"] if rule.scope == "namespace"]
        tables["scheduler"] = [*BEYOND_KUBE_SCHEDULER, *here]
    needs = {process: needed(rules, leases) for process, rules in tables.items()}
    grants = {process: needs[process] for process in pods}
    if pods["scheduler"]["containers"][0]["args"][0] == "run":  # both in one process
        grants["scheduler"] |= needs["controller"]

    assert {process: granted(documents, name) for process, name in accounts.items()} == grants
    for process, name in accounts.items():
        wanted = BUILTIN if builtin and process == "scheduler" else set()
        assert foreign(documents, name) == wanted


@pytest.mark.parametrize("mode", ["separate", "combined"])
@pytest.mark.parametrize(
    "setting",
    [
        pytest.param("doctor.enabled=true", id="the chart's Lease"),
        pytest.param("scheduler.extraSchedulerNames={default-scheduler}", id="kube-scheduler's"),
        pytest.param("scheduler.config.leaderElection.resourceName=other", id="another name"),
        pytest.param(
            "scheduler.config.leaderElection.resourceNamespace=other", id="another namespace"
        ),
    ],
)
def test_the_doctor_of_a_release_may_do_all_that_it_asks_for(
    mode: str, setting: str, tmp_path: Path
) -> None:
    settings = ("--set", f"doctor.enabled=true,mode={mode}", "--set", setting)
    hooks = [
        each
        for each in render(*settings, release=RELEASE, namespace=NAMESPACE)
        if each["metadata"].get("annotations", {}).get("helm.sh/hook") == "pre-install"
    ]
    [config] = [each["data"] for each in hooks if each["kind"] == "ConfigMap"]
    [job] = [each["spec"]["template"]["spec"] for each in hooks if each["kind"] == "Job"]
    file = tmp_path / "config.yaml"
    file.write_text(config["config.yaml"])
    [release] = [
        flag.removeprefix("--release=")
        for flag in job["containers"][0]["args"]
        if flag.startswith("--release=")
    ]

    ours = installation(NAMESPACE, release, [file], planned=True).expected()

    asked = {
        (
            each.get("namespace", ""),
            each.get("group", ""),
            "/".join(filter(None, (each["resource"], each.get("subresource")))),
            each["verb"],
            each.get("name", ""),
        )
        for process in ours.processes
        for each in wanted(
            ROLES[process.role],
            process.lease_namespace,
            {names.SCHEDULER_LEASE: process.lease, names.CONTROLLER_LEASE: process.lease},
        )
    }
    assert asked <= granted(hooks, job["serviceAccountName"])


def test_client_certificates_need_one_role_of_the_cluster_and_no_more() -> None:
    without = render(release=RELEASE, namespace=NAMESPACE)
    settings = ("--set", "metrics.clientCertificates=true")
    documents = render(*settings, release=RELEASE, namespace=NAMESPACE)

    for process in ROLES:
        account = f"{RELEASE}-enbloc-{process}"
        assert granted(documents, account) == granted(without, account)
        assert foreign(documents, account) == {READER}


def test_nobody_is_bound_to_a_role_but_the_processes() -> None:
    documents = [*filter(lambda each: not hooked(each), render())]

    bindings = [each for each in documents if each["kind"].endswith("RoleBinding")]

    subjects = {(each["kind"], each["name"]) for one in bindings for each in one["subjects"]}
    assert subjects == {("ServiceAccount", f"enbloc-{process}") for process in ROLES}


def test_the_role_of_viewers_is_what_commands_and_the_page_read_and_writes_nothing() -> None:
    [role] = [each for each in render() if each["metadata"]["name"] == "enbloc-viewer"]

    held = {
        (group, resource, verb, *rule.get("resourceNames", ()))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    needs = {
        (rule.group, resource, verb, *rule.names)
        for rule in (*SIMULATION, *VIEWING)
        for resource in rule.resources
        for verb in rule.verbs
    }
    assert held == needs
    assert {verb for rule in VIEWER for verb in rule.verbs} == {"get", "list", "watch"}
