# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What selects what: labels by selectors, nodes by pods, taints by tolerations.

Written from the Kubernetes documentation, apart from the scheduler's code on purpose, as `room` is.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def fits_labels(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether labels fit a LabelSelector."""
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _matches(one, labels.get(one["key"])) for one in selector.get("matchExpressions") or ()
    )


def fits_node(spec: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    """Whether a pod's nodeSelector and required node affinity take a node."""
    if not fits_labels({"matchLabels": spec.get("nodeSelector")}, labels):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_term(term, labels, name) for term in required.get("nodeSelectorTerms") or ())


def _term(term: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    return bool(expressions or fields) and (
        all(_matches(one, labels.get(one["key"])) for one in expressions)
        and all(_matches(one, name) for one in fields)
    )


def _matches(requirement: Mapping[str, Any], value: str | None) -> bool:
    values: Sequence[str] = requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and _integer(value) and int(value) > int(values[0])
        case "Lt":
            return value is not None and _integer(value) and int(value) < int(values[0])
        case _:
            return False


def _integer(text: str) -> bool:
    return text.lstrip("+-").isdecimal()


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether a toleration speaks of a taint."""
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key") or ""
    if toleration.get("operator") == "Exists":
        return key in ("", taint.get("key"))
    return key == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")
