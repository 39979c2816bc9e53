# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Each field of what several stages look at is written by its owner."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from enbloc.engine.queue import Item
from enbloc.engine.state import Members

ENGINE = Path(__file__).parent.parent.parent / "operator/enbloc/engine"


def attributes(kind: type) -> set[str]:
    """What its methods set on `self`, and what its class gives it."""
    tree = ast.parse((ENGINE / "state/members.py").read_text("utf-8"))
    [found] = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind.__name__]
    return {name for name, _ in written(found, {"self"})}


def written(tree: ast.AST, names: Collection[str]) -> Iterator[tuple[str, int]]:
    """The attributes of variables with these names that are assigned to, and where."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        for target in targets:
            for each in ast.walk(target):
                match each:
                    case ast.Attribute(ast.Name(name), attribute, ast.Store()) if name in names:
                        yield attribute, each.lineno
                    case _:
                        pass


@pytest.mark.parametrize(
    ("owner", "owned", "names"),
    [
        pytest.param(
            "queue", {field.name for field in fields(Item)}, {"item"}, id="an item: the queue"
        ),
        pytest.param(
            "state", attributes(Members), {"members", "life"}, id="members: the state of groups"
        ),
    ],
)
def test_nobody_but_its_owner_writes_to(owner: str, owned: set[str], names: set[str]) -> None:
    found = [
        f"{path.relative_to(ENGINE)}:{line}: {name}"
        for path in ENGINE.rglob("*.py")
        if not path.is_relative_to(ENGINE / owner)
        for name, line in written(ast.parse(path.read_text("utf-8")), names)
        if name in owned
    ]
    assert found == []
