# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run every benchmark, print each figure beside its budget; exit 1 above one."""

import sys
from pathlib import Path

import yaml

from benchmarks import engine


def main() -> int:
    budgets = yaml.safe_load((Path(__file__).parent / "budgets.yaml").read_text("utf-8"))
    over = 0
    for name, value in engine.plan_gang():
        entry = budgets.get(name)
        if entry is None:
            print(f"{name:45} {value:10.1f}   (no budget)")
            continue
        verdict = "ok" if value <= entry["budget"] else "OVER"
        over += verdict == "OVER"
        print(f"{name:45} {value:10.1f} {entry['unit']:5} of {entry['budget']:>6}  {verdict}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
