# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Each field of what several stages look at is written by its owner."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ENGINE = Path(__file__).parent.parent.parent / "operator/enbloc/engine"


@cache
def module(path: str) -> ast.Module:
    return ast.parse((ENGINE / path).read_text("utf-8"))


def written(tree: ast.AST) -> Iterator[ast.Attribute]:
    """The attributes that are assigned to or deleted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node


def of_self(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.value, ast.Name) and attribute.value.id == "self"


def attributes(path: str, kind: str = "") -> set[str]:
    """What the classes of a module have: by their fields, and by what methods set on `self`.

    Args:
        path: of the module, in the engine.
        kind: of this class alone; "" = of all.
    """
    found: set[str] = set()
    for node in ast.walk(module(path)):
        if isinstance(node, ast.ClassDef) and kind in ("", node.name):
            fields = (each.target for each in node.body if isinstance(each, ast.AnnAssign))
            found |= {each.id for each in fields if isinstance(each, ast.Name)}
            found |= {each.attr for each in written(node) if of_self(each)}
    return found


@pytest.mark.parametrize(
    ("owner", "owned", "names"),
    [
        pytest.param("queue", attributes("queue/item.py", "Item"), {"item"}, id="an item: queue"),
        pytest.param(
            "state",
            attributes("state/run.py", "Run"),
            {"run"},
            id="a run: the state of groups",
        ),
    ],
)
def test_nobody_but_its_owner_writes_to(owner: str, owned: set[str], names: set[str]) -> None:
    """Whatever the variable is called; a class of the module itself may have such a name too."""
    found: list[str] = []
    for path in sorted(ENGINE.rglob("*.py")):
        place = path.relative_to(ENGINE)
        if place.is_relative_to(owner):
            continue
        others = owned & attributes(str(place))
        for each in written(module(str(place))):
            named = isinstance(each.value, ast.Name) and each.value.id in names
            if each.attr in owned and not of_self(each) and (named or each.attr not in others):
                found.append(f"{place}:{each.lineno}: {ast.unparse(each)}")
    assert found == []
