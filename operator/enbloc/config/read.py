# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reading: makes a Configuration from the text of files, reporting all mistakes at once."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from enbloc.config.build import build
from enbloc.config.configuration import Configuration, LeaderElection
from enbloc.config.current import current
from enbloc.config.documents import Source, parse, plain, stamped
from enbloc.config.extenders import extenders_of
from enbloc.config.findings import Findings, unknown
from enbloc.config.models import (
    KIND,
    OUR_KIND,
    OUR_VERSION,
    ClientConnectionConfiguration,
    EnblocConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    MinRuntimeRule,
    PluginSet,
)
from enbloc.config.policy import POLICY_KIND
from enbloc.config.strict import decode
from enbloc.config.unhonoured import warn_of_unhonoured
from enbloc.config.wanted import (
    MULTI_POINT,
    Arguments,
    PluginEntry,
    Wanted,
    WantedProfile,
)
from enbloc.config.wanted import PluginSet as WantedSet
from enbloc.engine.preemption import MinRuntime, PreemptionLimits
from enbloc.engine.queue import Backoff
from enbloc.engine.settings import Settings
from enbloc.errors import ConfigError
from enbloc.framework.points import Point
from enbloc.framework.registry import Registry
from enbloc.model.dns_names import LABEL, SUBDOMAIN
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.quantity import amount
from enbloc.model.request_rate import RequestRate
from enbloc.model.text import quoted
from enbloc.plugins.in_tree import IN_TREE

#: What a rule on runtime may name: the field, what it is a name of, and the form of those.
_NAMES: Final = (
    ("priorityClassName", "PriorityClass", SUBDOMAIN),
    ("namespace", "namespace", LABEL),
)


def configure(
    sources: Iterable[Source], registry: Registry | None = None, findings: Findings | None = None
) -> Configuration:
    """Check what files say and make it ready to run; without any, the defaults.

    Args:
        sources: the files, each with one or more documents. In all of them together there may be
            one configuration of the scheduler, and one EnblocConfiguration.
        registry: where plugins come from; None = the in-tree ones and the installed ones.
        findings: where to collect what is told.

    Raises:
        ConfigError: naming everything that is wrong.
    """
    findings = findings or Findings()
    scheduler: KubeSchedulerConfiguration | None = None
    ours: Settings | None = None
    source_of: dict[str, str] = {}
    for source in sources:
        findings.source = source.name
        for document in parse(source, findings):
            kind = document.get("kind")
            role = OUR_KIND if kind == OUR_KIND else KIND
            if kind not in (OUR_KIND, KIND, POLICY_KIND):
                findings.problem("kind", no_kind(document))
            elif role in source_of:
                text = f"a second {kind}; the first one is in {source_of[role]}: remove one"
                findings.problem("kind", text)
            elif role == OUR_KIND:
                ours = _ours(document, findings)
                source_of[role] = source.name
            else:
                scheduler = _scheduler(document, findings)
                source_of[role] = source.name
    findings.source = source_of.get(KIND, "")
    wanted = _wanted(scheduler, ours, findings)
    return build(wanted, registry or Registry(IN_TREE), findings)


def check(document: dict[str, Any], registry: Registry, findings: Findings) -> None:
    """Note everything that is wrong with one document of today's form, and what to warn of.

    Args:
        document: of kind EnblocConfiguration, or a stamped KubeSchedulerConfiguration v1.
        registry: where plugins come from.
        findings: where to collect what is told.
    """
    if document.get("kind") == OUR_KIND:
        wanted = _wanted(None, _ours(document, findings), findings)
    else:
        scheduler = decode(KubeSchedulerConfiguration, document, findings)
        wanted = _wanted(scheduler, None, findings)
    try:
        build(wanted, registry, findings)
    except ConfigError:
        return  # all of it is among the problems


def no_kind(document: dict[str, Any]) -> str:
    """The text about a document of an unknown kind."""
    kind = document.get("kind")
    if kind is None:
        values = isinstance(document.get("scheduler"), dict) and "apiVersion" not in document
        hint = "; in values of the chart, it belongs under scheduler.config" if values else ""
        return f"Required: {KIND}, {OUR_KIND} or {POLICY_KIND}{hint}"
    return unknown("", str(kind), (KIND, OUR_KIND, POLICY_KIND))


