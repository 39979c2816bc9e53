# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of configuration share: files as text, and what is said about them."""

import textwrap
from pathlib import Path
from typing import Any

import yaml

from enbloc.config import Configuration, Findings, Source, configure
from enbloc.errors import ConfigError
from enbloc.framework.registry import Registry

DATA = Path(__file__).parent / "data"
HEAD = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""


def sample(name: str) -> str:
    """A file of tests/config/data."""
    return (DATA / name).read_text("utf-8")


def v1(body: str) -> str:
    """A KubeSchedulerConfiguration v1 with these fields."""
    return HEAD + textwrap.dedent(body)


def one(body: str) -> str:
    """A v1 configuration with one profile, which has these fields."""
    return v1("profiles:\n- schedulerName: a\n" + textwrap.indent(textwrap.dedent(body), "  "))


def args(plugin: str, given: dict[str, Any]) -> str:
    """A v1 configuration that gives a plugin these arguments."""
    profile = {"pluginConfig": [{"name": plugin, "args": given}]}
    return HEAD + yaml.safe_dump({"profiles": [profile]})


def configured(*texts: str, registry: Registry | None = None) -> Configuration:
    """The configuration that these files make."""
    sources = [Source(f"f{index}", text) for index, text in enumerate(texts)]
    return configure(sources, registry)


def problems(*texts: str, registry: Registry | None = None) -> list[str]:
    """Everything that is wrong with these files, without their names."""
    findings = Findings()
    sources = [Source(f"f{index}", text) for index, text in enumerate(texts)]
    try:
        configure(sources, registry, findings)
    except ConfigError as error:
        lines = str(error).splitlines()
        return [line.removeprefix("  ") for line in lines if line.startswith("  ")]
    return []
