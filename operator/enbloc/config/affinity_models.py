# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node affinity as a plugin's argument: the terms of a pod's, strictly read."""

import re
from typing import Annotated, Final, Literal

from pydantic import Field

from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.strict import Strict
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.requirements import NAME_FIELD, Operator, Requirement

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")


class Expression(Strict):
    """`key operator values`."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: list[str] = Field(default_factory=list[str])

    def check(self, findings: Findings) -> None:
        """A key that a label may have, and as many values as the operator takes."""
        problem = qualified_name_problem(self.key)
        if problem:
            findings.problem(self.at("key"), problem)
        count = len(self.values)
        if self.operator in ("In", "NotIn") and not count:
            findings.problem(self.at("values"), f"Required: {self.operator} needs a value")
        if self.operator in ("Exists", "DoesNotExist") and count:
            findings.problem(self.at("values"), f"must be absent with {self.operator}")
        if self.operator in ("Gt", "Lt") and (count != 1 or not _NUMBER.fullmatch(self.values[0])):
            findings.problem(self.at("values"), f"must be one integer with {self.operator}")

    def check_field(self, findings: Findings) -> None:
        """The only field is metadata.name, and it has one value."""
        if self.key != NAME_FIELD:
            findings.problem(self.at("key"), f'must be "{NAME_FIELD}", is "{self.key}"')
        if self.operator not in ("In", "NotIn"):
            text = f'must be "In" or "NotIn" for a field, is "{self.operator}"'
            findings.problem(self.at("operator"), text)
        if len(self.values) != 1:
            findings.problem(self.at("values"), "must be exactly one name")

    def made(self) -> Requirement:
        """As the model has it."""
        return Requirement(self.key, Operator(self.operator), tuple(self.values))


class Term(Strict):
    """All of these hold."""

    match_expressions: list[Expression] = Field(default_factory=list[Expression])
    match_fields: list[Expression] = Field(default_factory=list[Expression])

    def check(self, findings: Findings) -> None:
        """Every expression can be read."""
        for each in self.match_expressions:
            each.check(findings)
        for each in self.match_fields:
            each.check_field(findings)

    def made(self) -> NodeSelectorTerm:
        """As the model has it."""
        return NodeSelectorTerm(
            tuple(each.made() for each in self.match_expressions),
            tuple(each.made() for each in self.match_fields),
        )


class PreferredTerm(Strict):
    """A term with a weight."""

    weight: Annotated[int, Field(ge=1, le=100)]
    preference: Term


class Terms(Strict):
    """Any of these holds; without any, none does."""

    node_selector_terms: list[Term] = Field(default_factory=list[Term])


class NodeAffinityTerms(Strict):
    """`nodeAffinity` of a pod."""

    required: Terms | None = Field(
        default=None, alias="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredTerm] = Field(
        default_factory=list[PreferredTerm],
        alias="preferredDuringSchedulingIgnoredDuringExecution",
    )

    def check(self, findings: Findings) -> None:
        """Every term can be read."""
        if self.required is not None:
            if not self.required.node_selector_terms:
                text = "has no term, so no node matches and no pod is placed"
                findings.warning(self.required.at("nodeSelectorTerms"), text, SettingOutcome.KEPT)
            for term in self.required.node_selector_terms:
                term.check(findings)
        for each in self.preferred:
            each.preference.check(findings)

    def required_terms(self) -> tuple[NodeSelectorTerm, ...] | None:
        """The required terms; None = no constraint."""
        if self.required is None:
            return None
        return tuple(term.made() for term in self.required.node_selector_terms)

    def preferred_terms(self) -> tuple[tuple[int, NodeSelectorTerm], ...]:
        """`(weight, term)` of the preferred ones."""
        return tuple((each.weight, each.preference.made()) for each in self.preferred)
