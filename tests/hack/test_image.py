# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`make image`: which engine, and what it is told."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: An engine that writes down what it is told.
RECORDS = """#!/bin/sh
case "$1" in build) printf '%s\\n' "$@" > "$RECORD";; esac
"""
FAILS = """#!/bin/sh
echo "some warning" >&2
echo "Cannot connect to the Docker daemon" >&2
exit 1
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder for PATH, with git and without engines."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text('#!/bin/sh\nexec /usr/bin/env -S PATH="$REAL" git "$@"\n')
    (folder / "git").chmod(0o755)
    return folder


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def image(programs: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": str(programs),
        "REAL": os.environ["PATH"],
        "RECORD": str(programs / "record"),
        "SOURCE_DATE_EPOCH": "1700000000",
        **environment,
    }
    return subprocess.run(
        [sys.executable, "hack/image.py", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def told(programs: Path) -> list[str]:
    return (programs / "record").read_text().splitlines()


@pytest.mark.processes
def test_without_an_engine_one_line_says_so(programs: Path) -> None:
    put(programs, "docker", FAILS)
    done = image(programs)
    assert done.returncode == 1
    assert done.stderr == (
        "no container engine can build the image: docker does not work (Cannot connect to the "
        "Docker daemon); podman is not installed; buildah is not installed\n"
    )


@pytest.mark.processes
def test_an_engine_that_is_named_is_not_replaced_by_another(programs: Path) -> None:
    put(programs, "podman", RECORDS)
    done = image(programs, ENGINE="buildah")
    assert done.stderr == "no container engine can build the image: buildah is not installed\n"
    done = image(programs, ENGINE="kaniko")
    assert done.stderr == "ENGINE=kaniko: unknown; it is one of docker, podman, buildah\n"


@pytest.mark.processes
@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_each_engine_gets_the_wheel_that_was_built_and_says_which_commit(
    programs: Path, name: str
) -> None:
    put(programs, name, RECORDS)
    done = image(programs, "--platform=linux/arm64", IMAGE_SOURCE="https://example.com/enbloc")
    assert done.returncode == 0, done.stderr
    command = told(programs)
    values = dict(
        each.removeprefix("--build-arg=").split("=", 1)
        for each in command
        if each.startswith("--build-arg=")
    )
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()

    assert values.pop("REVISION").removesuffix("-dirty") == commit
    assert values == {
        "WHEEL": f"dist/enbloc-{package}-py3-none-any.whl",
        "VERSION": package.replace(".dev", "-dev."),
        "CREATED": "2023-11-14T22:13:20Z",
        "SOURCE": "https://example.com/enbloc",
        "SOURCE_DATE_EPOCH": "1700000000",
    }
    assert command[0] == "build"
    assert command[-3:] == [
        f"--tag=enbloc:{values['VERSION']}",
        "--platform=linux/arm64",
        ".",
    ]
    assert ("--timestamp=1700000000" in command) == (name != "docker")
    with zipfile.ZipFile(ROOT / values["WHEEL"]) as wheel:
        assert f"enbloc-{package}.dist-info/METADATA" in wheel.namelist()


def test_every_build_argument_stands_in_the_dockerfile() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    named = {line.split()[1].partition("=")[0] for line in lines if line.startswith("ARG ")}
    engines = {"BUILD_IMAGE", "RUNTIME_IMAGE"}
    assert named - engines == {
        *("WHEEL", "VERSION", "REVISION", "CREATED", "SOURCE", "SOURCE_DATE_EPOCH")
    }


def test_the_context_of_the_build_has_what_the_dockerfile_copies() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = {
        word
        for line in lines
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    allowed = {
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert copied - {"${WHEEL}"} == allowed - {"dist/enbloc-*.whl"}
