# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`kubectl enbloc`: found, completed, and told which cluster, as kubectl does it."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml

from enbloc import __version__
from enbloc.cli.completion import complete

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "scripts"
]


def completed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert complete(words) == 0
    return capsys.readouterr().out.splitlines()


def test_commands_are_completed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    said = "Explain why a group, pod or job is waiting, and what would start it."
    assert completed(capsys, "expl") == [f"explain\t{said}", ":4"]


def test_flags_and_their_values_are_completed(capsys: pytest.CaptureFixture[str]) -> None:
    flags = {line.partition("\t")[0] for line in completed(capsys, "queue", "--")}
    assert {"--namespace", "--all-namespaces", "--kubeconfig", "--context", "--dump"} <= flags
    assert completed(capsys, "queue", "-o", "y") == ["yaml", ":4"]


def test_files_are_left_to_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert completed(capsys, "queue", "--kubeconfig", "") == [":0"]


def test_the_programs_have_the_names_by_which_kubectl_finds_them() -> None:
    found = {name: EntryPoint(name, value, "console_scripts") for name, value in SCRIPTS.items()}
    assert {"kubectl-enbloc", "kubectl_complete-enbloc"} <= found.keys()
    assert found["kubectl-enbloc"].load() is found["enbloc"].load()
    assert found["kubectl_complete-enbloc"].load() is complete


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH with what pip makes of the entry points, and kubectl."""
    folder = tmp_path / "bin"
    folder.mkdir()
    build = [sys.executable, "hack/build_controlplane.py", "--only", "kubectl"]
    built = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    (folder / "kubectl").symlink_to(Path(built.stdout.strip()) / "kubectl")
    for name, value in SCRIPTS.items():
        module, _, function = value.partition(":")
        code = f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\n"
        (folder / name).write_text(f"{code}sys.exit({function}())\n")
        (folder / name).chmod(0o755)
    return folder


def kubectl(programs: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["kubectl", *words],
        env={
            "PATH": f"{programs}{os.pathsep}{os.defpath}",
            "HOME": str(programs.parent),
            "PYTHONPATH": str(ROOT / "operator"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.kubectl
def test_kubectl_finds_the_plugin_and_completes_it(programs: Path) -> None:
    assert kubectl(programs, "enbloc", "version", "--client").stdout == f"enbloc {__version__}\n"
    assert kubectl(programs, "enbloc", "queue", "-h").stdout.startswith(
        "Usage: kubectl enbloc queue "
    )
    assert kubectl(programs, "enbloc", "quue").stderr.startswith("Usage: kubectl enbloc [OPTIONS] ")
    found = kubectl(programs, "__complete", "enbloc", "que").stdout.splitlines()
    assert found == [
        "queue\tList the groups and pods that wait for nodes, in scheduling order.",
        ":4",
    ]


@pytest.mark.kubectl
def test_the_kubeconfig_its_context_and_its_namespace_are_found_as_by_kubectl(
    programs: Path, tmp_path: Path
) -> None:
    """Of two files the first that says something counts, as kubectl merges them."""
    files = [tmp_path / "one", tmp_path / "two"]
    for file, port in zip(files, (8, 9), strict=True):
        name = file.name
        cluster = {"server": f"http://127.0.0.1:{port}"}
        context = {"cluster": name, "user": name, "namespace": f"of-{name}"}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": cluster}],
            "contexts": [{"name": name, "context": context}],
            "users": [{"name": name, "user": {}}],
        }
        file.write_text(yaml.safe_dump(document))
    both = os.pathsep.join(map(str, files))
    for flags, port in (
        ((), 8),
        (("--context", "two"), 9),
        (("--kubeconfig", str(files[1])), 9),
    ):
        for words in (("get", "pods"), ("enbloc", "queue")):
            done = kubectl(programs, *words, *flags, KUBECONFIG=both)
            assert done.returncode == 1
            assert f"127.0.0.1:{port}" in done.stderr
