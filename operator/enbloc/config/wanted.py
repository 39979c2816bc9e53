# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Wanted: what configuration files ask for, decoded but not yet merged with the defaults.

Each part knows the path at which it was written, so that what is found wrong later can name it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from enbloc.config.configuration import LeaderElection
from enbloc.engine.settings import Settings
from enbloc.framework.extenders import Extender
from enbloc.model.request_rate import RequestRate

#: Beside the extension points, the list whose plugins go to every point that they have.
MULTI_POINT: Final = "multiPoint"
#: In `disabled`: every default.
EVERY: Final = "*"


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin in `enabled` or `disabled`.

    Attributes:
        weight: None = not given.
        where: its path; "" = a default.
    """

    name: str
    weight: int | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class PluginSet:
    """`enabled` and `disabled` at one extension point, or at MultiPoint."""

    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()

    @property
    def disabled_names(self) -> frozenset[str]:
        """What is disabled, `*` among them if it is."""
        return frozenset(entry.name for entry in self.disabled)


NOTHING: Final = PluginSet()


@dataclass(frozen=True, slots=True)
class Arguments:
    """The `args` of one plugin, as they were written, and their path."""

    given: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class WantedProfile:
    """One of `profiles`.

    Attributes:
        sets: by extension point, as spelled in the file, and `multiPoint`.
        arguments: by plugin name.
    """

    name: str
    where: str = ""
    sets: Mapping[str, PluginSet] = field(default_factory=dict[str, PluginSet])
    arguments: Mapping[str, Arguments] = field(default_factory=dict[str, Arguments])


@dataclass(frozen=True, slots=True)
class Wanted:
    """All that the files ask for.

    Attributes:
        kubeconfig: `clientConnection.kubeconfig`; "" = not named.
        request_rate: `clientConnection.qps` and `burst`.
    """

    profiles: tuple[WantedProfile, ...]
    extenders: tuple[Extender, ...] = ()
    settings: Settings = field(default_factory=Settings)
    leader_election: LeaderElection = field(default_factory=LeaderElection)
    kubeconfig: str = ""
    request_rate: RequestRate = field(default_factory=RequestRate)
