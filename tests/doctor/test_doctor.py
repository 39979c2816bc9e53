# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the doctor makes of what it reads; tests/e2e has it on a real API server."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from enbloc.cli.doctor import installation
from enbloc.client.permissions import ROLES
from enbloc.client.server_version import NEWEST, minor
from enbloc.doctor import Installation, Verdict
from enbloc.doctor.finding import Process
from enbloc.doctor.installed import installed
from enbloc.doctor.kinds import lacking
from enbloc.doctor.permissions import listed, wanted
from enbloc.doctor.schedulers import configured
from enbloc.doctor.shapes import CRD
from enbloc.model.names import PART_OF_KEY
from hack.build_controlplane import module_version
from tests.doctor.cluster import PLANNED, found, lease, of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("v1.31.9", Verdict.FAULT),
        ("v1.32.0", Verdict.OK),
        ("v1.36.3", Verdict.OK),
        ("v1.99.0", Verdict.WARNING),
    ],
)
async def test_the_version_of_the_server_is_held_to_what_was_tested(
    version: str, verdict: Verdict
) -> None:
    assert of(await found({}, PLANNED, version), "version") == [(verdict, "")]


def test_the_newest_version_is_that_of_the_end_to_end_tests() -> None:
    built = module_version("controlplane", "k8s.io/kubernetes").removeprefix("v").split(".")
    assert minor({"major": built[0], "minor": built[1]}) == NEWEST


async def test_a_kind_of_ours_that_is_not_there_is_named_with_what_is_lacking_without_it() -> None:
    findings = await found({}, Installation())
    assert of(findings, "crds") == [
        (Verdict.FAULT, "customresourcedefinition podgroups.enbloc.dev"),
        (Verdict.WARNING, "customresourcedefinition topologies.enbloc.dev"),
    ]
    [message] = [each.message for each in findings if "topologies.enbloc.dev" in each.object]
    assert message.startswith("is not there; spec.topology of PodGroups can name node labels only")


async def test_other_kinds_with_a_name_of_ours_are_named() -> None:
    def kind(plural: str, short: str) -> dict[str, Any]:
        names = {"plural": plural, "shortNames": [short]}
        metadata = {"name": f"{plural}.kueue.x-k8s.io"}
        return {"metadata": metadata, "spec": {"names": names, "versions": []}}

    others = {"customresourcedefinitions": [kind("topologies", "topo"), kind("trees", "ebtopo")]}
    findings = [each for each in await found(others, PLANNED) if each.check == "crds"]
    assert [each.verdict for each in findings] == [Verdict.WARNING] * 2
    first, second = (each.message for each in findings)
    assert first == 'is called topologies too; say "topologies.enbloc.dev" or "ebtopo" to kubectl'
    assert second == 'has the short name ebtopo too; say "topologies.enbloc.dev" to kubectl'


async def test_a_check_that_may_not_look_says_so_and_is_no_fault() -> None:
    findings = await found({}, PLANNED, forbid="deployments")
    assert of(findings, "schedulers") == [(Verdict.UNKNOWN, "deployments.apps")]
    assert Verdict.FAULT not in {each.verdict for each in findings}
    assert of(findings, "crds") == [(Verdict.OK, "")]


async def test_what_many_requests_were_refused_for_is_said_once() -> None:
    findings = await found({}, PLANNED, forbid="selfsubjectaccessreviews")
    resource = "selfsubjectaccessreviews.authorization.k8s.io"
    assert of(findings, "permissions") == [(Verdict.UNKNOWN, resource)]


async def test_on_gke_a_quota_must_select_the_priority_class() -> None:
    version = "v1.36.1-gke.100"
    assert of(await found({}, PLANNED, version), "quota") == [
        (Verdict.WARNING, "namespace enbloc-system")
    ]
    selects = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}
    quota = {"metadata": {"name": "q"}, "spec": {"scopeSelector": selects}}
    assert of(await found({"resourcequotas": [quota]}, PLANNED, version), "quota") == []


async def test_a_lease_counts_as_a_rival_s_by_what_stands_on_it() -> None:
    leases = [
        lease("enbloc-system", "enbloc-scheduler", "us", names="enbloc"),
        lease("team", "enbloc-scheduler", "them", names="other,enbloc"),
        lease("team", "free", "", names="enbloc"),
        lease("team", "elsewhere", "they", names="other"),
    ]
    assert of(await found({"leases": leases}, PLANNED), "schedulers") == [
        (Verdict.FAULT, "lease team/enbloc-scheduler")
    ]


async def test_names_that_an_earlier_holder_wrote_on_a_lease_do_not_count() -> None:
    taken_back = lease("kube-system", "kube-scheduler", "control-plane", names="enbloc")
    taken_back["metadata"]["annotations"]["enbloc.dev/holder"] = "enbloc-scheduler-0"
    findings = await found({"leases": [taken_back]}, PLANNED)
    assert of(findings, "schedulers") == [(Verdict.OK, "")]


