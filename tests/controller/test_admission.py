# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is answered about objects that are about to be created, and over which connection."""

import asyncio
import base64
import io
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from enbloc.controller.admission import serve_webhooks
from enbloc.controller.admission.review import (
    Decide,
    ReviewError,
    reviewed,
    scheduled_by,
    warned_pod,
)
from enbloc.errors import ConfigError
from enbloc.process.serving import Webhooks
from tests.hack.certificates import Authority
from tests.hack.processes import free_port

JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


def pod(scheduler: str = "default-scheduler", **more: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "ns", **more}
    return {"metadata": metadata, "spec": {"schedulerName": scheduler, "containers": []}}


def review(found: Any) -> bytes:
    return json.dumps({"request": {"uid": "r-1", "object": found}}).encode()


def response(raw: bytes, decide: Decide) -> dict[str, Any]:
    answer = json.loads(reviewed(raw, decide))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    said: dict[str, Any] = answer["response"]
    assert said["uid"] == "r-1"
    return said


def patched(found: Any, decide: Decide) -> list[dict[str, Any]]:
    said = response(review(found), decide)
    assert said["allowed"]
    patch: list[dict[str, Any]] = json.loads(base64.b64decode(said.get("patch", "W10=")))
    return patch


def test_a_pod_that_names_no_scheduler_gets_one() -> None:
    change = {"op": "add", "path": "/spec/schedulerName", "value": "enbloc"}
    assert patched(pod(), scheduled_by("enbloc", ())) == [change]
    assert patched(pod(ownerReferences=[JOB]), scheduled_by("enbloc", ("job",))) == [change]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(pod("mine"), id="it names another"),
        pytest.param(pod(ownerReferences=[{**JOB, "kind": "DaemonSet"}]), id="of a DaemonSet"),
        pytest.param({**pod(), "spec": {"nodeName": "n1", "containers": []}}, id="it has a node"),
    ],
)
def test_a_pod_that_another_places_is_left_as_it_is(found: Any) -> None:
    assert patched(found, scheduled_by("enbloc", ())) == []


def test_of_kinds_that_are_listed_only_theirs_are_changed() -> None:
    other = {**JOB, "kind": "ReplicaSet"}
    assert patched(pod(ownerReferences=[other]), scheduled_by("enbloc", ("job",))) == []
    assert patched(pod(), scheduled_by("enbloc", ("job",))) == []


def test_the_kind_that_counts_is_that_of_the_object_that_owns_the_pod_itself() -> None:
    of_a_jobset = pod(ownerReferences=[JOB], labels={"jobset.sigs.k8s.io/jobset-name": "train"})
    assert patched(of_a_jobset, scheduled_by("enbloc", ("jobset",))) == []
    assert len(patched(of_a_jobset, scheduled_by("enbloc", ("job",)))) == 1


def test_a_member_whose_scheduler_knows_no_gangs_is_warned_of() -> None:
    member = pod(annotations={"enbloc.dev/pod-group": "train"})
    [warning] = response(review(member), warned_pod(["enbloc"]))["warnings"]
    assert "set spec.schedulerName to enbloc" in warning
    assert "warnings" not in response(review(pod()), warned_pod(["enbloc"]))


def test_a_misspelt_key_is_warned_of_at_once() -> None:
    wrong = pod("enbloc", annotations={"enbloc.dev/podgroup": "train"})
    [warning] = response(review(wrong), warned_pod(["enbloc"]))["warnings"]
    assert "enbloc.dev/pod-group" in warning


@pytest.mark.parametrize(
    "found",
    [None, 5, [], "pod", {"spec": 7}, {"metadata": {"labels": {"a": 1}}}],
    ids=str,
)
@pytest.mark.parametrize("decide", [scheduled_by("enbloc", ()), warned_pod(["enbloc"])])
def test_an_object_that_cannot_be_read_is_allowed_unchanged(found: Any, decide: Decide) -> None:
    assert response(review(found), decide) == {"uid": "r-1", "allowed": True}


def test_an_object_that_nests_without_end_is_answered() -> None:
    deep = '{"a":' * 9000 + "1" + "}" * 9000
    raw = review(pod()).replace(b'"name": "p"', b'"name": "p", "managedFields": ' + deep.encode())
    assert response(raw, scheduled_by("enbloc", ()))["allowed"]


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1]", b'{"request":{}}', b"\xff"], ids=repr)
def test_what_is_no_review_is_an_error(raw: bytes) -> None:
    with pytest.raises(ReviewError, match="no AdmissionReview"):
        reviewed(raw, warned_pod(["enbloc"]))


# ── the server ───────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def client(authority: Authority, port: int) -> AsyncGenerator[aiohttp.ClientSession]:
    trust = ssl.create_default_context(cafile=str(authority.pair.certificate))
    connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
    async with aiohttp.ClientSession(f"https://127.0.0.1:{port}", connector=connector) as session:
        yield session


async def test_webhooks_answer_by_https_on_their_paths(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.server("webhook", ["127.0.0.1"])
    served = Webhooks(free_port(), "127.0.0.1", (pair.certificate, pair.key))
    async with serve_webhooks(served, ["enbloc"]), client(authority, served.port) as session:

        async def post(path: str, body: bytes) -> tuple[int, str]:
            async with session.post(path, data=io.BytesIO(body)) as answer:
                return answer.status, await answer.text()

        code, text = await post("/mutate/pods/enbloc", review(pod()))
        assert (code, "patch" in json.loads(text)["response"]) == (200, True)
        code, text = await post("/mutate/pods/enbloc/job.statefulset", review(pod()))
        assert (code, "patch" in json.loads(text)["response"]) == (200, False)
        assert (await post("/validate/pods", review(pod())))[0] == 200
        assert (await post("/validate/pods", b"no"))[0] == 400
        assert await post("/mutate/pods/theirs", review(pod())) == (
            404,
            "no scheduler of ours is named theirs\n",
        )
        assert (await post("/validate/pods", b"x" * (9 * 2**20)))[0] == 413


async def test_a_certificate_that_is_replaced_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("enbloc.controller.admission.webhook.LOOK_SECONDS", 0.05)
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    old, new = Authority(tmp_path / "old"), Authority(tmp_path / "new")
    files = old.server("webhook", ["127.0.0.1"])
    served = Webhooks(free_port(), "127.0.0.1", (files.certificate, files.key))
    async with serve_webhooks(served, ["enbloc"]):
        async with client(old, served.port) as session, session.post("/validate/pods"):
            pass
        pair = new.server("webhook", ["127.0.0.1"])
        files.certificate.write_bytes(pair.certificate.read_bytes())
        files.key.write_bytes(pair.key.read_bytes())
        async with asyncio.timeout(30), client(new, served.port) as session:
            while True:
                try:
                    async with session.post("/validate/pods"):
                        return
                except aiohttp.ClientConnectorCertificateError:
                    await asyncio.sleep(0.05)


async def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    missing = (tmp_path / "tls.crt", tmp_path / "tls.key")
    with pytest.raises(ConfigError, match=r"--webhook-cert-file .*tls.crt"):
        async with serve_webhooks(Webhooks(free_port(), "127.0.0.1", missing), ["enbloc"]):
            pass
