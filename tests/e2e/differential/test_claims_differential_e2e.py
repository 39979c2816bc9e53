# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""enbloc gives kube-scheduler's verdicts on pods with volumes and with devices.

As `test_differential_e2e`, with kube-controller-manager of the same build, whose controllers bind
volumes and make claims. Cases are named `case-<seed>-<index>`. To try many, and to see once more
those of one cluster (17):

    ENBLOC_DIFFERENTIAL_CLAIMS=2000 .venv/bin/python -m pytest -s -k claims tests/e2e/differential
    ENBLOC_DIFFERENTIAL_CLAIMS=10 ENBLOC_DIFFERENTIAL_SEED=17 .venv/bin/python -m pytest …

Of devices the same ones must be chosen: both go through pools, slices and devices in one order. An
error of a plugin on one node ends kube-scheduler's attempt, whichever node that was, as with a
selector that reads what a device has not, or with a pool that is not complete; enbloc goes on to
the next node, and must have found one or name that error among its reasons.

Left out are ResourceClaims that do not exist: kube-scheduler says nothing of their pods. So are
pods with a device that another claim has too, which enbloc does not bind (semantics §3.1),
volumes of one size, for which of them is taken is chance, and distinctAttribute with several
devices for one request, of which kube-scheduler compares only the last.
"""

import faulthandler
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest

from tests.controlplane import CONTROLLER_MANAGER
from tests.e2e import bare
from tests.e2e.differential import claim_cases, claim_contest, contest, device_cases
from tests.e2e.differential.claim_cases import Maker
from tests.e2e.differential.claim_contest import ClaimContest
from tests.e2e.targets import ControlPlaneTarget
from tests.hack.processes import Process

CASES: Final = int(os.environ.get("ENBLOC_DIFFERENTIAL_CLAIMS", "50"))
SEED: Final = int(os.environ.get("ENBLOC_DIFFERENTIAL_SEED", "1"))
#: Cases on the nodes of one seed.
ON_ONE_CLUSTER: Final = 10
#: A run that differs more often than this has one cause: no need to see the rest.
ENOUGH: Final = 100
#: From how many cases on the variety of a run is judged.
VARIED: Final = 1500
CONTROLLERS: Final = (
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "ephemeral-volume-controller",
    "resourceclaim-controller",
)
#: What pods are refused for, each of which a long run must have seen.
STORAGE_REASONS: Final = (
    "not found",
    "unbound immediate PersistentVolumeClaims",
    "didn't find available persistent volumes to bind",
    "didn't match PersistentVolume's node affinity",
    "exceed max volume count",
    "did not have enough free storage",
    "ReadWriteOncePod access mode already in-use",
    "had no available volume zone",
    "had no available disk",
    "is being deleted",
    "bound to non-existent persistentvolume",
)
DEVICE_REASONS: Final = (
    "cannot allocate all claims",
    "resourceclaim not available on the node",
    "Insufficient example.com/gpu",
)
#: What some of the devices that pods are given must be or have.
FEATURES: Final = (
    "adminAccess",
    "bindingConditions",
    "consumedCapacity",
    "tolerations",
    "extended resource",
    "alternative",
)


@pytest.fixture
async def contestants(
    bare_target: ControlPlaneTarget, tmp_path: Path
) -> AsyncGenerator[ClaimContest]:
    cp = bare_target.cp
    common = ["--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=2000"]
    controllers = Process(
        CONTROLLER_MANAGER,
        [
            str(cp.bin(CONTROLLER_MANAGER)),
            f"--kubeconfig={cp.kubeconfig}",
            *(*common, "--secure-port=0", f"--controllers={','.join(CONTROLLERS)}"),
            "--pvclaimbinder-sync-period=100ms",
        ],
        tmp_path / f"{CONTROLLER_MANAGER}.log",
    )
    async with bare.opened(bare_target, tmp_path) as cluster:
        kube = contest.kube_scheduler(cluster, "schedule_one=10")
        async with claim_contest.opened_claims(cluster, kube, controllers) as both:
            yield both


@pytest.mark.controlplane
@pytest.mark.timeout(300 + 10 * CASES)
@pytest.mark.parametrize(
    ("maker", "reasons"),
    [
        pytest.param(claim_cases.storage, STORAGE_REASONS, id="volumes"),
        pytest.param(device_cases.devices, DEVICE_REASONS, id="devices"),
    ],
)
async def test_enbloc_gives_the_verdicts_of_kube_scheduler_on_claims(
    contestants: ClaimContest, maker: Maker, reasons: tuple[str, ...]
) -> None:
    faulthandler.cancel_dump_traceback_later()  # which is for tests of minutes
    seen: Counter[str] = Counter()
    differences: list[str] = []
    began = time.monotonic()
    for seed in range(SEED, SEED + -(-CASES // ON_ONE_CLUSTER)):
        world = await contestants.become(str(seed))
        for index in range(ON_ONE_CLUSTER):
            found = await contestants.answer(f"{seed}-{index}", maker, world.names)
            message = found.answer.kube.message
            seen["cases"] += 1
            seen["refused"] += not found.answer.kube.node
            seen["with devices"] += found.same_node and bool(found.kube_devices)
            seen["errors"] += found.is_error
            seen.update(each for each in reasons if each in message)
            seen.update(one for one in FEATURES if found.same_node and one in found.features)
            if found.difference:
                differences.append(found.report(world))
                print(differences[-1])
        seen["again"] = contestants.again
        seconds = time.monotonic() - began
        print(f"{seconds:.1f} s, to {seed}: {dict(seen)}; {len(differences)} differ", flush=True)
        if len(differences) >= ENOUGH:
            break
    assert not differences, "\n\n".join(differences)
    if seen["cases"] >= VARIED:
        assert 0.2 < seen["refused"] / seen["cases"] < 0.8, seen
        assert set(reasons) <= set(seen), seen
        if maker is device_cases.devices:
            assert set(FEATURES) <= set(seen), seen
