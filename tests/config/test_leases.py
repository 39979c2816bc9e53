# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which Lease a scheduler takes: its own, or kube-scheduler's where it takes its place."""

import pytest

from enbloc.config import Source, configure, default_configuration
from enbloc.config.configuration import LeaderElection

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def lease(scheduler: str, said: str) -> tuple[str, str]:
    text = f"{HEAD}profiles: [{{schedulerName: {scheduler}}}]\nleaderElection: {said}\n"
    found = configure([Source("f", text)]).leader_election
    return found.resource_namespace, found.resource_name


@pytest.mark.parametrize(
    ("scheduler", "said", "found"),
    [
        ("my-scheduler", "{}", ("", "enbloc-scheduler")),
        ("my-scheduler", "{resourceName: mine}", ("", "mine")),
        ("my-scheduler", "{resourceNamespace: there}", ("there", "enbloc-scheduler")),
        ("default-scheduler", "{}", ("kube-system", "kube-scheduler")),
        ("default-scheduler", "{leaderElect: true}", ("kube-system", "kube-scheduler")),
        ("default-scheduler", "{resourceName: mine}", ("kube-system", "mine")),
        ("default-scheduler", "{resourceNamespace: there}", ("there", "kube-scheduler")),
    ],
)
def test_the_lease_follows_the_name_that_is_served(
    scheduler: str, said: str, found: tuple[str, str]
) -> None:
    assert lease(scheduler, said) == found


def test_without_a_file_it_is_our_own() -> None:
    election = default_configuration().leader_election
    assert (election.resource_namespace, election.resource_name) == ("", "enbloc-scheduler")


def test_one_of_several_names_is_enough() -> None:
    found = LeaderElection().of({"a", "default-scheduler"})
    assert (found.resource_namespace, found.resource_name) == ("kube-system", "kube-scheduler")
