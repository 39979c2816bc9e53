# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What plugin authors and other packages may import, to the letter."""

import pickle

import pytest

import enbloc
from tests.cli.processes import python


def test_a_plugin_author_finds_exactly_these_names() -> None:
    assert set(enbloc.__all__) == {
        "__version__",
        # what a plugin is asked about
        "Amounts",
        "Effect",
        "Group",
        "GroupKey",
        "HostPort",
        "Mask",
        "Node",
        "NodeSelectorTerm",
        "Nodes",
        "Operator",
        "Owner",
        "Phase",
        "PlacedPods",
        "Pod",
        "PodAffinity",
        "PodAffinityTerm",
        "PodKey",
        "PodSpec",
        "PodUID",
        "Requirement",
        "Role",
        "Rows",
        "Selector",
        "Snapshot",
        "SpreadConstraint",
        "Taint",
        "Toleration",
        "TolerationOperator",
        # what it is told, if it learns
        "GroupGone",
        "NodeChanged",
        "Observation",
        "PodChanged",
        # what it declares and answers
        "MAX_NODE_SCORE",
        "SUCCESS",
        "Action",
        "Api",
        "ClusterEvent",
        "Code",
        "Diagnosis",
        "Expired",
        "Floor",
        "GroupFacts",
        "Happening",
        "Hint",
        "NodeNote",
        "NodeSet",
        "PerNode",
        "Proposal",
        "Reads",
        "Reply",
        "Resource",
        "Scores",
        "ReadObject",
        "Status",
        "Target",
        "default_normalize",
        "default_normalize_reversed",
        "pending",
        "refuse",
        "refuse_for_good",
        "wait",
    }


def test_every_public_name_can_be_had_and_no_other() -> None:
    for name in enbloc.__all__:
        assert getattr(enbloc, name) is not None
    loaded = {name for names in enbloc._HOMES.values() for name in names}
    assert loaded == {*enbloc.__all__} - {"__version__"}
    assert loaded <= {*dir(enbloc)}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'enbloc' has no attribute 'Nonsense'"):
        _ = enbloc.Nonsense  # type: ignore[attr-defined]  # asking for it is the test


def test_a_name_that_is_loaded_late_is_the_same_object_as_in_its_module() -> None:
    from enbloc.framework.status import Status  # noqa: PLC0415  # compared with the one below

    assert enbloc.Status is Status
    assert pickle.loads(pickle.dumps(enbloc.SUCCESS)) == enbloc.SUCCESS


@pytest.mark.processes
def test_a_plugin_can_be_written_with_these_names_alone() -> None:
    program = """
from dataclasses import dataclass
from typing import ClassVar

from enbloc import Mask, Nodes, Pod, Reads
from enbloc.testing import check_plugin


@dataclass(frozen=True)
class Maintenance:
    name: ClassVar[str] = "Maintenance"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were under maintenance"
    label: str = "example.com/maintenance"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        return ~nodes.label(self.label, "true")


check_plugin(Maintenance(), examples=10)
print("kept")
"""
    assert python(program).strip() == "kept"
