# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The flags of admission webhooks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enbloc.cli.flags import F, Number, all_of
from enbloc.errors import ConfigError

if TYPE_CHECKING:
    from enbloc.process.serving import Webhooks

_FILE = click.Path(path_type=Path)
_FLAGS = (
    click.option(
        "--webhook-port",
        type=Number(0, 65535),
        default=0,
        show_default=True,
        help="HTTPS port for admission webhooks, on --bind-address. 0 disables them.",
    ),
    click.option(
        "--webhook-cert-file",
        metavar="FILE",
        type=_FILE,
        help="Certificate for the webhooks, followed by those of its issuers. Reloaded when it "
        "changes.",
    ),
    click.option(
        "--webhook-key-file",
        metavar="FILE",
        type=_FILE,
        help="Private key for the certificate.",
    ),
)


def webhook_flags(command: F) -> F:
    """Add the flags for admission webhooks to a command."""
    return all_of(_FLAGS, command)


def take_webhooks(flags: dict[str, Any], bind_address: str) -> "Webhooks | None":
    """Remove these flags from a command's flags; returns the settings, None = no webhooks.

    Raises:
        ConfigError: they have no certificate.
    """
    from enbloc.process.serving import Webhooks  # noqa: PLC0415  # `--help` needs none of it

    port = flags.pop("webhook_port", 0)
    certificate, key = flags.pop("webhook_cert_file", None), flags.pop("webhook_key_file", None)
    if not port:
        return None
    if certificate is None or key is None:
        raise ConfigError(
            "--webhook-port: give --webhook-cert-file and --webhook-key-file as well: the API "
            "server calls webhooks by HTTPS, and must know who signed the certificate"
        )
    return Webhooks(port, bind_address, (certificate, key))
