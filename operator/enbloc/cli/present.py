# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading the current state of the cluster, for the commands that run the engine themselves."""

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.dumps import present_of
from enbloc.cli.files import sources
from enbloc.cli.flags import all_of, cluster_flags, config_flag, dump_file_flag
from enbloc.cli.running import run, uncollected
from enbloc.cli.tables import say, warn
from enbloc.errors import ConfigError, UsageError
from enbloc.model import names
from enbloc.model.text import clipped
from enbloc.model.times import time_text

if TYPE_CHECKING:
    from enbloc.client.client import Client
    from enbloc.client.config import Cluster
    from enbloc.config import Configuration, Source
    from enbloc.live import Reading
    from enbloc.simulation import Outlook, PresentState

#: The key of the ConfigMap that the scheduler reads.
_KEY: Final = "config.yaml"
#: The namespace if no kubeconfig names one.
_NAMESPACE: Final = "default"
#: The longest part of a configuration error that is printed (characters).
_LONGEST: Final = 200
_DEFAULTS: Final = "assuming the defaults: pass --config FILE"
#: The time limit for deciding what waits; then the answer is what was decided by then (seconds).
BASE_SECONDS: Final = 60.0
#: The time limit for the slow answers: which change would help, and who starts when (seconds).
SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Access:
    """How a command reaches a cluster or a dump, by its flags.

    Attributes:
        command: the command, for the API server's logs.
        configs: files with the scheduler's configuration; none = the cluster's ConfigMap or the
            defaults, or the dump's own.
        kubeconfig: the file; None = the usual ones.
        context: the context in it; None = the current one.
        dump: a scheduler's dump, in place of a cluster; None = use the cluster.
        said: the warnings and notes already printed, which are not printed again.
    """

    command: str
    configs: Sequence[Path]
    kubeconfig: Path | None
    context: str | None
    dump: Path | None = None
    said: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        """Check that the flags name only one source.

        Raises:
            UsageError: they name a dump and a cluster.
        """
        flags = {"--kubeconfig": self.kubeconfig, "--context": self.context}
        given = [flag for flag, value in flags.items() if value is not None]
        if self.dump is not None and given:
            raise UsageError(
                f"--dump: no cluster is read; leave out {' and '.join(given)}, or --dump"
            )

    @contextmanager
    def answering(self) -> Generator[None]:
        """A context in which the engine works on what was read.

        Raises:
            UsageError: the engine cannot use the dump. Either the file was changed, or enbloc has
                a bug; the message holds what tells them apart.
        """
        try:
            yield
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            if self.dump is None:
                raise
            problem = f"{type(error).__name__}: {error}"
            raise UsageError(
                f"{self.dump}: the engine cannot use its content: {problem}"
            ) from error

    def warn(self, warnings: Iterable[str]) -> None:
        """Print each as a warning, once."""
        warn(self._new(warnings))

    def note(self, notes: Iterable[str]) -> None:
        """Print each as a note, once."""
        for note in self._new(notes):
            say(f"note: {note}", err=True)

    def _new(self, lines: Iterable[str]) -> Sequence[str]:
        """The lines not printed yet; they count as printed from now on."""
        new = [line for line in dict.fromkeys(lines) if line not in self.said]
        self.said.update(new)
        return new


def access_flags(command: Callable[..., int]) -> Callable[..., int]:
    """`--config`, `--dump`, `--kubeconfig` and `--context`, which the command gets as `access`."""

    @wraps(command)
    def reaching(
        *,
        configs: tuple[Path, ...],
        dump: Path | None,
        kubeconfig: Path | None,
        context: str | None,
        **others: Any,
    ) -> int:
        name = click.get_current_context().command.name or ""
        return command(access=Access(name, configs, kubeconfig, context, dump), **others)

    return all_of((config_flag, dump_file_flag, cluster_flags), reaching)


def present(
    access: Access, also: "Callable[[Client], Awaitable[None]] | None" = None
) -> "tuple[PresentState, str]":
    """What the scheduler would list now, and the namespace of the kubeconfig's context.

    Prints a warning for what could not be read. From a dump, it is what the scheduler knew when it
    wrote the dump, and the namespace "default".

    Args:
        access: to the cluster.
        also: reads more with the same client; not called for a dump.

    Raises:
        ExceptionGroup: an APIError for each resource that cannot be listed.
        EnblocError: the configuration, the kubeconfig or the dump cannot be used.
    """
    with uncollected():
        return _present(access, also)


