# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Device selectors in CEL: what kube-scheduler answers, and what hostile ones end with.

`data/selectors.json` holds the cases of dynamic-resource-allocation v0.36.3
cel/compile_test.go, without those of features that are switched off; `data/answers.json` what
that package's compiler said of further expressions, and what they cost by its count.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc import cel
from enbloc.cel import CelError, DeviceView, Program, SemanticVersion, exact
from enbloc.cel.patterns import instructions

_DATA = Path(__file__).parent / "data"
DEVICE = DeviceView(
    driver="dra.example.com",
    attributes={
        "name": "fish",
        "int": 7,
        "bool": True,
        "ver": SemanticVersion.parse("1.2.3"),
        "other.example.com/model": "a100",
        "ints": [1, 2, 3],
    },
    capacity={"mem": exact("80Gi")},
)


def _rows(name: str, key: str) -> list[Any]:
    return [pytest.param(row, id=row[key][:80]) for row in json.loads((_DATA / name).read_text())]


def _attribute(value: Mapping[str, Any]) -> Any:
    ((kind, found),) = value.items()
    if kind == "version":
        return SemanticVersion.parse(found)
    return [SemanticVersion.parse(one) for one in found] if kind == "versions" else found


def _compiled(expression: str) -> Program:
    program = cel.compile(expression)
    assert isinstance(program, Program), program
    return program


def _answer(expression: str, device: DeviceView = DEVICE) -> bool | CelError:
    program = cel.compile(expression)
    return program.matches(device) if isinstance(program, Program) else program


@pytest.mark.parametrize("row", _rows("selectors.json", "case"))
def test_a_selector_answers_as_kube_schedulers(row: dict[str, Any]) -> None:
    device = DeviceView(
        row["driver"],
        {name: _attribute(value) for name, value in row.get("attributes", {}).items()},
        {name: exact(value) for name, value in row.get("capacity", {}).items()},
        row.get("allowMultipleAllocations"),
    )

    answer = _answer(row["expression"], device)

    if row["answer"] == "error":
        assert isinstance(answer, CelError)
    else:
        assert answer is row["answer"]


@pytest.mark.parametrize("row", _rows("answers.json", "expression"))
def test_an_expression_answers_and_costs_what_it_does_upstream(row: dict[str, Any]) -> None:
    if row["answer"] == "error":
        assert isinstance(_answer(row["expression"]), CelError)
        return
    outcome = _compiled(row["expression"]).evaluate(DEVICE)

    assert outcome.answer is row["answer"]
    assert outcome.cost == row.get("cost", outcome.cost)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("?!", "Syntax error at character 1: unexpected '?', expected a name"),
        ("", "Syntax error at character 1: unexpected 'the end', expected a name"),
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("device.nope == 1", "undefined field 'nope'"),
        ("nope == 1", "undeclared reference to 'nope'"),
        ("nope(1)", "undeclared reference to 'nope'"),
        ("device.driver", "evaluates to string, not to bool"),
        ('device.attributes["a.b"].c == 1', "no such key: c"),
        ('duration("1h") > duration("1m")', "uses duration, which enbloc does not support"),
        ('url("http://a").getHost() == "a"', "uses getHost, which enbloc does not support"),
        ('format.dns1123Label().validate("a").hasValue()',
         "uses validate, which enbloc does not support"),
        ("0.0 / 0.0 < 1.0", "NaN values cannot be ordered"),
        ('"a".matches("(")', "Illegal regex: missing ): ("),
        ('"a".matches("(?=a)")', "Illegal regex: invalid perl operator: (?="),
    ],
)  # fmt: skip
def test_what_has_no_answer_says_why(expression: str, text: str) -> None:
    assert _answer(expression) == CelError(text)


_TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
_TOO_MUCH = "operation cancelled: actual cost limit exceeded"
_COSTLY = "takes longer than enbloc supports"


