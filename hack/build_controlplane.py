# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Build the commands that the end-to-end tests need, and print the directory that holds them.

The binaries of etcd, Kubernetes and helm are published each in its own place and shape; as Go
modules all come alike, with checksums. `hack/controlplane` and `hack/helm` hold the versions, and
this script builds their tools: once per set of versions, and kept outside the repository. Those
found in `KUBEBUILDER_ASSETS` are used as they are, and only the rest is built.

    KUBECONFIG=… "$(python hack/build_controlplane.py --only kubectl)/kubectl" get nodes

Older minors of Kubernetes have folders of their own, such as `hack/controlplane-1.35`. With
ENBLOC_KUBERNETES=1.35 the tests run on that one; `--kubernetes 1.35` builds it here.

Standard library only: it also runs where the project is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

HACK = Path(__file__).resolve().parent

# Both packages carry the same variables: the first is what /version and `kubectl version` say,
# the second is the user agent of clients. Unstamped, the API server calls itself v0.0.0.
KUBERNETES_VERSION = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
HELM_VERSIONS: Mapping[str, str] = {"helm": "helm.sh/helm/v4", "helm3": "helm.sh/helm/v3"}


class BuildError(Exception):
    """A binary is missing and could not be built; the message is meant for the user."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One command: the folder of `hack/` whose module builds it, and its package there."""

    module: str
    package: str


