# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Mutations: from real objects to nearly real ones, the same ones for the same seed."""

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any, Final

#: What breaks decoders: bytes that are put into others.
TOKENS: Final = (
    b'"', b"{", b"}", b"[", b"]", b":", b",", b"null", b"true", b"-0", b"1e999", b"NaN",
    b"Infinity",
    b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"\x00", b"\n", b"\r", b"\xef\xbb\xbf", b"\\",
    b"9" * 25, b"9" * 5000, b"-" + b"9" * 20, b"18446744073709551616", b"0.1e-400", b"[" * 1500,
    b'{"a":' * 1500, b"]" * 1500, b"&a [*a]", b"!!python/object:os.system", b"? ", b"- ",
)  # fmt: skip
#: What a value of another kind may be.
VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, 1e308, -0.0,
    "", "x",
    " ", "0", "-1", "1e9999999999", "9" * 5000, "\0", "\x1b[31m", "\ud800", "é" * 300,
    "x" * 3000, "a/b",
    "2026-11-21T05:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:60+23:59", "100Ei", "1n", ".",
    [], {}, [None], [[]], {"": None}, {"a": {"b": []}}, ["x"] * 50,
)  # fmt: skip
_DEEP: Final = (100, 1200, 9000)


class Mutator:
    """An endless source of inputs.

    Args:
        seeds: real ones.
        seed: of the random numbers.
    """

    def __init__(self, seeds: Sequence[bytes], seed: int) -> None:
        self._seeds = seeds
        self._trees = [tree for tree in map(_tree, seeds) if tree is not None]
        self._random = Random(seed)

    def __call__(self) -> bytes:
        """One more input."""
        random = self._random
        if self._trees and random.random() < 0.6:
            raw = self._grown(random.choice(self._trees))
            return raw if random.random() < 0.8 else self._bitten(raw)
        return self._bitten(random.choice(self._seeds))

    # ── in structure ─────────────────────────────────────────────────────────────────────────

    def _grown(self, tree: Any) -> bytes:
        """Real but for one to four places."""
        random = self._random
        tree = [copy.deepcopy(tree)]
        deep = b""
        for _ in range(random.randint(1, 4)):
            holder, key = random.choice(list(_places(tree)))
            match random.randrange(8):
                case 0 if isinstance(holder, dict):
                    del holder[key]
                case 1 if isinstance(holder, dict):
                    holder[self._key()] = holder[key]
                case 2:
                    _, other = random.choice(list(_values(tree)))
                    holder[key] = copy.deepcopy(other)
                case 3 if isinstance(holder[key], list) and holder[key]:
                    holder[key] = holder[key] * random.choice((2, 50))
                case 4:
                    deep = self._deep()
                    holder[key] = "DEEP"
                case _:
                    holder[key] = copy.deepcopy(random.choice(VALUES))
        text = json.dumps(tree[0], ensure_ascii=random.random() < 0.5)
        return text.encode(errors="surrogatepass").replace(b'"DEEP"', deep or b"0")

    def _key(self) -> str:
        return self._random.choice(("", "x", "\0", "metadata", "spec", "status", "k" * 300, "é"))

    def _deep(self) -> bytes:
        depth = self._random.choice(_DEEP)
        if self._random.random() < 0.5:
            return b"[" * depth + b"]" * depth
        return b'{"f:a":' * depth + b"{}" + b"}" * depth

    # ── in bytes ─────────────────────────────────────────────────────────────────────────────

    def _bitten(self, raw: bytes) -> bytes:
        random = self._random
        bytes_ = bytearray(raw)
        for _ in range(random.choice((1, 1, 2, 5))):
            start = random.randint(0, len(bytes_))
            end = min(len(bytes_), start + random.choice((0, 1, 1, 8, 200)))
            match random.randrange(5):
                case 0:
                    bytes_[start:end] = random.randbytes(end - start)
                case 1:
                    del bytes_[start:end]
                case 2:
                    bytes_[start:start] = random.choice(TOKENS)
                case 3:
                    bytes_[start:start] = bytes_[start:end]
                case _:
                    del bytes_[start:]
        return bytes(bytes_)


def _tree(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _places(tree: Any) -> Any:
    """`(holder, key)` of every value."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(pairs):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _values(tree: Any) -> Any:
    for holder, key in _places(tree):
        yield key, holder[key]
