# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Credentials of a plugin that takes long are renewed once, while the old ones serve."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from enbloc.client.cluster_access import load
from enbloc.client.kubeconfig import KubeconfigAuth
from enbloc.errors import ConfigError
from tests.patience import PATIENCE

#: Prints the credential once there is one, for which it waits 10 seconds.
PROGRAM = 'printf . >> "$0.runs"; for _ in $(seq 500); do cat "$0" && exit; sleep 0.02; done'


class Plugin:
    """A user whose exec plugin takes as long as there is no token."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answer = folder / "credential"

    def gives(self, **status: str) -> None:
        new = self._folder / "new"
        credential = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"}
        new.write_text(json.dumps({**credential, "status": status}))
        new.rename(self._answer)

    def takes_long(self) -> None:
        self._answer.unlink()

    def runs(self) -> int:
        return len(Path(f"{self._answer}.runs").read_text())

    async def auth(self) -> KubeconfigAuth:
        """The credentials, loaded for the first time."""
        config = self._folder / "config"
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "/bin/sh",
            "args": ["-c", PROGRAM, str(self._answer)],
        }
        content = {
            "current-context": "one",
            "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
            "clusters": [{"name": "one", "cluster": {"server": "http://one:1"}}],
            "users": [{"name": "one", "user": {"exec": plugin}}],
        }
        config.write_text(yaml.safe_dump(content))
        auth = (await load(config)).auth
        assert isinstance(auth, KubeconfigAuth)
        return auth


async def until(auth: KubeconfigAuth, header: str) -> None:
    """Ask until this is the header."""
    async with asyncio.timeout(PATIENCE):
        while await auth.header(None) != header:  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.02)


@pytest.mark.processes
async def test_an_exec_plugin_is_run_again_before_its_token_expires(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path)
    soon = (datetime.now(UTC) - timedelta(seconds=5)).isoformat()
    plugin.gives(token="t", expirationTimestamp=soon)
    auth = await plugin.auth()
    for status in ({"token": "t"}, {}):
        plugin.gives(**status)
        auth._due = 0.0  # time passes
        assert await auth.header(None) == "Bearer t"  # the old one serves while it can
        assert auth._renewing is not None
        await auth._renewing
    auth.rejected("Bearer t")
    with pytest.raises(ConfigError, match="gave neither a token nor certificate"):
        await auth.header(None)
    assert plugin.runs() == 4


@pytest.mark.processes
async def test_no_request_waits_for_a_slow_plugin_while_its_last_token_serves(
    tmp_path: Path,
) -> None:
    plugin = Plugin(tmp_path)
    plugin.gives(token="one")
    auth = await plugin.auth()
    plugin.takes_long()
    auth._due = 0.0  # time passes
    async with asyncio.timeout(1):
        asked = [await auth.header(None) for _ in range(3)]
    assert asked == ["Bearer one"] * 3
    plugin.gives(token="two")
    await until(auth, "Bearer two")
    assert plugin.runs() == 2


@pytest.mark.processes
async def test_requests_that_give_up_waiting_start_no_further_plugins(tmp_path: Path) -> None:
    """The Lease is renewed by such requests: a plugin slower than each of them must succeed."""
    plugin = Plugin(tmp_path)
    plugin.gives(token="one")
    auth = await plugin.auth()
    plugin.takes_long()
    auth.rejected("Bearer one")
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await auth.header(None)
    plugin.gives(token="two")
    await until(auth, "Bearer two")
    assert plugin.runs() == 2
