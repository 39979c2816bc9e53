# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The drawing of the packages in docs/explanation/design.md, from the import contracts."""

import ast
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hack.pages import replaced

PAGE: Final = Path("docs/explanation/design.md")
BEGIN: Final = (
    "<!-- Below: written by `make sync` from the import contracts in pyproject.toml. -->\n"
)
END: Final = "<!-- Above: written by `make sync` from the import contracts in pyproject.toml. -->\n"
#: Characters within the frame.
_WIDTH: Final = 78


def page(root: Path) -> str:
    """The whole page, with its drawing as the contracts have it now."""
    return replaced((root / PAGE).read_text("utf-8"), BEGIN, END, drawing(layers(root), root))


def layers(root: Path) -> list[list[str]]:
    """The packages of each layer, the highest first."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    contract = next(each for each in contracts if "enbloc.engine" in str(each.get("layers")))
    named = (layer.split("|") for layer in contract["layers"])
    return [[each.strip().removeprefix("enbloc.") for each in layer] for layer in named]


def drawing(found: Sequence[Sequence[str]], root: Path) -> str:
    """A box for each layer, and what each package is."""
    lines = ["```text", *_boxes(found), "```", "", "| Package | What it is |", "|---|---|"]
    lines += [f"| `{name}` | {_headline(name, root)} |" for layer in found for name in layer]
    return "\n".join(lines) + "\n"


def _boxes(found: Sequence[Sequence[str]]) -> Iterator[str]:
    above: set[int] = set()
    for number, layer in enumerate(found):
        below = set(_walls(len(layer)))
        yield _rule(above, below, "┌┐" if number == 0 else "├┤")
        walls = [0, *_walls(len(layer)), _WIDTH + 1]
        cells = (
            f" {name}".ljust(right - left - 1)
            for name, left, right in zip(layer, walls, walls[1:], strict=False)
        )
        yield f"│{'│'.join(cells)}│"
        above = below
    yield _rule(above, set(), "└┘")


def _walls(count: int) -> list[int]:
    """Where the cells of a layer meet."""
    return [(_WIDTH + 1) * at // count for at in range(1, count)]


def _rule(above: set[int], below: set[int], ends: str) -> str:
    joints = {(True, True): "┼", (True, False): "┴", (False, True): "┬", (False, False): "─"}
    line = "".join(joints[at in above, at in below] for at in range(1, _WIDTH + 1))
    return f"{ends[0]}{line}{ends[1]}"


def _headline(name: str, root: Path) -> str:
    """What a package says that it is."""
    base = root / "operator/enbloc" / name
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return said.partition("\n\n")[0].replace("\n", " ").removesuffix(".")
