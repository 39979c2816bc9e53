# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Settings that kube-scheduler honours and enbloc does not: accepted, with a warning."""

from collections.abc import Iterator, Mapping
from typing import Final

from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.models import KubeSchedulerConfiguration, PluginSet
from enbloc.config.strict import Strict

_EVERY_NODE: Final = "every node is examined: one array operation costs as much as a sample"
_NO_PLACEMENTS: Final = "enbloc generates no placements yet"
_NO_PROFILER: Final = "enbloc has no such profiler"

#: Field of the document → why it has no effect.
TOP: Final[Mapping[str, str]] = {
    "parallelism": "enbloc makes one decision at a time, over all nodes at once",
    "percentageOfNodesToScore": _EVERY_NODE,
    "percentageOfPlacementsToScore": _NO_PLACEMENTS,
    "enableProfiling": _NO_PROFILER,
    "enableContentionProfiling": _NO_PROFILER,
    "delayCacheUntilActive": "a standby always reads the cluster, so that it can take over at once",
}
#: Field of `clientConnection` → why it has no effect.
CONNECTION: Final[Mapping[str, str]] = {
    "contentType": "enbloc uses JSON only",
    "acceptContentTypes": "enbloc uses JSON only",
}
#: Field of a profile → why it has no effect.
PROFILE: Final[Mapping[str, str]] = {
    "percentageOfNodesToScore": _EVERY_NODE,
    "percentageOfPlacementsToScore": _NO_PLACEMENTS,
}
#: Extension point → why nothing is asked there.
POINTS: Final[Mapping[str, str]] = {
    "placementGenerate": _NO_PLACEMENTS,
    "placementScore": _NO_PLACEMENTS,
    "placementFeasible": _NO_PLACEMENTS,
    "podGroupPostFilter": "enbloc has no such extension point yet",
}
_JSON: Final = "application/json"
#: Where one of these is the reason, something is lost; elsewhere the setting has no purpose here.
_LACKING: Final = (_NO_PLACEMENTS, _NO_PROFILER, POINTS["podGroupPostFilter"])


def warn_of_unhonoured(config: KubeSchedulerConfiguration, findings: Findings) -> None:
    """Name every field that was given and has no effect."""
    _warn(config, TOP, findings)
    if config.client_connection is not None:
        _warn(config.client_connection, CONNECTION, findings)
    for profile in config.profiles:
        _warn(profile, PROFILE, findings)
        if profile.plugins is not None:
            _warn(profile.plugins, POINTS, findings)


def _warn(model: Strict, reasons: Mapping[str, str], findings: Findings) -> None:
    for name, value in _given(model):
        empty = isinstance(value, PluginSet) and not value.enabled and not value.disabled
        if name in reasons and value != _JSON and not empty:
            outcome = (
                SettingOutcome.LOST
                if value and reasons[name] in _LACKING
                else SettingOutcome.NOT_NEEDED
            )
            text = f"accepted and not honoured: {reasons[name]}"
            findings.warning(model.at(name), text, outcome)


def _given(model: Strict) -> Iterator[tuple[str, object]]:
    """The fields that were written, by their names in the file."""
    for field, info in type(model).model_fields.items():
        if field in model.model_fields_set and info.alias is not None:
            yield info.alias, getattr(model, field)
