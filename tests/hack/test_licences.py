# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The image holds only what may be given on."""

from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from hack.licences import licence, problems, refused


def dist(folder: Path, *lines: str) -> PathDistribution:
    path = folder / "some-1.dist-info"
    path.mkdir()
    (path / "METADATA").write_text("\n".join(["Name: some", "Version: 1", *lines, ""]))
    return PathDistribution(path)


@pytest.mark.parametrize(
    ("lines", "stated"),
    [
        (["License-Expression: MIT", "License: other"], "MIT"),
        (["Classifier: License :: OSI Approved :: BSD License"], "BSD License"),
        (["License: ISC"], "ISC"),
        ([], "not stated"),
    ],
)
def test_the_licence_is_read_as_it_is_stated(tmp_path: Path, lines: list[str], stated: str) -> None:
    assert licence(dist(tmp_path, *lines)) == stated


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("MIT", []),
        ("Apache-2.0 AND MIT", []),
        ("(Apache-2.0 OR BSD-3-Clause)", []),
        ("Apache Software License", []),
        ("MIT AND GPL-3.0-only", ["GPL-3.0-only"]),
        ("not stated", ["not stated"]),
    ],
)
def test_what_is_not_on_the_list_is_named(expression: str, found: list[str]) -> None:
    assert refused(expression) == found


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "lock.txt"
    lock.write_text("no-such-package-of-ours==1 \\\n    --hash=sha256:0\n")
    [problem] = problems(lock)
    assert problem.startswith("no-such-package-of-ours: not installed")
