# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The plugin of kubectl that krew installs: its manifest by krew's rules, and an archive as it is.

The rules are those of krew v0.4, internal/index/validation/validate.go and
cmd/validate-krew-manifest/main.go, and of krew-index for names.
"""

import hashlib
import itertools
import os
import platform
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from enbloc import __version__
from enbloc.engine.replay import DumpFile, encoded
from hack import image, krew
from tests.hack.wheels import offline
from tests.world.cluster import Cluster

#: The platforms of krew: what Go calls systems and machines.
SYSTEMS: Final = ("darwin", "linux", "windows")
MACHINES: Final = ("386", "amd64", "arm", "arm64")
EPOCH: Final = 1_700_000_000
SEMANTIC: Final = r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?"
#: Of one archive, with packages for all Pythons.
MOST_BYTES: Final = 120 * 1000**2
HERE: Final = f"{platform.system().lower()}-" + {"x86_64": "amd64", "aarch64": "arm64"}.get(
    platform.machine(), platform.machine()
)
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"

built = pytest.mark.controlplane  # installs 30 packages; `python -m tests.hack.wheels` fetched them


@pytest.fixture
def manifest(tmp_path: Path) -> dict[str, Any]:
    """As it is rendered for archives of every platform."""
    archives = {each: tmp_path / f"{each}.tar.gz" for each in krew.PLATFORMS}
    for name, path in archives.items():
        path.write_text(name)
    found: dict[str, Any] = yaml.safe_load(krew.manifest(archives, "https://example.com/enbloc"))
    return found


def matching(manifest: Mapping[str, Any], system: str, machine: str) -> list[Any]:
    labels = {"os": system, "arch": machine}
    return [
        each
        for each in manifest["spec"]["platforms"]
        if each["selector"]["matchLabels"].items() <= labels.items()
    ]


def test_the_manifest_names_a_plugin_as_krew_takes_them(manifest: dict[str, Any]) -> None:
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert manifest["kind"] == "Plugin"
    assert re.fullmatch(r"[a-z][a-z0-9-]*", manifest["metadata"]["name"])
    assert manifest["metadata"]["name"] == krew.MANIFEST.removesuffix(".yaml")
    spec = manifest["spec"]
    assert re.fullmatch(SEMANTIC, spec["version"])
    assert 0 < len(spec["shortDescription"]) <= 50
    assert "\n" not in spec["shortDescription"]
    assert not spec["shortDescription"].endswith(".")
    assert spec["homepage"].startswith("https://")
    for text in (spec["description"], spec["caveats"]):
        assert max(map(len, text.splitlines())) <= 80


def test_each_platform_has_one_archive_with_its_digest(manifest: dict[str, Any]) -> None:
    for system, machine in itertools.product(SYSTEMS, MACHINES):
        name = f"{system}-{machine}"
        found = matching(manifest, system, machine)
        assert len(found) == (name in krew.PLATFORMS)
        for each in found:
            assert set(each) == {"selector", "uri", "sha256", "bin"}
            assert each["sha256"] == hashlib.sha256(name.encode()).hexdigest()
            version = manifest["spec"]["version"]
            source = "https://example.com/enbloc/releases/download"
            assert each["uri"] == f"{source}/{version}/{name}.tar.gz"
            assert each["bin"] == "kubectl-enbloc"


def test_the_caveats_name_the_pythons_that_archives_have_packages_for(
    manifest: dict[str, Any],
) -> None:
    named = re.findall(r"3\.\d+", manifest["spec"]["caveats"])
    assert tuple(named) == krew.PYTHONS


def test_the_same_folder_gives_the_same_archive(tmp_path: Path) -> None:
    digests: list[bytes] = []
    for name in ("a", "b"):
        tree = tmp_path / name
        (tree / "lib").mkdir(parents=True)
        for file in ("kubectl-enbloc", "lib/x.py"):
            (tree / file).write_text(file)
            os.utime(tree / file, (len(digests), len(digests)))
        path = tmp_path / f"{name}.tar.gz"
        krew.pack(tree, path, EPOCH)
        digests.append(path.read_bytes())
    assert digests[0] == digests[1]
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        found = [(each.name, each.mode, each.mtime, each.uid) for each in tar]
    assert found == [("kubectl-enbloc", 0o755, EPOCH, 0), ("lib/x.py", 0o644, EPOCH, 0)]


def test_what_is_the_same_for_every_python_is_there_once(tmp_path: Path) -> None:
    trees = [tmp_path / "python3.11", tmp_path / "python3.12"]
    for tree in trees:
        for name, text in {"pure/a.py": "a", "built/b.py": "b", "built/b.so": tree.name}.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
    krew.share(trees, tmp_path / "common")
    files = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*") if path.is_file()
    }
    assert files == {
        "common/pure/a.py",
        *(f"python3.{minor}/built/b.{suffix}" for minor in (11, 12) for suffix in ("py", "so")),
    }


def test_what_is_left_out_is_not_installed() -> None:
    named = re.findall(r"^([a-z0-9-]+)==", krew.LOCK.read_text("utf-8"), re.MULTILINE)
    kept = re.findall(r"^([a-z0-9-]+)==", krew.locked(), re.MULTILINE)
    assert set(named) - set(kept) == set(krew.LEFT_OUT)
    assert krew.locked().count("--hash=") > len(kept)


# ── an archive ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Packages come from where they were fetched before."""
    with pytest.MonkeyPatch.context() as patch:
        for key, text in offline().items():
            patch.setenv(key, text)
        yield tmp_path_factory.mktemp("krew")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    (folder / "dist").mkdir()
    return image.wheel(EPOCH, folder / "dist")


