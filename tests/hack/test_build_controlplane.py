# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The builder's decisions, with a `go` that only pretends: no Go is needed here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hack import build_controlplane as builder

GO = """#!/bin/sh
if [ "$1" = env ]; then
  echo '{"GOVERSION": "go1.26.8", "GOOS": "linux", "GOARCH": "amd64"}'
  exit 0
fi
echo "$PWD $CGO_ENABLED $*" >> "$GO_CALLS"
sleep "${GO_SECONDS:-0}"
if [ -n "$GO_FAILS" ]; then echo "no such module" >&2; exit 1; fi
echo built > "$3"
chmod +x "$3"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose Go pretends, and whose cache is empty."""
    go = tmp_path / "go-bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    return {
        "PATH": f"{go.parent}:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GO_CALLS": str(tmp_path / "calls"),
    }


@pytest.fixture
def assets(tmp_path: Path) -> Callable[..., Path]:
    """Make a directory such as KUBEBUILDER_ASSETS names, with these binaries."""

    def make(*names: str) -> Path:
        folder = tmp_path / "assets"
        folder.mkdir()
        for name in names:
            (folder / name).write_text("given")
            (folder / name).chmod(0o755)
        return folder

    return make


def builds(environ: dict[str, str]) -> list[str]:
    """The packages that Go was asked to build, in order."""
    calls = Path(environ["GO_CALLS"])
    return [line.split()[-1] for line in calls.read_text().splitlines()] if calls.exists() else []


def test_every_tool_is_pinned_by_its_module() -> None:
    for tool in [*builder.TOOLS.values(), *builder.CHECK_TOOLS.values()]:
        lines = (builder.HACK / tool.module / "go.mod").read_text().splitlines()
        assert {f"\t{tool.package}", f"tool {tool.package}"} & set(lines), tool


def test_all_staging_modules_are_replaced_by_one_version() -> None:
    text = (builder.HACK / "controlplane" / "go.mod").read_text()
    pairs = [line.split() for line in text.splitlines() if " => " in line]
    assert len(pairs) == 33
    assert {version for *_, version in pairs} == {
        builder.module_version("controlplane", "k8s.io/kubernetes").replace("v1.", "v0.")
    }
    assert all(left == right for left, _, right, _ in pairs)


def test_the_kubernetes_commands_carry_their_version() -> None:
    flags = " ".join(builder.build_arguments(builder.TOOLS["kube-apiserver"]))
    version = builder.module_version("controlplane", "k8s.io/kubernetes")
    minor = version.split(".")[1]
    assert f"-X k8s.io/component-base/version.gitVersion={version}" in flags
    assert f"-X k8s.io/component-base/version.gitMinor={minor}" in flags


def test_helm_carries_its_version() -> None:
    flags = " ".join(builder.build_arguments(builder.TOOLS["helm"]))
    assert f"version.version={builder.module_version('helm', 'helm.sh/helm/v4')}" in flags


def test_a_dependency_that_is_not_required_is_an_error() -> None:
    with pytest.raises(builder.BuildError, match="does not require example"):
        builder.module_version("helm", "example")


@pytest.mark.processes
def test_a_tool_of_the_checks_is_built_by_name(environ: dict[str, str]) -> None:
    assert builder.main(["--only", "kubeconform"], environ) == 0
    assert builds(environ) == [builder.CHECK_TOOLS["kubeconform"].package]


def test_a_tool_of_the_checks_does_not_have_the_control_plane_built_again() -> None:
    assert builder.cache_key("go1", {}, tools=builder.CHECK_TOOLS) != builder.cache_key("go1", {})
    assert not set(builder.CHECK_TOOLS) & set(builder.TOOLS)


def test_the_cache_key_starts_with_the_kubernetes_version_and_stays_the_same() -> None:
    key = builder.cache_key("go1", {})
    assert key.startswith(builder.module_version("controlplane", "k8s.io/kubernetes") + "-")
    assert key == builder.cache_key("go1", {})


@pytest.mark.parametrize(
    ("go", "given"),
    [
        pytest.param("go2", {}, id="another Go"),
        pytest.param("go1", {"etcd": Path("/a/etcd")}, id="a given binary"),
    ],
)
def test_the_cache_key_changes_with(go: str, given: dict[str, Path]) -> None:
    assert builder.cache_key(go, given) != builder.cache_key("go1", {})


def test_the_cache_key_changes_with_a_locked_checksum(tmp_path: Path) -> None:
    for module in ("controlplane", "helm"):
        (tmp_path / module).mkdir()
        for file in ("go.mod", "go.sum"):
            source = builder.HACK / module / file
            (tmp_path / module / file).write_bytes(source.read_bytes())
    before = builder.cache_key("go1", {}, tmp_path)
    with (tmp_path / "helm" / "go.sum").open("a") as sums:
        sums.write("example v1.0.0 h1:=\n")
    assert before == builder.cache_key("go1", {})
    assert before != builder.cache_key("go1", {}, tmp_path)


