# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The settings of every server process, of scheduler and controller alike."""

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
    from enbloc.client.lease import LeaseTiming, OtherHolder
    from enbloc.config import Configuration


@dataclass(frozen=True, slots=True)
class Options:
    """Settings that scheduler and controller share; one flag each.

    Attributes:
        kubeconfig: the file to use; None = `$KUBECONFIG`, the pod's service account, `~/.kube`.
        context: the context in it; None = the current one.
        master: the API server's URL, in place of the one found there; None = that one.
        request_rate: the most requests a second, for each client that scheduler and controller
            work with; from flags, else from the configuration.
        leader_elect: act only while holding the process' own Lease.
        lease_name: of the Lease; None = as the configuration says, or the process' default.
        lease_namespace: of the Lease; None = the pod's own namespace, else the context's.
        identity: the holder of the Lease; None = a generated name.
        lease_timing: of the election; None = as the configuration says, or the default.
        serving: where health, metrics and pages are served.
        webhooks: where the controller serves admission webhooks; None = it serves none.
        scheduler_names: the controller works for pods with these schedulerNames; empty = as the
            configuration says.
        configuration: what configuration files say about the scheduler; None = the defaults.
        health: the checks of the caller, which serves them; the process registers its own there.
            None = the process serves its own (`served_health`).
        dump_dir: where the scheduler writes dumps; None = it writes none.
        dump: set when a dump is wanted; the caller sets it on a signal.
        stop: once set, the process ends gracefully; the caller sets it on signals. None = the
            process ends only when its task is cancelled.
        take_signals: makes signals set `stop` again after another library has taken them over.
        clock: the source of time.
        other_holders: what this process has seen of other holders of each of its Leases, by
            namespace and name; a copy with other settings shares it.
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
    other_holders: "dict[tuple[str, str], OtherHolder]" = field(default_factory=dict)


@contextmanager
def served_health(options: Options) -> Generator[Health, None, None]:
    """Serve the checks and pages of this process for as long as the context lasts.

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
