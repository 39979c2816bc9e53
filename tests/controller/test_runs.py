# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Condition Finished goes with the run (semantics §7.2, §7.3)."""

from dataclasses import replace
from functools import partial

import pytest

from enbloc.controller.creators import JOB, Creator
from enbloc.controller.members import Member, Members
from enbloc.controller.runs import RunHistory
from enbloc.model.groups import Group, GroupKey, GroupMemory, RunMemory
from enbloc.model.pods import PodUID
from tests.controller.statuses import (
    NOW,
    PAIR,
    Watcher,
    applied,
    condition,
    failed,
    jobs,
    pending,
    pods,
    running,
    scheduled,
    succeeded,
)

RUN = scheduled("True", "Scheduled")


def of(job: str, *members: Member, created: float = NOW) -> list[Member]:
    """Pods of a Job."""
    return [
        replace(m, uid=PodUID(f"{job}-{i}"), owner_key=job, controller=job, created=created)
        for i, m in enumerate(members)
    ]


def finished(group: str = "a") -> Watcher:
    """A group whose Job was complete at NOW."""
    memory = GroupMemory(run_name=group, started=NOW, succeeded=2)
    watcher = Watcher(replace(PAIR, memory=memory), RUN)
    watcher.looks(of("a", succeeded, succeeded), jobs(a=True))
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:20Z")
    return watcher


def test_a_rerun_that_ended_before_anybody_looked_has_a_verdict_of_its_own() -> None:
    """Semantics §7.2."""
    watcher = finished()

    rerun = of("b", failed, failed, created=NOW)  # in the same second as the first one's end
    patch = watcher.looks(rerun, jobs(b=False), NOW + 1.5)

    assert watcher.end() == ("Failed", "2023-11-14T22:13:21Z")
    assert watcher.ready() == ("Failed", "0 members succeeded, 2 failed")
    assert patch is not None
    assert patch["failed"] == 2


def test_a_rerun_is_another_run_while_pods_and_job_of_the_first_are_still_listed() -> None:
    """Semantics §7.2."""
    watcher = finished()

    members = [*of("a", succeeded, succeeded), *of("b", failed, failed)]
    watcher.looks(members, jobs(a=True, b=False), NOW + 1.5)

    assert watcher.end() == ("Failed", "2023-11-14T22:13:21Z")
    assert watcher.looks(members, jobs(a=True, b=False), NOW + 9, run_name="b") is None


def test_a_rerun_that_the_scheduler_saw_first_is_another_run() -> None:
    """Semantics §7.2."""
    watcher = finished()

    rerun = of("b", failed, failed, created=NOW + 1)
    watcher.looks(rerun, jobs(b=False), NOW + 2, run_name="b", succeeded=0, started=None)

    assert watcher.end() == ("Failed", "2023-11-14T22:13:22Z")


def test_a_rerun_with_the_same_outcome_is_another_end() -> None:
    """Semantics §7.2."""
    watcher = finished()

    watcher.looks(of("b", succeeded, succeeded), jobs(b=True), NOW + 30)

    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:50Z")


def test_what_the_scheduler_said_of_the_run_before_is_not_heard_in_the_next() -> None:
    """Semantics §7.2."""
    watcher = finished()
    members = [*of("a", succeeded, succeeded), *of("b", pending, created=NOW + 1)]

    watcher.looks(members, jobs(a=True), NOW + 2)
    assert watcher.end() is None
    assert watcher.ready() == ("WaitingForMembers", "1 of 2 members exist")
    assert watcher.looks(members, jobs(a=True), NOW + 3) is None, "it is not heard later either"

    watcher.looks(members, jobs(a=True), NOW + 4, run_name="b", succeeded=0, started=None)
    assert watcher.ready()[0] == "Starting", "now Scheduled=True is about this run"


def test_a_run_that_was_cut_short_does_not_bring_back_the_verdict_before_it() -> None:
    """Semantics §7.2."""
    watcher = finished()
    old = of("a", succeeded, succeeded)
    watcher.looks([*old, *of("b", pending)], jobs(a=True, b=None), NOW + 2)

    watcher.looks(old, jobs(a=True), NOW + 3)

    assert watcher.end() is None
    assert watcher.ready() == ("WaitingForMembers", "0 of 2 members exist")


