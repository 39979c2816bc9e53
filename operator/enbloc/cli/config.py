# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc config`: check configuration files, show their effect, convert other projects'."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import BAD_USAGE, OK
from enbloc.cli.files import sources
from enbloc.cli.flags import output_flag
from enbloc.cli.tables import print_table, say, warn
from enbloc.model.names import CLI_API_VERSION

if TYPE_CHECKING:
    from enbloc.config import Conversion

#: Exit code: a file was converted, and at least one of its settings no longer has an effect.
LOSSY: Final = 3

_FILE = click.Path(path_type=Path)


@click.group(short_help="Check, show and convert configuration files.")
def config() -> None:
    """Check, show and convert configuration files. No cluster is needed.

    A file is YAML or JSON, and holds a KubeSchedulerConfiguration (v1, v1beta3, v1beta2, v1beta1),
    a legacy Policy, an EnblocConfiguration, or several of these as YAML documents.
    """


@config.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
def check(*, files: tuple[Path, ...]) -> int:
    """Validate each file by itself, and report everything that is wrong with it."""
    from enbloc.config import configure  # noqa: PLC0415  # `--help` needs none of it
    from enbloc.errors import ConfigError  # noqa: PLC0415  # as above

    code = OK
    for file in files:
        try:
            found = configure(sources([file]))
        except ConfigError as error:
            for line in str(error).split("\n"):
                say(line, err=True)
            code = BAD_USAGE
        else:
            warn(f"{file}: {warning}" for warning in found.warnings)
            say(f"{file}: valid")
    return code


_raw = click.option("--raw", is_flag=True, help="Print passwords, tokens and private keys too.")


@config.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=_FILE)
@_raw
def show(*, files: tuple[Path, ...], raw: bool) -> None:
    """Print the configuration that all files together result in, with every default filled in.

    Without a file, print the defaults. Credentials are printed as *** (see --raw).
    """
    from enbloc.config import configure, effective  # noqa: PLC0415  # `--help` needs none of it

    found = configure(sources(files))
    warn(found.warnings)
    _print(effective(found), raw=raw)


@config.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@output_flag
@_raw
def convert(*, files: tuple[Path, ...], output: str, raw: bool) -> int:
    """Convert configuration files of other schedulers or older versions to enbloc's configuration.

    A file may be from an older version of kube-scheduler (v1beta1 to v1beta3, Policy), from a
    kube-scheduler with the plugins of scheduler-plugins or Koordinator, or from Volcano
    (volcano-scheduler.conf), or a ConfigMap that holds such a file. The configuration goes to
    stdout, a table that shows what each setting became to stderr. With --output=json both are one
    object on stdout. Credentials are printed as *** (see --raw).

    Exit code: 0 nothing was lost, 3 at least one setting no longer has an effect, 2 a file cannot
    be read, or holds something that must not be left out.
    """
    from enbloc.config import Findings  # noqa: PLC0415  # `--help` needs none of it
    from enbloc.config import convert as converted  # noqa: PLC0415  # as above

    found = converted(sources(files), Findings())
    if output == "json":
        documents = _shown(found.documents, raw=raw)
        click.echo(json.dumps(_conversion(found, documents), indent=2, default=str))
    else:
        _print(found.documents, raw=raw)
        _print_settings(found)
    return LOSSY if found.lost else OK


def _print_settings(found: "Conversion") -> None:
    """Print the table of settings, with a column for the file if there are several."""
    several = len({each.source for each in found.settings}) > 1
    rows = [
        (*([each.source] if several else []), each.path, each.value, each.outcome, each.text)
        for each in found.settings
    ]
    titles = ("SETTING", "VALUE", "OUTCOME", "BECAME")
    print_table(("FILE", *titles) if several else titles, rows, err=True)
    say(f"lost: {found.lost} of {len(rows)} settings", err=True)


def _conversion(found: "Conversion", documents: Sequence[Any]) -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": CLI_API_VERSION,
        "kind": "Conversion",
        "lost": found.lost,
        "settings": [
            {
                "file": each.source,
                "path": each.path,
                "value": each.value,
                "outcome": str(each.outcome),
                "became": each.text,
            }
            for each in found.settings
        ],
        "documents": documents,
    }


def _print(documents: Sequence[Any], *, raw: bool) -> None:
    import yaml  # noqa: PLC0415  # only printing documents needs it

    shown = _shown(documents, raw=raw)
    click.echo(yaml.safe_dump_all(shown, sort_keys=False, width=100), nl=False)


def _shown(documents: Sequence[Any], *, raw: bool) -> Sequence[Any]:
    """The documents as they are printed, with credentials hidden unless `raw`."""
    from enbloc.config import hidden  # noqa: PLC0415  # `--help` needs none of it

    shown = documents if raw else [hidden(each) for each in documents]
    if shown != documents:
        warn(["credentials are printed as ***, so the output is incomplete; see --raw"])
    return shown
