# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Make the folder that the image holds: enbloc, what it imports, and what is said of both.

    python hack/image_tree.py --wheel=dist/enbloc-….whl --lock=requirements/image.txt /opt/enbloc

It runs in the build stage of the Dockerfile, and in the tests, which need no container engine. It
installs into a virtual environment and takes away what no server runs: pip, tests,
stubs, sources of C, debug information, copies of libraries, and all of the Kubernetes client but
what reading a kubeconfig file imports.
The same wheel, lock, path and Python give the same bytes.

Besides Python it needs cyclonedx-py in its own environment.
"""

import argparse
import base64
import csv
import hashlib
import io
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:  # `hack` is a package only when its parent is on the path
    sys.path.insert(0, str(HERE.parent))

from hack.licences import licence  # noqa: E402  # as above

#: Of all that pip puts there, what the image runs; the rest are tools.
PROGRAMS: Final = {"enbloc", "kubectl-enbloc", "python", "python3"}
#: What a virtual environment begins with.
TOOLS: Final = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")
TOOLS_METADATA: Final = ("pip-*.dist-info", "setuptools-*.dist-info")
#: What builds, tests or describes a package, and no interpreter loads.
SUFFIXES: Final = {".a", ".c", ".cpp", ".h", ".hpp", ".lib", ".pxd", ".pxi", ".pyi", ".pyx"}
FOLDERS: Final = {"tests", "testsuite"}
#: So much beside its segments is debug information of a library, bytes.
DEBUG_BYTES: Final = 1024**2
#: pip's notes of this install: where the wheel lay, and that it was asked for.
NOTES: Final = {"direct_url.json", "REQUESTED"}
#: Numpy's own build tools.
UNUSED: Final = ("numpy/distutils", "numpy/f2py")
#: A package with clients of every API, of which only the logins of kubeconfig users are used.
CLIENT: Final = "kubernetes"
READER: Final = "enbloc.client.kubeconfig_logins"

SBOM: Final = "share/sbom/enbloc.cdx.json"
NOTICES: Final = "share/licenses/THIRD_PARTY_NOTICES.txt"
ABOUT: Final = """\
enbloc uses the following software of others. The licences of the Python and the C library of the
image's base are in /usr/share/doc.
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """The folder that is made.

    Attributes:
        root: where it is, and where it is in the image: its programs name it.
    """

    root: Path

    @property
    def python(self) -> Path:
        """Its interpreter, a link to the one of the system."""
        return self.root / "bin" / "python3"

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        [found] = self.root.glob("lib/python3.*/site-packages")
        return found

    def installed(self) -> list[Distribution]:
        """Its distributions, by name."""
        found = distributions(path=[str(self.packages)])
        return sorted(found, key=lambda each: each.name.lower())


