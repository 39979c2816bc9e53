# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What functions of device selectors take, by what they say they take.

Each says it in tenths of a microsecond, and an evaluation ends once these come to too much: a
function that says too little keeps everybody waiting, one that says too much is refused for
nothing. Each is measured with those arguments with which it takes longest by what it says.

    python -m benchmarks.cel

prints every function, with small arguments and with large ones.
"""

import gc
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import cycle, islice
from typing import Any, Final, NamedTuple

from benchmarks.engine import Figure
from enbloc.cel.functions import GLOBAL, MEMBER
from enbloc.cel.kubernetes import address, cidr, quantity, semver
from enbloc.cel.values import MOST_MADE, Execution, Fault, Map, Optional, Uint

#: CPU seconds for which calls with the same arguments are made at least, and how often all of that
#: is done, each time in another order: the best counts, for what a machine does besides comes and
#: goes.
_LEAST: Final = 0.001
_PASSES: Final = 7
#: Characters of a long text, and items of a long list.
_CHARACTERS: Final = 190_000
_ITEMS: Final = 3_000
#: Long texts in a list: two such lists are as much as one evaluation may make.
_TEXTS_OF_A_LIST: Final = MOST_MADE // (2 * _CHARACTERS)

#: Functions by their names, `.name` being called as `x.name()`, and arguments for each of them; of
#: several each call takes the next.
Shape = tuple[str, Sequence[tuple[Any, ...]]]


class Row(NamedTuple):
    """A function with those of its arguments with which it takes longest by what it says.

    Attributes:
        call: microseconds of a call.
        unit: microseconds by unit that it says it takes.
    """

    name: str
    call: float
    unit: float


def _with(names: str, *args: Any) -> Shape:
    return names, [args]


def _each(names: str, *values: Any) -> list[Shape]:
    """Functions of one argument, which is each of these."""
    return [(names, [(value,)]) for value in values]


def _long(sign: str, last: str = "") -> str:
    """A text that differs from others in its last characters at most."""
    return sign * (_CHARACTERS - len(last)) + last


def _nested(levels: int, inner: list[Any]) -> list[Any]:
    return [_nested(levels - 1, inner)] if levels else inner


_SMILE: Final = "\U0001f600"
_HALF: Final = _CHARACTERS // 2
_WIDE, _PLAIN = _long(_SMILE), _long("x")
_INTS: Final = list(range(_ITEMS))
_TEXTS: Final = [f"{each:05}" for each in _INTS]
_UINTS: Final = [Uint(each) for each in _INTS]
_FLOATS: Final = [float(each) for each in _INTS]
_LONG_TEXTS: Final = [_long("x", chr(ord("a") + each)) for each in range(_TEXTS_OF_A_LIST)]
_MAP: Final = Map.of(zip(_TEXTS, _INTS, strict=True))
_SHUFFLED: Final = random.Random(1).sample(_INTS, 1000)
_XY: Final = "".join(random.Random(1).choices("xy", k=_CHARACTERS))
_LIST: Final = _INTS[:300]
_LISTS: Final = [[*_INTS[:299], -each] for each in range(1, 9)]
_VERSION, _NEXT = (semver("1.2.3-" + ".".join("a" * 119 + last)) for last in "ab")
_GIBI, _MEBI = quantity("1.5Gi"), quantity("1500Mi")
_V4, _V6 = address("10.1.2.3"), address("2001:db8:1:2:3:4:5:6")
_NET4, _NET6 = cidr("10.1.2.3/8"), cidr("2001:db8:1:2:3:4:5:6/33")
_OPTIONAL: Final = Optional(1, present=True)

_ORDER: Final = "_<_ _<=_ _>_ _>=_"
_SAME: Final = "_==_ _!=_"
_SETS: Final = "sets.contains sets.intersects sets.equivalent"
_SEARCH: Final = ".contains .indexOf .split"
_PATTERN: Final = "matches .matches .find"
#: Each place of the text has to be compared with most of what is looked for.
_STUBBORN: Final = [
    ("a" * length, "a" * (part - 3) + "baa")
    for length in (2_499, 29_999, _CHARACTERS)
    for part in (5, 100, 1_200, 10_000, 100_000)
    if part < length
]

SMALL: Final[Sequence[Shape]] = [
    *[(f"{_ORDER} {_SAME}", [pair]) for pair in ((1, 2), ("a", "b"), (1.5, 2.5), (Uint(1), 2))],
    *[(_SAME, [pair]) for pair in ((_V4, _V4), (_GIBI, _MEBI), (_NET6, _NET6), (_VERSION, _NEXT))],
    *[("_+_ _-_ _*_ _/_", [pair]) for pair in ((17, 5), (1.5, 2.5), (Uint(7), Uint(5)))],
    *[("_+_", [pair]) for pair in (("a", "b"), (b"a", b"b"), ([1], [2]))],
    *[("@in", [pair]) for pair in ((1, [1, 2]), ("a", _MAP))],
    *[_with("_%_", 17, 5), _with("!_", True), *_each("-_", 5, 5.5)],
    *_each("size .size type dyn optional.of optional.ofNonZeroValue", _INTS, _MAP, _PLAIN),
    *_each("int uint double bool string bytes", "1", _PLAIN),
    *_each("double string", "-1.25e-100", 5),
    *_each("string", 1.5, 1e300, True, b"abc", _V4, _V6, _NET6),
    *[(f"{_PATTERN} .findAll", [pair]) for pair in (("gpu-a100", "^gpu-.*100$"), ("gpu", "a"))],
    *_each("quantity isQuantity", "1.5Gi", "1" * 255, "1." + "1" * 240 + "e-100", _PLAIN),
    *_each("semver isSemver", "1.2.3", "1.2.3-" + ".".join("a" * 120), _PLAIN),
    _with("semver isSemver", "v" + "0" * 250, True),
    *_each("ip isIP ip.isCanonical", str(_V4), str(_V6), "x", _long(":"), _long(".")),
    *_each("cidr isCIDR", "10.1.2.3/8", "2001:db8:1:2:3:4:5:6/33", _long(":", "/8")),
    *[_with("lists.range", 3), _with("optional.none"), _with(_SETS, [1, 2], [2, 1])],
    _with("optional.unwrap .unwrapOpt", [_OPTIONAL]),
    _with(".contains .startsWith .endsWith .indexOf .lastIndexOf .split", "gpu-a100", "100"),
    *[_with(".charAt .substring", "gpu-a100", 1), _with(".replace", "gpu-a100", "a", "h")],
    *_each(".lowerAscii .upperAscii .trim", " Gpu"),
    *_each(".isSorted .sum .min .max .sort .reverse .distinct .flatten .first .last", [1, 2, 3]),
    *[_with(".join", ["a", "b"]), _with(".slice", _INTS, 1, 3), _with("@sortBy", [1, 2], [2, 1])],
    *[_with(".includes", [1, 2], 2), _with(".includes", 1, 2), _with(".indexOf", [1, 2], 2)],
    _with(".isGreaterThan .isLessThan .compareTo", _GIBI, _MEBI),
    _with(".isGreaterThan .isLessThan .compareTo", _VERSION, _NEXT),
    *[_with(".add .sub", _GIBI, _MEBI), _with(".add .sub", _GIBI, 5)],
    *_each("sign .isInteger .asApproximateFloat", _GIBI, quantity("1" * 17 + "n")),
    *[_with(".asInteger", quantity("5")), _with(".major .minor .patch", _VERSION)],
    *_each(".isUnspecified .isLoopback .isLinkLocalMulticast .isLinkLocalUnicast", _V4, _V6),
    *_each(".family .isGlobalUnicast", _V4, _V6),
    *_each(".ip .prefixLength .masked", _NET4, _NET6),
    *[(".containsIP", [(_NET6, each)]) for each in (_V6, str(_V6))],
    *[(".containsCIDR", [(_NET6, each)]) for each in (_NET6, "2001:db8:1:2:3:4:5:6/33")],
    _with(".hasValue .value", _OPTIONAL),
]
LARGE: Final[Sequence[Shape]] = [
    # Texts.
    _with(f"{_ORDER} {_SAME}", _LONG_TEXTS[0], _LONG_TEXTS[1]),
    _with(f"{_ORDER} {_SAME}", _long(_SMILE, "a"), _long(_SMILE, "b")),
    _with(_ORDER, _long("é"), _long("é", _SMILE)),
    _with("_+_", "x" * _HALF, "y" * _HALF),
    _with("_+_", _SMILE * _HALF, "x" * _HALF),
    _with("_+_", b"x" * _HALF, b"y" * _HALF),
    *_each("string", b"x" * _HALF, "é".encode() * _HALF, _SMILE.encode() * (_HALF // 2)),
    *_each("bytes", _PLAIN, _long("é"), _WIDE),
    *[(_SEARCH, [pair]) for pair in _STUBBORN],
    *[(".replace", [(text, part, "c")]) for text, part in _STUBBORN],
    *[(".lastIndexOf", [(a, b[::-1])]) for a, b in _STUBBORN if len(a) * len(b) < 10**8],
    *[(f"{_SEARCH} .lastIndexOf", [pair]) for pair in ((_long("é"), "éébéé"), (_WIDE, "y"))],
    _with(".startsWith .endsWith", _WIDE, _long(_SMILE)),
    *_each(".lowerAscii .upperAscii", "xX" * _HALF, _long("é"), _WIDE),
    _with(".replace", _PLAIN, "x", "y"),
    _with(".replace", _PLAIN, "x", _SMILE),
    _with(".replace", "xy" * _HALF, "xy", "z"),
    _with(".replace", "x" * (_HALF // 2), "x", "yyy"),
    _with(".replace", "x" * _HALF, "", "z"),
    _with(".replace", "é" * _HALF, "é", "zz"),
    _with(".split", "x," * _ITEMS, ","),
    _with(".split", ("x" * 18 + ",") * _ITEMS, ","),
    _with(".split", "é" * _ITEMS, ""),
    *[(".substring", [(_long(each, _SMILE), 1, _HALF)]) for each in ("x", "é", _SMILE)],
    *_each(".trim", _long(" "), _long("\u3000"), " " * _HALF + "é" * _HALF),
    # Patterns of which RE2 can remember what it found, of which it can not, and new ones.
    *[(_PATTERN, [(_XY, each)]) for each in ("[^y]z", "(x|y)*z", "(x|y)*x(x|y){2}z", "(x+x+)+z")],
    *[(_PATTERN, [(_XY[:10_000], f"(x|y)*x(x|y){{{each}}}z")]) for each in (12, 30)],
    _with(_PATTERN, _XY[:200], "((x?){30}){30}z"),
    *[
        ("matches", [("x", f"{pattern}{each}") for each in range(200)])
        for pattern in ("[a-z]{50}", "(((((a)?)*)?)*|b)", "a" * 500, "(" * 500, f"[a-{'é' * 500}]")
    ],
    *[(".findAll", [("x" * 1000, each)]) for each in ("x", "x.*z|x", "y*", "x(x|y)*z|x")],
    *[
        (".findAll", [(_SMILE * 1000, each)])
        for each in (_SMILE, f"{_SMILE}({_SMILE}|y)*z|{_SMILE}")
    ],
    _with(".findAll", _XY[:500], "((x|y)*x(x|y){12}z)|x"),
    _with(".findAll", _XY, "xyxyxyxyxyxyxyxyxyxyx"),
    # Lists.
    _with("_+_", _INTS[: _ITEMS // 2], _INTS[: _ITEMS // 2]),
    _with(_SAME, _INTS, [*_INTS[:-1], -1]),
    _with(_SAME, _TEXTS, [*_TEXTS[:-1], ""]),
    _with(_SAME, _LONG_TEXTS, [_long("x", each[-1]) for each in _LONG_TEXTS]),
    _with(_SAME, [[each] for each in _INTS], [[each] for each in _INTS]),
    _with(_SAME, [_VERSION] * _ITEMS, [_VERSION] * _ITEMS),
    _with(_SAME, _MAP, Map.of(zip(_TEXTS, _INTS, strict=True))),
    *[
        (names, [args])
        for items, one in (
            (_INTS, -1),
            (_TEXTS, "-----"),
            ([_NEXT] * _ITEMS, _VERSION),
            ([_MEBI] * _ITEMS, _GIBI),
            (_LISTS, _LIST),
            (_LONG_TEXTS, _long("x", "A")),
        )
        for names, args in (
            ("@in", (one, items)),
            (".indexOf .lastIndexOf", (items, one)),
            (".includes", (items[:48], one)),
        )
    ],
    *[
        (names, [args])
        for a, b in (
            (_INTS[:100], _INTS[300:400]),
            (_TEXTS[:100], _TEXTS[300:400]),
            (_LISTS, [_LIST] * 8),
            (_LONG_TEXTS, [_long("x", each[-1].upper()) for each in _LONG_TEXTS]),
            ([semver(f"1.2.3-a.{each}") for each in range(100)], [_VERSION] * 100),
        )
        for names, args in (
            ("sets.intersects", (a, b)),
            ("sets.contains", (a, [a[-1]] * len(b))),
            ("sets.equivalent", ([*[a[0]] * len(b), a[1]], [*[a[1]] * len(b), a[0]])),
            (".distinct", (a,)),
        )
    ],
    _with("optional.unwrap .unwrapOpt", [_OPTIONAL] * _ITEMS),
    *_each(".isSorted .min .max", _INTS, _TEXTS, _UINTS, _FLOATS, _LONG_TEXTS, [b"abc"] * _ITEMS),
    *_each(".sum", _INTS, _UINTS, _FLOATS),
    *_each(".sort", _SHUFFLED, [f"{each:05}" for each in _SHUFFLED], _LONG_TEXTS[::-1]),
    *_each(".sort", [Uint(each) for each in _SHUFFLED]),
    _with("@sortBy", _SHUFFLED, [f"{each:05}" for each in _SHUFFLED]),
    *[_with(".slice", _INTS, 0, _ITEMS), _with(".reverse", _INTS), _with("lists.range", _ITEMS)],
    *_each(".flatten", [[each] for each in _INTS]),
    *[(".flatten", [(_nested(each, _INTS), 200)]) for each in (3, 100)],
    _with(".join", _TEXTS, ","),
    _with(".join", ["x" * 19] * _ITEMS),
    _with(".join", ["é" * 19] * (_ITEMS - 1) + [_SMILE], ","),
]


def measured(name: str, calls: Sequence[tuple[Any, ...]]) -> Row:
    """A function with these arguments. Raises Halt where one evaluation may not do so much."""
    member = name.startswith(".") or name not in GLOBAL
    function, run = (
        (MEMBER[name.removeprefix(".")] if member else GLOBAL[name]),
        Execution([], sys.maxsize),
    )
    count, measures = len(calls), 0
    while True:
        said = 0
        given = list(islice(cycle(calls), count))
        began = time.process_time()
        for args in given:
            run.work = run.made = 0
            with suppress(Fault):
                function.apply(run, args)
            said += run.work
        seconds = time.process_time() - began
        measures += 1
        if seconds < _LEAST:
            count *= 2
        elif measures > 1:  # the first reads values from memory that an evaluation has just made
            return Row(name, seconds / count * 1e6, seconds / said * 1e6)


def rows(shapes: Sequence[Shape]) -> list[Row]:
    """All functions of these, the dearest first."""
    every = [(name, calls) for names, calls in shapes for name in names.split()]
    best: list[Row | None] = [None] * len(every)
    gc.collect()
    gc.disable()
    try:
        for number in range(_PASSES):
            for at in random.Random(number).sample(range(len(every)), len(every)):
                known, now = best[at], measured(*every[at])
                best[at] = now if known is None or now.unit < known.unit else known
    finally:
        gc.enable()
    dearest: dict[str, Row] = {}
    for row in best:
        if row is not None and (row.name not in dearest or row.unit > dearest[row.name].unit):
            dearest[row.name] = row
    return sorted(dearest.values(), key=lambda row: -row.unit)


#: What is measured, by what arguments are.
KINDS: Final[Mapping[str, Sequence[Shape]]] = {"small": SMALL, "large": LARGE}


def cel_functions() -> Iterator[Figure]:
    """The dearest function, and how far it is from the cheapest, by what they say they take."""
    named = {name.removeprefix(".") for names, _ in SMALL for name in names.split()}
    assert named >= {*GLOBAL, *MEMBER}, f"not measured: {sorted({*GLOBAL, *MEMBER} - named)}"
    for kind, shapes in KINDS.items():
        found = rows(shapes)
        yield f"cel/{kind}-arguments-dearest", found[0].unit
        yield f"cel/{kind}-arguments-dearest-by-cheapest", found[0].unit / found[-1].unit


if __name__ == "__main__":
    for kind, shapes in KINDS.items():
        print(f"{kind} arguments: us by unit, us of a call")
        for row in rows(shapes):
            print(f"{row.unit:8.3f} {row.call:12.2f}  {row.name}")
