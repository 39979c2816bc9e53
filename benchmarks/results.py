# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a run came to, with the machine that it was taken on, as a file."""

import datetime as dt
import math
import os
import platform
import re
import sys
from pathlib import Path
from typing import Final

import msgspec

import enbloc
from hack.build_controlplane import module_version

FOLDER: Final = Path(__file__).parent / "results"
#: Before the name of a benchmark: how many times as slow as usual the machine was meanwhile.
SLOWNESS: Final = "machine/slowness/"


class Machine(msgspec.Struct, frozen=True):
    """What figures depend on beside the code."""

    cores: int
    cpu: str
    memory_gib: int
    system: str
    python: str
    enbloc: str
    kubernetes: str
    coscheduling: str

    def text(self) -> str:
        """In one sentence."""
        return (
            f"{self.cores} cores ({self.cpu}), {self.memory_gib} GiB, {self.system}, Python "
            f"{self.python}, enbloc {self.enbloc}, Kubernetes {self.kubernetes}; the coscheduling "
            f"plugin in kube-scheduler {self.coscheduling}"
        )


class Results(msgspec.Struct):
    """Figures that were taken on one machine.

    Attributes:
        date: of the last of them.
        machine: where.
        figures: by name; units are those of the budgets and of docs/explanation/performance.md, and
            CPU times those of the machine on which budgets were set (`benchmarks.reference`).
    """

    date: str
    machine: Machine
    figures: dict[str, float] = {}

    def slowness(self) -> tuple[float, float] | None:
        """How many times as slow as usual the machine was, at least and at most; None = unknown."""
        found = [value for name, value in self.figures.items() if name.startswith(SLOWNESS)]
        return (min(found), max(found)) if found else None


def machine() -> Machine:
    """This one."""
    info = Path("/proc/cpuinfo")
    model = re.search(
        r"^model name\s*:\s*(.+)$", info.read_text() if info.exists() else "", re.MULTILINE
    )
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cores=cores,
        cpu=model[1].strip() if model else platform.machine(),
        memory_gib=round(pages / 2**30),
        system=f"{platform.system()} {platform.release().split('-')[0]}",
        python=platform.python_version(),
        enbloc=enbloc.__version__,
        kubernetes=module_version("controlplane", "k8s.io/kubernetes"),
        coscheduling=module_version("coscheduling", "k8s.io/kubernetes"),
    )


def path_of(today: dt.date) -> Path:
    """Where the results of a day are."""
    return FOLDER / f"{today:%Y-%m-%d}.json"


def read(path: Path) -> Results:
    """Results of before.

    Raises:
        ValueError: the file holds something else.
    """
    return msgspec.json.decode(path.read_bytes(), type=Results)


def merged(earlier: Results | None, date: str, here: Machine, figures: dict[str, float]) -> Results:
    """New figures in place of the older ones of the same names.

    None of another machine stays, and none that could not be had (NaN).
    """
    kept = earlier.figures if earlier is not None and earlier.machine == here else {}
    rounded = {name: float(f"{v:.5g}") for name, v in figures.items() if math.isfinite(v)}
    return Results(date, here, dict(sorted({**kept, **rounded}.items())))


def add(path: Path, figures: dict[str, float]) -> None:
    """Keep figures that were just taken in a file, beside those that it has of this machine."""
    now = dt.datetime.now(dt.UTC).date().isoformat()
    made = merged(read(path) if path.exists() else None, now, machine(), figures)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
