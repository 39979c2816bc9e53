# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The corpus: objects made by hand, and what a real API server answered."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_RECORDED = _HERE.parent.parent / "sandbox" / "tests" / "apiserver" / "parity" / "recorded"
_CONFIGS = _HERE.parent / "config" / "data"
_LARGEST = 20_000


def sample(name: str) -> bytes:
    """One file."""
    return (_HERE / "corpus" / name).read_bytes()


def configurations() -> list[bytes]:
    """Configurations of the scheduler, in all versions."""
    found = [path.read_bytes() for path in sorted(_CONFIGS.iterdir()) if path.is_file()]
    return [*found, sample("enbloc.yaml")]


@cache
def recorded(kind: str) -> tuple[bytes, ...]:
    """All different objects of a kind that a real kube-apiserver was seen to answer."""
    found = {
        _filled(json.dumps(each, sort_keys=True)).encode(): None
        for path in sorted(_RECORDED.glob("*.json"))
        for each in _objects(json.loads(path.read_text("utf-8")))
        if each["kind"] == kind
    }
    return tuple(each for each in found if len(each) <= _LARGEST)


def _filled(text: str) -> str:
    """A recording has these in the place of what differs each time."""
    for name, value in (("time", "2026-11-21T05:00:00Z"), ("version", "812"), ("namespace", "n")):
        text = text.replace(f"{{{name}}}", value)
    return text


def _objects(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        if "kind" in tree and "metadata" in tree:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for each in tree:
            yield from _objects(each)
