# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Print the end-to-end tests that one of several machines runs.

hack/shard.py 2/4    # the files of the second of four
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
#: It looks back at all shards, and so belongs to none.
LAST: Final = "tests/e2e/test_permissions_e2e.py"


def shard(files: Sequence[str], text: str) -> list[str]:
    """The part of the files that a shard such as `2/4` runs; all shards together run each once.

    Raises:
        ValueError: there is no such shard.
    """
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(f"{text}: not a shard such as 2/4")
    return sorted(files)[int(number) - 1 :: int(count)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the files of a shard in one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("shard", help="such as 2/4")
    options = parser.parse_args(arguments)
    found = (path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/e2e/**/test_*.py"))
    try:
        print(*shard([path for path in found if path != LAST], options.shard))
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