def test_a_run_that_only_the_scheduler_saw_ends_the_verdict_too() -> None:
    """Semantics §7.2."""
    watcher = finished()

    watcher.looks([], jobs(), NOW + 3, run_name="b", succeeded=0, started=None)

    assert watcher.end() is None


def test_new_bare_pods_are_a_new_run_even_in_the_second_of_the_end() -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, RUN)
    watcher.looks(pods(succeeded, succeeded), {}, NOW)
    again = [replace(m, uid=PodUID(f"again-{i}")) for i, m in enumerate((failed, failed))]

    watcher.looks([*pods(succeeded, succeeded), *again], {}, NOW + 0.5)

    assert watcher.end() == ("Failed", "2023-11-14T22:13:20Z")


def test_a_new_process_tells_runs_apart_by_the_time_of_the_verdict() -> None:
    """Semantics §7.2."""
    before = finished()
    old, rerun = of("a", succeeded, succeeded), of("b", failed, failed, created=NOW + 1)
    same = Watcher(before.group, before.status)
    later = Watcher(before.group, before.status)

    assert same.looks(old, jobs(a=True), NOW + 60) is None
    assert same.looks([], jobs(), NOW + 61) is None
    later.looks([*old, *rerun], jobs(a=True, b=False), NOW + 60)
    assert later.end() == ("Failed", "2023-11-14T22:14:20Z")


def test_a_verdict_is_never_older_than_a_member_that_it_is_about() -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, RUN)

    # The server's clock is read from whole seconds, and so may be behind its objects.
    watcher.looks(pods(succeeded, succeeded, created=NOW + 1), {}, NOW + 0.2)

    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:21Z")


def test_a_job_of_16_at_parallelism_8_is_not_finished_after_the_first_wave() -> None:
    """Semantics §7.2."""
    group = replace(PAIR, min_member=8, memory=GroupMemory("a", NOW, succeeded=8))
    watcher = Watcher(group, RUN)
    first = of("a", *[succeeded] * 8)

    watcher.looks(first, jobs(a=None))
    assert watcher.end() is None
    watcher.looks([*first, *of("a", *[succeeded] * 16)[8:]], jobs(a=True), NOW + 9, succeeded=16)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:29Z")


def test_the_end_of_a_job_counts_although_its_pods_were_deleted_at_once() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("a", NOW, succeeded=2)), RUN)
    watcher.looks(of("a", running, running), jobs(a=None))

    watcher.looks([], jobs(a=True), NOW + 1)

    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:21Z")
    assert watcher.looks([], jobs(), NOW + 2) is None


def test_a_job_that_was_deleted_before_its_end_does_not_end_its_group() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("a", NOW)), RUN)
    watcher.looks([*of("a", running), *of("b", running)], jobs(a=None, b=None))

    watcher.looks(of("b", succeeded), jobs(b=None), NOW + 1)
    assert watcher.end() is None
    watcher.looks(of("b", succeeded), jobs(b=True), NOW + 2)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:22Z")


