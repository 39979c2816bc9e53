# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The commands that pages show are typed, top to bottom, and print what the pages show."""

from pathlib import Path
from typing import Final

import pytest

from tests.examples.desk import ROOT, Desk
from tests.examples.pages import walk

#: Pages that need no more of kubectl than the stand-in knows.
ANYWHERE: Final = (
    "README.md",
    "docs/how-to/gangs-for-workloads.md",
    "docs/how-to/survive-a-node.md",
    "docs/how-to/keep-spare-nodes.md",
    "docs/how-to/reserve-room-for-executors.md",
    "docs/how-to/whole-gangs-in-a-service.md",
    "docs/how-to/keep-a-gang-in-one-rack.md",
    "docs/how-to/describe-your-racks.md",
    "docs/how-to/place-ranks-beside-each-other.md",
    "docs/how-to/keep-replicas-apart.md",
    "docs/how-to/gang-with-volumes.md",
    "docs/how-to/gang-with-devices.md",
    "docs/how-to/replay-a-decision.md",
    "docs/how-to/ask-before-you-submit.md",
    "docs/how-to/check-a-drain.md",
    "docs/how-to/ask-why-a-job-waits.md",
    "docs/how-to/watch-the-queue.md",
    "docs/how-to/migrate-from-scheduler-plugins.md",
    "docs/how-to/migrate-from-volcano.md",
    "docs/how-to/migrate-from-native.md",
    "docs/how-to/migrate-from-kai.md",
    "docs/how-to/migrate-from-yunikorn.md",
    "docs/how-to/beside-kueue.md",
)
#: Pages for the sandbox that need kubectl.
WITH_KUBECTL: Final = (
    "docs/tutorials/first-gang.md",
    "docs/how-to/debug-a-waiting-gang.md",
)
_INSTALL: Final = "docs/how-to/install.md"
#: Pages for a cluster, each with those that come before it. No kubelet runs the pods there.
ON_A_CLUSTER: Final = {
    _INSTALL: (),
    "docs/how-to/install-with-manifests.md": (),
    "docs/how-to/high-availability.md": (),
    "docs/how-to/run-a-second-scheduler.md": (_INSTALL,),
    "docs/how-to/upgrade.md": (_INSTALL,),
    "docs/how-to/replace-the-default-scheduler.md": (),
    "docs/how-to/tune.md": (_INSTALL,),
    "docs/how-to/monitor.md": (_INSTALL,),
    "docs/how-to/name-the-scheduler-for-pods.md": (_INSTALL,),
    "docs/how-to/uninstall.md": (_INSTALL,),
}


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


@pytest.mark.processes
@pytest.mark.parametrize("page", ANYWHERE, ids=lambda page: Path(page).stem)
def test_the_commands_of_a_page_print_what_it_shows(clone: Desk, page: str) -> None:
    walk(clone, text_of(page))


@pytest.mark.kubectl
@pytest.mark.parametrize("page", WITH_KUBECTL, ids=lambda page: Path(page).stem)
def test_the_commands_of_a_page_with_kubectl_print_what_it_shows(
    clone_with_kubectl: Desk, page: str
) -> None:
    walk(clone_with_kubectl, text_of(page))


@pytest.mark.controlplane
@pytest.mark.parametrize("page", ON_A_CLUSTER, ids=lambda page: Path(page).stem)
def test_the_commands_of_a_page_for_a_cluster_print_what_it_shows(
    clone_on_a_cluster: Desk, page: str
) -> None:
    for each in (*ON_A_CLUSTER[page], page):
        walk(clone_on_a_cluster, text_of(each))