async def test_a_lease_that_nobody_renews_is_no_rival_s() -> None:
    leases = [
        lease("team", "dead", "them", names="enbloc", ago=3600),
        lease("kube-system", "kube-scheduler", "gone", ago=3600),
    ]
    del leases[0]["spec"]["leaseDurationSeconds"]
    leases.append(lease("team", "never", "them", names="enbloc"))
    del leases[-1]["spec"]["renewTime"]
    serving = Installation(serves=frozenset({"enbloc", "default-scheduler"}), planned=True)
    assert of(await found({"leases": leases}, serving), "schedulers") == [(Verdict.OK, "")]


def rival(namespace: str, account: str | None = None) -> dict[str, Any]:
    """A Deployment that says it is a scheduler of our name."""
    container = {"image": "volcano-scheduler", "args": ["--scheduler-name=enbloc"]}
    spec = {"containers": [container], "serviceAccountName": account}
    metadata = {"namespace": namespace, "name": "rival"}
    return {"metadata": metadata, "spec": {"template": {"spec": spec}}}


async def test_what_a_tenant_writes_in_a_namespace_that_may_bind_no_pods_clashes_with_nobody() -> (
    None
):
    subjects = [{"kind": "ServiceAccount", "namespace": "volcano", "name": "volcano"}]
    subjects += [{"kind": "ServiceAccount", "namespace": "team", "name": "reader"}]
    lists = {
        "clusterrolebindings": [{"metadata": {"name": "b"}, "subjects": subjects}],
        "leases": [lease(name, "mine", "them", names="enbloc") for name in ("team", "volcano")],
        "deployments": [rival("team"), rival("team", "reader"), rival("volcano", "volcano")],
    }

    def binds(review: Mapping[str, Any]) -> bool:
        return review.get("user") in (None, "system:serviceaccount:volcano:volcano")

    assert of(await found(lists, PLANNED, allowed=binds), "schedulers") == [
        (Verdict.FAULT, "lease volcano/mine"),
        (Verdict.FAULT, "deployment volcano/rival"),
    ]


async def test_a_configuration_that_may_not_be_read_hides_no_other_scheduler() -> None:
    unread = rival("first")
    unread["spec"]["template"]["spec"]["volumes"] = [{"configMap": {"name": "theirs"}}]
    lists = {"deployments": [unread, rival("second")]}

    assert of(await found(lists, PLANNED, forbid="configmaps"), "schedulers") == [
        (Verdict.FAULT, "deployment first/rival"),
        (Verdict.FAULT, "deployment second/rival"),
        (Verdict.UNKNOWN, "configmaps"),
    ]


async def test_a_configuration_of_a_tenant_s_is_not_read() -> None:
    unread = rival("team", "reader")
    unread["spec"]["template"]["spec"]["volumes"] = [{"configMap": {"name": "theirs"}}]

    def binds(review: Mapping[str, Any]) -> bool:
        return review.get("user") is None

    lists = {"deployments": [unread]}
    findings = await found(lists, PLANNED, forbid="configmaps", allowed=binds)
    assert of(findings, "schedulers") == [(Verdict.OK, "")]