def _nested(times: int, opening: str, middle: str, closing: str) -> str:
    return opening * times + middle + closing * times


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param("true && " * 1400, "longer than 10240 bytes", id="too long"),
        pytest.param(_nested(5000, "(", "true", ")"), "nested more than 120", id="brackets"),
        pytest.param("!" * 9000 + "true", "nested more than 120", id="negations"),
        pytest.param("true ? true : " * 600 + "true", "nested more than 120", id="choices"),
        pytest.param("1" + "+1" * 4000 + " == 1", "nested more than 120", id="sums"),
        pytest.param("device" + ".driver" * 1400, "nested more than 120", id="fields"),
        pytest.param("9" * 10_000 + " == 1", "a number that is too long", id="a huge number"),
        pytest.param(
            "".join(f"{_TEN}.all({name}, " for name in "abcdefgh") + "true" + ")" * 8,
            _COSTLY,
            id="loops in loops",
        ),
        pytest.param(
            "cel.bind(a, [1, 2], " + _nested(60, "cel.bind(a, [a, a], ", "a == a", ")") + ")",
            _COSTLY,
            id="a list that holds itself twice, sixty times over",
        ),
        pytest.param(
            "cel.bind(a, [1], " + _nested(60, "cel.bind(a, a + a, ", "a == [2]", ")") + ")",
            "makes a list of more than 10000 items",
            id="a list twice as long, sixty times over",
        ),
        pytest.param(
            "cel.bind(a, 'x', " + _nested(60, "cel.bind(a, a + a, ", "a == 'y'", ")") + ")",
            "makes a string of more than 200000 characters",
            id="a string twice as long, sixty times over",
        ),
        pytest.param(
            "optional.of(1)" + ".optMap(x, x)" * 40 + ".hasValue()", _COSTLY, id="optional chain"
        ),
        pytest.param(
            "lists.range(5000).distinct() == []",
            _TOO_MUCH,
            id="each with each",
        ),
        pytest.param(
            "lists.range(9000).map(i, 'x'.replace('x', 'y'.replace('y', " + repr("z" * 5000) + ")))"
            " == []",
            "makes values of more than 4000000 bytes",
            id="long strings of a short one",
        ),
        pytest.param(
            r"lists.range(9000).all(i, !('x'.matches('\\\\pL{' + string(i + 200) + '}')))",
            _COSTLY,
            id="regular expressions that are too large, each another one",
        ),
        pytest.param(
            "lists.range(9000).all(i, 'x'.matches('a{' + string(i % 900) + '}x') || true)",
            _COSTLY,
            id="regular expressions that are all different",
        ),
        pytest.param(
            "cel.bind(l, lists.range(250), cel.bind(m, l.map(i, l), cel.bind(n, l.map(i, m),"
            " n.isSorted())))",
            _COSTLY,
            id="lists in lists that would be gone through",
        ),
        pytest.param(
            "cel.bind(l, lists.range(999), cel.bind(m, lists.range(50).map(i, l + [-i]),"
            " lists.range(9000).all(i, !((l + [1]) in m))))",
            _COSTLY,
            id="a list looked for among those that differ in their last item",
        ),
        pytest.param(
            "cel.bind(l, lists.range(999), sets.intersects("
            "lists.range(50).map(i, l + [-i]), lists.range(50).map(i, l + [i + 1])))",
            _COSTLY,
            id="sets of such lists",
        ),
        pytest.param(
            _nested(
                11, "cel.bind(a, a + a, ", "a.findAll('((x|y)*x(x|y){12}z)|x') == []", ")"
            ).replace("cel.bind(a, a + a", "cel.bind(a, 'xy'", 1),
            _COSTLY,
            id="a pattern that reads all of the text for each match",
        ),
        pytest.param(
            _nested(
                14, "cel.bind(a, a + a, ", "lists.range(9000).map(i, a).join() == ''", ")"
            ).replace("cel.bind(a, a + a", "cel.bind(a, 'x'", 1),
            "makes a string of more than 200000 characters",
            id="one text joined to itself again and again",
        ),
        pytest.param(
            _nested(13, "cel.bind(a, a + a, ", "a.findAll('x') == []", ")").replace(
                "cel.bind(a, a + a", "cel.bind(a, 'xx'", 1
            ),
            _COSTLY,
            id="all matches in a long string",
        ),
        pytest.param(
            _nested(
                16, "cel.bind(a, a + a, ", "a.lastIndexOf('ab' + a.substring(9999)) < 0", ")"
            ).replace("cel.bind(a, a + a", "cel.bind(a, 'aa'", 1),
            _COSTLY,
            id="a long string looked for from the end",
        ),
        pytest.param(
            "lists.range(9000).all(i, cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8'))",
            _COSTLY,
            id="networks again and again",
        ),
        pytest.param(
            "lists.range(9999).all(i, semver('1.2.3-a.b.c').compareTo(semver('1.2.3-a.b.d')) < 0"
            " && quantity('1.5Gi').add(quantity('1500m')).isGreaterThan(quantity('1Gi')))",
            _COSTLY,
            id="versions and amounts again and again",
        ),
        pytest.param(
            "'x'.matches('((a{100}){100}){100}')", "Illegal regex", id="a regex of a million states"
        ),
    ],
)
def test_a_hostile_expression_ends_with_a_reason(expression: str, text: str) -> None:
    answer = _answer(expression)

    assert isinstance(answer, CelError)
    assert text in answer.text


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("abc", 3, 3),
        ("a{3}", 3, 3),
        ("(ab){4}", 8, 20),
        ("((a{10}){10}){10}", 1000, 2000),
        (r"a\{3}", 4, 5),
        (r"[\x{3040}-\x{4999}]", 1, 20),
        ("[{1000}]{3}", 3, 60),
        (r"\pL{20}", 8000, 20_000),
        ("x{2,}", 2, 2),
        ("(", 0, 1),
        ("a{99999}", 1, 10),
    ],
)
def test_a_regular_expression_has_so_many_instructions(pattern: str, least: int, most: int) -> None:
    assert least <= instructions(pattern) <= most


