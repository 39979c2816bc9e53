# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Policy, the configuration before profiles, field by field."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

from pydantic import Field

from enbloc.config.argument_models import ResourceSpec, ShapePoint
from enbloc.config.documents import WHERE
from enbloc.config.models import ExtenderFields
from enbloc.config.strict import Int64, Strict, models_in


class Labels(Strict):
    """Labels that together name a group of nodes."""

    labels: list[str]


class LabelsPresence(Strict):
    """Labels that every node must have, or must not have."""

    labels: list[str]
    presence: bool = False


class Label(Strict):
    """A label whose values name groups of nodes."""

    label: str


class LabelPreference(Strict):
    """A label that nodes should preferably have, or not have."""

    label: str
    presence: bool = False


class Ratio(Strict):
    """The piecewise linear function from utilization to score."""

    shape: list[ShapePoint] = Field(default_factory=list[ShapePoint])
    resources: list[ResourceSpec] = Field(default_factory=list[ResourceSpec])


class PredicateArgument(Strict):
    """Exactly one of these."""

    service_affinity: Labels | None = None
    labels_presence: LabelsPresence | None = None


class PriorityArgument(Strict):
    """Exactly one of these."""

    service_anti_affinity: Label | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: Ratio | None = None


class Predicate(Strict):
    """What a node must satisfy."""

    name: str
    argument: PredicateArgument | None = None


class Priority(Strict):
    """What scores nodes."""

    name: str
    weight: Annotated[int, Field(gt=0, le=2**31 - 1)]
    argument: PriorityArgument | None = None


class LegacyExtender(ExtenderFields):
    """One HTTP extender; its timeout is in nanoseconds."""

    http_timeout: Annotated[Int64, Field(ge=0)] = 0


class Policy(Strict):
    """The whole document; absent lists are the defaults, empty ones are empty."""

    api_version: str = ""
    kind: str = ""
    predicates: list[Predicate] | None = None
    priorities: list[Priority] | None = None
    extenders: list[LegacyExtender] = Field(default_factory=list[LegacyExtender])
    extender_configs: list[LegacyExtender] = Field(default_factory=list[LegacyExtender])
    hard_pod_affinity_symmetric_weight: Annotated[int, Field(ge=0, le=100)] = 0
    always_check_all_predicates: bool = False


def _aliases(model: type[Any]) -> Iterator[str]:
    for field in model.model_fields.values():
        yield field.alias
        for inner in models_in(field.annotation):
            yield from _aliases(inner)


_SPELLED: Final = {alias.casefold(): alias for alias in _aliases(Policy) if alias != WHERE}


def spelled(data: Any) -> Any:
    """A copy with every key as it is spelled here: Policy files were read whatever the case."""
    if isinstance(data, list):
        return [spelled(each) for each in data]
    if not isinstance(data, dict):
        return data
    return {_SPELLED.get(key.casefold(), key): spelled(each) for key, each in data.items()}
