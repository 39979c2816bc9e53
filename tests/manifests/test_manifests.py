# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The plain manifests hold what the code needs, and no more."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from enbloc import __version__
from enbloc.cli.servers import controller, run, scheduler
from enbloc.client.permissions import ROLES
from enbloc.config import Source, configure, default_configuration
from enbloc.controller.creator_objects import JobObject, job
from enbloc.controller.existence import fragile
from enbloc.model import names
from enbloc.wire import codec
from enbloc.wire.objects import PodGroupObject
from enbloc_sandbox.nodes import GPU, default_shapes
from hack import sync
from tests.examples.pages import blocks

DOCUMENTS: list[dict[str, Any]] = list(
    yaml.safe_load_all(Path("manifests/install.yaml").read_text(encoding="utf-8"))
)
EXAMPLES = sorted(Path("manifests/examples").glob("*.yaml"))
DEPLOYMENTS = [document for document in DOCUMENTS if document["kind"] == "Deployment"]

#: Of the Deployments.
SECURE_PORTS = {"enbloc-scheduler": 10259, "enbloc-controller": 10261}

each_process = pytest.mark.parametrize("process", ROLES)
each_deployment = pytest.mark.parametrize(
    "deployment", DEPLOYMENTS, ids=[d["metadata"]["name"] for d in DEPLOYMENTS]
)


def one(kind: str, name: str) -> dict[str, Any]:
    (found,) = [d for d in DOCUMENTS if d["kind"] == kind and d["metadata"]["name"] == name]
    return found


