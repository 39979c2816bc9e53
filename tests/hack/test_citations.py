# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a text refers to is there, and the finding says where it is not."""

from pathlib import Path

import pytest

from hack import citations

RULES = "# Rules\n\n## 1 Terms\n\n## 3 Binding\n\n### 3.4 Three outcomes\n\nAs in §1.\n"


def problems(folder: Path, **files: str) -> list[str]:
    """The findings in a repository of the rules and these files; "__" is a slash, "_md" ".md"."""
    written = [Path(citations.RULES)]
    texts = {Path(citations.RULES): RULES}
    for name, text in files.items():
        path = Path(name.replace("__", "/").replace("_md", ".md").replace("_py", ".py"))
        texts[path] = text
        written.append(path)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return citations.problems(folder, written)


@pytest.mark.parametrize(
    "text",
    [
        "# semantics §3.4",
        "# semantics §1, §3.4 and §3",
        "# semantics §1 to §3",
        '"""Semantics §3.4: sent again."""',
        '"""Sent again, which is a rule of (semantics\n    §3.4)."""',
        "# it is a rule of semantics\n# §3.4",
    ],
)
def test_a_rule_that_exists_may_be_cited(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, a_py=text) == []


def test_a_rule_that_does_not_exist_is_found_with_its_line(tmp_path: Path) -> None:
    assert problems(tmp_path, a_py="x = 1\n# semantics §1, §3.5\n") == [
        f"a.py:2: §3.5: {citations.RULES} has no such heading"
    ]


def test_a_number_without_a_page_is_found(tmp_path: Path) -> None:
    assert problems(tmp_path, a_py="# as §3.4 has it") == [
        "a.py:1: §3.4: of which page? say `semantics §3.4`"
    ]


def test_a_number_that_is_none_is_found(tmp_path: Path) -> None:
    assert problems(tmp_path, a_py="# as semantics §x has it") == [
        f"a.py:1: §x: {citations.RULES} has no such heading"
    ]


def test_the_sign_alone_cites_nothing(tmp_path: Path) -> None:
    assert problems(tmp_path, a_py='SECTION = re.compile(r"§(\\d+)")') == []


def test_the_rules_cite_themselves_by_the_number_alone(tmp_path: Path) -> None:
    (finding,) = problems(tmp_path, docs__reference__semantics_md=RULES + "As in §9.\n")

    assert finding.endswith(f"§9: {citations.RULES} has no such heading")


@pytest.mark.parametrize(
    "named", ["docs/reference/semantics.md", "reference/semantics.md", "b.md", "/docs/b.md", "*.md"]
)
def test_a_page_is_named_from_the_root_from_docs_or_from_beside_it(
    tmp_path: Path, named: str
) -> None:
    assert problems(tmp_path, docs__b_md="# B\n", docs__a_py=f"# {named}") == []


def test_a_page_that_does_not_exist_is_found(tmp_path: Path) -> None:
    assert problems(tmp_path, a_py="# see nowhere.md") == [
        "a.py:1: nowhere.md: no such page in the repository"
    ]


def test_a_page_without_that_heading_is_found(tmp_path: Path) -> None:
    page = "# Of gangs, and *more*\n"
    assert problems(tmp_path, docs__b_md=page, a_py="# docs/b.md#of-gangs-and-more") == []
    assert problems(tmp_path, docs__b_md=page, a_py="# docs/b.md#more") == [
        "a.py:1: docs/b.md#more: docs/b.md has no such heading"
    ]


def test_a_page_of_elsewhere_is_not_looked_for(tmp_path: Path) -> None:
    assert problems(tmp_path, a_py="# https://example.com/nowhere.md") == []


def test_links_lead_to_files_and_headings(tmp_path: Path) -> None:
    page = (
        "# A\n\n## Twice\n\n## Twice\n\n[b](b.py) [top](#a) [second](#twice-1)\n"
        "[rule](reference/semantics.md#34-three-outcomes) [away](https://example.com/x.md#y)\n"
    )
    assert problems(tmp_path, docs__a_md=page, docs__b_py="") == []


@pytest.mark.parametrize(
    ("link", "finding"),
    [
        ("[b](gone.py)", "gone.py: leads nowhere"),
        ("[b](#b)", "#b: docs/a.md has no such heading"),
        (
            "[b](reference/semantics.md#35-four)",
            f"reference/semantics.md#35-four: {citations.RULES} has no such heading",
        ),
    ],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str, finding: str) -> None:
    assert problems(tmp_path, docs__a_md=f"# A\n\n{link}\n") == [f"docs/a.md:3: {finding}"]


def test_what_looks_like_a_link_in_an_example_is_none(tmp_path: Path) -> None:
    page = "# A\n\n```python\nfilters[name](pod)\n# heading\n```\n\n`filters[name](pod)`\n"
    assert problems(tmp_path, docs__a_md=page) == []


@pytest.mark.parametrize(
    ("named", "findings"),
    [
        ("engine/a.py", []),
        ("operator/enbloc/engine/a.py:Table.put", []),
        ("state/b.py:MOST", []),
        ("engine/a.py:Table.put.<locals>.seen", []),
        ("engine/c.py", ["engine/c.py: no such module in the repository"]),
        ("engine/a.py:Table.take", ["engine/a.py: defines no take"]),
        ("a.py", []),
    ],
)
def test_a_module_that_a_page_names_is_there_and_defines_what_it_says(
    tmp_path: Path, named: str, findings: list[str]
) -> None:
    module = "class Table:\n    async def put(self):\n        def seen(): take()\n"
    found = problems(
        tmp_path,
        operator__enbloc__engine__a_py=module,
        operator__enbloc__engine__state__b_py="MOST: int = 3\n",
        docs__a_md=f"# A\n\nSee `{named}`.\n",
    )
    assert found == [f"docs/a.md:3: {finding}" for finding in findings]


@pytest.mark.parametrize(
    "source",
    [
        "kube-scheduler v1.36 pkg/scheduler/framework/types.go FitError.Error.",
        "kubelet v1.36.2 pkg/kubelet/kubelet.go rejectPod; pkg/kubelet/kubelet_pods.go.",
        "kube-scheduler v1.36\n    pkg/scheduler/framework/plugins/nodename.",
        "semantics §3.4.",
    ],
)
def test_a_source_names_project_version_and_path_or_a_rule(tmp_path: Path, source: str) -> None:
    text = f'def f():\n    """Do it.\n\n    Source: {source}\n    """\n'
    assert problems(tmp_path, a_py=text) == []


@pytest.mark.parametrize(
    "source",
    [
        "kube-scheduler.",
        "kube-scheduler pkg/scheduler/framework/types.go.",
        "kube-scheduler v1.36 FitError.",
        "the documentation of Kubernetes v1.36.",
    ],
)
def test_a_source_without_version_or_path_is_found(tmp_path: Path, source: str) -> None:
    (finding,) = problems(tmp_path, a_py=f"#: How long. Source: {source}\nLONG = 1\n")

    assert finding == f"a.py:1: {source}: neither a rule nor upstream: project vX.Y path symbol"


def test_a_docstring_that_is_a_source_alone_is_found(tmp_path: Path) -> None:
    text = '"""Source: kube-scheduler v1.36 pkg/scheduler/extender.go."""\n'
    assert problems(tmp_path, a_py=text) == ["a.py:1: a docstring says what, and then its source"]
