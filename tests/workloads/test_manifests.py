# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Files become objects; what cannot be read ends in one line that names the file and the fix."""

import pytest

from enbloc.errors import UsageError
from enbloc.workloads import MOST_BYTES, manifests

POD = "apiVersion: v1\nkind: Pod\n"
#: Ten times as many values on each line as on the one before.
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
#: The same by merge keys, which are copied when they are read.
MERGED = "a: &a {k: v}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 10)}]}}\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def read(text: str) -> list[dict[str, object]]:
    return [each.body for each in manifests("f.yaml", text.encode())]


def refused(text: str | bytes) -> str:
    with pytest.raises(UsageError) as raised:
        manifests("f.yaml", text.encode() if isinstance(text, str) else text)
    return str(raised.value)


def test_a_file_has_several_documents_and_those_that_are_empty_are_passed_over() -> None:
    found = manifests("f.yaml", f"{POD}---\n---\n# nothing\n---\n{POD}".encode())
    assert [each.where for each in found] == ["f.yaml: document 1", "f.yaml: document 4"]


def test_the_items_of_a_list_are_objects_each() -> None:
    items = "[{apiVersion: batch/v1, kind: Job}, {apiVersion: v1, kind: Pod}]"
    found = manifests("f.yaml", f"apiVersion: v1\nkind: List\nitems: {items}".encode())
    assert [(each.group, each.kind) for each in found] == [("batch", "Job"), ("", "Pod")]


def test_json_is_read_as_json() -> None:
    assert read('{"apiVersion": "v1",\t"kind": "Pod", "n": 1}') == [
        {"apiVersion": "v1", "kind": "Pod", "n": 1}
    ]


def test_aliases_stand_for_what_they_name() -> None:
    found = read(f"{POD}one: &one {{a: 1}}\ntwo: *one\nthree: {{<<: *one, b: 2}}")
    assert (found[0]["two"], found[0]["three"]) == ({"a": 1}, {"a": 1, "b": 2})


def test_what_yaml_takes_for_a_time_stays_text_as_in_kubectl() -> None:
    assert read(f"{POD}day: 2026-11-29")[0]["day"] == "2026-11-29"


def test_keys_are_texts() -> None:
    assert read(f"{POD}labels: {{2: a, true: b}}")[0]["labels"] == {"2": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * (MOST_BYTES + 1), "f.yaml: more than 1024 KiB; leave out what makes no pods"),
        (b"\xff", "f.yaml: it is not UTF-8; save it as UTF-8"),
        ("a: [", "f.yaml: neither YAML nor JSON: line 2, column 1"),
        ("a: 1\na: 2", 'f.yaml: line 2: "a" given twice; remove one'),
        ("a: &a [*a]", "f.yaml: line 1: *a holds itself; write it out"),
        (LAUGHS, "f.yaml: line 6: more than 500000 values, as its aliases say"),
        (MERGED, "f.yaml: line 7: more than 500000 values, as its aliases say"),
        ("[" * 100_000, "f.yaml: line 1: nests deeper than 100 levels"),
        ('{"a":' + "[" * 100_000, "f.yaml: line 1: nests deeper than 100 levels"),
        ('{"a":' + "[" * 200 + "]" * 200 + "}", "f.yaml: nests deeper than 100 levels"),
        (f"{POD}n: .nan", "f.yaml: nan is no number of JSON; write a finite one"),
        (f"{POD}n: 0x{'f' * 5000}", "f.yaml: a number has more than 63 bits; write a smaller one"),
        ('{"a": "\\ud800"}', 'f.yaml: "\\ud800" has half of a surrogate pair; remove it'),
        (f"{POD}n: !!binary aGk=", "which JSON has not; put it in quotes"),
        (f"{POD}n: !!python/name:os.system", "f.yaml: neither YAML nor JSON: line 3, column 4"),
        ("? {a: 1}\n: 2", "f.yaml: neither YAML nor JSON: line 1, column 3: found unhashable key"),
        (
            "just text",
            "f.yaml: document 1: must be an object with apiVersion and kind, is a single",
        ),
        ("- a", "f.yaml: document 1: must be an object with apiVersion and kind, is a list"),
        ("kind: Pod", "f.yaml: document 1: apiVersion is missing"),
        ("apiVersion: v1\nkind: 3", "f.yaml: document 1: kind is missing"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "bytes",
)
def test_a_file_that_cannot_be_read_says_why(text: str | bytes, said: str) -> None:
    message = refused(text)
    assert said in message
    assert "\n" not in message


def test_lists_do_not_nest_for_ever() -> None:
    text = '{"apiVersion": "v1", "kind": "Pod"}'
    for _ in range(6):
        text = f'{{"apiVersion": "v1", "kind": "List", "items": [{text}]}}'
    assert "Lists within Lists within Lists" in refused(text)


def test_numbers_to_base_sixty_stay_text_as_in_kubectl() -> None:
    [found] = manifests(
        "file", b"apiVersion: v1\nkind: Pod\nmetadata: {annotations: {at: 12:30:45}}"
    )
    assert found.body["metadata"]["annotations"]["at"] == "12:30:45"


@pytest.mark.parametrize("value", ["!!bool maybe", '!!int ""', '!!float ""', "!!timestamp foo"])
def test_a_value_that_is_not_what_its_tag_says_is_an_error_of_the_file(value: str) -> None:
    with pytest.raises(UsageError, match="file: neither YAML nor JSON"):
        manifests("file", f"kind: Pod\nx: {value}".encode())