def test_a_regular_expression_takes_time_in_proportion_to_the_text() -> None:
    assert _answer("'" + "a" * 5000 + "'.matches('(a*)*(a*)*b')") is False


@given(st.text(alphabet="aZ[`{@éÀßİ\U0001f600"))
def test_letters_of_ascii_alone_have_cases(text: str) -> None:
    lower = "".join(one.lower() if one.isascii() else one for one in text)
    upper = "".join(one.upper() if one.isascii() else one for one in text)
    device = DeviceView("d", {"text": text, "lower": lower, "upper": upper})

    expression = (
        'cel.bind(all, device.attributes["d"],'
        " all.text.lowerAscii() == all.lower && all.text.upperAscii() == all.upper)"
    )
    assert _answer(expression, device) is True


def test_an_unknown_domain_reads_as_empty_and_is_not_there() -> None:
    assert _answer('device.attributes["nope"] == {} && !("nope" in device.attributes)') is True


def test_the_limit_of_the_cost_is_the_callers() -> None:
    program = cel.compile('device.driver == "dra.example.com"', cost_limit=3)

    assert isinstance(program, Program)
    assert program.matches(DEVICE) == CelError(_TOO_MUCH)


@given(st.text(max_size=200))
def test_no_text_is_too_strange(text: str) -> None:
    assert isinstance(_answer(text), bool | CelError)


_WORDS = st.sampled_from(
    [
        *("device", ".attributes", ".driver", '["dra.example.com"]', ".name", ".ints", ".nope"),
        *("(", ")", "[", "]", "{", "}", "?", ":", ",", ".", "==", "&&", "||", "!", "-", "+", "in"),
        *("1", "0", "2u", "1.5", "'a'", "b'a'", "true", "null", "x", "cel", ".bind", ".map"),
        *(".exists", ".all", "size", "has", "quantity('1')", ".isGreaterThan", "semver('1.0.0')"),
    ]
)


@given(st.lists(_WORDS, max_size=25).map(" ".join))
def test_no_row_of_words_is_too_strange(text: str) -> None:
    assert isinstance(_answer(text), bool | CelError)


@given(st.integers(0, 10**30), st.sampled_from(["", "m", "k", "Ki", "Gi", "E", "e3", "e-3"]))
def test_equal_quantities_are_equal_however_they_are_written(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"

    assert exact(text) == exact("0" + text)
    assert isinstance(exact(text), Fraction)
    assert _answer(f"quantity('{text}').compareTo(quantity('+{text}')) == 0") is True
