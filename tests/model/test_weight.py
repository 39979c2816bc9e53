# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is bounded by bytes counts what a tenant can make large."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import ClaimSpec, Config, DeviceToleration
from enbloc.ledgers import weight_of_fact
from enbloc.model.ledger import Fact
from enbloc.model.pods import ContainerResource
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from tests.devices.objects import claim, exactly
from tests.engine.claiming import cluster_of, seen
from tests.world.builders import spec
from tests.world.storage import pvc

WIDE = Selector((Requirement("k", Operator.IN, tuple(f"{at:063}" for at in range(4096))),))


def selectors() -> Any:
    texts = [f"true /* {at:01290} */" for at in range(32)]
    return claim("c", *(exactly(f"r{at}", 1, "gpu", *texts) for at in range(8)))


def tolerations() -> Any:
    [request, *_] = selectors().spec.requests
    ask = replace(request.exactly, selectors=(), tolerations=(DeviceToleration("k" * 253),) * 16)
    return replace(claim("c"), spec=ClaimSpec((replace(request, exactly=ask),)))


@pytest.mark.parametrize(
    ("fact", "least"),
    [
        (selectors(), 8 * 32 * 1300),
        (tolerations(), 16 * 253),
        (replace(claim("c"), spec=ClaimSpec((), (), (Config(b"x" * 10_000),))), 10_000),
        (replace(pvc("c"), selector=WIDE), 4096 * 63),
    ],
    ids=["selectors", "tolerations", "configuration", "selector of labels"],
)
def test_a_claim_weighs_what_is_in_it(fact: Fact, least: int) -> None:
    assert least < weight_of_fact(fact) < 4 * least + 4096


def test_the_log_keeps_no_more_of_large_claims_that_came_and_went_than_bytes_allow() -> None:
    cluster = cluster_of()
    for at in range(60):
        seen(cluster, [replace(selectors(), uid=f"u{at}")])
    assert len(cluster.engine._core.state.log.entries) < 60


def test_nothing_is_kept_of_pods_with_a_vendor_s_resource_that_are_gone() -> None:
    wanted = (ContainerResource(0, "main", "nvidia.com/gpu", 0, 1),)
    cluster = cluster_of()
    for at in range(3):
        cluster.pod(f"p{at}", spec=replace(spec(cpu=1), extended=wanted), scheduler="other")
        cluster.delete(f"p{at}")
    assert cluster.engine._core.state.log.present().holders == {}