def test_a_job_that_was_created_again_counts_by_its_last_end() -> None:
    """Semantics §2.4, §7.2."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("a", NOW)), RUN)
    first = Creator(JOB, "b", "b", ended=False)

    def again(ended: bool | None) -> dict[str, Creator]:
        return {"b": first, "c": Creator(JOB, "b", "c", ended=ended)}

    watcher.looks([*of("a", running), *of("b", failed)], {**jobs(a=None), "b": first})
    watcher.looks([*of("a", succeeded), *of("c", running)], jobs(a=True) | again(None), NOW + 1)
    watcher.looks([*of("a", succeeded), *of("c", succeeded)], jobs(a=True) | again(None), NOW + 2)
    assert watcher.end() is None
    worse = Watcher(watcher.group, watcher.status, watcher.history)
    watcher.looks([*of("a", succeeded), *of("c", succeeded)], jobs(a=True) | again(True), NOW + 3)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:23Z")
    worse.looks([*of("a", succeeded), *of("c", failed)], jobs(a=True) | again(False), NOW + 3)
    assert worse.end() == ("Failed", "2023-11-14T22:13:23Z")


def test_a_job_that_failed_counts_although_the_one_before_it_was_complete() -> None:
    """Semantics §2.4, §7.2."""
    memory = GroupMemory("a", NOW, succeeded=1, runs=(RunMemory("a", ("a", "b", "c")),))
    watcher = Watcher(replace(PAIR, memory=memory), RUN)
    first = Creator(JOB, "step", "b", created=NOW, ended=True)
    again = Creator(JOB, "step", "c", created=NOW + 60, ended=None)
    members = [*of("a", running), *of("b", succeeded)]
    watcher.looks(members, {**jobs(a=None), "b": first})
    members = [*of("a", succeeded), *of("b", succeeded), *of("c", running, created=NOW + 60)]
    watcher.looks(members, {**jobs(a=True), "b": first, "c": again}, NOW + 61)

    members[-1] = of("c", failed, created=NOW + 60)[0]
    ends = {**jobs(a=True), "b": first, "c": replace(again, ended=False)}
    watcher.looks(members, ends, NOW + 62)

    assert watcher.end() == ("Failed", "2023-11-14T22:14:22Z")


def workload(ended: bool | None) -> dict[str, Creator]:
    """What is known of workload "w": only its end."""
    known = {"w": Creator("PyTorchJob", "w", "w", ended=ended)}
    return known if ended is not None else {}


def test_the_end_of_a_workload_that_owns_pods_ends_its_group_once_no_member_is_live() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("w", NOW, succeeded=2)), RUN)

    watcher.looks(of("w", succeeded, succeeded), workload(None))
    assert watcher.end() is None, "it may create others"
    watcher.looks(of("w", succeeded, succeeded, running), workload(True), NOW + 1)
    assert watcher.end() is None
    watcher.looks(of("w", succeeded, succeeded), workload(True), NOW + 2)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:22Z")


def test_a_workload_that_failed_ends_its_group_whatever_its_pods_did() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("w", NOW, succeeded=2)), RUN)

    watcher.looks(of("w", succeeded, succeeded), workload(False))

    assert watcher.end() == ("Failed", "2023-11-14T22:13:20Z")


def test_a_workload_that_runs_again_takes_its_verdict_back_and_ends_again() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("w", NOW)), RUN)
    watcher.looks(of("w", succeeded, succeeded), workload(True))
    assert watcher.end() is not None

    members = of("w", succeeded, succeeded, running)
    watcher.looks(members, workload(None), NOW + 5)
    assert watcher.end() is None
    assert watcher.ready()[0] == "Running"

    watcher.looks(of("w", succeeded, succeeded, failed), workload(None), NOW + 6)
    assert watcher.end() is None
    watcher.looks(of("w", succeeded, succeeded, failed), workload(False), NOW + 7)
    assert watcher.end() == ("Failed", "2023-11-14T22:13:27Z")


def test_executors_that_are_left_do_not_keep_the_group_of_their_driver_from_its_end() -> None:
    """Semantics §7.2."""
    driver = of("w", succeeded)
    executors = [replace(m, controller="w-0", owner_key="w-0") for m in of("e", failed, failed)]
    watcher = Watcher(replace(PAIR, min_member=1, memory=GroupMemory("w", NOW)), RUN)

    watcher.looks([*driver, *executors], workload(None))
    assert watcher.end() is None
    watcher.looks([*driver, *executors], workload(True), NOW + 1)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:21Z")
    assert watcher.looks(executors, workload(True), NOW + 2) is None


def test_a_new_process_learns_of_an_end_after_which_all_pods_were_deleted() -> None:
    """Semantics §7.2."""
    group = replace(PAIR, owner="PyTorchJob/w", memory=GroupMemory("w", NOW, succeeded=2))
    watcher = Watcher(group, RUN)

    watcher.looks([], workload(None))
    assert watcher.end() is None
    watcher.looks([], workload(True), NOW + 1)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:21Z")


def test_a_job_below_a_workload_that_ended_still_has_to_end() -> None:
    """Semantics §7.2."""
    group = replace(PAIR, owner="MPIJob/w", memory=GroupMemory("w", NOW))
    watcher = Watcher(group, RUN)
    members = [*of("launcher", failed), *of("w", succeeded)]

    watcher.looks(members, {**jobs(launcher=None), **workload(False)})
    assert watcher.end() is None
    watcher.looks(members, {**jobs(launcher=False), **workload(False)}, NOW + 1)
    assert watcher.end() == ("Failed", "2023-11-14T22:13:21Z")


def test_a_verdict_stands_while_the_status_names_the_owners_of_its_run() -> None:
    """Semantics §7.2."""
    runs = (RunMemory("a", ("a",), started=NOW, succeeded=2),)
    memory = GroupMemory("a", NOW, succeeded=2, runs=runs)
    watcher = Watcher(replace(PAIR, memory=memory), RUN)
    members = of("a", succeeded, succeeded)
    watcher.looks(members, jobs(a=True))

    assert watcher.looks(members, jobs(a=True), NOW + 5) is None

    members += of("b", running, running, created=NOW + 6)
    watcher.looks(members, jobs(a=True, b=None), NOW + 7)
    assert watcher.end() is None
    assert watcher.ready()[0] == "Pending", "what the status says is about the first run"
    members = [*members[:2], *of("b", succeeded, succeeded, created=NOW + 6)]
    runs = (RunMemory("b", ("b",)),)
    watcher.looks(members, jobs(a=True, b=True), NOW + 8, run_name="b", runs=runs)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:28Z")
    assert watcher.looks(members, jobs(a=True, b=True), NOW + 9) is None


def test_a_verdict_stands_while_an_earlier_run_is_live() -> None:
    """Semantics §2.4, §7.2."""
    runs = (RunMemory("a", ("a",)), RunMemory("b", ("b",)))
    watcher = Watcher(replace(PAIR, memory=GroupMemory("b", NOW, succeeded=2, runs=runs)), RUN)
    members = [*of("a", running), *of("b", succeeded, succeeded)]
    watcher.looks(members, jobs(a=None, b=True))

    assert watcher.looks(members, jobs(a=None, b=True), NOW + 5) is None
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:20Z")


def test_failures_of_an_earlier_run_do_not_count_once_a_verdict_stands() -> None:
    """Semantics §7.3."""
    runs = (RunMemory("b", ("b",)),)
    watcher = Watcher(replace(PAIR, memory=GroupMemory("b", runs=runs)), RUN, RunHistory("a"))
    watcher.history = replace(watcher.history, over=frozenset({"a"}))
    members = [*of("a", failed, failed), *of("b", succeeded, succeeded)]
    watcher.looks(members, jobs(a=False, b=True))
    assert (watcher.end(), watcher.status["failed"]) == (("Succeeded", "2023-11-14T22:13:20Z"), 0)

    assert watcher.looks(members, jobs(a=False, b=True), NOW + 5) is None


def test_a_verdict_is_taken_back_when_members_of_that_very_run_live_on() -> None:
    """Semantics §7.2."""
    # A JobSet whose second Job depends on the first: one run, two Jobs.
    first, second = of("a", succeeded, succeeded), of("b", running, running)
    run = [replace(m, owner_key="js/0") for m in first]
    watcher = Watcher(replace(PAIR, memory=GroupMemory("js/0", NOW)), RUN)
    watcher.looks(run, jobs(a=True))
    assert watcher.end() is not None

    run += [replace(m, owner_key="js/0") for m in second]
    watcher.looks(run, jobs(a=True, b=None), NOW + 5)
    assert watcher.end() is None
    assert watcher.ready()[0] == "Running"


def test_a_new_process_learns_of_the_end_of_jobs_whose_pods_are_gone() -> None:
    """Semantics §7.2."""
    # A Job that reaches its deadline deletes its pods; those of a JobSet's attempt have one owner.
    plain = replace(PAIR, memory=GroupMemory("a", NOW, runs=(RunMemory("a", ("a",)),)))
    attempt = (RunMemory("set/1", ("set/1",)),)
    of_set = replace(PAIR, memory=GroupMemory("set/1", NOW, runs=attempt))
    for group, restart in ((plain, ""), (of_set, "set/1")):
        watcher = Watcher(group, RUN)
        job = replace(jobs(a=False)["a"], restart=restart)
        other = Creator(JOB, "b", "b", restart="set/0", ended=True)

        watcher.looks([], {"a": job, "b": other})

        assert watcher.end() == ("Failed", "2023-11-14T22:13:20Z")
        assert watcher.looks([], {"a": job, "b": other}, NOW + 5) is None


@pytest.mark.parametrize(("good", "reason"), [(True, "Succeeded"), (False, "Failed")])
@pytest.mark.parametrize("first", [True, False])
def test_a_part_of_a_jobset_ends_with_it_though_its_own_job_is_deleted(
    first: bool, good: bool, reason: str
) -> None:
    """Semantics §7.2."""
    # A server goes on until the workers, a later part, have ended: the JobSet then deletes it. Or
    # the workers go on until the first part has.
    whole, workers = GroupKey("n", "set"), GroupKey("n", "set-workers")
    job = partial(Creator, JOB, group=whole, above_kind="JobSet", above_name="set", restart="js/0")
    server, work = job("server", "s"), job("work", "w", wave=workers)
    key, own, other = (whole, server, work) if first else (workers, work, server)
    members = Members(groups={whole, workers})
    members.put_creator(server)
    members.put_creator(work)
    memory = GroupMemory("js/0", NOW)
    group = Group(key, uid="g", min_member=1, generation=1, owner="JobSet/js", memory=memory)
    watcher = Watcher(group, RUN)

    def look(*found: Member) -> None:
        watcher.looks(found, members.creators(key, {*watcher.history.controllers, "js"}))

    pod = replace(running, owner_key="js/0", controller=own.uid)
    look(pod)
    members.put_creator(replace(other, ended=good))
    look(pod)
    members.remove_creator(own.uid)
    look()
    assert watcher.end() is None, "the JobSet may start again"

    members.put_creator(Creator("JobSet", "set", "js", whole, ended=good))
    look()
    assert watcher.end() == (reason, "2023-11-14T22:13:20Z")


def test_a_jobset_that_fails_does_not_fail_the_part_of_which_all_jobs_are_complete() -> None:
    """Semantics §7.2."""
    watcher = Watcher(replace(PAIR, owner="JobSet/js", memory=GroupMemory("js/0", NOW)), RUN)
    members = [replace(m, owner_key="js/0") for m in of("a", succeeded, succeeded)]
    failing = Creator("JobSet", "set", "js", ended=False)
    watcher.looks(members, {**jobs(a=None), "js": failing})
    assert watcher.end() is None, "its Job goes on"
    watcher.looks(members, {**jobs(a=True), "js": failing}, NOW + 1)
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:21Z")


def test_a_job_of_a_run_that_will_never_have_pods_does_not_keep_it_from_its_end() -> None:
    """Semantics §7.2."""
    runs = (RunMemory("set/1", ("set/1",)),)
    group = replace(PAIR, memory=GroupMemory("set/1", NOW, runs=runs))
    members = [replace(m, owner_key="set/1") for m in of("a", succeeded, succeeded)]
    known = {uid: replace(job, restart="set/1") for uid, job in jobs(a=True, b=None).items()}
    waiting, ended = Watcher(group, RUN), Watcher(group, RUN)

    waiting.looks(members, known)
    ended.looks(members, known | {"b": replace(known["b"], pods=0)})

    assert waiting.end() is None, "the other Job may create pods"
    assert ended.end() == ("Succeeded", "2023-11-14T22:13:20Z")


def test_a_new_process_has_the_verdict_of_a_rerun_that_came_and_went_meanwhile() -> None:
    """Semantics §7.2."""
    before = finished()
    runs = (RunMemory("b", ("b",), queue_time=NOW + 60),)
    group = replace(before.group, memory=GroupMemory("b", NOW + 60, runs=runs))
    aborted, failing = (Watcher(group, before.status) for _ in range(2))

    failing.looks([], jobs(a=True, b=False), NOW + 99)
    aborted.looks([], jobs(a=True), NOW + 99)

    assert failing.end() == ("Failed", "2023-11-14T22:14:59Z")
    assert aborted.end() is None, "the verdict of the first run is not that of the second"


def test_a_verdict_stands_when_a_jobset_attempt_is_named_after_its_pods_are_gone() -> None:
    """Semantics §7.2."""
    watcher = finished()
    job = {"b": replace(jobs(b=False)["b"], restart="set/1")}
    members = [replace(m, owner_key="set/1") for m in of("b", failed, running, created=NOW + 1)]
    watcher.looks(members, job, NOW + 1)
    watcher.looks([], job, NOW + 2)
    assert watcher.end() == ("Failed", "2023-11-14T22:13:22Z")

    runs = (RunMemory("set/1", ("set/1",), queue_time=NOW + 1),)
    assert watcher.looks([], {}, NOW + 5, run_name="set/1", runs=runs) is None


def test_pods_of_an_earlier_run_are_not_of_one_whose_pods_are_all_gone() -> None:
    """Semantics §7.2."""
    # A new process while the second of two Jobs runs; then this Job is deleted, or fails.
    runs = (RunMemory("b", ("b",), queue_time=NOW + 60),)
    group = replace(PAIR, memory=GroupMemory("b", NOW + 60, runs=runs))
    deleted, failing = (Watcher(group, RUN) for _ in range(2))
    old, new = of("a", succeeded, succeeded), of("b", running, running, created=NOW + 60)
    for watcher in (deleted, failing):
        watcher.looks([*old, *new], jobs(a=True, b=None), NOW + 70)

    deleted.looks(old, jobs(a=True), NOW + 80)
    failing.looks(old, jobs(a=True, b=False), NOW + 80)

    assert deleted.end() is None
    assert failing.end() == ("Failed", "2023-11-14T22:14:40Z")
    assert failing.ready()[1] == "0 members succeeded, 0 failed"


def test_a_run_does_not_wait_for_controllers_of_an_earlier_one() -> None:
    """Semantics §2.4, §7.2."""
    watcher = Watcher(PAIR, RUN)
    members = [*of("a", running), *of("b", running, running)]
    watcher.looks(members, jobs(a=None, b=None))  # before the scheduler tells the two apart

    runs = (RunMemory("a", ("a",)), RunMemory("b", ("b",)))
    members = [*of("a", running), *of("b", succeeded, succeeded)]
    watcher.looks(members, jobs(a=None, b=True), NOW + 5, run_name="b", runs=runs)

    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:25Z")


def test_only_owners_that_may_be_seen_again_are_remembered_as_over() -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, RUN)
    for number in range(20):
        job, now = f"job-{number}", NOW + 60 * number
        runs = (RunMemory(job, (job,)),)
        members = of(job, running, running, created=now)
        watcher.looks(members, jobs(**{job: None}), now, run_name=job, runs=runs)
        watcher.looks(of(job, succeeded, succeeded, created=now), jobs(**{job: True}), now + 1)
        assert watcher.end() is not None
        assert watcher.looks([], jobs(), now + 2) is None
    assert watcher.history.over == frozenset({"job-19"})


def test_bare_pods_that_are_gone_are_not_remembered_as_over() -> None:
    """Semantics §7.2."""
    watcher = Watcher(PAIR, RUN)
    for number in range(20):
        now = NOW + 60 * number
        members = [replace(m, uid=PodUID(f"{number}-{m.uid}")) for m in pods(succeeded, succeeded)]
        watcher.looks(members, {}, now)
        assert watcher.looks([], {}, now + 1) is None
    assert watcher.history.over == frozenset({"19-pod-0", "19-pod-1"})


def test_a_verdict_stands_when_the_scheduler_names_its_run_after_all_is_gone() -> None:
    """Semantics §7.2."""
    watcher = finished()
    watcher.looks(of("b", failed, failed), jobs(b=False), NOW + 1.5)

    assert watcher.looks([], jobs(), NOW + 2) is None
    assert watcher.looks([], jobs(), NOW + 3, run_name="b") is None
    assert watcher.end() == ("Failed", "2023-11-14T22:13:21Z")


def test_failures_are_counted_on_within_a_run_and_anew_in_the_next() -> None:
    """Semantics §7.3."""
    watcher = Watcher(replace(PAIR, memory=GroupMemory("a", NOW)), RUN, RunHistory("a", failed=3))

    def count(members: list[Member], now: float, **memory: object) -> int:
        watcher.looks(members, jobs(a=None), now, **memory)
        return int(watcher.status["failed"])

    assert count(of("a", running, failed), NOW) == 3
    assert count(of("a", running, running), NOW + 1) == 3
    assert count(of("a", *[failed] * 4), NOW + 2) == 4
    assert count(of("b", running, failed), NOW + 9, run_name="b") == 1


def test_the_count_goes_on_when_the_scheduler_names_the_run_for_the_first_time() -> None:
    """Semantics §7.3."""
    watcher = Watcher(PAIR, {})
    watcher.looks(of("a", running, failed), jobs(a=None))

    watcher.looks(of("a", running, running), jobs(a=None), NOW + 1, run_name="a")

    assert watcher.status["failed"] == 1


def test_a_new_generation_is_stamped_on_a_verdict_that_stands() -> None:
    """Semantics §7.1."""
    watcher = finished()
    watcher.group = replace(watcher.group, generation=2)

    patch = watcher.looks([], jobs(), NOW + 60)

    assert patch is not None
    assert applied({}, patch)["observedGeneration"] == 2
    assert condition(patch, "Finished")["observedGeneration"] == 2
    assert condition(patch, "Ready")["observedGeneration"] == 2
    assert watcher.end() == ("Succeeded", "2023-11-14T22:13:20Z")
