# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The drawing of the packages."""

from hack import rooms
from hack.sync import ROOT

#: What only names others: the package, its command, and what plugin authors test with.
NOT_DRAWN = {"__init__", "__main__", "testing"}


def test_each_package_has_its_place() -> None:
    there = {
        path.stem
        for path in (ROOT / "operator/enbloc").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert {name for layer in rooms.layers(ROOT) for name in layer} == there - NOT_DRAWN


def test_packages_of_one_layer_stand_side_by_side() -> None:
    drawn = rooms.drawing([["engine", "plugins"], ["model"]], ROOT).splitlines()

    assert drawn[1].count("┬") == 1
    assert [each.split() for each in drawn[2].strip("│").split("│")] == [["engine"], ["plugins"]]
    assert drawn[3].count("┴") == 1
    assert drawn[4].strip("│ ") == "model"
