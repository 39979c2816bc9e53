# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest

from enbloc.model.groups import Memory
from enbloc.model.incarnation import begins_anew, count_succeeded, identity
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID


def test_a_pod_without_a_controller_is_a_life_of_its_own() -> None:
    bare = Pod(PodKey("n", "p"), PodUID("u"), PodSpec())
    restarted = Pod(PodKey("n", "p"), PodUID("u"), PodSpec(), restart="job-1")
    assert identity(bare) == "u"
    assert identity(restarted) == "job-1"


@pytest.mark.parametrize(
    ("arriving", "live", "begins"),
    [
        pytest.param("job-2", False, True, id="another Job's pod after the last live one"),
        pytest.param("job-2", True, False, id="another Job's pod beside a live one"),
        pytest.param("job-1", False, False, id="one more pod of the same Job"),
    ],
)
def test_a_life_begins_with_a_new_identity_while_nobody_is_live(
    arriving: str, live: bool, begins: bool
) -> None:
    assert begins_anew(arriving, {"job-1"}, live=live) is begins


@pytest.mark.parametrize(
    ("seen", "memory", "counted"),
    [
        pytest.param({}, Memory(succeeded=3), {"": 3}, id="all pods are gone"),
        pytest.param({"": 3}, Memory(succeeded=2), {"": 3}, id="status lags behind"),
        pytest.param(
            {"worker": 1},
            Memory(succeeded=3, roles=(("worker", 2),)),
            {"worker": 2, "": 1},
            id="one pod of a role and one without are gone",
        ),
        pytest.param(
            {"worker": 2},
            Memory(succeeded=3, roles=(("worker", 1),)),
            {"worker": 2, "": 2},
            id="status lags behind in one role and knows of more without",
        ),
        pytest.param(
            {"unnamed": 2},
            Memory(succeeded=2, roles=(("worker", 0),)),
            {"unnamed": 2},
            id="a role that the PodGroup does not name is counted once",
        ),
    ],
)
def test_what_succeeded_is_counted_once_whether_seen_or_remembered(
    seen: dict[str, int], memory: Memory, counted: dict[str, int]
) -> None:
    assert +count_succeeded(Counter(seen), memory) == Counter(counted)
