# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The lock files agree with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def pinned(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def project(folder: str) -> dict[str, Any]:
    text = (ROOT / folder / "pyproject.toml").read_text()
    return dict(tomllib.loads(text)["project"])


def test_the_image_has_the_versions_that_the_tests_run_with() -> None:
    assert pinned("image").items() <= pinned("run").items()


def test_the_image_has_no_library_that_only_the_sandbox_needs() -> None:
    product, sandbox = (
        {re.split(r"[<>=; ]", one)[0] for one in project(folder)["dependencies"]}
        for folder in (".", "sandbox")
    )
    extra = sandbox - product - {"enbloc"}
    shared = {"jsonpatch"}  # kopf needs it
    assert extra <= pinned("run").keys()
    assert extra & pinned("image").keys() == shared


def test_the_sandbox_and_the_product_need_each_other_in_the_same_version() -> None:
    version = project(".")["version"]
    assert project("sandbox")["version"] == version
    assert f"enbloc=={version}" in project("sandbox")["dependencies"]
    assert project(".")["optional-dependencies"]["sandbox"] == [f"enbloc-sandbox=={version}"]
