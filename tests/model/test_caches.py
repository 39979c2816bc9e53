# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the model remembers of texts that tenants write is bounded by bytes."""

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

import enbloc

_ROOT: Final = Path(enbloc.__file__).parent
#: The packages that read what tenants write.
_PACKAGES: Final = ("cel", "model", "wire")
_MAKERS: Final = {
    "functools": {"cache", "lru_cache"},
    "cachetools": {"LRUCache", "TTLCache", "cached"},
}
_MIB: Final = 2**20
#: Characters that the API server takes of a namespace, of another name, and of the key of a label.
_NAMESPACE, _NAME, _KEY = 63, 253, 317
#: Of each cache the most characters that it keeps for one entry, and why. One that is not here has
#: to be judged: what bounds the texts of an entry? Where nothing does, keep no longer ones as
#: `codec._shared` does, each for as long as it is used as `Canonical` does, or as many as come to
#: so many bytes as `devices.memory` does.
JUDGED: Final[dict[str, tuple[int, str]]] = {
    "cel.patterns._KEPT": (20_000 + 2**18, "no longer one is compiled; bytes that RE2 may take"),
    "wire.codec._group_key": (
        _NAMESPACE + _NAME,
        "no PodGroup has a longer one, and dialects.readable gives none",
    ),
    "wire.codec._kept_image": (512 + 8, "_shared_image asks for no longer one"),
    "wire.codec._kept_text": (512, "_shared asks for no longer one"),
    "wire.codec._shared_owner": (1024, "_owner cuts what is longer"),
    "wire.codec._shared_pair": (_KEY + 63, "the API server's for a label"),
    "wire.codec_specs._interned": (4 * 1024, "_read makes it of no more bytes"),
    "wire.codec_specs._read": (4 * 1024, "pod_class asks for no more bytes"),
    "wire.codec_specs._read_large": (3 * _MIB // 2, "what etcd takes of one object"),
    "wire.codec_specs._read_middle": (32 * 1024, "pod_class asks for no more bytes"),
    "wire.device_codec._qualified": (
        2 * _KEY,
        "the API server's for an attribute, and for a driver",
    ),
    "wire.device_codec._same": (128, "_shared asks for no longer one"),
    "wire.times._kept": (64, "seconds_of_text asks for no longer one"),
    "model.dialects._is_subdomain": (_NAME, "readable asks for no longer one"),
    "model.groups.tree_of": (
        16 * (2 * 63 + _NAME) + 16 * 2 * 63,
        "16 roles and sub-groups of a PodGroup",
    ),
    "model.near_misses.near_miss": (_KEY, "the API server's for a label, and for an annotation"),
    "model.pins._one": (16 * 1024, "without_host makes it of no more bytes"),
    "model.pins.without_host": (16 * 1024, "host_of names no host of more bytes"),
    "model.quantity.milli": (100, "what is longer raises, and is not kept"),
    "model.quantity.nano": (100, "what is longer raises, and is not kept"),
    "model.quantity.whole": (100, "what is longer raises, and is not kept"),
}


def _caches(source: str) -> Iterator[str]:
    """The names of functions that a module caches, and of its caches; "?" = one without a name."""
    tree = ast.parse(source)
    makers = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in _MAKERS.get(node.module or "", ())
    }
    uses = {id(node) for node in ast.walk(tree) if _makes(node, makers)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name, parts = node.name, node.decorator_list
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            typed = [node.annotation] if isinstance(node, ast.AnnAssign) else []
            name, parts = ast.unparse(target), [node.value, *typed]
        else:
            continue
        found = {id(each) for part in parts for each in ast.walk(part)} & uses
        if found:
            yield name
            uses -= found
    yield from ("?" for _ in uses)


def _makes(node: ast.AST, makers: set[str]) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr in _MAKERS.get(node.value.id, ())
    return isinstance(node, ast.Name) and node.id in makers


def _module(path: Path) -> str:
    return ".".join(path.relative_to(_ROOT).with_suffix("").parts)


def test_each_cache_of_the_model_is_judged() -> None:
    found = [
        f"{_module(path)}.{name}"
        for package in _PACKAGES
        for path in (_ROOT / package).rglob("*.py")
        for name in _caches(path.read_text())
    ]

    assert sorted(found) == sorted(JUDGED)


@pytest.mark.parametrize("name", JUDGED)
def test_a_cache_keeps_some_megabytes_of_text_at_most(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    cache: Any = getattr(import_module(f"enbloc.{module}"), attribute)
    decorated = hasattr(cache, "cache_parameters")
    entries = cache.cache_parameters()["maxsize"] if decorated else cache.maxsize

    assert entries is not None, "it keeps whatever it is asked"
    assert entries * JUDGED[name][0] <= 128 * _MIB


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from functools import lru_cache\n@lru_cache\ndef f(a): ...", ["f"]),
        ("from functools import cache as kept\nclass A:\n  @kept\n  def f(self): ...", ["f"]),
        ("import functools\n@functools.lru_cache(maxsize=5)\ndef f(a): ...", ["f"]),
        ("from functools import lru_cache\ng = lru_cache(5)(len)", ["g"]),
        ("from cachetools import LRUCache\ng: LRUCache = LRUCache(5)", ["g"]),
        ("from functools import cache\nprint(cache(len))", ["?"]),
        ("from functools import cached_property, partial\n@cached_property\ndef f(a): ...", []),
    ],
)
def test_a_cache_is_found_however_it_is_made(source: str, names: list[str]) -> None:
    assert list(_caches(source)) == names
