# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What every server process is told at its start, whichever shell it runs."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from enbloc.client.clock import MACHINE, TimeSource
from enbloc.model.request_rate import RequestRate
from enbloc.process.serving import Access, Serving, Webhooks, served
from enbloc.telemetry import Health

if TYPE_CHECKING:
    from enbloc.client.lease import LeaseTiming
    from enbloc.config import Configuration


@dataclass(frozen=True, slots=True)
class Options:
    """Settings that scheduler and controller share; one flag each.

    Attributes:
        kubeconfig: the file to use; None = `$KUBECONFIG`, the pod's service account, `~/.kube`.
        context: the context in it; None = the current one.
        master: the API server's URL, in place of the one found there; None = that one.
        request_rate: the most requests a second, of each client that scheduler and controller make
            for their work; by flags, and then by the configuration.
        leader_elect: act only while holding the process' own Lease.
        lease_name: of the Lease; None = as the configuration says, or the process' own.
        lease_namespace: where the Lease is; None = the pod's own namespace, else the context's.
        identity: who takes the Lease; None = a name made up for the shell.
        lease_timing: None = as the configuration says, or the default.
        serving: where health, metrics and pages are served.
        webhooks: where the controller serves admission webhooks; None = it serves none.
        scheduler_names: for whose pods the controller works; empty = as the configuration says.
        configuration: what configuration files say about the scheduler; None = the defaults.
        health: where the shell registers its checks, when whoever runs it serves them; None = it
            serves its own (`served_health`).
        dump_dir: where the scheduler writes dumps; None = it writes none.
        dump: set whenever a dump is wanted; whoever runs it turns a signal into this.
        stop: once set, the shell ends gracefully; whoever runs it turns signals into this. None =
            it ends only when its task is cancelled.
        take_signals: has signals set `stop` again, in a loop where another has taken them over.
        clock: where the process has the time from.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    master: str | None = None
    request_rate: RequestRate = field(default_factory=RequestRate)
    leader_elect: bool = True
    lease_name: str | None = None
    lease_namespace: str | None = None
    identity: str | None = None
    lease_timing: "LeaseTiming | None" = None
    serving: Serving = field(default_factory=Serving)
    webhooks: Webhooks | None = None
    scheduler_names: tuple[str, ...] = ()
    configuration: "Configuration | None" = None
    health: Health | None = None
    dump_dir: Path | None = None
    dump: asyncio.Event | None = None
    stop: asyncio.Event | None = None
    take_signals: Callable[[], None] = lambda: None
    clock: TimeSource = MACHINE


@contextmanager
def served_health(options: Options) -> Generator[Health, None, None]:
    """The checks and pages of this process, served for as long as the context lasts.

    Raises:
        ConfigError: an address, a port or a certificate cannot be used.
    """
    if options.health is not None:
        yield options.health
        return
    own = Access(options.kubeconfig, options.context, options.master)
    health = Health()
    with served(health, options.serving, own):
        yield health
