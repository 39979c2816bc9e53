# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who names which claims, as the engine's tables know it."""

from dataclasses import replace

import pytest

from enbloc.engine.events import FactSeen
from enbloc.engine.state import ClusterState
from enbloc.model.pods import Phase
from tests.world.storage import LOCAL, ledger, pvc, using


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.FAILED])
def test_a_pod_that_is_over_shares_its_claims_with_nobody(phase: Phase) -> None:
    """Else each member of a gang that runs again with the same claims is a class of its own."""
    state = ClusterState()
    for fact in (LOCAL, pvc("data"), pvc("other")):
        state.apply(FactSeen(fact))
    first, second, third = using("first", "data"), using("second", "data"), using("third", "other")
    for pod in (first, second, third):
        state.pod_seen(pod)
    volumes = ledger(state.nodes)
    assert volumes.alike(second) != volumes.alike(third)

    state.pod_seen(replace(first, phase=phase))
    assert volumes.alike(second) == volumes.alike(third)

    state.pod_seen(replace(first, phase=phase, resource_version=2))
    state.pod_gone(first.uid)
    assert volumes.alike(second) == volumes.alike(third)