def granted(role: dict[str, Any]) -> set[tuple[str, str, str, str]]:
    """Every (group, resource, verb, name) that a role grants."""
    return {
        (group, resource, verb, name)
        for rule in role["rules"]
        for group in rule.get("apiGroups", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def needed(process: str, scope: str) -> set[tuple[str, str, str, str]]:
    """Every (group, resource, verb, name) in the table of a process."""
    return {
        (rule.group, resource, verb, name)
        for rule in ROLES[process]
        if rule.scope == scope
        for resource in rule.resources
        for verb in rule.verbs
        for name in rule.names or [""]
    }


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    (only,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(only, dict)
    return only


def test_generated_files_are_what_their_sources_say() -> None:
    assert list(sync.drift()) == []


@each_process
def test_a_process_may_do_what_the_table_says_and_no_more(process: str) -> None:
    name = f"enbloc-{process}"

    assert granted(one("ClusterRole", name)) == needed(process, "cluster")
    assert granted(one("Role", name)) == needed(process, "namespace")
    for kind in ("ClusterRole", "Role"):
        binding = one(f"{kind}Binding", name)
        assert binding["roleRef"]["kind"] == kind
        assert binding["roleRef"]["name"] == name
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": name, "namespace": names.NAMESPACE}
        ]


def test_no_role_has_a_wildcard_or_reads_secrets() -> None:
    for document in DOCUMENTS:
        if document["kind"] in {"Role", "ClusterRole"}:
            for _, resource, verb, _ in granted(document):
                assert "*" not in resource + verb
                assert resource != "secrets"


def test_users_never_write_status() -> None:
    for name in ("enbloc-view", "enbloc-edit"):
        for _, resource, verb, _ in granted(one("ClusterRole", name)):
            assert not resource.endswith("/status") or verb == "get"


def test_users_read_the_topologies_that_their_podgroups_name() -> None:
    grants = {
        (resource, verb) for _, resource, verb, _ in granted(one("ClusterRole", "enbloc-view"))
    }
    assert {("topologies", verb) for verb in ("get", "list", "watch")} <= grants
    assert "topologies" not in {each[1] for each in granted(one("ClusterRole", "enbloc-edit"))}


def test_two_processes_are_deployed_and_one_namespace_holds_them() -> None:
    assert {d["metadata"]["name"] for d in DEPLOYMENTS} == {f"enbloc-{p}" for p in ROLES}
    assert {d["metadata"].get("namespace", names.NAMESPACE) for d in DOCUMENTS} == {names.NAMESPACE}
    assert one("Namespace", names.NAMESPACE)


@each_deployment
def test_a_selector_selects_its_own_pods_only(deployment: dict[str, Any]) -> None:
    selector = deployment["spec"]["selector"]["matchLabels"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert selector.items() <= labels.items()
    assert selector["app.kubernetes.io/component"] in deployment["metadata"]["name"]
    for constraint in deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]:
        assert constraint["labelSelector"]["matchLabels"] == selector


@each_deployment
def test_probes_ask_the_secure_port_and_so_does_the_service(deployment: dict[str, Any]) -> None:
    process, name = container(deployment), deployment["metadata"]["name"]

    (port,) = process["ports"]
    assert (port["name"], port["containerPort"]) == ("https-metrics", SECURE_PORTS[name])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert process[probe]["httpGet"]["port"] == port["name"]
        assert process[probe]["httpGet"]["scheme"] == "HTTPS"
    service = one("Service", name)["spec"]
    assert service["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert [each["targetPort"] for each in service["ports"]] == [port["name"]]


@each_deployment
def test_the_arguments_are_those_of_a_command(deployment: dict[str, Any]) -> None:
    name, *flags = container(deployment)["args"]
    [command] = [each for each in (scheduler, controller, run) if each.name == name]

    told = command.make_context("enbloc", flags).params

    assert told["log_format"] == "json"
    assert told.get("configs") or told["leader_elect"], "without a configuration a flag elects"


@each_process
def test_the_lease_is_the_one_that_the_role_allows(process: str) -> None:
    [rule] = [rule for rule in one("Role", f"enbloc-{process}")["rules"] if "resourceNames" in rule]

    assert rule["resourceNames"] == [f"enbloc-{process}"]


def test_deleting_the_install_deletes_no_kind_and_no_tool_prunes_one() -> None:
    kinds = [*yaml.safe_load_all(Path("manifests/enbloc-crds.yaml").read_text(encoding="utf-8"))]

    assert "CustomResourceDefinition" not in {document["kind"] for document in DOCUMENTS}
    assert [each["metadata"]["name"] for each in kinds] == [
        "podgroups.enbloc.dev",
        "topologies.enbloc.dev",
    ]
    for each in kinds:
        assert each["metadata"]["annotations"] == {
            "helm.sh/resource-policy": "keep",
            "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
        }


def test_the_scheduler_reads_a_configuration_that_is_the_defaults() -> None:
    files = one("ConfigMap", "enbloc-scheduler")["data"]
    [deployment] = [d for d in DEPLOYMENTS if d["metadata"]["name"] == "enbloc-scheduler"]
    pod = deployment["spec"]["template"]["spec"]
    [volume] = [v for v in pod["volumes"] if "configMap" in v]
    [mount] = [m for m in container(deployment)["volumeMounts"] if m["name"] == volume["name"]]

    assert volume["configMap"]["name"] == "enbloc-scheduler"
    for name, text in files.items():
        assert f"--config={mount['mountPath']}/{name}" in container(deployment)["args"]
        found, defaults = configure([Source(name, text)]), default_configuration()
        assert found.leader_election.leader_elect is True
        assert replace(found, leader_election=defaults.leader_election) == defaults


def test_the_image_runs_as_the_user_of_the_pods() -> None:
    lines = Path("Dockerfile").read_text(encoding="utf-8").splitlines()

    for deployment in DEPLOYMENTS:
        user = deployment["spec"]["template"]["spec"]["securityContext"]
        assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in lines
    assert 'ENTRYPOINT ["enbloc"]' in lines


@each_deployment
def test_we_are_not_scheduled_by_ourselves(deployment: dict[str, Any]) -> None:
    pod = deployment["spec"]["template"]["spec"]

    assert pod["schedulerName"] == "default-scheduler"


@each_deployment
def test_the_image_has_the_version_of_the_package(deployment: dict[str, Any]) -> None:
    version = __version__.replace(".dev", "-dev.")

    assert container(deployment)["image"] == f"enbloc:{version}"


def members(documents: list[dict[str, Any]]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Group, count and spec of the pods in an example."""
    for document in documents:
        if document["kind"] == "Pod":
            pod, number = document, 1
        elif document["kind"] == "Job":
            pod, number = document["spec"]["template"], document["spec"].get("parallelism", 1)
        else:
            continue
        yield pod["metadata"]["annotations"][names.POD_GROUP_KEY], number, pod["spec"]


def minimums_in(documents: list[dict[str, Any]]) -> dict[str, int]:
    """The minimum of each group in an example."""
    return {
        document["metadata"]["name"]: document["spec"]["minMember"]
        for document in documents
        if document["kind"] == names.POD_GROUP_KIND
    }


#: Those whose pods name their group.
WITHOUT = ("jobs-without-a-podgroup.yaml", "placeholders.yaml")
NAMING = [path for path in EXAMPLES if path.name not in WITHOUT]


@pytest.mark.parametrize("path", NAMING, ids=lambda path: path.name)
def test_an_example_brings_the_members_that_its_groups_need(path: Path) -> None:
    documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    everywhere = [one for each in NAMING for one in yaml.safe_load_all(each.read_text("utf-8"))]
    known, minimums = minimums_in(everywhere), minimums_in(documents)
    brought: Counter[str] = Counter()
    for group, number, spec in members(documents):
        brought[group] += number
        assert group in known, "an example's members may come in a file of their own"
        assert spec["schedulerName"] == names.SCHEDULER_NAME

    for group, minimum in minimums.items():
        assert minimum in (1, brought[group]), "a driver is one; else a gang of all"


def test_no_two_examples_have_a_job_of_one_name_so_that_all_can_be_applied_together() -> None:
    jobs = Counter(
        document["metadata"]["name"]
        for path in EXAMPLES
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if document["kind"] == "Job"
    )
    assert [name for name, number in jobs.items() if number > 1] == []


SHOWN = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES} | {
    f"README.md {number}": text
    for number, text in enumerate(blocks(Path("README.md").read_text(encoding="utf-8"), "yaml"))
}


@pytest.mark.parametrize("name", SHOWN)
def test_no_gang_that_is_shown_draws_a_warning_of_its_backoff_limit(name: str) -> None:
    documents = list(yaml.safe_load_all(SHOWN[name]))
    jobs = [job(msgspec.convert(each, JobObject)) for each in documents if each["kind"] == "Job"]
    for document in documents:
        if document["kind"] == names.POD_GROUP_KIND:
            group = codec.group(msgspec.convert(document, PodGroupObject))
            ours = {each.name: each for each in jobs if each.group == group.key}
            assert [note for _, note in fragile(group, ours)] == []


def test_the_two_gangs_fit_the_sandbox_s_nodes_one_at_a_time() -> None:
    path = Path("manifests/examples/two-gangs.yaml")
    gpus = [
        number * int(spec["containers"][0]["resources"]["limits"][GPU])
        for _, number, spec in members(list(yaml.safe_load_all(path.read_text(encoding="utf-8"))))
    ]

    room = sum(shape.gpus for shape in default_shapes(4))

    assert max(gpus) <= room < sum(gpus)


def test_the_runtime_of_the_trainjob_has_only_fields_that_each_version_of_trainer_knows() -> None:
    """Trainer 2.2 removed numProcPerNode from its API."""
    path = Path("manifests/examples/integrations/pytorch.yaml")
    documents = yaml.safe_load_all(path.read_text(encoding="utf-8"))

    [runtime] = [each for each in documents if each["kind"] == "TrainingRuntime"]

    assert runtime["spec"]["mlPolicy"] == {"numNodes": 2, "torch": {}}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_says_how_it_is_applied(path: Path) -> None:
    assert f"kubectl apply -f {path.as_posix()}\n" in path.read_text(encoding="utf-8")
