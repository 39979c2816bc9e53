# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which tests a change may break."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from hack import near

ROOT = Path(__file__).parent.parent.parent
#: Who imports a module.
IMPORTERS = {
    "enbloc.engine.queue.order": {"enbloc.engine.queue", "enbloc.engine.queue.heap"},
    "enbloc.engine.queue": {"enbloc.engine.decide", "enbloc.config.reading"},
    "enbloc.config.reading": {"enbloc.cli.run"},
    "enbloc.errors": {"enbloc.client.lease", "enbloc.run"},
    "enbloc.client.paths": {"enbloc.live.loop", "enbloc_sandbox.nodes.kubelet"},
}


def importers(name: str) -> Iterable[str]:
    return IMPORTERS.get(name, ())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("operator/enbloc/errors.py", "enbloc.errors"),
        ("operator/enbloc/engine/queue/__init__.py", "enbloc.engine.queue"),
        ("operator/enbloc/config/schema/words.yaml", "enbloc.config.schema"),
    ],
)
def test_a_file_is_of_a_module(path: str, name: str) -> None:
    assert near.module(path) == name


def test_those_that_import_a_package_import_the_modules_whose_names_it_exports() -> None:
    assert near.importing("enbloc.engine.queue.order", importers) == {
        "enbloc.engine.queue",
        "enbloc.engine.queue.heap",
        "enbloc.engine.decide",
        "enbloc.config.reading",
    }


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        pytest.param(
            ["operator/enbloc/engine/queue/order.py"],
            ["tests/config", "tests/engine", "tests/laws", "tests/rules"],
            id="the package, and those that import it",
        ),
        pytest.param(
            ["operator/enbloc/errors.py"], ["tests/cli", "tests/client"], id="no package of its own"
        ),
        pytest.param(
            ["operator/enbloc/client/paths.py"],
            ["sandbox/tests", "tests/client", "tests/live"],
            id="what the sandbox imports",
        ),
        pytest.param(
            ["sandbox/src/enbloc_sandbox/together.py"], ["sandbox/tests"], id="the sandbox"
        ),
        pytest.param(["operator/enbloc/live/new.py"], ["tests/live"], id="a new module"),
        pytest.param(["tests/rules/test_waves.py"], ["tests/rules/test_waves.py"], id="a test"),
        pytest.param(
            ["sandbox/tests/apiserver/test_a.py", "sandbox/tests/nodes/helper.py"],
            ["sandbox/tests"],
            id="a test within a suite",
        ),
        pytest.param(["tests/conftest.py", "tests/rules/world.py"], ["tests"], id="all tests"),
        pytest.param(["tests/e2e/test_gangs_e2e.py"], [], id="what starts processes"),
        pytest.param(["hack/near.py", "tests/README.md", "LICENSE"], ["tests/hack"], id="others"),
    ],
)
def test_the_tests_of_a_change(changed: list[str], tests: list[str]) -> None:
    assert near.suites(changed, importers) == tests


def test_what_takes_longer_is_named_once() -> None:
    changed = ["operator/enbloc/client/lease.py", "tests/e2e/world.py", "docs/index.md"]

    assert near.later(changed) == ["smoke", "real", "e2e", "processes"]


def test_the_tables_name_what_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {suite for suites in near.SUITES.values() for suite in suites}
    targets = {target for targets in near.LATER.values() for target in targets}

    assert [path for path in sorted(named) if not (ROOT / path).is_dir()] == []
    assert [target for target in sorted(targets) if f"\n{target}:" not in makefile] == []
