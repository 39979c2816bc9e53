# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""When those who wait start, as far as the ends of others can be told."""

from typing import Any

from enbloc.simulation import Outlook, Start
from tests.simulation.present import outlook, present, run
from tests.world.builders import spec
from tests.world.cluster import Cluster


def full(**of: Any) -> Cluster:
    """A node that a gang fills whose pods say this, and for which another waits."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.gang("early", 2, spec=spec(cpu=2), **of)
    run(cluster, "early")
    for name in cluster.where("early-"):
        cluster.change(name, started=cluster.now)
    cluster.gang("late", 2, spec=spec(cpu=2))
    return cluster


def starts(cluster: Cluster) -> dict[str, Start]:
    """Who starts when, by name, in seconds from now."""
    found = outlook(cluster)
    return {
        key.name: start._replace(at=start.at - found.now) for key, start in found.starts().items()
    }


def test_a_gang_starts_at_the_latest_when_the_limit_of_others_ends_them() -> None:
    assert starts(full(limit=600.0)) == {"late": Start(600.0, latest=True)}


def test_a_gang_is_expected_to_start_when_others_are_expected_to_end() -> None:
    assert starts(full(expected=60.0, limit=600.0)) == {"late": Start(60.0, latest=False)}


def test_who_is_being_deleted_has_its_grace_period_left() -> None:
    cluster = full(grace=30.0)
    for pod in list(cluster.pods.values()):
        if pod.node:
            cluster.change(pod.key.name, deleting=True)
    assert starts(cluster) == {"late": Start(30.0, latest=True)}


def test_nobody_knows_when_others_end_that_say_nothing() -> None:
    assert starts(full()) == {}


def test_who_runs_for_longer_than_expected_is_expected_to_end_at_once() -> None:
    cluster = full(expected=60.0)
    cluster.now += 500.0
    assert starts(cluster) == {"late": Start(0.0, latest=False)}


def test_one_after_the_other_starts_as_each_runs_for_its_own_limit() -> None:
    cluster = full(limit=600.0)
    for pod in list(cluster.pods.values()):
        if pod.key.name.startswith("late"):
            cluster.change(pod.key.name, limit=300.0)
    cluster.gang("last", 2, spec=spec(cpu=2), created=cluster.now + 1)
    assert starts(cluster) == {
        "late": Start(600.0, latest=True),
        "last": Start(900.0, latest=False),  # when the containers of late start is not known
    }


def test_a_limit_that_is_over_ends_nobody_for_certain() -> None:
    cluster = full(limit=600.0)
    cluster.now += 5000.0
    assert starts(cluster) == {}


def test_of_a_pod_that_has_not_started_the_limit_is_an_expectation() -> None:
    cluster = full(limit=600.0)
    for name in cluster.where("early-"):
        cluster.change(name, started=None)
    assert starts(cluster) == {"late": Start(600.0, latest=False)}


def test_nobody_looks_any_further_when_there_is_no_time_left() -> None:
    cluster = full(limit=600.0)
    assert Outlook(present(cluster)).within(lambda: False).starts() == {}


def test_a_gang_that_fits_no_empty_node_never_starts() -> None:
    cluster = full(limit=600.0)
    cluster.gang("large", 1, spec=spec(cpu=8))
    assert "large" not in starts(cluster)


def test_a_smaller_gang_that_fits_into_what_ends_early_delays_a_larger_one() -> None:
    cluster = full(limit=600.0)
    cluster.gang("small", 1, spec=spec(cpu=2), created=cluster.now + 1)
    assert starts(cluster) == {"late": Start(600.0, latest=True)}
    cluster.finish("early-0")
    cluster.settle()
    assert cluster.where("small") == {"small-0": "n1"}
    assert starts(cluster) == {}, "nothing is reserved for it, and `small` does not end"


def two_that_end(first: float, second: float, group: str | None = None) -> Cluster:
    """A node that two pods fill until then, of one group or of none."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    if group is not None:
        cluster.group(group, 2)
    of: dict[str, Any] = {"spec": spec(cpu=2), "node": "n1", "started": cluster.now}
    cluster.pod("one", group, limit=first, **of)
    cluster.pod("two", group, limit=second, **of)
    cluster.gang("late", 2, spec=spec(cpu=2), limit=300.0)
    cluster.gang("small", 1, spec=spec(cpu=2), limit=200.0, created=cluster.now + 1)
    return cluster


def test_ends_of_several_that_are_seconds_apart_come_one_after_the_other() -> None:
    assert starts(two_that_end(600.0, 630.0)) == {
        "small": Start(600.0, latest=True),  # it fits into what the first leaves
        "late": Start(800.0, latest=False),
    }


def test_ends_of_one_group_within_a_minute_count_as_one() -> None:
    assert starts(two_that_end(600.0, 630.0, "early")) == {
        "late": Start(630.0, latest=True),
        "small": Start(930.0, latest=False),
    }


def test_ends_of_one_group_that_are_further_apart_come_one_after_the_other() -> None:
    assert starts(two_that_end(600.0, 661.0, "early")) == {
        "small": Start(600.0, latest=True),
        "late": Start(800.0, latest=False),
    }


def test_of_too_many_ends_those_within_a_minute_count_as_one() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=100)
    for at in range(100):
        cluster.pod(f"early-{at}", node="n1", started=cluster.now, limit=600.0 + at)
    cluster.gang("late", 1, spec=spec(cpu=100))
    assert starts(cluster) == {"late": Start(699.0, latest=True)}


def test_capacity_that_is_held_for_a_lost_member_is_waited_for() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    cluster.group("early", 2, timeout=20)
    for at in range(2):
        cluster.pod(f"early-{at}", "early", spec=spec(cpu=2))
    run(cluster, "early")
    cluster.change("early-0", deleting=True, grace=5.0)
    cluster.gang("small", 1, spec=spec(cpu=2))
    assert starts(cluster.restarted()) == {"small": Start(20.0, latest=True)}
