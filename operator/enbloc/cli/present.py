# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading the cluster as it is, for the commands that run the engine themselves."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from enbloc.cli.files import sources
from enbloc.cli.running import run
from enbloc.cli.tables import say
from enbloc.model import names

if TYPE_CHECKING:
    from enbloc.client.client import Client
    from enbloc.config import Configuration, Source
    from enbloc.live import Reading
    from enbloc.simulation import Outlook, Present

#: Where the chart and the manifests put the scheduler's configuration.
_CONFIG_MAP: Final = f"{names.SCHEDULER_NAME}-scheduler"


class Access(NamedTuple):
    """How a command reaches a cluster, by its flags.

    Attributes:
        command: who asks, for the API server's logs.
        configs: files with the scheduler's configuration; none = that of the cluster's ConfigMap,
            or the defaults.
        kubeconfig: None = the usual ones.
        context: within it; None = the current one.
    """

    command: str
    configs: Sequence[Path]
    kubeconfig: Path | None
    context: str | None


def present(
    access: Access, also: "Callable[[Client], Awaitable[None]] | None" = None
) -> "tuple[Present, str]":
    """What the scheduler would list now, and the namespace that the kubeconfig's context names.

    What could not be read of it is printed as a warning.

    Args:
        access: to the cluster.
        also: reads what else is wanted, by the same client.

    Raises:
        ExceptionGroup: of the APIError of each resource that cannot be listed.
        EnblocError: the configuration, or the kubeconfig, cannot be used.
    """
    # What would be logged of malformed objects is among the warnings.
    logging.getLogger("enbloc").addHandler(logging.NullHandler())
    reading, namespace = run(_read(access, also))
    warn(reading.problems)
    return reading.present, namespace


async def _read(
    access: Access, also: "Callable[[Client], Awaitable[None]] | None"
) -> "tuple[Reading, str]":
    # Imported here: `--help` needs none of it.
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.cluster_access import load  # noqa: PLC0415
    from enbloc.client.permissions import SIMULATION  # noqa: PLC0415
    from enbloc.live import read_once  # noqa: PLC0415

    given = configured(sources(access.configs)) if access.configs else None
    named = Path(given.kubeconfig) if given is not None and given.kubeconfig else None
    cluster = await load(access.kubeconfig or named, access.context)
    async with Client(cluster, component=access.command, rules=SIMULATION) as client:
        found, unread = ((), "") if given is not None else await of_cluster(client)
        reading = await read_once(client, given or configured(found))
        if also is not None:
            await also(client)
    warn([unread] if unread else [])  # nothing of it matters where the cluster cannot be read
    return reading, cluster.namespace


def configured(found: "Sequence[Source]") -> "Configuration":
    """The configuration of the scheduler, with defaults."""
    from enbloc.config import configure, default_configuration  # noqa: PLC0415

    configuration = configure(found) if found else default_configuration()
    warn(configuration.warnings)
    return configuration


async def of_cluster(client: "Client") -> "tuple[Sequence[Source], str]":
    """The configuration that the scheduler of this cluster reads, and why it cannot be read.

    None, and "", where there is no such ConfigMap.
    """
    from enbloc.client.errors import APIError, NotFound  # noqa: PLC0415
    from enbloc.client.paths import CONFIG_MAPS  # noqa: PLC0415
    from enbloc.config import Source  # noqa: PLC0415

    where = f"ConfigMap {names.NAMESPACE}/{_CONFIG_MAP}"
    try:
        found = await client.get(CONFIG_MAPS, _CONFIG_MAP, names.NAMESPACE)
    except NotFound:
        return (), ""
    except APIError as error:
        return (), f"{where}: {error.message}; assuming the defaults: pass --config FILE"
    data = found.get("data")
    texts = data.items() if isinstance(data, dict) else ()
    return [Source(f"{where}, {key}", text) for key, text in texts if isinstance(text, str)], ""


def warn(warnings: Sequence[str]) -> None:
    """Print each as a warning."""
    for warning in warnings:
        say(f"warning: {warning}", err=True)


def outlook(access: Access) -> "tuple[Outlook, str]":
    """What becomes of who waits, and the namespace that the kubeconfig's context names.

    Raises:
        ExceptionGroup: of the APIError of each resource that cannot be listed.
        EnblocError: the configuration, or the kubeconfig, cannot be used.
    """
    found, namespace = present(access)
    from enbloc.process import copies  # noqa: PLC0415  # not for `--help`
    from enbloc.simulation import Outlook  # noqa: PLC0415

    return Outlook(found, copies.in_copy if copies.AVAILABLE else None), namespace
