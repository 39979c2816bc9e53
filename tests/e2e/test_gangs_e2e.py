# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs on a running API server, as their users meet them; every test on both targets."""

import asyncio

from tests.e2e import incidents
from tests.e2e.world import World
from tests.effort import slow


async def test_a_gang_of_eight_plain_pods_starts_together(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.gang("train", 8)
    await world.bound("train", 8)
    await world.condition("train", "Scheduled", "True")
    await world.condition("train", "Ready", "True", reason="Running")


async def test_a_gang_made_by_an_indexed_job_starts_together_and_finishes(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.group("job", 8)
    await world.job("job", 8, "job", run_seconds=1)
    await world.bound("job", 8)
    await world.condition("job", "Finished", "True", reason="Succeeded")


async def test_two_gangs_that_would_deadlock_run_one_after_the_other(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.group("a", 6)
    await world.group("b", 6)
    for index in range(6):
        await world.pod(f"a-{index}", "a")
        await world.pod(f"b-{index}", "b")
    first = await world.either_bound({"a": 6, "b": 6})
    second = "b" if first == "a" else "a"
    await world.condition(second, "Scheduled", "False", reason="Unschedulable")
    assert world.observer.bound(world.namespace, second) == {}
    for index in range(6):
        await incidents.ends(world, f"{first}-{index}", "Succeeded")
    await world.bound(second, 6)


@slow("fifty gangs run one after the other")
async def test_fifty_gangs_that_fit_only_in_turns_all_run_on_a_hundred_nodes(world: World) -> None:
    await world.nodes(100, cpu=2)
    sizes = [2 + index % 15 for index in range(50)]
    wanted = {f"g{index:02}": size for index, size in enumerate(sizes)}
    assert sum(sizes) > 200, "they must not fit at once"
    await asyncio.gather(*(world.gang(name, size, run_seconds=2) for name, size in wanted.items()))
    await world.all_finished(sum(sizes), timeout=100)


async def test_pods_may_come_before_their_podgroup(world: World) -> None:
    await world.nodes(1, cpu=4)
    for index in range(3):
        await world.pod(f"late-{index}", "late")
    await world.quiet()
    assert world.observer.bound(world.namespace) == {}
    await world.group("late", 3)
    await world.bound("late", 3)


async def test_a_missing_member_is_waited_for(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.gang("short", 2, minimum=3)
    await world.condition(
        "short", "Scheduled", "False", reason="WaitingForMembers", message="2 of 3 members exist"
    )
    await world.pod("short-2", "short")
    await world.bound("short", 3)


async def test_a_member_that_is_lost_is_missed_until_it_is_replaced(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.gang("train", 4)
    await world.condition("train", "Ready", "True", reason="Running")
    await world.delete_pod("train-2")
    await world.condition(
        "train", "Scheduled", "False", reason="BelowMinimum", message="3 of 4 members are left"
    )
    await world.until(lambda: len(world.observer.bound(world.namespace)) == 3, "the others run on")
    await world.pod("train-2", "train")
    await world.bound("train", 4)
    await world.condition("train", "Ready", "True", reason="Running")
    await world.event("train", "GangScheduled", count=2)


async def test_a_job_that_is_run_again_needs_its_whole_gang_again(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.group("job", 4)
    await world.job("job", 4, "job", run_seconds=0)
    await world.condition("job", "Finished", "True", reason="Succeeded")
    await world.delete_job("job")
    await world.pod("sitting", scheduler="somebody-else", node=f"{world.namespace}-n0", cpu=1)
    await world.job("job", 4, "job", run_seconds=0)
    await world.condition("job", "Scheduled", "False", reason="Unschedulable")
    await world.condition("job", "Ready", "False", reason="Unschedulable")
    assert world.observer.bound(world.namespace, "job") == {}
    await world.delete_pod("sitting")
    await world.condition("job", "Finished", "True", reason="Succeeded")
    await world.event("job", "PodGroupFinished", count=2)


async def test_a_group_deleted_while_it_waits_binds_nothing(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.gang("gone", 4)
    await world.condition("gone", "Scheduled", "False", reason="Infeasible")
    await world.delete_group("gone")
    await world.nodes(1, cpu=8)
    await world.quiet()
    assert world.observer.bound(world.namespace) == {}


async def test_a_new_node_makes_room_for_a_waiting_gang(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.gang("grow", 4)
    await world.condition(
        "grow",
        "Scheduled",
        "False",
        reason="Infeasible",
        message="needs capacity for 4 members with 1 cpu each",
    )

    def asks_autoscalers() -> bool:
        return all(pod.waits_for == "Unschedulable" for pod in world.observer.of(world.namespace))

    await world.until(asks_autoscalers, "all pods ask for a node (semantics §6.2)")
    await world.nodes(1, cpu=4)
    await world.bound("grow", 4)


async def test_a_taint_keeps_a_gang_off_until_it_is_removed(world: World) -> None:
    [name] = await world.nodes(1, cpu=4)
    await world.taint(name, "example.com/keep-out")
    await world.gang("tainted", 2)
    await world.condition(
        "tainted",
        "Scheduled",
        "False",
        reason="Infeasible",
        message="node(s) had untolerated taint(s)",
    )
    await world.untaint(name, "example.com/keep-out")
    await world.bound("tainted", 2)


async def test_a_selector_is_respected_and_a_label_added_later_counts(world: World) -> None:
    [plain, labelled] = await world.nodes(2, cpu=4)
    await world.gang("select", 2, node_selector={"disk": "ssd"})
    await world.condition(
        "select",
        "Scheduled",
        "False",
        reason="Infeasible",
        message="node(s) didn't match Pod's node affinity/selector",
    )
    await world.label(labelled, "disk", "ssd")
    await world.bound("select", 2)
    assert set(world.observer.bound(world.namespace).values()) == {labelled}
    assert plain != labelled


async def test_a_cordoned_node_is_left_alone_until_it_is_uncordoned(world: World) -> None:
    [name] = await world.nodes(1, cpu=4)
    await world.cordon(name, cordoned=True)
    await world.gang("wait", 2)
    await world.condition(
        "wait", "Scheduled", "False", reason="Infeasible", message="1 node(s) were unschedulable"
    )
    await world.cordon(name, cordoned=False)
    await world.bound("wait", 2)


async def test_a_pod_without_a_group_is_scheduled_by_itself(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pod("alone")
    await world.bound("alone", 1)
    await world.event("alone", "Scheduled")


async def test_a_pod_of_another_scheduler_is_not_touched_but_its_room_is_counted(
    world: World,
) -> None:
    [name] = await world.nodes(1, cpu=4)
    await world.pod("other", scheduler="somebody-else")
    await world.pod("sitting", scheduler="somebody-else", node=name, cpu=2)
    await world.gang("mine", 3)
    await world.condition("mine", "Scheduled", "False", reason="Unschedulable")
    assert "other" not in world.observer.bound(world.namespace)
    await world.delete_pod("sitting")
    await world.bound("mine", 3)


async def test_a_typo_in_the_annotation_is_named_by_an_event(world: World) -> None:
    await world.group("train", 1)
    await world.pod("p", "trian")
    await world.event("p", "PodGroupNotFound", note="trian not found")