@pytest.fixture(scope="module")
def archive(folder: Path, wheel: Path) -> Path:
    """For this platform, and this Python."""
    return krew.archive(HERE, wheel, EPOCH, folder, [PYTHON])


@pytest.fixture(scope="module")
def programs(archive: Path, folder: Path) -> Path:
    """A folder for PATH after krew has unpacked the archive: a link to the program in its store."""
    store, programs = folder / "store" / "enbloc" / "v0", folder / "bin"
    store.mkdir(parents=True)
    programs.mkdir()
    with tarfile.open(archive) as tar:
        tar.extractall(store, filter="data")
    (programs / krew.PROGRAM).symlink_to(store / krew.PROGRAM)
    (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    return programs


def typed(programs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command, where nothing but krew's folder and Python is there."""
    return subprocess.run(
        [krew.PROGRAM, *words],
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(programs.parent)},
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@built
def test_it_runs_with_a_python_that_has_no_packages(programs: Path) -> None:
    done = typed(programs, "version", "--client")
    assert (done.stdout, done.stderr) == (f"enbloc {__version__}\n", "")
    assert typed(programs, "explain", "--help").stdout.startswith("Usage: kubectl enbloc explain ")


@built
def test_it_answers(programs: Path, tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.gang("waits", 2)
    path = tmp_path / "dump.json"
    dump = DumpFile("2026-01-01T00:00:00Z", "0", [], cluster.engine.dump())
    path.write_bytes(encoded(dump))
    done = typed(programs, "explain", "waits", "-n", "ns", "--dump", str(path))
    assert done.stdout.startswith("ns/waits would not fit if the cluster were empty: ")
    assert (done.returncode, done.stderr) == (0, f"note: as of 2026-01-01T00:00:00Z, from {path}\n")


@built
def test_a_python_without_packages_of_its_version_is_told(programs: Path) -> None:
    lib = (programs / krew.PROGRAM).resolve().parent / "lib"
    (lib / f"python{PYTHON}").rename(lib / "python3.99")
    try:
        done = typed(programs, "version", "--client")
    finally:
        (lib / "python3.99").rename(lib / f"python{PYTHON}")
    assert done.returncode == 1
    assert "error: kubectl enbloc needs Python of one of the versions 3.99, and " in done.stderr


@built
def test_an_archive_has_licences_and_is_made_again_byte_by_byte(
    archive: Path, wheel: Path, tmp_path: Path
) -> None:
    again = krew.archive(HERE, wheel, EPOCH, tmp_path, [PYTHON])
    assert again.name == archive.name
    assert again.read_bytes() == archive.read_bytes()
    assert archive.stat().st_size * len(krew.PYTHONS) < 1.5 * MOST_BYTES
    with tarfile.open(archive) as tar:
        names = set(tar.getnames())
        notices = tar.extractfile("THIRD_PARTY_NOTICES.txt")
        assert notices is not None
        assert b"\nnumpy " in notices.read()
    assert {"LICENSE", krew.PROGRAM} <= names
    assert not [name for name in names if "direct_url" in name or name.endswith((".pyc", ".pyi"))]
