# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Facts to the JSON of resource.k8s.io/v1, for what a scheduler writes."""

from typing import Any

import msgspec

from enbloc.devices.facts import (
    AllocatedDevice,
    Allocation,
    Config,
    DeviceToleration,
    Request,
    SubRequest,
)
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.quantity import nano_text
from enbloc.model.requirements import Requirement

Json = dict[str, Any]


def allocation_json(allocation: Allocation) -> Json:
    """`status.allocation`, without its time."""
    devices: Json = {"results": [_result(each) for each in allocation.results]}
    if allocation.config:
        devices["config"] = [_config(each) for each in allocation.config]
    written: Json = {"devices": devices}
    if allocation.terms is not None:
        terms = [_term(each) for each in allocation.terms]
        written["nodeSelector"] = {"nodeSelectorTerms": terms}
    return written


def requests_json(requests: tuple[Request, ...]) -> list[Json]:
    """`spec.devices.requests` of a claim for extended resources."""
    return [
        {"name": each.name, "exactly": _exactly(each.exactly)} for each in requests if each.exactly
    ]


def _exactly(ask: SubRequest) -> Json:
    return {
        "deviceClassName": ask.device_class,
        "allocationMode": ask.mode,
        "count": ask.count,
    }


def _result(result: AllocatedDevice) -> Json:
    written: Json = {
        "request": result.request,
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
    }
    if result.admin:
        written["adminAccess"] = True
    if result.tolerations:
        written["tolerations"] = [_toleration(each) for each in result.tolerations]
    if result.conditions:
        written["bindingConditions"] = list(result.conditions)
    if result.failures:
        written["bindingFailureConditions"] = list(result.failures)
    if result.share:
        written["shareID"] = result.share
    if result.consumed:
        written["consumedCapacity"] = {name: nano_text(each) for name, each in result.consumed}
    return written


def _toleration(toleration: DeviceToleration) -> Json:
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    written: Json = {name: value for name, value in fields.items() if value}
    if toleration.seconds is not None:
        written["tolerationSeconds"] = toleration.seconds
    return written


def _config(config: Config) -> Json:
    written: Json = {"source": config.source}
    if config.requests:
        written["requests"] = list(config.requests)
    if config.opaque:
        written["opaque"] = msgspec.json.decode(config.opaque)
    return written


def _term(term: NodeSelectorTerm) -> Json:
    written: Json = {}
    if term.expressions:
        written["matchExpressions"] = [_requirement(each) for each in term.expressions]
    if term.fields:
        written["matchFields"] = [_requirement(each) for each in term.fields]
    return written


def _requirement(requirement: Requirement) -> Json:
    written: Json = {"key": requirement.key, "operator": str(requirement.operator)}
    if requirement.values:
        written["values"] = list(requirement.values)
    return written
