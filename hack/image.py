# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Build the wheel, and the container image from exactly that wheel.

    python hack/image.py                             # with docker, podman or buildah
    python hack/image.py --platform=linux/arm64 …    # what follows is given to the engine

`ENGINE` names one of the three. The time of all files is that of the commit, or
`SOURCE_DATE_EPOCH`. `IMAGE_SOURCE` is the address of the sources, for the image's labels.
"""

import datetime as dt
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
#: Each engine, and a command that fails where it cannot work.
ENGINES: Final[Mapping[str, Sequence[str]]] = {
    "docker": ("version", "--format={{.Server.Version}}"),
    "podman": ("info",),
    "buildah": ("info",),
}


def engine(environ: Mapping[str, str]) -> str:
    """The first engine that works here, or the one that `ENGINE` names.

    Raises:
        SystemExit: none does; in one line, what is wrong with each.
    """
    names = [environ["ENGINE"]] if environ.get("ENGINE") else list(ENGINES)
    wrong: list[str] = []
    for name in names:
        if name not in ENGINES:
            raise SystemExit(f"ENGINE={name}: unknown; it is one of {', '.join(ENGINES)}")
        if (path := shutil.which(name)) is None:
            wrong.append(f"{name} is not installed")
            continue
        probe = [path, *ENGINES[name]]
        done = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode == 0:
            return name
        said = done.stderr.strip().splitlines()
        wrong.append(f"{name} does not work ({said[-1] if said else f'code {done.returncode}'})")
    raise SystemExit(f"no container engine can build the image: {'; '.join(wrong)}")


def version() -> str:
    """The version of the package, as tags of images and Helm write it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"]).replace(".dev", "-dev.")


def revision() -> str:
    """The commit, marked if files differ from it."""
    changed = _git("status", "--porcelain", "--untracked-files=no")
    return _git("rev-parse", "HEAD") + ("-dirty" if changed else "")


def wheel(epoch: int, folder: Path) -> Path:
    """Build the wheel into an empty folder."""
    _run(
        *(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)),
        SOURCE_DATE_EPOCH=str(epoch),
    )
    [found] = folder.iterdir()
    return found


def build(name: str, epoch: int, source: str, arguments: Sequence[str]) -> None:
    """Build the image with an engine."""
    created = dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    (ROOT / "dist").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="image-", dir=ROOT / "dist") as folder:
        built = wheel(epoch, Path(folder))
        # .dockerignore lets through what lies directly in dist/.
        path = built.replace(ROOT / "dist" / built.name)
    values = {
        "WHEEL": path.relative_to(ROOT).as_posix(),
        "VERSION": version(),
        "REVISION": revision(),
        "CREATED": created,
        "SOURCE": source,
        "SOURCE_DATE_EPOCH": str(epoch),
    }
    # BuildKit takes the time from the build argument; the others are told.
    timestamp = [] if name == "docker" else [f"--timestamp={epoch}"]
    given = [f"--build-arg={key}={value}" for key, value in values.items()]
    tag = f"enbloc:{version()}"
    _run(name, "build", *timestamp, *given, f"--tag={tag}", *arguments, ".")
    print(tag)


def epoch() -> int:
    """The time of all files, seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def _run(*command: str, **environment: str) -> None:
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])} failed with code {done.returncode}")


def main() -> None:
    """Build what the command line asks for."""
    name = engine(os.environ)
    build(name, epoch(), os.environ.get("IMAGE_SOURCE", ""), sys.argv[1:])


if __name__ == "__main__":
    main()
