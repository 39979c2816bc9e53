# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Showing: a Configuration as documents that say all of it, and that read back to the same."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from enbloc.config.argument_models import MODELS, NoArgs
from enbloc.config.arguments import read
from enbloc.config.configuration import Configuration, Given, LeaderElection
from enbloc.config.defaults import DEFAULTS, is_implied
from enbloc.config.findings import Findings
from enbloc.config.models import KIND, OUR_KIND, OUR_VERSION, VERSION
from enbloc.config.outside import outside_values
from enbloc.config.strict import duration
from enbloc.config.wanted import EVERY, MULTI_POINT, Arguments
from enbloc.engine.preemption import PreemptionLimits
from enbloc.framework.decide import Plugin
from enbloc.framework.extenders import TLS, Extender
from enbloc.framework.points import Point
from enbloc.framework.profile import Profile
from enbloc.model.quantity import render


def effective(configuration: Configuration) -> list[dict[str, Any]]:
    """A KubeSchedulerConfiguration and an EnblocConfiguration, with every default filled in.

    They hold the credentials of extenders: `hidden` makes what may be shown.
    """
    settings = configuration.settings
    scheduler: dict[str, Any] = {
        "apiVersion": VERSION,
        "kind": KIND,
        "leaderElection": _election(configuration.leader_election),
        "podInitialBackoffSeconds": int(settings.backoff.initial),
        "podMaxBackoffSeconds": int(settings.backoff.maximum),
        "profiles": [
            _profile(profile, configuration.given.get(name, {}))
            for name, profile in configuration.profiles.items()
        ],
    }
    if connection := _connection(configuration):
        scheduler["clientConnection"] = connection
    extenders = next(iter(configuration.profiles.values())).extenders
    if extenders:
        scheduler["extenders"] = [_extender(each) for each in extenders]
    ours = {
        "apiVersion": OUR_VERSION,
        "kind": OUR_KIND,
        "scheduleTimeoutSeconds": int(settings.schedule_timeout),
        "reservationSeconds": int(settings.reservation_seconds),
        "reservationLimits": {
            name: render(name, amount) for name, amount in settings.reservation_limits
        },
        "missingGraceSeconds": int(settings.missing_grace),
        "podMaxInUnschedulablePodsSeconds": int(settings.longest_wait),
        "searchSteps": settings.search_steps,
        "priorityClassRaises": settings.priority_class_raises,
        "otherSchedulers": list(settings.other_schedulers),
        **_preemption(settings.preemption),
    }
    return [scheduler, ours]


def _preemption(limits: PreemptionLimits) -> dict[str, Any]:
    rules: list[dict[str, Any]] = []
    for each in limits.min_runtimes:
        names = {"priorityClassName": each.priority_class, "namespace": each.namespace}
        rules.append({**{k: v for k, v in names.items() if v}, "seconds": int(each.seconds)})
    return {
        "minRuntimeSeconds": int(limits.min_runtime),
        "minRuntimes": rules,
        "preemptionDelaySeconds": int(limits.delay),
        "maxEvictionsPerUnit": limits.most_evictions,
        "maxLostWorkSeconds": int(limits.most_work),
    }


def _connection(configuration: Configuration) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if configuration.kubeconfig:
        made["kubeconfig"] = configuration.kubeconfig
    rate = configuration.request_rate.completed()
    if rate.is_set:
        made |= {"qps": rate.qps, "burst": rate.burst}
    return made


def _election(election: LeaderElection) -> dict[str, Any]:
    made: dict[str, Any] = {
        "leaseDuration": duration(election.lease_duration),
        "renewDeadline": duration(election.renew_deadline),
        "retryPeriod": duration(election.retry_period),
        "resourceLock": "leases",
        "resourceName": election.resource_name,
    }
    if election.leader_elect is not None:
        made = {"leaderElect": election.leader_elect, **made}
    if election.resource_namespace:
        made["resourceNamespace"] = election.resource_namespace
    return made


def _profile(profile: Profile, given: Given) -> dict[str, Any]:
    """The profile: all plugins in order with their weights, then who is asked at each point."""
    names = [plugin.name for plugin in profile.plugins]
    plugins: dict[str, Any] = {MULTI_POINT: _set(names, profile.weights)}
    for point in Point:
        weights = profile.weights if point is Point.SCORE else {}
        said = [name for name in profile.points[point] if not is_implied(name, point)]
        plugins[point.value] = _set(said, weights)
    made: dict[str, Any] = {"schedulerName": profile.name, "plugins": plugins}
    configs = ((plugin.name, _arguments(plugin, given)) for plugin in profile.plugins)
    made["pluginConfig"] = [{"name": name, "args": args} for name, args in configs if args]
    return made


def _set(names: Sequence[str], weights: Mapping[str, int]) -> dict[str, Any]:
    enabled = [
        {"name": name, "weight": weights[name]} if name in weights else {"name": name}
        for name in names
    ]
    disabled = [{"name": EVERY}]
    return {"enabled": enabled, "disabled": disabled} if enabled else {"disabled": disabled}


def _arguments(plugin: Plugin, given: Given) -> Mapping[str, Any]:
    """What a plugin runs with, defaults included."""
    values = given.get(plugin.name, {})
    if plugin.name not in DEFAULTS:
        return outside_values(plugin) or values
    if MODELS[plugin.name] is NoArgs:
        return {}
    return read(plugin.name, Arguments(values, ""), Findings()).shown()


def _extender(extender: Extender) -> dict[str, Any]:
    verbs = {
        "filterVerb": extender.filter_verb,
        "prioritizeVerb": extender.prioritize_verb,
        "preemptVerb": extender.preempt_verb,
        "bindVerb": extender.bind_verb,
    }
    made: dict[str, Any] = {
        "urlPrefix": extender.url.full,
        **{name: verb for name, verb in verbs.items() if verb},
        "weight": extender.weight,
        "httpTimeout": duration(extender.timeout),
        "nodeCacheCapable": extender.node_cache_capable,
        "ignorable": extender.ignorable,
    }
    if extender.managed:
        made["managedResources"] = [
            {"name": name, "ignoredByScheduler": ignored}
            for name, ignored in extender.managed.items()
        ]
    if extender.tls is not None:
        made |= {"tlsConfig": _tls(extender.tls)}
    return made


def _tls(tls: TLS) -> dict[str, Any]:
    files = {
        "serverName": tls.server_name,
        "caFile": tls.ca_file,
        "certFile": tls.cert_file,
        "keyFile": tls.key_file,
        "caData": _base64(tls.ca_data),
        "certData": _base64(tls.cert_data),
        "keyData": _base64(tls.key_data),
    }
    return {"insecure": tls.insecure, **{name: text for name, text in files.items() if text}}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
