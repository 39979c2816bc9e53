# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The folder that the image holds, made without a container engine."""

import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.image_tree import NOTICES, SBOM, Tree, make
from tests.controlplane import ControlPlane
from tests.hack.processes import Process, wait_until
from tests.hack.wheels import LOCK, offline

# Installing 40 packages takes seconds. `python -m tests.hack.wheels` has fetched them.
pytestmark = pytest.mark.controlplane

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000
#: Of what is not ours, unpacked and with bytecode.
MOST_BYTES = 120 * 1000**2


@pytest.fixture(scope="module", autouse=True)
def no_registry() -> Iterator[None]:
    """Packages come from where they were fetched before."""
    with pytest.MonkeyPatch.context() as patch:
        for key, text in offline().items():
            patch.setenv(key, text)
        yield


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="enbloc-image-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def wheel(place: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    [found] = (place / "dist").iterdir()
    return found


@pytest.fixture(scope="module")
def tree(place: Path, wheel: Path) -> Tree:
    """What the Dockerfile's own command makes of what it copies."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    copied = re.findall(r"^COPY ((?!--)\S.*) /build/(\S*)$", text, re.MULTILINE)
    for names, folder in copied:
        for name in names.replace("${WHEEL}", str(wheel)).split():
            (place / "build" / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / "build" / folder)
    [command] = re.findall(r"^RUN (.*image_tree\.py.*)$", text, re.MULTILINE)
    for there, here in {
        "/opt/tools/bin/python": sys.executable,
        "/build/": f"{place}/build/",
        "/opt/enbloc": f"{place}/enbloc",
    }.items():
        assert there in command
        command = command.replace(there, here)
    env = {"PATH": os.defpath, "SOURCE_DATE_EPOCH": str(EPOCH), **offline()}
    subprocess.run(["/bin/sh", "-c", command], cwd=place, env=env, check=True)
    return Tree(place / "enbloc")


def files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_symlink() or path.is_file())


def digest(root: Path) -> dict[str, tuple[int, float, str]]:
    """Mode, time and content of each file."""
    return {
        str(path.relative_to(root)): (
            stat.S_IMODE(path.lstat().st_mode),
            path.lstat().st_mtime,
            str(path.readlink())
            if path.is_symlink()
            else hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in files(root)
    }


def locked() -> set[str]:
    """What the lock has for this Python, by normalised name."""
    names = re.findall(r"^([a-z0-9._-]+)==", LOCK.read_text(), re.MULTILINE)
    return {name.replace("_", "-") for name in names}


def normalised(names: list[str]) -> list[str]:
    return sorted(re.sub(r"[-_.]+", "-", name).lower() for name in names)


def test_it_has_no_tool_that_a_server_does_not_need(tree: Tree) -> None:
    programs = {path.name for path in (tree.root / "bin").iterdir()}
    assert {name for name in programs if not name.startswith("python")} == {
        "enbloc",
        "kubectl-enbloc",
    }
    packages = {path.name for path in tree.packages.iterdir()}
    assert "enbloc" in packages
    others = {"pip", "setuptools", "pkg_resources", "wheel", "cel", "enbloc_sandbox"}
    assert packages.isdisjoint(others)
    assert {path.suffix for path in files(tree.root)}.isdisjoint({".c", ".h", ".pyx", ".a"})


def test_the_dependencies_are_small(tree: Tree) -> None:
    ours = tree.packages / "enbloc"
    size = sum(path.lstat().st_size for path in files(tree.root) if ours not in path.parents)
    print(f"dependencies: {size / 1e6:.0f} MB")
    assert size <= MOST_BYTES


def test_it_lists_what_it_holds(tree: Tree) -> None:
    listed = json.loads((tree.root / SBOM).read_text())
    assert listed["bomFormat"] == "CycloneDX"
    names = normalised([each["name"] for each in listed["components"]])
    assert names == sorted(locked() | {"enbloc"})
    assert all(each.get("licenses") for each in listed["components"])


def test_the_notices_have_the_licence_of_each_package(tree: Tree) -> None:
    parts = re.split(
        r"^={100}\n(.*)\n={100}\n", (tree.root / NOTICES).read_text(), flags=re.MULTILINE
    )
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    names = [title.split()[0] for title in texts]
    assert normalised(names) == sorted(locked())
    without = [title for title, text in texts.items() if len(text.split()) < 20]
    assert without == []


def test_what_each_package_says_of_its_files_is_true(tree: Tree) -> None:
    for record in tree.packages.glob("*.dist-info/RECORD"):
        for line in record.read_text().splitlines():
            name = line.rsplit(",", 2)[0].strip('"')
            assert (tree.packages / name).exists(), f"{record}: {name}"


def test_a_second_build_is_the_same_to_the_byte(tree: Tree, wheel: Path) -> None:
    first = tree.root.rename(tree.root.with_name("first"))
    try:
        make(tree.root, wheel, LOCK, EPOCH)
        again = digest(tree.root)
    finally:
        if tree.root.exists():
            tree.root.rename(tree.root.with_name("second"))
        first.rename(tree.root)
    assert again == digest(tree.root)


def test_kubeconfigs_of_every_kind_are_read_by_what_is_left_of_the_client(tree: Tree) -> None:
    """The tests of them pass on it: tokens, files, passwords, certificates, exec, OIDC."""
    env = {**os.environ, "PYTHONPATH": str(tree.packages), "PYTHONDONTWRITEBYTECODE": "1"}
    where = subprocess.run(
        [sys.executable, "-c", "import kubernetes; print(kubernetes.__file__)"],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(tree.packages))
    pytest_command = [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*pytest_command, "tests/client/test_config.py"],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


#: As a pod runs it: all file systems read-only but /tmp, a user that owns nothing, no capability.
CONFINED = """
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/place
mount --bind "$1" /mnt/place
mount -t tmpfs -o size=64m,mode=1777 tmpfs /tmp
mkdir -p "$1"
mount --bind /mnt/place "$1"
umount /mnt/place /mnt
mount -o remount,bind,ro "$1"
mount -o remount,bind,ro /
shift
exec unshare --user --map-user=65532 --map-group=65532 -- setpriv --no-new-privs -- "$@"
"""


def confined(place: Path, *command: str) -> list[str]:
    """A command in a mount namespace and a user namespace of its own."""
    unshare = shutil.which("unshare")
    assert unshare, "unshare is missing: install util-linux"
    outer = [unshare, "--user", "--map-root-user", "--mount", "--", "/bin/sh", "-c", CONFINED]
    return [*outer, "sh", str(place), *command]


#: What a process may do, as the kernel tells it.
POWERS = """
import os
status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
print(os.getuid(), os.getgid(), status["CapPrm"].strip(), status["CapEff"].strip())
for folder in ("/", "/etc", "/var", {root!r}, {site!r}, "/tmp"):
    try:
        open(folder + "/.probe", "w").close()
        print("can write to", folder)
    except OSError:
        pass
