# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The objects that other projects' controllers create for a job, as `fixtures/` holds them.

Those of `fixtures/controllers` were created by the projects' own code (`make fixtures`), those of
`fixtures/written` are written after it; the head of each file says what and why. UIDs are numbered
in the order of the file, and a name's random end is a number.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

FIXTURES: Final = Path(__file__).parent / "fixtures"
#: The file of each job, by its name.
FILES: Final = {path.stem: path for path in sorted(FIXTURES.glob("*/*.yaml"))}


@cache
def _as_json(name: str) -> str:
    return json.dumps(list(yaml.load_all(FILES[name].read_bytes(), Loader=yaml.CSafeLoader)))


def objects(name: str) -> list[dict[str, Any]]:
    """All objects of a file, in its order: owners before what they own."""
    found: list[dict[str, Any]] = json.loads(_as_json(name))
    return found


def of_kind(name: str, kind: str) -> list[dict[str, Any]]:
    """Those of a kind."""
    return [each for each in objects(name) if each["kind"] == kind]
