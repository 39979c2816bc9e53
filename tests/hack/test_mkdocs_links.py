# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The site carries the files that pages link to, and a dead link fails its build."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.processes

ROOT: Final = Path(__file__).parent.parent.parent
#: What a browser loads from another server.
LOADED: Final = re.compile(r"""(?:<script|<img|<link)[^>]+["'](?:https?:)?//[^"']+""")


def built(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a copy of the repository."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """What the site is built from; its pages may be changed."""
    for path in ROOT.iterdir():
        if path.name in ("docs", "hack", "mkdocs.yml"):
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            copy(path, tmp_path / path.name)
        elif path.name != "site":
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


def test_the_site_links_to_files_outside_docs_and_loads_nothing_from_elsewhere(
    repository: Path,
) -> None:
    done = built(repository)
    assert done.returncode == 0, done.stderr
    site = repository / "site"
    text = (site / "how-to/survive-a-node.html").read_text("utf-8")
    assert 'href="../repository/manifests/examples/survive-a-node.yaml"' in text
    assert (site / "repository/manifests/examples/survive-a-node.yaml").is_file()
    for page in site.rglob("*.html"):
        assert not LOADED.findall(page.read_text("utf-8")), page


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("[gone](gone.md)", "'gone.md'"),
        ("[gone](reference/semantics.md#gone)", "does not contain an anchor '#gone'"),
        ("[gone](../manifests/gone.yaml)", "'../manifests/gone.yaml'"),
    ],
)
def test_a_dead_link_is_named(repository: Path, link: str, said: str) -> None:
    with (repository / "docs/index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{link}\n")
    done = built(repository)
    assert done.returncode == 1
    assert said in done.stdout + done.stderr


def test_a_page_outside_the_navigation_is_named(repository: Path) -> None:
    (repository / "docs/how-to/lost.md").write_text("# Lost\n", encoding="utf-8")
    done = built(repository)
    assert done.returncode == 1
    assert "how-to/lost.md" in done.stdout + done.stderr
