# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The whole profile takes the reference's nodes, scores them alike, and refuses in its words."""

from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings

from enbloc.engine.trial import Trial
from tests.effort import times
from tests.parity import asking, reference
from tests.parity.cases import INCOMING, Case, cases
from tests.parity.settings import Settings

#: Hypothesis runs inside of these tests, which it does not know.
pytestmark = pytest.mark.hypothesis
WORLDS = times(500)
checked = settings(max_examples=WORLDS, derandomize=True, database=None)


def test_the_profile_finds_the_reference_s_nodes_totals_and_sentences() -> None:
    seen = Counter[str]()
    standard = asking.profile_of(Settings())

    @checked
    @given(cases())
    def holds(case: Case) -> None:
        usual = case.settings == Settings()
        profile = standard if usual else asking.profile_of(case.settings)
        snapshot = case.world.snapshot()
        for pod in case.incoming:
            tell = partial(case.world.about, pod, case.settings)
            totals = reference.totals(pod, case.world, case.settings)
            trial = Trial(profile, snapshot)
            ranking = trial.ranking(pod)
            seen["cases"] += 1
            seen["placed"] += bool(totals)
            seen["chosen among several"] += len(set(totals.values())) > 1
            feasible = [row for row in range(len(case.world.hosts)) if ranking.feasible(row)]
            assert feasible == sorted(totals), tell()
            if totals:
                found = {row: int(ranking.totals[row]) for row in feasible}
                assert found == totals, tell()
                best = [row for row, total in totals.items() if total == max(totals.values())]
                assert ranking.best() == min(best), tell()
                continue
            sentence = reference.fit_error(pod, case.world, case.settings)
            seen["several reasons"] += "," in sentence
            seen["node sets"] += "didn't satisfy plugin(s)" in sentence
            assert ranking.best() is None, tell()
            assert trial.diagnosis(pod).text() == sentence, tell()

    holds()
    assert seen["cases"] == WORLDS * INCOMING
    assert 0.4 * seen["cases"] < seen["placed"] < 0.9 * seen["cases"]
    assert seen["chosen among several"] > 0.2 * seen["cases"]
    assert seen["several reasons"] > 0.03 * seen["cases"]
    assert seen["node sets"] > 0.003 * seen["cases"]


def test_the_default_profile_asks_in_the_reference_s_order_with_its_weights() -> None:
    profile = asking.profile_of(Settings())
    asked = [plugin.name for plugin in profile.filter if plugin.name in reference.FILTERS]
    assert asked == list(reference.FILTERS)
    weights = {plugin.name: profile.weight(plugin) for plugin in profile.score}
    assert {name: weights[name] for name in reference.WEIGHTS} == reference.WEIGHTS
