# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Make the archives from which krew installs enbloc as a plugin of kubectl, and their manifest.

    python hack/krew.py                 # all platforms, in dist/krew
    python hack/krew.py linux-amd64     # this one alone

An archive has a launcher, enbloc's wheel, and what requirements/image.txt pins, for each Python
that is named here: krew unpacks it, so that nothing is unpacked when it runs. The same sources and
lock give the same bytes. The time of all files is that of the commit, or `SOURCE_DATE_EPOCH`.
`IMAGE_SOURCE` is the address of the sources, where the archives will be among a release's files.

It needs uv and hatchling in its own environment.
"""

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from hack import image  # noqa: E402  # as above
from hack.image_tree import imported, notices, strip_packages  # noqa: E402  # as above

#: What Go calls a platform, by "os-arch", and how uv names it.
PLATFORMS: Final[Mapping[str, str]] = {
    "darwin-amd64": "x86_64-apple-darwin",
    "darwin-arm64": "aarch64-apple-darwin",
    "linux-amd64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
}
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
#: What servers alone use, and do without: certificates of their own, and a faster event loop.
LEFT_OUT: Final = ("cryptography", "cffi", "pycparser", "uvloop")

LOCK: Final = ROOT / "requirements" / "image.txt"
TEMPLATE: Final = ROOT / "hack" / "kubectl_plugin" / "enbloc.yaml"
LAUNCHER: Final = ROOT / "hack" / "kubectl_plugin" / "launcher.py"
PROGRAM: Final = "kubectl-enbloc"
MANIFEST: Final = TEMPLATE.name
#: Where krew finds nothing; an archive that is not released is named by `--archive`.
NOWHERE: Final = "https://example.com/enbloc"
#: What uv leaves beside packages.
_EXTRA: Final = ("bin", ".lock", "CACHEDIR.TAG")
_ABOUT: Final = "enbloc uses the following software of others.\n"


def archive(
    platform: str, wheel: Path, epoch: int, folder: Path, pythons: Sequence[str] = PYTHONS
) -> Path:
    """Make the archive for one platform.

    Args:
        platform: one of PLATFORMS.
        wheel: of enbloc.
        epoch: the time that all files get, seconds since 1970.
        folder: where it goes.
        pythons: versions for which it has packages.

    Raises:
        CalledProcessError: uv failed; its output says why.
    """
    wanted = imported(Path(sys.executable))
    with tempfile.TemporaryDirectory(prefix="krew-", dir=folder) as work:
        tree, lib = Path(work) / "tree", Path(work) / "tree" / "lib"
        trees = [lib / f"python{python}" for python in pythons]
        for python, packages in zip(pythons, trees, strict=True):
            _install(packages, PLATFORMS[platform], python)
            strip_packages(packages, wanted)
        share(trees, lib / "common")
        found = [
            each for path in (*trees, lib / "common") for each in distributions(path=[str(path)])
        ]
        by_name = {each.name.lower(): each for each in found}
        text = notices((by_name[name] for name in sorted(by_name)), _ABOUT)
        (tree / "THIRD_PARTY_NOTICES.txt").write_text(text, encoding="utf-8")
        shutil.unpack_archive(wheel, lib / "common", "zip")
        shutil.copy(ROOT / "LICENSE", tree)
        shutil.copy(LAUNCHER, tree / PROGRAM)
        path = folder / f"{PROGRAM}_v{image.version()}_{platform}.tar.gz"
        pack(tree, path, epoch)
    return path


def manifest(archives: Mapping[str, Path], source: str) -> str:
    """What krew reads, as YAML.

    Args:
        archives: by platform.
        source: the address of the sources.
    """
    document = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    version = f"v{image.version()}"
    platforms: list[dict[str, Any]] = []
    for platform, path in archives.items():
        system, _, machine = platform.partition("-")
        platforms.append(
            {
                "selector": {"matchLabels": {"os": system, "arch": machine}},
                "uri": f"{source}/releases/download/{version}/{path.name}",
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "bin": PROGRAM,
            }
        )
    document["spec"] |= {"version": version, "homepage": source, "platforms": platforms}
    return yaml.safe_dump(document, sort_keys=False)


def _install(packages: Path, platform: str, python: str) -> None:
    """Put what is locked for a platform and a Python into a folder; nothing of it is run."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.write(locked())
        lock.flush()
        subprocess.run(
            [
                *(str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet"),
                *("--no-deps", "--only-binary=:all:", "--require-hashes", "--link-mode=copy"),
                *(f"--python-platform={platform}", f"--python-version={python}"),
                *(f"--target={packages}", f"--requirement={lock.name}"),
            ],
            check=True,
        )
    for name in _EXTRA:
        path = packages / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def locked() -> str:
    """The lock without what is left out."""
    kept: list[str] = []
    keeping = True
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if line[:1].isalnum():
            keeping = line.partition("==")[0] not in LEFT_OUT
        if keeping:
            kept.append(line)
    return "\n".join(kept) + "\n"


def share(trees: Sequence[Path], common: Path) -> None:
    """Move what is the same for every Python to one place; a package is never in two."""
    common.mkdir()
    if len(trees) < 2:
        return
    digests = [{path.name: _digest(path) for path in tree.iterdir()} for tree in trees]
    first, *others = digests
    for name, digest in first.items():
        if all(each.get(name) == digest for each in others):
            (trees[0] / name).rename(common / name)
            for tree in trees[1:]:
                path = tree / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _digest(path: Path) -> str:
    """Of a file, or of all files in a folder with their names."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    found = hashlib.sha256()
    for each in sorted(files):
        name = each.relative_to(path.parent).as_posix()
        found.update(f"{name}\0{hashlib.sha256(each.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def pack(tree: Path, path: Path, epoch: int) -> None:
    """A folder as .tar.gz, in which nothing depends on when and where it was made."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for each in sorted(tree.rglob("*")):
            if each.is_dir():
                continue
            entry = tarfile.TarInfo(each.relative_to(tree).as_posix())
            entry.size, entry.mtime = each.stat().st_size, epoch
            entry.mode = 0o755 if each.name == PROGRAM else 0o644
            with each.open("rb") as content:
                tar.addfile(entry, content)


def make(platforms: Iterable[str], source: str, folder: Path) -> Path:
    """Make archives and their manifest in a folder, which is emptied; the manifest."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "wheel").mkdir(parents=True)
    epoch = image.epoch()
    wheel = image.wheel(epoch, folder / "wheel")
    archives = {each: archive(each, wheel, epoch, folder) for each in platforms}
    shutil.rmtree(folder / "wheel")
    path = folder / MANIFEST
    path.write_text(manifest(archives, source), encoding="utf-8")
    return path


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description="Make archives and a manifest for krew.")
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=", ".join(PLATFORMS))
    asked = parser.parse_args().platforms or [*PLATFORMS]
    if unknown := [each for each in asked if each not in PLATFORMS]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PLATFORMS)}")
    source = os.environ.get("IMAGE_SOURCE") or NOWHERE
    print(make(asked, source, ROOT / "dist" / "krew").relative_to(ROOT))


if __name__ == "__main__":
    main()
