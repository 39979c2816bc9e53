# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The status of a workload says whether it has ended (semantics §7.2)."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.controller.sources import SOURCES
from enbloc.controller.sources.ends import ENDS, end_of
from enbloc.controller.sources.source import SourceObject


def ended(kind: str, status: Any) -> bool | None:
    return end_of(kind, SourceObject(raw_status=msgspec.Raw(msgspec.json.encode(status))))


def conditions(*true: str) -> dict[str, Any]:
    """The status of a job of Kubeflow with these conditions True, and others False."""
    others = [{"type": each, "status": "False"} for each in ("Running", "Succeeded", "Failed")]
    shown = [{"type": each, "status": "True", "reason": "so"} for each in true]
    return {"conditions": [*others, *shown]}


@pytest.mark.parametrize("kind", ["PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "MPIJob"])
def test_conditions_say_how_a_job_of_kubeflow_ended(kind: str) -> None:
    assert ended(kind, conditions("Created", "Succeeded")) is True
    assert ended(kind, conditions("Created", "Failed")) is False
    assert ended(kind, conditions("Succeeded", "Failed")) is False
    assert ended(kind, conditions("Created", "Running")) is None
    assert ended(kind, conditions("Suspended")) is None
    assert ended(kind, {}) is None


def test_conditions_say_how_a_jobset_ended() -> None:
    assert ended("JobSet", conditions("StartupPolicyCompleted", "Completed")) is True
    assert ended("JobSet", conditions("Failed")) is False
    assert ended("JobSet", conditions("StartupPolicyCompleted", "Suspended")) is None


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("COMPLETED", True),
        ("FAILED", False),
        ("", None),
        ("SUBMITTED", None),
        ("SUBMISSION_FAILED", None),
        ("SUCCEEDING", None),
        ("FAILING", None),
        ("PENDING_RERUN", None),
        ("INVALIDATING", None),
        ("SUSPENDED", None),
    ],
)
def test_a_state_says_how_a_spark_application_ended(state: str, end: bool | None) -> None:
    assert ended("SparkApplication", {"applicationState": {"state": state}}) is end


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["True", "Failed"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["conditions", "applicationState", "state", "type", "status"]),
            inner,
            max_size=3,
        )
    ),
)


@given(st.sampled_from(sorted(ENDS)), JSON)
def test_a_status_of_any_form_is_read_or_says_nothing(kind: str, status: Any) -> None:
    assert ended(kind, status) in (True, False, None)


def test_every_kind_that_ends_is_read_anyway() -> None:
    assert ENDS.keys() <= {each.resources[0].kind for each in SOURCES}
