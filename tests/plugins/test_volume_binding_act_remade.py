# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A volume that exists is never given to a claim that is gone: it would be released for good."""

from collections.abc import Callable

import pytest

from enbloc.framework.act import Reply
from enbloc.framework.status import SUCCESS, Code, Status
from tests.plugins.cluster import once, times
from tests.plugins.test_volume_binding_act import (
    PV,
    PVC,
    World,
    clock,
    delete,
    recreate,
    static,
)


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        pytest.param(recreate, f"{PVC} ns/c was deleted and created again", id="another"),
        pytest.param(delete, 'persistentvolumeclaim "c" is being deleted', id="it is deleted"),
        pytest.param(
            lambda world: world.drop(PVC, "c"), f'{PVC} ns/c: {PVC} "c" not found', id="it is gone"
        ),
        pytest.param(
            lambda world: world.bind_claim("c", "other"),
            f"{PVC} ns/c is bound to other by now",
            id="it has another volume",
        ),
    ],
)
@pytest.mark.parametrize("code", [503, 409])
async def test_a_claim_is_looked_at_again_before_each_try(
    happens: Callable[[World], None], message: str, code: int
) -> None:
    world = World()
    world.before = times(5, Reply(code, message="not now"), f"patch {PV}")
    world.after_seconds(1, happens, world)
    assert await world.prepare(static()) == Status(Code.ERROR, message)
    assert "claimRef" not in world.get(PV, "v", "")["spec"]


async def test_a_claim_that_is_bound_between_two_tries_is_left_as_it_is() -> None:
    world = World()
    world.before = times(5, Reply(503, message="not now"), f"patch {PV}")
    world.after_seconds(1, world.bind_claim, "c", "v")
    assert await world.prepare(static()) == SUCCESS
    assert "claimRef" not in world.get(PV, "v", "")["spec"]


async def test_a_volume_is_not_written_again_before_the_server_wants_it_to_be() -> None:
    """semantics §3.4"""
    world = World()
    world.before = once(Reply(429, message="busy", retry_after=20.0), f"patch {PV}")
    assert await world.prepare(static()) == SUCCESS
    assert clock() == 21
