# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whom `enbloc explain NAME` means, where several objects are called so, or some of their pods."""

from collections.abc import Sequence

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import PODS
from tests.cli.test_explain import Desk, desk
from tests.live.world import NAMESPACE

__all__ = ["desk"]


async def made(
    desk: Desk, kind: str, name: str, pods: str, *, group: str = "", node: str = ""
) -> None:
    """Pods of an object of that kind, which nobody needs to have created."""
    owner = {"apiVersion": "x.dev/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    for pod in pods.split():
        metadata = {
            "name": pod,
            "ownerReferences": [{**owner, "controller": True}],
            "annotations": {"enbloc.dev/pod-group": group} if group else {},
        }
        spec = {"schedulerName": "enbloc", "containers": [container]}
        spec |= {"nodeName": node} if node else {}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        await desk.client.create(PODS, body, NAMESPACE)


async def finished(desk: Desk, pod: str) -> None:
    """It has succeeded."""
    patch = {"status": {"phase": "Succeeded"}}
    await desk.client.patch(PODS, pod, patch, NAMESPACE, kind=PatchType.MERGE, subresource="status")


@pytest.mark.parametrize(
    "name",
    [
        "jobs/train",
        "JOBS/train",
        "job.batch/train",
        "jobs.batch/train",
        "podgroups.enbloc.dev/train",
        "pods/train-0",
    ],
)
async def test_a_kind_is_known_by_its_plural_and_with_its_group(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    await desk.nodes("n1", cpu=1)
    await desk.waiting("train", 2)
    assert await desk.type("explain", name) == 0
    assert capsys.readouterr().out.startswith("default/train would not fit")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pod/train", "pod/train not found in namespace default; did you mean PodGroup/train, "),
        ("sts/train", "no pods of sts/train found in namespace default; did you mean PodGroup/"),
        ("job/trian", "no pods of job/trian found in namespace default; did you mean train"),
        ("default/train", "did you mean train --namespace=default?"),
        ("job/empty", "no pods of job/empty found in namespace default"),
        ("-n other job/train", "there is one in namespace default: pass --namespace"),
    ],
)  # fmt: skip
async def test_a_group_with_pods_is_not_said_to_have_none(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    await desk.waiting("train", 2)
    await desk.group("empty", 1)
    assert await desk.type("explain", *name.split()) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "has no pods" not in error


@pytest.mark.parametrize("name", ["", "/", "pod/", "/train"])
async def test_no_name_is_wrong_usage(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert await desk.type("explain", name) == 2
    assert "pass NAME or KIND/NAME" in capsys.readouterr().err


async def test_two_objects_of_one_name_that_wait_are_told_apart(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await made(desk, "Job", "train", "a")
    await made(desk, "StatefulSet", "train", "train-0")
    assert await desk.type("explain", "train") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Job/train and StatefulSet/train wait; pass one of them" in captured.err
    assert await desk.type("explain", "StatefulSet/train") == 0
    assert capsys.readouterr().out.startswith("pod default/train-0 ")


async def test_of_several_pods_without_a_group_the_first_is_explained_and_the_others_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await made(desk, "Job", "train", "a b")
    assert await desk.type("explain", "train") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("pod default/a ")
    said = "note: this is about pod/a alone; of Job/train also wait: pod/b\n"
    assert captured.err == said


@pytest.mark.parametrize("before", ["finished", "bound"])
async def test_what_waits_is_not_hidden_by_a_group_that_does_not(
    desk: Desk, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    await desk.nodes("n1")
    await desk.group("train", 1)
    await made(desk, "Job", "old", "old-0", group="train", node="n1")
    if before == "finished":
        await finished(desk, "old-0")
    await made(desk, "Job", "train", "new-0")
    assert await desk.type("explain", "train") == 0
    assert capsys.readouterr().out.startswith("pod default/new-0 starts ")


@pytest.mark.parametrize("name", ["pod/g-0", "g-0"])
@pytest.mark.parametrize(
    ("ended", "said"),
    [(False, "default/g-0 does not wait: it is on n1.\n"), (True, "default/g-0 has ended.\n")],
    ids=["bound", "finished"],
)
async def test_a_pod_that_does_not_wait_is_told_of_although_others_of_its_group_do(
    desk: Desk, capsys: pytest.CaptureFixture[str], name: str, ended: bool, said: str
) -> None:
    await desk.nodes("n1")
    await desk.group("g", 2)
    await made(desk, "Job", "g", "g-0", group="g", node="n1")
    await made(desk, "Job", "g", "g-1", group="g")
    if ended:
        await finished(desk, "g-0")
    assert await desk.type("explain", name) == 0
    assert capsys.readouterr().out == said
    others: Sequence[str] = ("g", "pod/g-1", "job/g")
    for other in others:
        assert await desk.type("explain", other) == 0
        assert capsys.readouterr().out.startswith("default/g ")


async def test_pods_of_another_object_of_that_name_are_not_counted_as_its_own(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    await desk.nodes("n1", cpu=8)
    await made(desk, "Job", "train", "train-0 train-1", group="train", node="n1")
    await made(desk, "Other", "other", "train", node="n1")
    assert await desk.type("explain", "train") == 0
    assert capsys.readouterr().out == "default/train does not wait: 2 pods are on n1.\n"