def _present(
    access: Access, also: "Callable[[Client], Awaitable[None]] | None" = None
) -> "tuple[PresentState, str]":
    if access.dump is not None:
        return _dumped(access, access.dump), _NAMESPACE
    # Suppresses log lines about malformed objects: the warnings already name them.
    logging.getLogger("enbloc").addHandler(logging.NullHandler())
    reading, namespace = run(_read(access, also))
    access.warn(reading.problems)
    return reading.present, namespace


def _dumped(access: Access, dump: Path) -> "PresentState":
    """The cluster in a dump; prints a note with the time of the dump."""
    found, configuration = present_of(dump, access.configs)
    access.note([f"as of {time_text(found.now)}, from {dump}"])
    access.warn(configuration.warnings)
    return found


async def _read(
    access: Access, also: "Callable[[Client], Awaitable[None]] | None"
) -> "tuple[Reading, str]":
    # Imported here: `--help` needs none of it.
    from enbloc.client.client import Client  # noqa: PLC0415
    from enbloc.client.permissions import SIMULATION  # noqa: PLC0415
    from enbloc.live import read_once  # noqa: PLC0415

    cluster, given = await reached(access)
    async with Client(cluster, component=access.command, rules=SIMULATION) as client:
        found, unread = ((), "") if given is not None else await of_cluster(client)
        reading = await read_once(client, given or configured(found, access.warn))
        if also is not None:
            await also(client)
    access.warn([unread] if unread else [])  # only now: without a reading it does not matter
    return reading, cluster.namespace


async def reached(access: Access) -> "tuple[Cluster, Configuration | None]":
    """The cluster, and the configuration that the flags name; None = they name none.

    Raises:
        EnblocError: the configuration or the kubeconfig cannot be used.
    """
    from enbloc.client.cluster_access import load  # noqa: PLC0415  # not for `--help`

    given = configured(sources(access.configs), access.warn) if access.configs else None
    named = Path(given.kubeconfig) if given is not None and given.kubeconfig else None
    return await load(access.kubeconfig or named, access.context), given


def configured(
    found: "Sequence[Source]", tell: Callable[[Sequence[str]], None] = warn
) -> "Configuration":
    """The configuration of the scheduler, with defaults.

    Args:
        found: its files; none = the defaults.
        tell: called with the settings that are accepted and have no effect.

    Raises:
        ConfigError: names everything that is wrong.
    """
    from enbloc.config import configure, default_configuration  # noqa: PLC0415

    configuration = configure(found) if found else default_configuration()
    tell(configuration.warnings)
    return configuration


async def of_cluster(client: "Client") -> "tuple[Sequence[Source], str]":
    """The configuration that this cluster's scheduler reads, and why it cannot be used.

    Without such a ConfigMap, no sources and "". Returned sources can always be used.
    """
    from enbloc.client.errors import APIError, NotFound  # noqa: PLC0415
    from enbloc.client.paths import CONFIG_MAPS  # noqa: PLC0415
    from enbloc.config import Source, configure  # noqa: PLC0415

    where = f"ConfigMap {names.NAMESPACE}/{names.CONFIG_MAP}"
    try:
        found = await client.get(CONFIG_MAPS, names.CONFIG_MAP, names.NAMESPACE)
    except NotFound:
        return (), ""
    except APIError as error:
        return (), f"{where}: {error.message}; {_DEFAULTS}"
    data = found.get("data") or {}
    text = data.get(_KEY) if isinstance(data, dict) else None
    if not data:
        return (), ""
    if not isinstance(text, str):
        return (), f"{where}: has no key {_KEY}; {_DEFAULTS}"
    given = [Source(f"{where}, {_KEY}", text)]
    try:
        configure(given)
    except ConfigError as error:
        lines = str(error).splitlines()
        first, *others = lines[1:] or lines  # without the first line, which counts them
        more = f" (and {len(others)} more)" if others else ""
        problem = clipped(first.strip(), _LONGEST)
        return (), f"{given[0].name}: {problem}{more}; {_DEFAULTS}"
    return given, ""


def outlook(access: Access) -> "tuple[Outlook, str]":
    """What the scheduler would decide for waiting groups and pods, and the context's namespace.

    Prints a note if the simulation reaches its time limit.

    Raises:
        ExceptionGroup: an APIError for each resource that cannot be listed.
        EnblocError: the configuration or the kubeconfig cannot be used.
    """
    with uncollected():
        found, namespace = _present(access)
        from enbloc.process import copies  # noqa: PLC0415  # not for `--help`
        from enbloc.process.workers import until  # noqa: PLC0415
        from enbloc.simulation import Outlook  # noqa: PLC0415

        in_copy = copies.in_copy if copies.AVAILABLE else None
        with access.answering():
            said = Outlook(found, in_copy, until(BASE_SECONDS))
        access.note([said.cut] if said.cut else [])
        return said.within(until(SECONDS)), namespace
