# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The figures of some schedulers on some cases.

python -m benchmarks.real --scale 0.2 --case lone-500 --subject run --subject kube-scheduler
"""

import argparse

from benchmarks.real.cases import CHURN, GANGS, LONE, openb
from benchmarks.real.measured import measured
from benchmarks.real.subjects import COSCHEDULING, ENBLOC, KUBE_SCHEDULER

CASES = {case.name: case for case in (*LONE, *GANGS, CHURN, openb()) if case}
SUBJECTS = {subject.name: subject for subject in (*ENBLOC, KUBE_SCHEDULER, COSCHEDULING)}


def main() -> None:
    """Print them as they come."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real")
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--subject", action="append", choices=SUBJECTS)
    parser.add_argument("--scale", type=float, default=1.0, help="so much of each case's pods")
    chosen = parser.parse_args()
    for case in chosen.case or CASES:
        for subject in chosen.subject or ["scheduler", "run"]:
            for name, value in measured(SUBJECTS[subject], CASES[case].scaled(chosen.scale)):
                print(f"{name:75} {value:12.3f}", flush=True)


if __name__ == "__main__":
    main()