def _ours(document: dict[str, Any], findings: Findings) -> Settings:
    version = document.get("apiVersion")
    if version != OUR_VERSION:
        findings.problem("apiVersion", f'must be "{OUR_VERSION}", is {json.dumps(version)}')
    return _settings_of(decode(EnblocConfiguration, stamped(document), findings), findings)


def _scheduler(document: dict[str, Any], findings: Findings) -> KubeSchedulerConfiguration:
    data = current(stamped(document), findings)
    return decode(KubeSchedulerConfiguration, data, findings)


def _wanted(
    scheduler: KubeSchedulerConfiguration | None,
    ours: Settings | None,
    findings: Findings,
) -> Wanted:
    """What was decoded, without the types of pydantic, and with the defaults of single fields."""
    settings = _settings(scheduler, ours, findings)
    if scheduler is None:
        return Wanted((WantedProfile(SCHEDULER_NAME),), settings=settings)
    warn_of_unhonoured(scheduler, findings)
    profiles = tuple(_profile(each, findings) for each in scheduler.profiles)
    if len(profiles) == 1 and scheduler.profiles[0].scheduler_name is None:
        [profile] = profiles
        profiles = (WantedProfile(SCHEDULER_NAME, *_rest(profile)),)
    connection = scheduler.client_connection
    return Wanted(
        profiles or (WantedProfile(SCHEDULER_NAME, "profiles[0]"),),
        extenders_of(scheduler.extenders, findings),
        settings,
        _election(scheduler.leader_election, findings),
        (connection and connection.kubeconfig) or "",
        RequestRate() if connection is None else _rate(connection),
    )


def _rate(connection: ClientConnectionConfiguration) -> RequestRate:
    return RequestRate(connection.qps or 0.0, connection.burst or 0)


def _rest(profile: WantedProfile) -> tuple[Any, ...]:
    return profile.where, profile.sets, profile.arguments


def _settings(
    scheduler: KubeSchedulerConfiguration | None, ours: Settings | None, findings: Findings
) -> Settings:
    """Ours, with what the configuration of the scheduler says of it."""
    base = ours or Settings()
    initial = (scheduler and scheduler.pod_initial_backoff_seconds) or base.backoff.initial
    maximum = (scheduler and scheduler.pod_max_backoff_seconds) or base.backoff.maximum
    if maximum < initial:
        text = f"must be at least podInitialBackoffSeconds, which is {initial:g}; is {maximum:g}"
        findings.problem("podMaxBackoffSeconds", text)
    return replace(base, backoff=Backoff(float(initial), float(maximum)))


def _settings_of(ours: EnblocConfiguration, findings: Findings) -> Settings:
    base = Settings()
    timeout, reserved = ours.schedule_timeout_seconds, ours.reservation_seconds
    grace, longest = ours.missing_grace_seconds, ours.pod_max_in_unschedulable_pods_seconds
    steps, raises, others = ours.search_steps, ours.priority_class_raises, ours.other_schedulers
    return replace(
        base,
        schedule_timeout=float(timeout or base.schedule_timeout),
        reservation_seconds=float(reserved or base.reservation_seconds),
        reservation_limits=_limits(ours.reservation_limits or {}, findings),
        longest_wait=float(longest or base.longest_wait),
        missing_grace=base.missing_grace if grace is None else float(grace),
        search_steps=base.search_steps if steps is None else steps,
        priority_class_raises=base.priority_class_raises if raises is None else raises,
        other_schedulers=base.other_schedulers if others is None else tuple(others),
        preemption=_preemption(ours, findings),
    )


def _preemption(ours: EnblocConfiguration, findings: Findings) -> PreemptionLimits:
    base = PreemptionLimits()
    return PreemptionLimits(
        min_runtime=_or(ours.min_runtime_seconds, base.min_runtime),
        min_runtimes=tuple(_min_runtimes(ours.min_runtimes or (), findings)),
        delay=_or(ours.preemption_delay_seconds, base.delay),
        most_evictions=ours.max_evictions_per_unit or base.most_evictions,
        most_work=_or(ours.max_lost_work_seconds, base.most_work),
    )


