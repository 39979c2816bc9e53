# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs

from enbloc.client.coalescing_writer import CROWD_SETTLED_SECONDS
from enbloc.client.errors import (
    APIError,
    Conflict,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from enbloc.client.group_status import SETTLED
from enbloc.engine.effects import ConditionValue, SetGangRunning, SetGroupStatus, SetPodCondition
from enbloc.live.group_status import GroupObject
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.model.groups import GroupKey
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase, Pod, PodKey, PodSpec, PodUID
from enbloc.model.times import seconds_of
from enbloc.telemetry import ActiveProblems
from enbloc.wire.objects import FieldsOwned, PodGroupMetadata
from tests.client.fake import HTML, Script, answer, says, talking_to
from tests.client.memory import MemoryClient, Store

GROUP = GroupKey("ns", "g")
MANAGER = "enbloc-scheduler:enbloc"
EFFECT = SetGroupStatus(
    group=GROUP,
    uid="u1",
    generation=1,
    run_name="job-1",
    started=None,
    succeeded=0,
    roles=(),
    attempts=1,
    last_attempt=1_800_000_000.0,
    next_attempt=None,
    conditions=(ConditionValue(Condition.SCHEDULED, False, Reason.UNSCHEDULABLE, "no room"),),
)
POD = PodKey("ns", "p")
CONDITION = SetPodCondition(POD, PodUID("u2"), Reason.UNSCHEDULABLE, "no room")


@pytest.fixture
def problems() -> ActiveProblems:
    return ActiveProblems()


def status_of(store: Store, plural: str, name: str) -> dict[str, object]:
    found: dict[str, object] = store.objects[plural, name]["status"]
    return found


def store_with_group() -> Store:
    store = Store()
    metadata = {"name": "g", "namespace": "ns", "uid": "u1", "resourceVersion": "1"}
    store.objects["podgroups", "g"] = {"metadata": metadata}
    metadata = {"name": "p", "namespace": "ns", "uid": "u2", "resourceVersion": "1"}
    store.objects["pods", "p"] = {"metadata": metadata}
    return store


async def test_a_group_status_is_applied_with_the_uid_it_is_for(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    statuses.writer.put(GROUP, EFFECT)
    await statuses.writer.settled()
    [(verb, plural, body)] = client.sent
    assert (verb, plural) == ("patch", "podgroups")
    assert body["metadata"]["uid"] == "u1"
    assert status_of(client.store, "podgroups", "g") == {
        "run": "job-1",
        "succeeded": 0,
        "attempts": 1,
        "lastAttemptTime": "2027-01-15T08:00:00Z",
        "conditions": [
            {
                "type": "Scheduled",
                "status": "False",
                "observedGeneration": 1,
                "lastTransitionTime": "1970-01-01T00:00:00Z",
                "reason": "Unschedulable",
                "message": "no room",
            }
        ],
    }


async def test_a_status_that_stands_already_is_not_written_again(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    now = [0.0]
    statuses = GroupStatuses(client, lambda: now[0], problems, MANAGER)
    for now[0] in (0.0, 100.0):
        statuses.writer.put(GROUP, EFFECT)
        await statuses.writer.settled()
    assert len(client.sent) == 1
    statuses.writer.put(GROUP, structs.replace(EFFECT, generation=2))
    await statuses.writer.settled()
    assert len(client.sent) == 2


async def test_a_burst_that_ends_in_a_moment_is_written_once_by_its_end(
    problems: ActiveProblems,
) -> None:
    """Semantics §7.5."""
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    binding = ConditionValue(Condition.SCHEDULED, False, Reason.BINDING, "binding 8 members")
    placed = ConditionValue(Condition.SCHEDULED, True, Reason.SCHEDULED, "8 of 8")
    for condition in (binding, placed):
        statuses.writer.put(GROUP, structs.replace(EFFECT, conditions=(condition,)))
        await asyncio.sleep(1)
    await statuses.writer.settled()
    [(_, _, body)] = client.sent
    assert body["status"].conditions[0].reason == "Scheduled"


async def test_a_burst_that_takes_long_is_told_of_while_it_lasts(problems: ActiveProblems) -> None:
    """Semantics §7.5."""
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    binding = ConditionValue(Condition.SCHEDULED, False, Reason.BINDING, "binding 8 members")
    statuses.writer.put(GROUP, structs.replace(EFFECT, conditions=(binding,)))
    await asyncio.sleep(2)
    assert len(client.sent) == 1


async def test_that_a_group_has_started_does_not_wait_for_a_crowd(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    for index in range(1000):
        statuses.writer.put(GroupKey("ns", f"g{index}"), EFFECT)
    statuses.writer.put(GROUP, structs.replace(EFFECT, started=1_800_000_000.0))
    await asyncio.sleep(SETTLED + 0.1)
    assert [body["metadata"]["name"] for _, _, body in client.sent] == ["g"]
    statuses.writer.close()


async def test_in_a_crowd_what_passes_by_itself_is_said_last(problems: ActiveProblems) -> None:
    """Semantics §7.5."""
    client = MemoryClient(store_with_group())
    for index in range(1000):
        metadata = {"name": f"g{index}", "namespace": "ns", "uid": "u1", "resourceVersion": "1"}
        client.store.objects["podgroups", f"g{index}"] = {"metadata": metadata}
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    pending = ConditionValue(Condition.SCHEDULED, None, Reason.PENDING, "waits for its turn")
    statuses.writer.put(GROUP, structs.replace(EFFECT, conditions=(pending,)))
    for index in range(1000):
        key = GroupKey("ns", f"g{index}")
        statuses.writer.put(key, structs.replace(EFFECT, group=key))
    await asyncio.sleep(CROWD_SETTLED_SECONDS + 1)
    assert len(client.sent) == 1000
    placed = ConditionValue(Condition.SCHEDULED, True, Reason.SCHEDULED, "8 of 8")
    statuses.writer.put(GROUP, structs.replace(EFFECT, conditions=(placed,)))
    await statuses.writer.settled()
    said = [each["status"].conditions[0].reason for _, _, each in client.sent[1000:]]
    assert said == ["Scheduled"]


async def test_a_group_made_anew_starts_from_nothing(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    statuses.writer.put(GROUP, EFFECT)
    await statuses.writer.settled()
    statuses.gone(GROUP)
    statuses.writer.put(GROUP, EFFECT)
    await statuses.writer.settled()
    assert len(client.sent) == 2


REFUSED = "cannot be written now"
LAST_WRITES: list[APIError] = [
    Conflict("patch", "x/status", REFUSED, code=409),
    TooManyRequests("patch", "x/status", REFUSED, code=429, retry_after=3600.0),
    ServerError("patch", "x/status", REFUSED, code=500),
    ServerError("patch", "x/status", REFUSED, code=503),
    Unreachable("patch", "x/status", "timed out", sent=True),
    Unreachable("patch", "x/status", "reset", sent=True),
    Unreachable("patch", "x/status", "refused", sent=False),
]


@pytest.mark.parametrize("landed", [False, True])
@pytest.mark.parametrize("error", LAST_WRITES, ids=str)
async def test_the_last_status_is_written_again_until_it_stands(
    error: APIError, landed: bool, problems: ActiveProblems
) -> None:
    """semantics §2.2: nothing else happens that would have it written."""
    store = store_with_group()
    client = MemoryClient(store)
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    left = [error] * 5

    def fail(_: str) -> None:
        if left:
            raise left.pop()

    if landed:
        client.after = fail
    else:
        client.before = fail
    statuses.writer.put(GROUP, EFFECT)
    async with asyncio.timeout(200):
        await statuses.writer.settled()
    assert left == []
    assert status_of(store, "podgroups", "g")["conditions"]
    assert not problems.active


async def test_a_status_of_a_group_that_was_made_anew_is_given_up(problems: ActiveProblems) -> None:
    """The server would answer 409 for ever."""
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    anew = PodGroupMetadata(name="g", namespace="ns", uid="u9", resource_version="7")
    statuses.seen(GroupObject(anew))
    statuses.writer.put(GROUP, EFFECT)
    await statuses.writer.settled()
    assert client.sent == []
    statuses.writer.put(GROUP, structs.replace(EFFECT, uid="u9"))
    await statuses.writer.settled()
    assert len(client.sent) == 1


async def test_what_waits_is_given_up_once_another_scheduler_has_written(
    problems: ActiveProblems,
) -> None:
    """Semantics §6.4: of a group that is the other's it would hide what that one says."""
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    statuses.writer.put(GROUP, EFFECT)
    other = "enbloc-scheduler:batch"
    owned = (FieldsOwned(manager=other, subresource="status"),)
    theirs = PodGroupMetadata(
        name="g", namespace="ns", uid="u1", resource_version="7", managed_fields=owned
    )
    statuses.seen(GroupObject(theirs))
    await statuses.writer.settled()
    assert client.sent == []
    statuses.writer.put(GROUP, structs.replace(EFFECT, replaced=(other,)))
    await statuses.writer.settled()
    assert len(client.sent) == 2, "ours, and nothing any more of theirs"


async def test_groups_that_say_they_are_infeasible_are_counted(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    infeasible = ConditionValue(Condition.SCHEDULED, False, Reason.INFEASIBLE, "needs 9 nodes")
    for conditions, count in (((infeasible,), 1), (EFFECT.conditions, 0), ((infeasible,), 1)):
        statuses.writer.put(GROUP, structs.replace(EFFECT, conditions=conditions))
        await statuses.writer.settled()
        assert statuses.infeasible() == count
    statuses.gone(GROUP)
    assert statuses.infeasible() == 0


UNBOUND = Pod(POD, CONDITION.uid, PodSpec(), resource_version=1)


async def test_a_pod_condition_keeps_the_time_since_when_it_is_false(
    problems: ActiveProblems,
) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    for message in ("no room", "less room"):
        conditions.put(structs.replace(CONDITION, message=message))
        await conditions.writer.settled()
    bodies = [body for _, _, body in client.sent]
    assert [b["metadata"]["uid"] for b in bodies] == ["u2", "u2"]
    [first], [second] = (b["status"]["conditions"] for b in bodies)
    assert first["lastTransitionTime"] == "1970-01-01T00:00:00Z"
    assert second == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "less room",
    }


async def test_what_a_pod_shows_decides_whether_a_condition_is_new(
    problems: ActiveProblems,
) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(replace(UNBOUND, unschedulable=True))
    conditions.put(CONDITION)
    await conditions.writer.settled()
    [condition] = client.sent[-1][2]["status"]["conditions"]
    assert "lastTransitionTime" not in condition


@pytest.mark.parametrize("change", [{"node": "n1"}, {"phase": Phase.FAILED}])
async def test_a_condition_that_comes_too_late_is_not_written(
    change: dict[str, object], problems: ActiveProblems
) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    conditions.seen(replace(UNBOUND, **change))  # type: ignore[arg-type]
    conditions.put(CONDITION)
    await conditions.writer.settled()
    conditions.seen(UNBOUND)
    conditions.gone(CONDITION.uid)
    conditions.put(CONDITION)
    await conditions.writer.settled()
    assert client.sent == []


async def test_a_condition_never_lands_on_a_pod_that_was_bound_meanwhile(
    problems: ActiveProblems,
) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    client.store.objects["pods", "p"]["metadata"]["resourceVersion"] = "2"  # it is bound now
    conditions.put(CONDITION)
    await asyncio.sleep(0.01)
    conditions.seen(replace(UNBOUND, node="n1", resource_version=2))
    await conditions.writer.settled()
    assert "status" not in client.store.objects["pods", "p"]


async def test_a_condition_survives_another_change_of_its_pod(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    client.store.objects["pods", "p"]["metadata"]["resourceVersion"] = "2"  # a label
    conditions.put(CONDITION)
    await asyncio.sleep(0.01)
    conditions.seen(replace(UNBOUND, resource_version=2))
    await conditions.writer.settled()
    assert "status" in client.store.objects["pods", "p"]


async def test_a_nomination_is_withdrawn_though_another_condition_comes_before_that_is_written(
    problems: ActiveProblems,
) -> None:
    """Semantics §10.3: a new leader would claim the node for a pod that nobody makes room for."""
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    conditions.put(structs.replace(CONDITION, nominated="n1"))
    await conditions.writer.settled()
    assert status_of(client.store, "pods", "p")["nominatedNodeName"] == "n1"
    conditions.put(structs.replace(CONDITION, message="no room at all", nominated=""))
    conditions.put(structs.replace(CONDITION, message="no room on n1"))
    await conditions.writer.settled()
    assert status_of(client.store, "pods", "p")["nominatedNodeName"] is None
    conditions.put(CONDITION)
    await conditions.writer.settled()
    assert "nominatedNodeName" not in client.sent[-1][2]["status"], "it may be another's by now"


async def test_a_nomination_that_changes_while_it_is_written_is_written_again(
    problems: ActiveProblems,
) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    client.latency = 1.0
    conditions.put(structs.replace(CONDITION, nominated="n1"))
    await asyncio.sleep(0.5)
    conditions.put(structs.replace(CONDITION, nominated=""))
    conditions.put(structs.replace(CONDITION, message="no room on n1"))
    await conditions.writer.settled()
    assert status_of(client.store, "pods", "p")["nominatedNodeName"] is None


async def test_a_nomination_outlives_a_write_that_failed(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(UNBOUND)
    client.store.objects["pods", "p"]["metadata"]["resourceVersion"] = "2"  # a label
    conditions.put(structs.replace(CONDITION, nominated="n1"))
    await asyncio.sleep(0.01)
    conditions.seen(replace(UNBOUND, resource_version=2))
    conditions.put(CONDITION)
    await conditions.writer.settled()
    assert status_of(client.store, "pods", "p")["nominatedNodeName"] == "n1"


GATED = Pod(POD, CONDITION.uid, PodSpec(), node="n1", gang_gate=True)
RUNNING = SetGangRunning(POD, CONDITION.uid, running=True, message="8 of 8 members run")


async def test_the_gang_gate_of_a_bound_pod_opens_and_closes_and_keeps_its_time(
    problems: ActiveProblems,
) -> None:
    client = MemoryClient(store_with_group())
    now = [0.0]
    conditions = PodConditions(client, lambda: now[0], problems)
    conditions.seen(GATED)
    for effect in (
        RUNNING,
        structs.replace(RUNNING, message="9 of 8 members run"),
        structs.replace(RUNNING, running=False, message="7 of 8 members run"),
    ):
        conditions.put(effect)
        await conditions.writer.settled()
        now[0] += 60.0
    bodies = [body for _, _, body in client.sent]
    assert [b["metadata"] for b in bodies] == [{"uid": "u2"}] * 3
    [opened], [again], [closed] = (b["status"]["conditions"] for b in bodies)
    assert opened == {
        "type": "enbloc.dev/GangRunning",
        "status": "True",
        "reason": "Satisfied",
        "message": "8 of 8 members run",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }
    assert "lastTransitionTime" not in again
    assert (closed["status"], closed["reason"]) == ("False", "BelowMinimum")
    assert closed["lastTransitionTime"] == "1970-01-01T00:02:00Z"


@pytest.mark.parametrize("change", [{"gang_gate": False}, {"phase": Phase.SUCCEEDED}])
async def test_the_gang_gate_is_written_on_live_pods_that_have_it_alone(
    change: dict[str, object], problems: ActiveProblems
) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(GATED)
    conditions.seen(replace(GATED, **change))  # type: ignore[arg-type]
    conditions.put(RUNNING)
    await conditions.writer.settled()
    conditions.seen(GATED)
    conditions.gone(CONDITION.uid)
    conditions.put(RUNNING)
    await conditions.writer.settled()
    assert client.sent == []


async def test_the_newest_of_each_condition_of_a_pod_is_written(problems: ActiveProblems) -> None:
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: 0.0, problems)
    conditions.seen(replace(UNBOUND, gang_gate=True))
    conditions.put(RUNNING)
    conditions.put(CONDITION)
    conditions.put(structs.replace(RUNNING, running=False))
    await conditions.writer.settled()
    written = [b["status"]["conditions"][0] for _, _, b in client.sent]
    assert [c["status"] for c in written if c["type"] == "PodScheduled"] == ["False"]
    assert [c["status"] for c in written if c["type"] != "PodScheduled"] == ["False"]


async def test_a_status_whose_answer_cannot_be_read_is_written_again(
    problems: ActiveProblems, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = {"name": "g", "uid": EFFECT.uid, "resourceVersion": "x"}
    server = Script(HTML, says(lambda: answer({"metadata": metadata})))
    async with talking_to(server) as client:
        statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
        statuses.writer.put(GROUP, EFFECT)
        await statuses.writer.settled()
    assert len(server.seen) == 2
    assert "Failed" not in caplog.text


async def test_a_pod_condition_answered_with_another_object_stands(
    problems: ActiveProblems, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking_to(says(lambda: answer({"kind": "Status"}))) as client:
        conditions = PodConditions(client, lambda: 0.0, problems)
        conditions.seen(Pod(POD, PodUID("u2"), PodSpec()))
        conditions.put(CONDITION)
        await conditions.writer.finish(5.0)
    assert "Failed" not in caplog.text


async def test_no_time_lies_before_what_the_server_says_of_the_object(
    problems: ActiveProblems,
) -> None:
    """Semantics §7.3."""
    store = store_with_group()
    store.objects["podgroups", "g"]["metadata"]["creationTimestamp"] = "2027-01-15T08:00:05Z"
    client = MemoryClient(store)
    statuses = GroupStatuses(client, lambda: 1_800_000_003.0, problems, MANAGER)
    statuses.seen(msgspec.convert(store.objects["podgroups", "g"], GroupObject))
    statuses.writer.put(GROUP, EFFECT)
    conditions = PodConditions(client, lambda: 1_800_000_003.0, problems)
    conditions.seen(replace(UNBOUND, created=1_800_000_005.0))
    conditions.put(CONDITION)
    await statuses.writer.settled()
    await conditions.writer.settled()
    group, pod = status_of(store, "podgroups", "g"), status_of(store, "pods", "p")
    assert group["lastAttemptTime"] == "2027-01-15T08:00:05Z"
    for status in (group, pod):
        assert "'lastTransitionTime': '2027-01-15T08:00:05Z'" in str(status["conditions"])


@pytest.mark.parametrize("now", [1_800_000_003.0, 1_800_000_009.0])
async def test_a_gang_runs_no_earlier_than_its_pods_were_created(
    problems: ActiveProblems, now: float
) -> None:
    """Semantics §7.3."""
    client = MemoryClient(store_with_group())
    conditions = PodConditions(client, lambda: now, problems)
    gated = replace(UNBOUND, created=1_800_000_005.0, gang_gate=True)
    conditions.seen(gated)
    conditions.put(RUNNING)
    await conditions.writer.settled()
    [(_, _, body)] = [sent for sent in client.sent if sent[0] == "patch"]
    [condition] = body["status"]["conditions"]
    shown = seconds_of(condition["lastTransitionTime"])
    assert shown == max(now, gated.created)


async def test_the_pods_of_one_namespace_keep_no_others_condition_waiting(
    problems: ActiveProblems,
) -> None:
    store = Store()
    names = [*((f"p{number}", "many") for number in range(40)), ("q", "few")]
    client = MemoryClient(store)
    conditions = PodConditions(client, lambda: 0.0, problems)
    for name, namespace in names:
        metadata = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}
        store.objects["pods", name] = {"metadata": metadata}
        key, uid = PodKey(namespace, name), PodUID(name)
        conditions.seen(Pod(key, uid, PodSpec(), resource_version=1))
        conditions.put(structs.replace(CONDITION, pod=key, uid=uid))
    await conditions.writer.settled()
    order = [body["metadata"]["uid"] for _, _, body in client.sent]
    assert len(order) == len(names)
    assert order.index("q") < 20
