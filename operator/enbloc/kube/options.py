# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What every server process is told at its start, whichever shell it runs."""

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from enbloc.errors import ConfigError
from enbloc.model import names
from enbloc.telemetry import Health, HealthServer

if TYPE_CHECKING:
    from enbloc.config import Configuration

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """Settings that scheduler and controller share; one flag each.

    Attributes:
        kubeconfig: the file to use; None = `$KUBECONFIG`, the pod's service account, `~/.kube`.
        context: the context in it; None = the current one.
        leader_elect: act only while holding the process' own Lease.
        lease_namespace: where the Lease is; None = the pod's own namespace, else the context's.
        identity: who takes the Lease; None = a name made up for the shell.
        bind_address: which address the health server listens on.
        health_port: its port; 0 = no health server.
        strict_port: a port already in use is an error; else a warning, and no health server.
        configuration: what configuration files say about the scheduler; None = the defaults.
        health: where the shell registers its checks, when whoever runs it serves them; None = it
            serves its own (`served_health`).
        dump_dir: where the scheduler writes dumps; None = it writes none.
        dump: set whenever a dump is wanted; whoever runs it turns a signal into this.
        stop: once set, the shell ends gracefully; whoever runs it turns signals into this. None =
            it ends only when its task is cancelled.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    leader_elect: bool = True
    lease_namespace: str | None = None
    identity: str | None = None
    bind_address: str = "127.0.0.1"
    health_port: int = names.HEALTH_PORT
    strict_port: bool = True
    configuration: "Configuration | None" = None
    health: Health | None = None
    dump_dir: Path | None = None
    dump: asyncio.Event | None = None
    stop: asyncio.Event | None = None


@contextmanager
def served_health(options: Options) -> Generator[Health, None, None]:
    """The checks of this process, served for as long as the context lasts.

    Raises:
        ConfigError: the port cannot be had, and `strict_port` is set.
    """
    health = options.health or Health()
    if options.health is not None or not options.health_port:
        yield health
        return
    try:
        server = HealthServer(health, options.health_port, options.bind_address)
    except ConfigError as error:
        if options.strict_port:
            raise
        logger.warning("Health server is off: %s", error)
        yield health
        return
    with server:
        yield health