@pytest.mark.parametrize(
    ("environ", "root"),
    [
        pytest.param({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x", id="XDG_CACHE_HOME first"),
        pytest.param({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache", id="else below the home"),
    ],
)
def test_the_cache_is_outside_the_repository(environ: dict[str, str], root: str) -> None:
    assert builder.cache_root(environ) == Path(root) / "enbloc" / "controlplane"


@pytest.mark.processes
def test_what_is_asked_for_is_built_once(environ: dict[str, str]) -> None:
    directory = builder.ensure(["kubectl", "etcd"], environ)
    assert builder.ensure(["kubectl"], environ) == directory
    assert (directory / "kubectl").read_text() == "built\n"
    assert builds(environ) == [builder.TOOLS["kubectl"].package, builder.TOOLS["etcd"].package]


@pytest.mark.processes
def test_tests_build_nothing_and_say_what_does(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, text in environ.items():
        monkeypatch.setenv(key, text)
    with pytest.raises(builder.BuildError, match=r"missing: etcd, helm; .* --only etcd,helm`"):
        builder.built(["etcd", "helm"])
    directory = builder.ensure(["etcd"])
    assert builder.built(["etcd"]) == directory
    assert builds(environ) == [builder.TOOLS["etcd"].package]


@pytest.mark.processes
@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_an_older_minor_is_built_in_its_own_module_and_kept_apart(
    minor: str, environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    newest = builder.ensure(["kubectl"], environ)
    assert builder.main(["--only=kubectl", f"--kubernetes={minor}"], environ) == 0
    older = Path(capsys.readouterr().out.strip())
    assert older.name.startswith(f"v{minor}.")
    assert older != newest
    call = Path(environ["GO_CALLS"]).read_text().splitlines()[-1]
    assert call.split()[0].endswith(f"/hack/controlplane-{minor}")
    assert f"gitVersion=v{minor}." in call
    assert older == builder.ensure(["kubectl"], {**environ, "ENBLOC_KUBERNETES": minor})


def test_a_minor_that_is_not_there_is_refused_with_the_known_ones(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert builder.main(["--only=kubectl", "--kubernetes=1.12"], environ) == 1
    assert "ENBLOC_KUBERNETES=1.12: unknown; known: 1.3" in capsys.readouterr().err


@pytest.mark.processes
def test_without_names_everything_is_built(environ: dict[str, str]) -> None:
    directory = builder.ensure([], environ)
    assert {path.name for path in directory.iterdir()} == {*builder.TOOLS, ".lock"}


@pytest.mark.processes
def test_binaries_are_static_and_built_in_their_own_module(environ: dict[str, str]) -> None:
    builder.ensure(["helm"], environ)
    folder, cgo, *_ = Path(environ["GO_CALLS"]).read_text().split()
    assert (folder, cgo) == (str(builder.HACK / "helm"), "0")


@pytest.mark.processes
def test_a_failed_build_leaves_nothing_and_says_what_go_said(environ: dict[str, str]) -> None:
    with pytest.raises(builder.BuildError, match="no such module"):
        builder.ensure(["etcd"], environ | {"GO_FAILS": "1"})
    assert not list(Path(environ["XDG_CACHE_HOME"]).rglob("*etcd*"))
    builder.ensure(["etcd"], environ)


@pytest.mark.processes
def test_two_at_once_build_once(environ: dict[str, str]) -> None:
    command = [sys.executable, str(builder.HACK / "build_controlplane.py"), "--only", "etcd"]
    slow = environ | {"GO_SECONDS": "1"}
    runs = [
        subprocess.Popen(command, env=slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [run.communicate(timeout=30) for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert said[0][0] == said[1][0]
    assert len(builds(environ)) == 1
    assert b"waiting" in said[0][1] + said[1][1]


def test_given_assets_need_neither_go_nor_a_cache(
    environ: dict[str, str], assets: Callable[..., Path]
) -> None:
    folder = assets("etcd", "kubectl")
    environ |= {"KUBEBUILDER_ASSETS": str(folder), "PATH": ""}
    assert builder.ensure(["kubectl", "etcd"], environ) == folder


@pytest.mark.processes
def test_what_the_assets_lack_is_built_beside_links_to_them(
    environ: dict[str, str], assets: Callable[..., Path]
) -> None:
    environ |= {"KUBEBUILDER_ASSETS": str(assets("etcd"))}
    directory = builder.ensure(["etcd", "kubectl"], environ)
    assert (directory / "etcd").read_text() == "given"
    assert builds(environ) == [builder.TOOLS["kubectl"].package]


def test_a_file_that_cannot_run_is_no_asset(assets: Callable[..., Path]) -> None:
    folder = assets("etcd", "kubectl")
    (folder / "etcd").chmod(0o644)
    assert set(builder.given_assets({"KUBEBUILDER_ASSETS": str(folder)})) == {"kubectl"}


@pytest.mark.processes
def test_assets_that_went_away_are_built(
    environ: dict[str, str], assets: Callable[..., Path]
) -> None:
    folder = assets("etcd")
    environ |= {"KUBEBUILDER_ASSETS": str(folder)}
    builder.ensure(["etcd", "kubectl"], environ)
    (folder / "etcd").unlink()
    directory = builder.ensure(["etcd", "kubectl"], environ)
    assert (directory / "etcd").read_text() == "built\n"


def test_a_missing_go_is_named_in_one_line(
    environ: dict[str, str], assets: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    environ |= {"KUBEBUILDER_ASSETS": str(assets("etcd")), "PATH": "/nowhere"}
    assert builder.main(["--only", "etcd,kubectl,helm"], environ) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "missing: kubectl, helm;" in said.err
    assert "Go 1.26" in said.err


def test_an_unknown_name_is_refused_with_the_known_ones(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert builder.main(["--only", "kubelet"], environ) == 1
    assert capsys.readouterr().err.startswith("error: unknown: kubelet; known: etcd,")


@pytest.mark.processes
def test_the_directory_is_all_that_goes_to_standard_output(
    environ: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert builder.main(["--only", "etcd"], environ) == 0
    said = capsys.readouterr()
    assert said.out == f"{builder.ensure(['etcd'], environ)}\n"
    assert "building etcd" in said.err