def _min_runtimes(given: Iterable[MinRuntimeRule], findings: Findings) -> Iterator[MinRuntime]:
    seen: dict[tuple[str, str], str] = {}
    # A refused name is "" here, which must not be checked again.
    refused = [each.path for each in findings.problems if each.source == findings.source]
    for rule in given:
        names = rule.priority_class_name, rule.namespace
        known = not any(path.startswith(rule.at("")) for path in refused)
        if known and not any(names):
            text = "must have a priorityClassName or a namespace; for all, set minRuntimeSeconds"
            findings.problem(rule.where, text)
        for (field, kind, form), name in zip(_NAMES, names, strict=True):
            if name and not form.fullmatch(name):
                text = f"must be the name of a {kind}, is {quoted(name)}"
                findings.problem(rule.at(field), text)
        if known and any(names):
            if names in seen:
                findings.problem(rule.where, f"Duplicate: {seen[names]} has the same names")
            seen.setdefault(names, rule.where)
        yield MinRuntime(float(rule.seconds), *names)


def _limits(given: Mapping[str, str | int], findings: Findings) -> tuple[tuple[str, int], ...]:
    """Amounts by resource, in name order; what is no quantity is noted."""
    limits: list[tuple[str, int]] = []
    for name, text in sorted(plain(given).items()):
        try:
            limits.append((name, amount(name, text)))
        except ValueError as error:
            findings.problem(f"reservationLimits.{name}", str(error))
    return tuple(limits)


def _election(config: LeaderElectionConfiguration | None, findings: Findings) -> LeaderElection:
    base = LeaderElection()
    if config is None:
        return base
    made = LeaderElection(
        config.leader_elect,
        # 0 is as good as absent, as upstream.
        config.lease_duration or base.lease_duration,
        config.renew_deadline or base.renew_deadline,
        config.retry_period or base.retry_period,
        config.resource_name or base.resource_name,
        config.resource_namespace or "",
    )
    if config.leader_elect is False:
        return made  # the rest does not count then, as upstream
    if config.resource_lock not in (None, "", "leases"):
        text = f'must be "leases", is "{config.resource_lock}"'
        findings.problem(config.at("resourceLock"), text)
    # A refused duration is its default here, which must not be checked again.
    refused = {each.path for each in findings.problems if each.source == findings.source}
    for field, value in (
        ("leaseDuration", made.lease_duration),
        ("renewDeadline", made.renew_deadline),
        ("retryPeriod", made.retry_period),
    ):
        if value <= 0:
            findings.problem(config.at(field), f"must be above 0, is {value:g} s")
    known = refused.isdisjoint
    if (
        known({config.at("leaseDuration"), config.at("renewDeadline")})
        and made.lease_duration <= made.renew_deadline
    ):
        text = (
            f"must be above renewDeadline ({made.renew_deadline:g} s), is {made.lease_duration:g} s"
        )
        findings.problem(config.at("leaseDuration"), text)
    if (
        known({config.at("renewDeadline"), config.at("retryPeriod")})
        and made.renew_deadline <= 1.2 * made.retry_period
    ):
        text = f"must be above 1.2 × retryPeriod ({made.retry_period:g} s), is "
        findings.problem(config.at("renewDeadline"), f"{text}{made.renew_deadline:g} s")
    return made


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _profile(config: KubeSchedulerProfile, findings: Findings) -> WantedProfile:
    sets: dict[str, WantedSet] = {}
    if config.plugins is not None:
        for field, info in type(config.plugins).model_fields.items():
            given = getattr(config.plugins, field)
            name = info.alias or field
            if isinstance(given, PluginSet) and name in (*Point, MULTI_POINT):
                sets[name] = _set(given)
    return WantedProfile(
        config.scheduler_name or "", config.where, sets, _arguments(config, findings)
    )


def _set(given: PluginSet) -> WantedSet:
    return WantedSet(
        tuple(PluginEntry(each.name, each.weight, each.where) for each in given.enabled),
        tuple(PluginEntry(each.name, None, each.where) for each in given.disabled),
    )


def _arguments(config: KubeSchedulerProfile, findings: Findings) -> dict[str, Arguments]:
    found: dict[str, Arguments] = {}
    for each in config.plugin_config:
        given = {} if each.args is None else each.args
        if each.name in found:
            text = f'Duplicate "{each.name}": its arguments are already at {found[each.name].where}'
            findings.problem(each.at("name"), text)
        elif not isinstance(given, dict):
            findings.problem(each.at("args"), "must be a mapping")
        else:
            found[each.name] = Arguments(given, each.at("args"))
    return found
