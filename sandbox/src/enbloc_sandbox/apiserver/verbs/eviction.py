# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evicting a pod, as far as its PodDisruptionBudget allows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from enbloc.model.names import DISRUPTION_TARGET
from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.request.options import Deletion, Options
from enbloc_sandbox.apiserver.request.target import Target
from enbloc_sandbox.apiserver.schema.metadata import with_metadata
from enbloc_sandbox.apiserver.storage.select import label_selector
from enbloc_sandbox.apiserver.storage.store import Item
from enbloc_sandbox.apiserver.verbs.api import Api

Document = Mapping[str, Any]

#: Seconds that the API server asks a refused client to wait.
RETRY_SECONDS: Final = 10


def evict(api: Api, target: Target, body: Document, options: Options) -> dict[str, Any]:
    """Delete a pod if its budget allows; a Status. Refused 429 or, with two budgets, 500."""
    metadata = body.get("metadata") or {}
    if metadata.get("name", target.name) != target.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    pods = api.catalog.builtin("pods")
    pod = api.stored(pods, target.key)
    how = Deletion.of({}, body.get("deleteOptions") or {}, dry_run=options.dry_run)
    state = pod.obj.get("status") or {}
    free = state.get("phase") in {"Succeeded", "Failed", "Pending"}
    if not free and "deletionTimestamp" not in pod.obj["metadata"]:
        _spend(api, pod, how)
    if not how.dry_run:
        # The real server, too, asks for the pod that was meant only after the budget was spent.
        api.check_preconditions(pods, pod, how)
        api.amend(pods, target.key, _disrupted(api, pod.obj))
        how = dataclasses.replace(how, rv="")
    api.delete(pods, target.key, how)
    return status.success(code=201)


def _disrupted(api: Api, pod: Document) -> dict[str, Any]:
    """The pod with the condition that says so; another reason that stood there is replaced."""
    state = pod.get("status") or {}
    conditions = {one["type"]: one for one in state.get("conditions") or ()}
    before = conditions.get(DISRUPTION_TARGET, {})
    stands = before.get("status") == "True"
    conditions[DISRUPTION_TARGET] = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": before["lastTransitionTime"] if stands else api.now(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    return {**pod, "status": {**state, "conditions": list(conditions.values())}}


def _unhealthy(budget: Document, pod: Document) -> bool:
    """Whether the pod is not ready, and its budget lets go of such pods."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    if any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
        return False
    state = budget.get("status") or {}
    always = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
    wanted = state.get("desiredHealthy", 0)
    return always or (wanted > 0 and state.get("currentHealthy", 0) >= wanted)


def _spend(api: Api, pod: Item, how: Deletion) -> None:
    budgets = [
        one
        for one in api.store.table("poddisruptionbudgets.policy").items.values()
        if one.key[0] == pod.key[0] and covers(one.obj, pod.obj)
    ]
    if len(budgets) > 1:
        message = (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
            "not support."
        )
        raise status.Refused(500, "", message)
    if not budgets:
        return
    budget = budgets[0]
    if _unhealthy(budget.obj, pod.obj):
        return
    state = budget.obj.get("status") or {}
    if state.get("observedGeneration", 0) < budget.obj["metadata"].get("generation", 0):
        raise _too_many(
            f"The disruption budget {budget.key[1]} is still being processed by the server.",
            retry=RETRY_SECONDS,
        )
    allowed = state.get("disruptionsAllowed", 0)
    if allowed <= 0:
        healthy, wanted = state.get("currentHealthy", 0), state.get("desiredHealthy", 0)
        why = "does not allow evicting pods currently"
        if healthy <= wanted:
            why = f"needs {wanted} healthy pods and has {healthy} currently"
        raise _too_many(f"The disruption budget {budget.key[1]} {why}")
    if not how.dry_run:
        disrupted = {**(state.get("disruptedPods") or {}), pod.key[1]: api.now()}
        changed = {**state, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
        if allowed == 1:
            changed["conditions"] = [_exhausted(api, budget.obj)]
        resource = api.catalog.builtin("poddisruptionbudgets", "policy")
        document = {**with_metadata(budget.obj), "status": changed}
        options = Options(manager="kube-apiserver")
        api.change(resource, budget.key, lambda _: document, options, "status")


def _exhausted(api: Api, budget: Document) -> dict[str, Any]:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": api.now(),
        "reason": "InsufficientPods",
        "message": "",
    }


def covers(budget: Document, pod: Document) -> bool:
    """Whether a budget speaks of this pod."""
    return label_selector((budget.get("spec") or {}).get("selector"))(pod)


def _too_many(cause: str, retry: int = 0) -> status.Refused:
    return status.Refused(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        {
            "causes": [{"reason": "DisruptionBudget", "message": cause}],
            **({"retryAfterSeconds": retry} if retry else {}),
        },
    )
