# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the image may hold what is locked for it: each package's licence is one of a list."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

#: Licences that let us give on the package beside code under Apache-2.0, by SPDX identifier. Those
#: of the Mozilla licence stay as they are: certifi's is a list of certificates.
ALLOWED: Final = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
    *("MPL-2.0", "PSF-2.0", "Python-2.0", "Zlib"),
}
#: What older metadata says instead of an identifier.
NAMES: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def licence(found: Distribution) -> str:
    """The licence as its author states it: an SPDX expression, else classifiers, else a line."""
    metadata = found.metadata
    if expression := metadata.get_all("License-Expression"):
        return str(expression[0])
    classified = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ")
    ]
    stated = "\n".join(metadata.get_all("License") or ()).strip().splitlines()
    return " AND ".join(classified) or (stated[0] if stated else "not stated")


def refused(expression: str) -> list[str]:
    """The licences of an expression that are not on the list."""
    parts = re.split(r" AND | OR ", expression)
    named = [NAMES.get(part, part).strip("() ") for part in parts]
    return [name for name in named if name not in ALLOWED]


def problems(lock: Path) -> Iterator[str]:
    """The packages of a lock whose licence is not on the list, or cannot be told.

    Args:
        lock: requirements with `name==version` lines; the packages are installed here.
    """
    for name in re.findall(r"^([a-z0-9._-]+)==", lock.read_text(encoding="utf-8"), re.MULTILINE):
        try:
            stated = licence(distribution(name))
        except PackageNotFoundError:
            yield f"{name}: not installed; `make setup` does it"
            continue
        for each in refused(stated):
            yield f"{name}: its licence {each} is not in hack/licences.py"