def make(root: Path, wheel: Path, lock: Path, epoch: int) -> Tree:
    """Install a wheel with what is locked for it, and leave only what servers need.

    Args:
        root: the folder to make; must not exist.
        wheel: of enbloc.
        lock: exact versions with hashes of all that enbloc imports.
        epoch: the time that all files get, seconds since 1970.

    Raises:
        CalledProcessError: pip or cyclonedx-py failed; their output says why.
        SystemExit: the folder exists.
    """
    if root.exists():
        raise SystemExit(f"{root}: exists; name a folder that does not")
    _run(sys.executable, "-m", "venv", str(root))
    tree = Tree(root)
    pip = (str(tree.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    quick = ("--no-cache-dir", "--no-compile")
    _run(*pip, *quick, "--only-binary=:all:", "--require-hashes", f"--requirement={lock}")
    _run(*pip, *quick, "--no-deps", "--no-index", str(wheel))
    strip(tree)
    _run(
        *(sys.executable, "-m", "cyclonedx_py", "environment", str(tree.python)),
        *("--output-reproducible", "--spec-version=1.6", f"--output-file={_parent(root / SBOM)}"),
        SOURCE_DATE_EPOCH=str(epoch),
    )
    _parent(root / NOTICES).write_text(notices(tree.installed()), encoding="utf-8")
    _compile(tree)
    for path in (root, *root.rglob("*")):
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    return tree


def strip(tree: Tree) -> None:
    """Take away what no server runs; each package's RECORD then lists what is left."""
    packages = tree.packages
    wanted = imported(tree.python)
    for path in (*(packages / name for name in TOOLS), tree.root / "include", tree.root / "share"):
        _remove(path)
    for path in [path for pattern in TOOLS_METADATA for path in packages.glob(pattern)]:
        _remove(path)
    for path in (tree.root / "bin").iterdir():
        if path.name not in PROGRAMS and not path.name.startswith("python3."):
            _remove(path)
    strip_packages(packages, wanted)
    # The line that says how the environment was made names a folder of the build.
    settings = tree.root / "pyvenv.cfg"
    kept = [line for line in settings.read_text().splitlines() if not line.startswith("command")]
    settings.write_text("\n".join(kept) + "\n")


def strip_packages(packages: Path, wanted: set[str]) -> None:
    """Take away what no interpreter loads of packages, for whatever platform they are.

    Args:
        packages: the folder that they are in.
        wanted: what `imported` says.
    """
    _keep(packages / CLIENT, {packages / name for name in wanted})
    for name in UNUSED:
        _remove(packages / name)
    for path in sorted(packages.rglob("*")):
        unread = path.suffix in SUFFIXES or path.name in NOTES
        if unread or (path.name in FOLDERS and path.is_dir()):
            _remove(path)
    for path in sorted(packages.rglob("*.so*")):
        if any(path.name.startswith(f"{each.name}.") for each in path.parent.glob("*.so*")):
            path.unlink()  # a wheel holds no links: libx.so.1.2 is libx.so.1, which is loaded
        else:
            _without_debug_information(path)
    for record in packages.glob("*.dist-info/RECORD"):
        _correct(record)


def notices(found: Iterable[Distribution], about: str = ABOUT) -> str:
    """Name, version, licence and the licence's text of each package but enbloc itself."""
    parts = [about]
    for each in found:
        if each.name != "enbloc":
            title = f"{each.name} {each.version}: {licence(each)}"
            parts += ["=" * 100, title, "=" * 100, *licence_texts(each)]
    return "\n".join(parts) + "\n"


def licence_texts(found: Distribution) -> Iterator[str]:
    """The texts that a distribution carries beside its metadata."""
    for path in sorted(found.files or (), key=str):
        in_metadata = path.parts[0].endswith(".dist-info")
        named = path.name.upper().startswith(("LICENSE", "LICENCE", "NOTICE", "COPYING", "AUTHORS"))
        if in_metadata and (named or "licenses" in path.parts[1:]):
            yield f"--- {path.name}"
            yield path.read_text(encoding="utf-8").rstrip() + "\n"


def imported(python: Path) -> set[str]:
    """The files of the Kubernetes client that are loaded to read kubeconfig files.

    Relative to the folder of packages; found by an interpreter that has them.
    """
    code = (
        f"import sys, {READER}\n"
        f"for name, module in sys.modules.items():\n"
        f"    if name.partition('.')[0] == '{CLIENT}': print(module.__file__)"
    )
    files = [Path(line) for line in _run(str(python), "-I", "-B", "-c", code).splitlines()]
    [root] = [path.parent.parent for path in files if path.parent.name == CLIENT]
    return {path.relative_to(root).as_posix() for path in files}


def _keep(folder: Path, wanted: set[Path]) -> None:
    """Remove all files of a folder but these, and the folders that are then empty."""
    for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in wanted:
            path.unlink()


def _without_debug_information(library: Path) -> None:
    """Cut what follows the segments that are loaded, where that is more than DEBUG_BYTES.

    These are debug information, symbols, and the table of sections, which only linkers and
    debuggers read. Offsets are those of the ELF-64 file header and program header.
    """
    data = library.read_bytes()
    if not data.startswith(b"\x7fELF\x02\x01"):  # 64 bits, little-endian
        return
    (first,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<QQQQ", data, first + i * size + 8) for i in range(count)]
    end = max(offset + length for offset, _, _, length in segments)
    if len(data) - end <= DEBUG_BYTES:
        return
    header = bytearray(data[:64])
    struct.pack_into("<Q", header, 40, 0)  # where the table of sections is
    struct.pack_into("<HHH", header, 58, 0, 0, 0)  # and how large
    library.write_bytes(header + data[64:end])


def _correct(record: Path) -> None:
    rows = list(csv.reader(io.StringIO(record.read_text(encoding="utf-8"))))
    here = record.parent.parent
    text = io.StringIO()
    kept = [_measured(here, *row) for row in rows if (here / row[0]).exists()]
    csv.writer(text, lineterminator="\n").writerows(sorted(kept))
    record.write_text(text.getvalue(), encoding="utf-8")


def _measured(packages: Path, name: str, digest: str, size: str) -> tuple[str, str, str]:
    """A row of a RECORD, with the digest and the size that the file has now."""
    if not digest:
        return name, digest, size
    data = (packages / name).read_bytes()
    now = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return name, f"sha256={now}", str(len(data))


def _compile(tree: Tree) -> None:
    """Bytecode that is never checked against its source: the file system is read-only."""
    _run(
        *(str(tree.python), "-I", "-m", "compileall", "-q", "-f", "-j1"),
        *("--invalidation-mode=unchecked-hash", str(tree.packages)),
    )


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _run(*command: str, **environment: str) -> str:
    # A hash seed makes bytecode the same each time: sets of constants keep one order.
    env = {**os.environ, "PYTHONHASHSEED": "0", **environment}
    env.pop("PYTHONPATH", None)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


def main() -> None:
    """Make the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Make the folder that the image holds.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--lock", type=Path, required=True)
    arguments = parser.parse_args()
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or 0)
    make(arguments.root.absolute(), arguments.wheel, arguments.lock, epoch)


if __name__ == "__main__":
    main()