def waiting(name: str, scheduler: str, group: str = "") -> dict[str, Any]:
    annotations = {"enbloc.dev/pod-group": group} if group else {}
    metadata = {"namespace": "ml", "name": name, "uid": name, "annotations": annotations}
    return {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": []}}


async def test_pods_are_named_that_wait_for_nobody_or_for_no_podgroup() -> None:
    leases = [
        lease("enbloc-system", "enbloc-scheduler", "us", names="enbloc"),
        lease("enbloc-system", "enbloc-controller", "us"),
        lease("batch-system", "enbloc-scheduler", "them", names="batch"),
    ]
    group = {"metadata": {"namespace": "ml", "name": "train"}, "spec": {"minMember": 2}}
    pods = [
        waiting("well", "enbloc", "train"),
        waiting("theirs", "batch", "train"),
        waiting("alone", "enbloc"),
        waiting("stranger", "volcano"),
        waiting("slip-0", "enbloc", "trian"),
        waiting("slip-1", "enbloc", "trian"),
        waiting("forgot", "default-scheduler", "train"),
    ]
    lists = {"leases": leases, "podgroups": [group], "pods": pods}

    findings = [each for each in await found(lists, Installation()) if each.check == "pods"]

    assert {each.object: each.message.rpartition(" (")[2] for each in findings} == {
        "schedulername default-scheduler": "ml/forgot waits)",
        "podgroup ml/trian": "2 pods wait, such as ml/slip-0)",
    }
    assert {each.verdict for each in findings} == {Verdict.WARNING}

    leases.clear()
    [first, *_] = [each for each in await found(lists, Installation()) if each.check == "pods"]
    assert first.object == "schedulername enbloc"
    assert "no Lease says" in first.message


async def test_who_serves_the_default_scheduler_waits_for_kube_scheduler_or_clashes_with_it() -> (
    None
):
    leases = [lease("kube-system", "kube-scheduler", "control-plane_1")]
    serving = Installation(serves=frozenset({"default-scheduler"}), planned=True)
    assert of(await found({"leases": leases}, serving), "schedulers") == [
        (Verdict.WARNING, "lease kube-system/kube-scheduler")
    ]
    elsewhere = (Process("scheduler", "gangs", "team", "gangs"),)
    both = replace(serving, processes=elsewhere)
    assert of(await found({"leases": leases}, both), "schedulers") == [
        (Verdict.FAULT, "lease kube-system/kube-scheduler")
    ]
    assert of(await found({"leases": leases}, PLANNED), "schedulers") == [(Verdict.OK, "")]


async def test_an_installation_whose_lease_nobody_holds_does_not_lead() -> None:
    leases = [
        lease("enbloc-system", "enbloc-scheduler", ""),
        lease("enbloc-system", "enbloc-controller", "us"),
    ]
    assert of(await found({"leases": leases}, Installation()), "leaders") == [
        (Verdict.FAULT, "lease enbloc-system/enbloc-scheduler")
    ]


#: Mappings that hold twice what the one before holds.
MERGED = "a0: &a0 {schedulerName: a}\n" + "\n".join(
    f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 99)
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("kind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: a}]", {"a"}),
        ("kind: Other\nprofiles: [{schedulerName: a}]", set()),
        ("kind: KubeSchedulerConfiguration", {"default-scheduler"}),
        ("kind: KubeSchedulerConfiguration\nprofiles: [{plugins: {}}]", {"default-scheduler"}),
        ("kind: KubeSchedulerConfiguration\nprofiles: schedulerName", set()),
        (
            "kind: KubeSchedulerConfiguration\nprofiles: [schedulerName, {schedulerName: [1]}]",
            set(),
        ),
        ("kind: KubeSchedulerConfiguration\nprofiles: [", set()),
        ("[" * 50_000 + "KubeSchedulerConfiguration", set()),
        ("kind: KubeSchedulerConfiguration\nschedulerName: [", set()),
        (f"schedulerName: {'1:' * 30_000}1", set()),
        (MERGED, set()),
        ("kind: X\n---\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: b}]", {"b"}),
    ],
)
def test_what_a_configuration_serves_is_read_and_what_is_none_passed_over(
    text: str, names: set[str]
) -> None:
    assert configured([text]) == names


@pytest.mark.parametrize("command", ["scheduler", "run"])
async def test_another_install_of_enbloc_serves_enbloc_without_naming_it(command: str) -> None:
    container = {"image": "enbloc:1", "args": [command]}
    volume = {"configMap": {"name": "config"}}
    labels = {"app.kubernetes.io/part-of": "enbloc"}
    metadata = {"namespace": "team", "name": "gangs", "labels": labels}
    pods = {"spec": {"containers": [container], "volumes": [volume]}}
    config = {"metadata": {"name": "config"}, "data": {"c": "kind: KubeSchedulerConfiguration"}}
    lists = {
        "deployments": [{"metadata": metadata, "spec": {"template": pods}}],
        "configmaps": [config],
    }
    assert of(await found(lists, PLANNED), "schedulers") == [
        (Verdict.FAULT, "deployment team/gangs")
    ]


async def test_where_nothing_is_installed_it_asks_so_instead_of_listing_all_permissions() -> None:
    findings = await found({}, Installation(), allowed=lambda _: False)
    messages = [each.message for each in findings if each.check == "permissions"]
    assert len(messages) == 2
    assert all("is enbloc installed" in each and "--preinstall" in each for each in messages)
    planned = await found({}, PLANNED, allowed=lambda _: False)
    assert "create pods/binding" in str(planned)


def test_our_own_definition_has_all_that_this_version_uses() -> None:
    document = yaml.safe_load((ROOT / "crds/podgroups.enbloc.dev.yaml").read_text("utf-8"))
    assert lacking(msgspec.convert(document, CRD)) == []
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["minMember"]
    del schema["properties"]["status"]["properties"]["attempts"]
    assert lacking(msgspec.convert(document, CRD)) == ["spec.minMember", "status.attempts"]
    document["spec"]["versions"][0]["served"] = False
    assert lacking(msgspec.convert(document, CRD)) == ["the version v1alpha1"]


