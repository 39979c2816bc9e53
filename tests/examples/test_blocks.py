# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every block of every page is executed or validated; what is not is listed here, with the reason.

| Language | What happens to it |
|---|---|
| console | test_commands.py and test_how_to.py type it, and compare what is shown |
| yaml | read here as what it says it is; a real API server is asked too |
| python, toml | test_how_to.py runs it |
| promql | the tests of metrics know every metric that a page names |
| sh | for a real cluster: its syntax is checked, and NOT_RUN says why no more is |
| text, none | output and diagrams |
"""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs
import pytest
import yaml

from enbloc.api import PodGroup
from enbloc.config import configure
from enbloc.config.documents import Source
from enbloc.framework import Registry
from enbloc.plugins import IN_TREE
from tests.controlplane import ControlPlane
from tests.examples.desk import ROOT
from tests.examples.pages import BLOCK
from tests.examples.test_commands import ANYWHERE, ON_A_CLUSTER, WITH_KUBECTL
from tests.examples.test_pages import EXAMPLES, examples, holds

PAGES: Final = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
]
PLUGINS: Final = ("docs/tutorials/write-a-plugin.md", "docs/how-to/write-a-plugin.md")
WALKED: Final = {*ANYWHERE, *WITH_KUBECTL, *ON_A_CLUSTER, PLUGINS[0]}

_KUBELET: Final = "needs a kubelet that runs the image"
_OTHERS: Final = "acts on the other scheduler, in a cluster that has it"
_NODES: Final = "shows the nodes of the reader's cluster"
_NAMES: Final = "names are for the reader to fill in"
#: Blocks that are not executed, by page and first line.
NOT_RUN: Final = {
    ("README.md", "helm install"): "docs/how-to/install.md is typed, with the same command",
    ("CONTRIBUTING.md", "$ make setup"): "other tests and checks are these commands",
    ("docs/reference/configuration.md", "$ enbloc config show"): "tests/cli/test_config.py does",
    ("docs/how-to/install.md", "make image"): "needs a container engine and a registry",
    ("docs/how-to/install.md", "kubectl rollout"): _KUBELET,
    ("docs/how-to/install.md", "kubectl wait"): _KUBELET,
    ("docs/how-to/install.md", "helm upgrade enbloc"): "tests/charts has a CRD of another release",
    ("docs/how-to/install.md", "pipx install"): "needs pipx",
    ("docs/how-to/install.md", "kubectl krew"): "needs krew; tests/hack/test_krew.py unpacks it",
    ("docs/how-to/install.md", "enbloc config check"): "the file is the reader's",
    ("docs/how-to/install-with-manifests.md", "kubectl rollout"): _KUBELET,
    ("docs/how-to/monitor.md", "kubectl port-forward"): _KUBELET,
    ("docs/how-to/watch-the-queue.md", "kubectl port-forward"): _KUBELET,
    ("docs/how-to/upgrade.md", "kubectl rollout"): _KUBELET,
    ("docs/how-to/high-availability.md", "kubectl get lease"): _KUBELET,
    ("docs/how-to/give-important-jobs-priority.md", "kubectl annotate"): _NAMES,
    ("docs/how-to/keep-a-gang-in-one-rack.md", "kubectl get nodes"): _NODES,
    ("docs/how-to/describe-your-racks.md", "kubectl get nodes"): _NODES,
    ("docs/how-to/replace-the-default-scheduler.md", "sudo mv"): "acts on a node of a cluster",
    ("docs/how-to/replace-the-default-scheduler.md", "kubectl get lease"): _KUBELET,
    ("docs/how-to/debug-a-waiting-gang.md", "kubectl get podgroups"): _NAMES,
    ("docs/how-to/troubleshoot.md", "enbloc doctor"): "tests of the command are elsewhere",
    ("docs/how-to/troubleshoot.md", "kubectl get pods"): _KUBELET,
    ("docs/how-to/troubleshoot.md", "kubectl port-forward"): _KUBELET,
    ("docs/how-to/ask-why-a-job-waits.md", "enbloc explain train"): _NAMES,
    ("docs/how-to/ask-before-you-submit.md", "enbloc what-if -f job.yaml"): _NAMES,
    ("docs/how-to/check-a-drain.md", "enbloc drain-check NODE"): _NAMES,
    ("docs/how-to/replay-a-decision.md", "kubectl -n enbloc-system"): _KUBELET,
    ("docs/how-to/migrate-from-scheduler-plugins.md", "kubectl -n scheduler-plugins"): _OTHERS,
    ("docs/how-to/migrate-from-scheduler-plugins.md", "kubectl get podgroups"): _OTHERS,
    ("docs/how-to/migrate-from-scheduler-plugins.md", "helm uninstall"): _OTHERS,
    ("docs/how-to/migrate-from-volcano.md", "kubectl -n volcano-system"): _OTHERS,
    ("docs/how-to/migrate-from-volcano.md", "kubectl get podgroups"): _OTHERS,
    ("docs/how-to/migrate-from-volcano.md", "helm uninstall"): _OTHERS,
    ("docs/how-to/migrate-from-kai.md", "kubectl -n kai-scheduler"): _OTHERS,
    ("docs/how-to/migrate-from-kai.md", "helm uninstall"): _OTHERS,
    ("docs/how-to/migrate-from-yunikorn.md", "helm upgrade yunikorn"): _OTHERS,
    ("docs/how-to/migrate-from-yunikorn.md", "kubectl -n yunikorn"): _OTHERS,
    ("docs/how-to/migrate-from-yunikorn.md", "helm uninstall"): _OTHERS,
    ("docs/tutorials/write-a-plugin.md", "python3 -m venv"): "tests/examples/desk.py is that",
    ("docs/how-to/write-a-plugin.md", "pip wheel"): "a wheel is built by the tests of the packages",
    ("docs/how-to/write-a-plugin.md", "FROM python"): "needs a container engine",
    ("docs/how-to/reserve-room-for-executors.md", "spark.kubernetes"): "settings of Spark",
}
#: YAML of kinds that only their own project has.
OF_OTHERS: Final = {
    "scheduling.k8s.io/v1alpha2",
    "scheduling.x-k8s.io/v1alpha1",
    "scheduling.volcano.sh/v1beta1",
    "scheduling.run.ai/v2alpha2",
}


def every(*languages: str) -> Iterator[tuple[str, str, str]]:
    """Each block of these languages: page, title and what it holds."""
    for page in PAGES:
        for language, title, body in BLOCK.findall((ROOT / page).read_text("utf-8")):
            if language in languages:
                yield page, title, body


def reason(page: str, body: str) -> str | None:
    """Why a block is not executed; None = it is not listed."""
    found = [why for (of, begin), why in NOT_RUN.items() if of == page and body.startswith(begin)]
    return found[0] if found else None


def documents() -> list[Any]:
    """Each document of YAML that a page shows, as a case of a test."""
    return [
        pytest.param(page, document, id=f"{page}:{number}")
        for number, (page, _, body) in enumerate(every("yaml"))
        for document in yaml.safe_load_all(body)
    ]


def test_every_block_begins_at_the_margin_and_is_of_a_language_that_something_happens_to() -> None:
    known = {
        "console",
        "yaml",
        "python",
        "toml",
        "sh",
        "text",
        "dockerfile",
        "properties",
        "promql",
        "",
    }
    for page in PAGES:
        fences = re.findall(r"^( *)```(.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
        assert {indent for indent, _ in fences} <= {""}, page
        assert {word.partition(" ")[0] for _, word in fences} <= known, page


def test_every_console_is_typed_by_a_test_or_listed() -> None:
    left = [(page, body) for page, _, body in every("console") if page not in WALKED]
    assert [each for each in left if reason(*each) is None] == []


def test_every_other_command_is_listed_with_its_reason_and_nothing_else_is() -> None:
    blocks = [(page, body) for page, _, body in every("sh", "dockerfile", "properties")]
    assert [each for each in blocks if reason(*each) is None] == []
    everything = [(page, body) for page, _, body in every("console")] + blocks
    for page, begin in NOT_RUN:
        assert any(of == page and body.startswith(begin) for of, body in everything), (page, begin)


@pytest.mark.processes
def test_the_syntax_of_commands_that_are_not_run_is_right() -> None:
    for page, _, body in every("sh"):
        done = subprocess.run(
            ["bash", "-n"], input=body, capture_output=True, text=True, check=False
        )
        assert done.stderr == "", page


def test_python_is_shown_on_pages_whose_code_is_run() -> None:
    assert {page for page, _, _ in every("python", "toml")} == set(PLUGINS)


def test_the_first_capture_of_the_readme_is_what_the_tutorial_prints() -> None:
    [capture, *_] = [body for page, _, body in every("text") if page == "README.md"]
    tutorial = (ROOT / "docs/tutorials/first-gang.md").read_text("utf-8")
    assert [line for line in capture.splitlines() if line not in tutorial.splitlines()] == []


def test_the_readme_installs_by_the_command_that_is_typed_on_the_page_about_it() -> None:
    [install] = [body for page, _, body in every("sh") if page == "README.md"]
    assert install in (ROOT / "docs/how-to/install.md").read_text("utf-8").replace("$ helm", "helm")


# ── YAML ─────────────────────────────────────────────────────────────────────────────────────
VALUES: Final = jsonschema_rs.validator_for(
    json.loads((ROOT / "helm/enbloc/values.schema.json").read_text("utf-8"))
)


@pytest.mark.parametrize(("page", "document"), documents())
def test_yaml_is_what_it_says_it_is(page: str, document: Any) -> None:
    version, kind = document.get("apiVersion"), document.get("kind")
    if version in OF_OTHERS:
        return
    if kind == "PodGroup":
        assert version == "enbloc.dev/v1alpha1"
        PodGroup.model_validate(document)
    elif kind in {"KubeSchedulerConfiguration", "EnblocConfiguration"}:
        if page not in PLUGINS:
            configure([Source(page, yaml.safe_dump(document))], Registry(IN_TREE, ()))
    elif kind is not None:
        assert "/" in version or version == "v1"  # a real API server reads it, below
    elif {"scheduler", "controller"} & document.keys():
        VALUES.validate(document)
    else:
        paths = EXAMPLES.glob("*.yaml")
        assert holds(examples(*(path.stem for path in paths)), document), "in no example"


@pytest.mark.controlplane
def test_a_real_api_server_accepts_every_object_that_is_shown_whole() -> None:
    refused: list[str] = []
    with ControlPlane(controller_manager=False) as cluster:
        cluster.kubectl("apply", "-f", "crds/")
        cluster.established("podgroups.enbloc.dev")
        for page, _, body in every("yaml"):
            shown = [each for each in yaml.safe_load_all(body) if is_whole(each)]
            if not shown:
                continue
            text = yaml.safe_dump_all(shown)
            how = ("--dry-run=server", "--validate=strict", "-f", "-")
            done = cluster.kubectl("create", *how, stdin=text, check=False)
            if done.returncode or done.stderr:
                refused.append(f"{page}: {done.stderr}")
    assert refused == []


def is_whole(document: Any) -> bool:
    """Whether it can be created: an object of the cluster, with a name."""
    return "name" in document.get("metadata", {}) and document["apiVersion"] not in OF_OTHERS
