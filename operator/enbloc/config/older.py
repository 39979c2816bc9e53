# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""v1beta1, v1beta2 and v1beta3 of KubeSchedulerConfiguration, as v1.

The fields are the same. Differences are addresses that v1 lacks, plugins that were removed since,
and, before v1beta3, the default weights of three plugins.
"""

from collections.abc import Iterator
from typing import Any, Final

from enbloc.config.defaults import GONE, TAKEN_IN, removed
from enbloc.config.documents import WHERE, name_of
from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.models import GROUP, VERSION
from enbloc.config.wanted import EVERY, MULTI_POINT

#: With the weights of then.
OLDEST: Final = (f"{GROUP}/v1beta1", f"{GROUP}/v1beta2")
OLDER: Final = (*OLDEST, f"{GROUP}/v1beta3")

#: Served by flags since.
_ADDRESSES: Final = ("healthzBindAddress", "metricsBindAddress")
#: Weighed 1 by default in v1beta1 and v1beta2, and more in v1.
_WEIGHTLESS: Final = ("TaintToleration", "NodeAffinity", "InterPodAffinity")


def from_older(document: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """A stamped v1 document that does what this older one does."""
    old = document["apiVersion"]
    new = {**document, "apiVersion": VERSION}
    for field in _ADDRESSES:
        if new.pop(field, None):
            text = "not honoured: --bind-address and --secure-port set where health is served"
            findings.warning(field, text)
    profiles = document.get("profiles")
    if not profiles and old in OLDEST:
        profiles = [{WHERE: "profiles[0]"}]
    if isinstance(profiles, list):
        new["profiles"] = [_profile(each, old, findings) for each in profiles]
    return new


def _profile(profile: Any, old: str, findings: Findings) -> Any:
    if not isinstance(profile, dict):
        return profile
    new = dict(profile)
    plugins = profile.get("plugins")
    if isinstance(plugins, dict):
        new["plugins"] = {
            point: _set(found, findings) if isinstance(found, dict) else found
            for point, found in plugins.items()
        }
    configs = profile.get("pluginConfig")
    if isinstance(configs, list):
        new["pluginConfig"] = [each for each in configs if not _is_gone(each, findings)]
    if old in OLDEST:
        new["plugins"] = _with_weights(new.get("plugins") or {})
    return new


def _set(found: dict[str, Any], findings: Findings) -> dict[str, Any]:
    new = dict(found)
    enabled, disabled = found.get("enabled"), found.get("disabled")
    if isinstance(enabled, list):
        new["enabled"] = list(_enabled(enabled, findings))
    if isinstance(disabled, list):
        new["disabled"] = [each for each in disabled if not removed(name_of(each))]
    return new


def _enabled(entries: list[Any], findings: Findings) -> Iterator[Any]:
    """The entries by today's names; one that several old names stand for comes once."""
    seen = {name_of(each) for each in entries}
    for each in entries:
        name = name_of(each)
        path = f"{each[WHERE]}.name" if isinstance(each, dict) else ""
        if name in GONE:
            findings.problem(path, removed(name))
        elif name in TAKEN_IN:
            successor = TAKEN_IN[name]
            findings.warning(path, removed(name), SettingOutcome.CHANGED)
            if successor not in seen:
                seen.add(successor)
                yield {**each, "name": successor}
        else:
            yield each


def _is_gone(config: Any, findings: Findings) -> bool:
    why = removed(name_of(config))
    if why:
        findings.warning(config[WHERE], f"{why}; its arguments are ignored")
    return bool(why)


def _with_weights(plugins: Any) -> Any:
    """The plugins with the default weights of then, said where v1 would not assume them."""
    if not isinstance(plugins, dict):
        return plugins
    found = plugins.get(MULTI_POINT) or {}
    enabled = found.get("enabled") or [] if isinstance(found, dict) else None
    disabled = found.get("disabled") or [] if isinstance(found, dict) else None
    if not isinstance(enabled, list) or not isinstance(disabled, list):
        return plugins
    said = {name_of(each) for each in (*enabled, *disabled)}
    if EVERY in said:
        return plugins
    more = [{"name": name, "weight": 1} for name in _WEIGHTLESS if name not in said]
    return {**plugins, MULTI_POINT: {**found, "enabled": [*enabled, *more]}}
