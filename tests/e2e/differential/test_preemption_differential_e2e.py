# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""enbloc preempts for a pod without a group as kube-scheduler does: for whom, where, and whom.

As `test_differential_e2e`, with nodes that are full of pods of several priorities. Both must
preempt or neither; enbloc's node must be one at which, by kube-scheduler's own victims and its
criteria, nothing less is lost; and those are the pods that must be told to leave. Where nobody
gives way the message must be the same. Cases are named `case-<seed>-<index>`. To try many, and to
see once more those of one cluster (17):

    ENBLOC_DIFFERENTIAL_PREEMPTIONS=2000 .venv/bin/python -m pytest -s -k preempts tests/e2e
    ENBLOC_DIFFERENTIAL_PREEMPTIONS=10 ENBLOC_DIFFERENTIAL_SEED=17 .venv/bin/python -m pytest …

Of kube-scheduler's log the victims on every candidate are read, so no case has to be tried twice
to find out what is chance: which one it takes of candidates that are equal.
"""

import faulthandler
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Final

import pytest

from enbloc.client.client import PatchType
from tests.e2e import bare
from tests.e2e.differential import contest, preemption_cases, preemption_contest
from tests.e2e.differential.clusters import Cluster
from tests.e2e.differential.preemption_contest import Answer, PreemptionContest
from tests.e2e.targets import ControlPlaneTarget

CASES: Final = int(os.environ.get("ENBLOC_DIFFERENTIAL_PREEMPTIONS", "20"))
SEED: Final = int(os.environ.get("ENBLOC_DIFFERENTIAL_SEED", "1"))
#: kube-scheduler evicts a pod of the same name, or controller, however often that was lately.
UNLIMITED: Final = """
apiVersion: config.enbloc.dev/v1alpha1
kind: EnblocConfiguration
maxEvictionsPerUnit: 1000000
"""
#: Pods that are tried on one cluster.
ON_ONE_CLUSTER: Final = 20
ENOUGH: Final = 10
#: From how many cases on the variety of a run is judged.
VARIED: Final = 1000
#: What pods are refused for before others give way, each of which a run must have seen.
REASONS: Final = (
    "didn't have free ports for the requested pod ports",
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
    "Insufficient example.com/gpu",
    "didn't match pod topology spread constraints",
    "didn't match pod affinity rules",
    "didn't match pod anti-affinity rules",
    "didn't satisfy existing pods anti-affinity rules",
)
#: Those of what may come of it that must have been seen.
PREEMPTING: Final = {preemption_contest.PREEMPTS, preemption_contest.BEYOND}
KINDS: Final = PREEMPTING | preemption_contest.SAID.keys()


@pytest.fixture
def own_target() -> Iterator[ControlPlaneTarget]:
    """Without what other contests leave, as DeviceClasses, which would count here."""
    with bare.bare_control_plane() as cp:
        yield ControlPlaneTarget(cp)


@pytest.fixture
async def contestants(
    own_target: ControlPlaneTarget, tmp_path: Path
) -> AsyncGenerator[tuple[PreemptionContest, dict[str, str]]]:
    async with bare.opened(own_target, tmp_path) as cluster:
        owners = await contest.furnished(cluster)
        for resource, namespace, body in preemption_cases.standing():
            name, status = body["metadata"]["name"], {"status": body["status"]}
            await cluster.create(resource, body, namespace)
            await cluster.client.patch(
                resource, name, status, namespace, kind=PatchType.MERGE, subresource="status"
            )
        kube = contest.kube_scheduler(cluster, "default_preemption=5")
        kube.start()
        config = tmp_path / "config.yaml"
        config.write_text(UNLIMITED, encoding="utf-8")
        cluster.start_enbloc(f"--config={config}")
        both = PreemptionContest(cluster, kube)
        try:
            yield both, owners
            await both.become(Cluster())
        finally:
            kube.stop(0)


class Tally:
    """What a run has seen of pods that fitted nowhere."""

    def __init__(self) -> None:
        self.fit = 0
        self.kinds: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.differ = 0

    @property
    def cases(self) -> int:
        return self.kinds.total()

    def add(self, answer: Answer) -> None:
        """Count one pod."""
        self.differ += bool(answer.difference)
        if answer.kube.bound:
            self.fit += 1
            return
        self.kinds[answer.kind] += 1
        if answer.candidates:
            self.reasons.update(each for each in REASONS if each in answer.kube.message)

    def check_variety(self) -> None:
        """Raise if the cases are too much alike to prove anything."""
        assert set(self.kinds) >= KINDS, self
        assert set(self.reasons) == set(REASONS), self
        assert sum(self.kinds[kind] for kind in PREEMPTING) > self.cases / 4, self
        assert any(kind.endswith(preemption_contest.EQUAL) for kind in self.kinds), self

    def __str__(self) -> str:
        return (
            f"{self.cases} cases, {self.differ} differ, {self.fit} more that fit; "
            f"{dict(self.kinds)}; where somebody gives way: {dict(self.reasons)}"
        )

    __repr__ = __str__


@pytest.mark.controlplane
@pytest.mark.timeout(300 + 10 * CASES)
async def test_enbloc_preempts_whom_kube_scheduler_preempts(
    contestants: tuple[PreemptionContest, dict[str, str]],
) -> None:
    faulthandler.cancel_dump_traceback_later()  # which is for tests of minutes
    both, owners = contestants
    tally, differences = Tally(), list[str]()
    began, seed = time.monotonic(), SEED
    while tally.cases < CASES and len(differences) < ENOUGH:
        world = preemption_cases.cluster(str(seed), owners)
        await both.become(world)
        for index in range(ON_ONE_CLUSTER):
            pod = preemption_cases.incoming(f"{seed}-{index}", world, owners)
            answer = await both.answer(pod)
            tally.add(answer)
            if answer.difference:
                differences.append(answer.report())
                print(differences[-1], flush=True)
        print(f"{time.monotonic() - began:.1f} s, to {seed}: {tally}", flush=True)
        seed += 1
    assert not differences, "\n\n".join(differences)
    if tally.cases >= VARIED:
        tally.check_variety()
