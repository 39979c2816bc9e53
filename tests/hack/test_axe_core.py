# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is fetched from npm is what was pinned, and is kept with its licence."""

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from hack import axe_core


def packed(**files: str) -> bytes:
    """A package, as npm packs it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as package:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            package.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_the_script_is_kept_with_its_licence_and_nothing_else() -> None:
    archive = packed(**{"axe.min.js": "run()", "LICENSE": "MPL-2.0", "package.json": "{}"})
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(archive).digest()).decode()}"

    found = axe_core.unpacked(archive, integrity)

    assert found == {"axe.min.js": b"run()", "LICENSE": b"MPL-2.0"}


def test_another_package_than_the_pinned_one_is_refused() -> None:
    with pytest.raises(axe_core.FetchError, match=r"has hash sha512-\S+, not sha512-"):
        axe_core.unpacked(packed(**{"axe.min.js": "evil()"}))


def test_a_test_without_it_is_told_what_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(axe_core.FetchError, match=r"`python hack/axe_core\.py` fetches it"):
        axe_core.script({"XDG_CACHE_HOME": str(tmp_path)})
