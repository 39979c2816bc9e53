# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The embedded server answers as a real kube-apiserver does, word for word.

`recorded/` holds what the real one answered; `make real` checks that it still does. To record
anew: `ENBLOC_RECORD=1 .venv/bin/python -m pytest -m controlplane sandbox/tests/apiserver/parity`.
"""

import base64
import json
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from enbloc_sandbox import Sandbox
from sandbox.tests.apiserver.parity.comparing import (
    RECORDED,
    deviations,
    differences,
    undeclared,
    vanished,
)
from sandbox.tests.apiserver.parity.recorder import Api
from sandbox.tests.apiserver.parity.scenarios import SCENARIOS
from tests.controlplane import ControlPlane


def record_of(name: str) -> Path:
    return RECORDED / f"{name}.json"


async def converse(name: str, session: aiohttp.ClientSession, url: str, tls: Any) -> list[Any]:
    """Run a scenario in a namespace of its own; what was said."""
    api = Api(session, url, "parity-" + name.replace("_", "-")[:40].rstrip("-"), tls)
    namespaces = "/api/v1/namespaces"
    await api.call("POST", namespaces, {"metadata": {"name": api.namespace}}, quiet=True)
    await SCENARIOS[name](api)
    await api.call("DELETE", f"{namespaces}/{api.namespace}", quiet=True)
    return api.transcript


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as server:
        yield server


async def on_sandbox(name: str, server: Sandbox) -> list[str]:
    async with aiohttp.ClientSession() as session:
        ours = await converse(name, session, server.url, tls=True)
    real = json.loads(record_of(name).read_text("utf-8"))
    return list(differences(real, json.loads(json.dumps(ours))))


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_sandbox_answers_as_recorded(name: str, sandbox: Sandbox) -> None:
    found = undeclared(name, await on_sandbox(name, sandbox), deviations())
    assert not found, "\n".join(found)


async def test_every_declared_difference_is_still_there(sandbox: Sandbox) -> None:
    found = {name: await on_sandbox(name, sandbox) for name in SCENARIOS}
    assert vanished(found, deviations()) == []


def test_every_scenario_was_recorded_and_every_record_has_its_scenario() -> None:
    assert {path.stem for path in RECORDED.glob("*.json")} == set(SCENARIOS)


@pytest.fixture(scope="module")
def real() -> Iterator[ControlPlane]:
    # Controllers would change what the API server itself answers.
    with ControlPlane(controller_manager=False) as running:
        yield running


def credentials(kubeconfig: Path, directory: Path) -> ssl.SSLContext:
    """TLS with the client certificate of a kubeconfig of ours."""
    config = yaml.safe_load(kubeconfig.read_text("utf-8"))
    user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
    files = {}
    for key, data in (*user.items(), *cluster.items()):
        if key.endswith("-data"):
            files[key] = directory / key
            files[key].write_bytes(base64.b64decode(data))
        elif key in ("client-certificate", "client-key", "certificate-authority"):
            files[f"{key}-data"] = Path(data)
    context = ssl.create_default_context(cafile=str(files["certificate-authority-data"]))
    context.load_cert_chain(files["client-certificate-data"], files["client-key-data"])
    return context


@pytest.mark.controlplane
@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_real_server_still_answers_as_recorded(
    name: str, real: ControlPlane, tmp_path: Path
) -> None:
    tls = credentials(real.kubeconfig, tmp_path)
    async with aiohttp.ClientSession() as session:
        said = await converse(name, session, real.url, tls)
    text = json.dumps(said, indent=1, sort_keys=True) + "\n"
    if os.environ.get("ENBLOC_RECORD"):
        RECORDED.mkdir(exist_ok=True)
        record_of(name).write_text(text, "utf-8")
    found = list(differences(json.loads(record_of(name).read_text("utf-8")), json.loads(text)))
    assert not found, "\n".join(found)