def test_our_definition_of_a_topology_has_all_that_this_version_uses() -> None:
    document = yaml.safe_load((ROOT / "crds/topologies.enbloc.dev.yaml").read_text("utf-8"))
    assert lacking(msgspec.convert(document, CRD)) == []
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["levels"]
    assert lacking(msgspec.convert(document, CRD)) == ["spec.levels"]


def test_each_permission_is_asked_for_by_the_name_it_has_here() -> None:
    leases = {"enbloc-scheduler": "mine-scheduler"}
    asked = list(wanted(ROLES["scheduler"], "team", leases))
    assert {"resource": "pods", "subresource": "binding", "verb": "create"} in asked
    lease = {"group": "coordination.k8s.io", "resource": "leases", "namespace": "team"}
    assert {**lease, "verb": "update", "name": "mine-scheduler"} in asked
    assert {**lease, "verb": "create"} in asked


def test_missing_permissions_are_listed_with_the_verbs_of_a_resource_together() -> None:
    status = {"group": "enbloc.dev", "resource": "podgroups", "subresource": "status"}
    asked = [
        {"resource": "pods", "verb": "list"},
        {"resource": "pods", "verb": "watch"},
        {**status, "verb": "patch"},
        {"resource": "leases", "verb": "get", "name": "n", "namespace": "team"},
    ]
    assert listed(asked) == (
        "list, watch pods; patch podgroups.enbloc.dev/status; get leases n in team"
    )


def deployment(name: str, *args: str, account: str = "") -> dict[str, Any]:
    """One of enbloc in namespace team, whose configuration is in ConfigMap `config`."""
    metadata = {"namespace": "team", "name": name, "labels": {PART_OF_KEY: "enbloc"}}
    pod = {
        "serviceAccountName": account or name,
        "containers": [{"image": "enbloc:1", "args": list(args)}],
        "volumes": [{"configMap": {"name": "config"}}],
    }
    return {"metadata": metadata, "spec": {"template": {"spec": pod}}}


@pytest.mark.parametrize(
    ("deployments", "configuration", "serves", "processes"),
    [
        pytest.param(
            [deployment("gangs-scheduler", "scheduler")],
            "profiles: [{schedulerName: batch}]\nleaderElection: {resourceName: gangs-scheduler}",
            {"batch"},
            (Process("scheduler", "gangs-scheduler", "team", "gangs-scheduler"),),
            id="no controller",
        ),
        pytest.param(
            [deployment("gangs-scheduler", "run", account="mine")],
            "leaderElection: {resourceName: gangs-scheduler}",
            {"enbloc"},
            (
                Process("scheduler", "mine", "team", "gangs-scheduler"),
                Process("controller", "mine", "team", "gangs-controller"),
            ),
            id="both in one process",
        ),
        pytest.param(
            [
                deployment("gangs-scheduler", "scheduler"),
                deployment("gangs-controller", "--leader-elect-resource-name=gangs-controller"),
            ],
            "profiles: [{schedulerName: default-scheduler}]",
            {"default-scheduler"},
            (
                Process("scheduler", "gangs-scheduler", "kube-system", "kube-scheduler"),
                Process("controller", "gangs-controller", "team", "gangs-controller"),
            ),
            id="in place of kube-scheduler",
        ),
        pytest.param(
            [],
            "",
            {"enbloc"},
            (
                Process("scheduler", "gangs-scheduler", "team", "gangs-scheduler"),
                Process("controller", "gangs-controller", "team", "gangs-controller"),
            ),
            id="nothing",
        ),
    ],
)
async def test_an_installation_is_examined_as_its_deployments_say(
    deployments: list[Any], configuration: str, serves: set[str], processes: tuple[Process, ...]
) -> None:
    text = f"kind: KubeSchedulerConfiguration\n{configuration}"
    config = {"metadata": {"name": "config"}, "data": {"config.yaml": text}}
    lists = {"deployments": deployments, "configmaps": [config]}
    ours = Installation("team", "gangs")
    seen: Installation = await found(lists, ours, ask=installed)
    assert (set(seen.serves), seen.processes) == (serves, processes)
    asked: Installation = await found(
        lists, replace(ours, serves=frozenset({"other"})), ask=installed
    )
    assert asked.serves == {"other"}


@pytest.mark.parametrize(
    ("election", "lease"),
    [
        ("{}", ("team", "gangs-scheduler")),
        ("{resourceName: other}", ("team", "other")),
        ("{resourceNamespace: there}", ("there", "gangs-scheduler")),
    ],
)
def test_of_a_planned_scheduler_the_lease_that_its_configuration_names_is_checked(
    election: str, lease: tuple[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    kind = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    file.write_text(f"{kind}leaderElection: {election}\n")

    scheduler, controller = installation("team", "gangs", [file], planned=True).expected().processes

    assert (scheduler.lease_namespace, scheduler.lease) == lease
    assert (controller.lease_namespace, controller.lease) == ("team", "gangs-controller")