"""


def test_the_scheduler_runs_read_only_without_privileges_on_a_real_api_server(
    tree: Tree, place: Path
) -> None:
    powers = POWERS.format(root=str(tree.root), site=str(tree.packages))
    command = confined(place, str(tree.python), "-c", powers)
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.stdout.splitlines() == [
        f"65532 65532 {0:016x} {0:016x}",
        "can write to /tmp",
    ], said.stderr

    with ControlPlane(controller_manager=False) as cp:
        cp.kubectl("apply", "-f", str(ROOT / "crds"))
        cp.established("podgroups.enbloc.dev")
        kubeconfig = place / "kubeconfig"
        kubeconfig.write_text(cp.kubectl("config", "view", "--raw", "--flatten").stdout)
        cp.kubectl("create", "-f", "-", stdin=json.dumps(NODE))
        cp.kubectl("create", "-f", "-", stdin=json.dumps(POD))
        program = (str(tree.root / "bin" / "enbloc"), "scheduler", f"--kubeconfig={kubeconfig}")
        flags = ("--log-format=text", "--lease-namespace=default", "--secure-port=0")
        scheduler = Process("scheduler", confined(place, *program, *flags), place / "log")
        scheduler.start()
        try:
            wait_until(
                "the pod is bound",
                lambda: (
                    cp.kubectl("get", "pod", "p", "-o", "jsonpath={.spec.nodeName}").stdout == "n1"
                ),
                [scheduler],
                120,
            )
            assert scheduler.finish(signal.SIGTERM, 60) == 0, scheduler.tail()
        finally:
            scheduler.stop()


NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "schedulerName": "enbloc",
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "none"}],
    },
}