TOOLS: Mapping[str, Tool] = {
    "etcd": Tool("controlplane", "go.etcd.io/etcd/server/v3"),
    "kube-apiserver": Tool("controlplane", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": Tool(
        "controlplane", "k8s.io/kubernetes/cmd/kube-controller-manager"
    ),
    "kube-scheduler": Tool("controlplane", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "kubectl": Tool("controlplane", "k8s.io/kubernetes/cmd/kubectl"),
    "helm": Tool("helm", "helm.sh/helm/v4/cmd/helm"),
}
#: What checks need, and no control plane: a set of its own, so that a change builds these alone.
CHECK_TOOLS: Mapping[str, Tool] = {
    "helm3": Tool("helm3", "helm.sh/helm/v3/cmd/helm"),
    "kubeconform": Tool("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform"),
    "actionlint": Tool("actionlint", "github.com/rhysd/actionlint/cmd/actionlint"),
}
#: Schedulers to compare with, beside kube-scheduler.
PEER_TOOLS: Mapping[str, Tool] = {
    "coscheduling": Tool("coscheduling", "sigs.k8s.io/scheduler-plugins/cmd/scheduler"),
}
#: Which minor of Kubernetes to build instead of the newest.
MINOR = "ENBLOC_KUBERNETES"


def of_minor(tools: Mapping[str, Tool], environ: Mapping[str, str]) -> Mapping[str, Tool]:
    """The same commands, of the minor of Kubernetes that the environment asks for."""
    minor = environ.get(MINOR)
    if not minor:
        return tools
    module = f"controlplane-{minor}"
    if not (HACK / module / "go.mod").is_file():
        known = [path.name.partition("-")[2] for path in sorted(HACK.glob("controlplane-*"))]
        raise BuildError(f"{MINOR}={minor}: unknown; known: {', '.join(known)}; none = the newest")
    return {
        name: replace(tool, module=module) if tool.module == "controlplane" else tool
        for name, tool in tools.items()
    }


def ensure(
    names: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    tools: Mapping[str, Tool] = TOOLS,
    *,
    build: bool = True,
) -> Path:
    """The directory that holds the named binaries of a set (default: all), built if need be.

    Without `build` those that are missing are an error: a test that builds is as slow, and as
    likely to fail, as the network and the compiler.
    """
    environ = os.environ if environ is None else environ
    tools = of_minor(tools, environ)
    names = names or tuple(tools)
    if unknown := [name for name in names if name not in tools]:
        raise BuildError(f"unknown: {', '.join(unknown)}; known: {', '.join(tools)}")
    given = given_assets(environ, tools)
    if given and all(name in given for name in names):
        return given[names[0]].parent
    go = shutil.which("go", path=environ.get("PATH", os.defpath))
    if go is None:
        missing = ", ".join(name for name in names if name not in given)
        raise BuildError(
            f"missing: {missing}; to build them put Go {go_floor()} or newer on PATH, "
            "or set KUBEBUILDER_ASSETS to a directory that holds them"
        )
    key = cache_key(go_version(go, environ), given, tools=tools)
    directory = cache_root(environ) / key
    absent = ", ".join(name for name in _absent(directory, names) if name not in given)
    if absent and not build:
        raise BuildError(
            f"missing: {absent}; tests build nothing: `make build-all` builds all that they need, "
            f"`python hack/build_controlplane.py --only {absent.replace(' ', '')}` these alone"
        )
    _build_absent(
        directory, names, given, lambda name: _build(tools[name], directory / name, go, environ)
    )
    return directory


def built(names: Sequence[str], tools: Mapping[str, Tool] = TOOLS) -> Path:
    """The directory that holds the named binaries of a set, for tests: they build nothing.

    Raises:
        BuildError: one is missing; the message names the command that builds it.
    """
    return ensure(names, tools=tools, build=False)


def _build_absent(
    directory: Path,
    names: Sequence[str],
    given: Mapping[str, Path],
    build: Callable[[str], None],
) -> None:
    """Build what the cache lacks, and link what was given beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    if not _absent(directory, names):
        return
    with _locked(directory / ".lock"):
        wanted = _absent(directory, names)  # asked again: another process may just have built them
        for name in wanted:
            if name in given:
                _link(given[name], directory / name)
        to_build = [name for name in wanted if name not in given]
        if to_build:
            _say(f"building {', '.join(to_build)}: minutes, the first time; kept in {directory}")
        for name in to_build:
            build(name)


# ── what identifies a set of binaries ────────────────────────────────────────────────────────


def given_assets(environ: Mapping[str, str], tools: Mapping[str, Tool] = TOOLS) -> dict[str, Path]:
    """The binaries that `KUBEBUILDER_ASSETS` holds, by name."""
    folder = environ.get("KUBEBUILDER_ASSETS")
    if not folder:
        return {}
    paths = {name: Path(folder).resolve() / name for name in tools}
    return {name: path for name, path in paths.items() if os.access(path, os.X_OK)}


def cache_root(environ: Mapping[str, str]) -> Path:
    """Where sets of binaries are kept, following the XDG base directories."""
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home(), ".cache")
    return Path(base) / "enbloc" / "controlplane"


def cache_key(
    go: str,
    given: Mapping[str, Path],
    hack: Path = HACK,
    tools: Mapping[str, Tool] = TOOLS,
) -> str:
    """A name for the set: the Kubernetes version, and a hash of all that shapes the binaries."""
    digest = hashlib.sha256(go.encode())
    for module in sorted({tool.module for tool in tools.values()}):
        for file in ("go.mod", "go.sum"):
            digest.update((hack / module / file).read_bytes())
    for name, tool in sorted(tools.items()):
        digest.update("\n".join([name, *build_arguments(tool, hack)]).encode())
    # A set that links to given binaries is another set than one that was built.
    for name, path in sorted(given.items()):
        digest.update(f"{name}={path}".encode())
    # A set without a control plane is named by the newest all the same.
    kubernetes = tools["kubectl"].module if "kubectl" in tools else "controlplane"
    version = module_version(kubernetes, "k8s.io/kubernetes", hack)
    return f"{version}-{digest.hexdigest()[:16]}"


def module_version(module: str, path: str, hack: Path = HACK) -> str:
    """The version of a dependency, as its `go.mod` requires it."""
    text = (hack / module / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^(?:require )?\s*{re.escape(path)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise BuildError(f"hack/{module}/go.mod does not require {path}")
    return found[1]


def go_floor(hack: Path = HACK) -> str:
    """The oldest Go that builds both modules."""
    found = re.search(
        r"^go (\d+\.\d+)", (hack / "controlplane/go.mod").read_text(encoding="utf-8"), re.MULTILINE
    )
    return found[1] if found else "1.26"


def go_version(go: str, environ: Mapping[str, str]) -> str:
    """What Go says of itself and of the machine it builds for."""
    # Asked inside the module: there Go may switch to another toolchain.
    output = _run([go, "env", "-json", "GOVERSION", "GOOS", "GOARCH"], "controlplane", environ)
    return " ".join(sorted(json.loads(output).values()))


# ── building ─────────────────────────────────────────────────────────────────────────────────


def build_arguments(tool: Tool, hack: Path = HACK) -> list[str]:
    """The arguments of `go build`, without the output path."""
    stamps: dict[str, str] = {}
    if tool.module in HELM_VERSIONS:
        path = HELM_VERSIONS[tool.module]
        stamps[f"{path}/internal/version.version"] = module_version(tool.module, path, hack)
    elif tool.module.startswith("controlplane"):
        version = module_version(tool.module, "k8s.io/kubernetes", hack)
        major, minor, _ = version.removeprefix("v").split(".", 2)
        said = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
        said["gitTreeState"] = "clean"
        stamps |= {f"{p}.{name}": text for p in KUBERNETES_VERSION for name, text in said.items()}
    flags = " ".join(["-s", "-w", *(f"-X {name}={text}" for name, text in stamps.items())])
    # No VCS stamp: it would name a commit of ours, and make each commit's binaries different.
    return ["-trimpath", "-buildvcs=false", "-mod=readonly", f"-ldflags={flags}", tool.package]


def _build(tool: Tool, target: Path, go: str, environ: Mapping[str, str]) -> None:
    """Build one binary beside its target and move it there whole."""
    with tempfile.TemporaryDirectory(prefix=".building-", dir=target.parent) as folder:
        output = Path(folder) / target.name
        command = [go, "build", "-o", str(output), *build_arguments(tool)]
        _run(command, tool.module, {**environ, "CGO_ENABLED": "0", "GOWORK": "off"})
        output.replace(target)


def _run(command: Sequence[str], module: str, environ: Mapping[str, str]) -> str:
    """Run Go in a module; its standard output, or an error that ends with what it said."""
    done = subprocess.run(
        command, cwd=HACK / module, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        tail = "\n".join(done.stderr.splitlines()[-20:])
        raise BuildError(f"go {command[1]} failed in hack/{module} ({command[-1]}):\n{tail}")
    return done.stdout


def _absent(directory: Path, names: Sequence[str]) -> list[str]:
    # A link to a given binary that is gone counts as absent, so it is made anew or built.
    return [name for name in names if not (directory / name).is_file()]


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.symlink_to(source)


@contextlib.contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold a lock that the kernel drops when this process ends, however it ends."""
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"another process is building in {path.parent}; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    # Standard output carries the directory and nothing else.
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Build what was asked for and print the directory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only",
        metavar="NAMES",
        default="",
        help=f"a comma-separated part of: {', '.join(TOOLS)}; or of: {', '.join(CHECK_TOOLS)}",
    )
    parser.add_argument("--kubernetes", metavar="MINOR", help="such as 1.35 (default: the newest)")
    options = parser.parse_args(arguments)
    environ = dict(os.environ if environ is None else environ)
    if options.kubernetes:
        environ[MINOR] = options.kubernetes
    names = [name.strip() for name in options.only.split(",") if name.strip()]
    try:
        tools = CHECK_TOOLS if names and set(names) <= set(CHECK_TOOLS) else TOOLS
        print(ensure(names, environ, tools))
    except BuildError as problem:
        _say(f"error: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
