# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Scheduler and controller in one process, for development and small clusters."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from enbloc.controller import run_controller
from enbloc.kube import cluster_access
from enbloc.kube.options import Options, served_health
from enbloc.live import run_scheduler
from enbloc.model.names import KUBE_SCHEDULER_LEASE

Shell = Callable[[Options], Awaitable[int]]


async def run_both(options: Options) -> int:
    """Run both until told to stop; when one ends, so does the other.

    Args:
        options: for both; they share the health server.

    Returns:
        0 after a stop that was asked for; else the exit code of what failed.

    Raises:
        ConfigError: as the two do.
    """
    # Before anything is served: what is served looks for the same API server, and would say first
    # what that means to it.
    await cluster_access.load(options.kubeconfig, options.context, master=options.master)
    theirs = replace(options, lease_name=controller_lease(options))

    async def controller(shared: Options) -> int:
        return await run_controller(
            replace(theirs, health=shared.health, stop=shared.stop, lease_timing=None)
        )

    return await run_together(options, (run_scheduler, controller))


def controller_lease(options: Options) -> str | None:
    """The controller's Lease beside the scheduler's `NAME-scheduler`; None = the default."""
    found = options.configuration and options.configuration.leader_election.resource_name
    name = options.lease_name or found or ""
    release, _, rest = name.rpartition("-")
    if rest != "scheduler" or name == KUBE_SCHEDULER_LEASE:
        return None
    return f"{release}-controller"


async def run_together(options: Options, shells: tuple[Shell, ...]) -> int:
    """Run shells in one process, with one health server and one stop."""
    stop = options.stop or asyncio.Event()
    with served_health(options) as health:
        shared = replace(options, health=health, stop=stop)

        async def run(shell: Shell) -> int:
            try:
                return await shell(shared)
            finally:
                stop.set()

        outcomes = await asyncio.gather(*map(run, shells), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return max(outcome for outcome in outcomes if isinstance(outcome, int))
