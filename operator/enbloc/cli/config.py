# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc config`: check configuration files, show what they amount to, bring them up to date."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from enbloc.cli.entry import BAD_USAGE, OK
from enbloc.cli.files import sources

_FILE = click.Path(path_type=Path)


@click.group(short_help="Check, show and convert configuration files.")
def config() -> None:
    """Check, show and convert configuration files: no cluster is needed.

    A file is YAML or JSON, and holds a KubeSchedulerConfiguration (v1, v1beta3, v1beta2, v1beta1),
    a legacy Policy, an EnblocConfiguration, or several of these as YAML documents.
    """


@config.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
def check(*, files: tuple[Path, ...]) -> int:
    """Say whether files are valid, each by itself, and everything that is wrong with them."""
    from enbloc.config import configure  # noqa: PLC0415  # `--help` needs none of it
    from enbloc.errors import ConfigError  # noqa: PLC0415  # as above

    code = OK
    for file in files:
        try:
            found = configure(sources([file]))
        except ConfigError as error:
            click.echo(str(error), err=True)
            code = BAD_USAGE
        else:
            _warn(f"{file}: {warning}" for warning in found.warnings)
            click.echo(f"{file}: valid")
    return code


_raw = click.option("--raw", is_flag=True, help="Print passwords, tokens and private keys too.")


@config.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=_FILE)
@_raw
def show(*, files: tuple[Path, ...], raw: bool) -> None:
    """Print what files amount to, together and with every default filled in.

    Without a file it prints the defaults. Credentials are printed as *** (see --raw).
    """
    from enbloc.config import configure, effective  # noqa: PLC0415  # `--help` needs none of it

    found = configure(sources(files))
    _warn(found.warnings)
    _print(effective(found), raw=raw)


@config.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@_raw
def convert(*, files: tuple[Path, ...], raw: bool) -> None:
    """Print files of older versions, and Policy files, as KubeSchedulerConfiguration v1.

    Credentials are printed as *** (see --raw).
    """
    from enbloc.config import Findings  # noqa: PLC0415  # `--help` needs none of it
    from enbloc.config import convert as converted  # noqa: PLC0415  # as above

    findings = Findings()
    documents = converted(sources(files), findings)
    _warn(map(str, findings.warnings))
    _print(documents, raw=raw)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def _print(documents: Sequence[Any], *, raw: bool) -> None:
    import yaml  # noqa: PLC0415  # only what prints documents needs it

    from enbloc.config import hidden  # noqa: PLC0415  # `--help` needs none of it

    whole, documents = documents, documents if raw else [hidden(each) for each in documents]
    if documents != whole:
        _warn(["credentials are shown as ***: what is printed is incomplete; see --raw"])
    click.echo(yaml.safe_dump_all(documents, sort_keys=False, width=100), nl=False)
