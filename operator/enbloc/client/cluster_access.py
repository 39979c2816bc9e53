# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Finding the cluster: from a named kubeconfig file, or from the pod that this process runs in."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from enbloc.client.config import SERVICE_ACCOUNT, Cluster, in_cluster
from enbloc.errors import ConfigError, NoClusterError
from enbloc.model.credentials import redacted
from enbloc.model.text import quoted


async def load(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    master: str | None = None,
    env: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Cluster:
    """The cluster that flags, environment and files name; for the order see `client/config.py`.

    Args:
        kubeconfig: the ``--kubeconfig`` flag.
        context: the ``--context`` flag; None for the file's current-context.
        master: the ``--master`` flag: the server's URL, in place of the one from the files.
        env: the environment.
        home: the home directory; None for the user's.
        service_account: the directory where a pod finds its service account.

    Raises:
        NoClusterError: nothing names a cluster, and there is no ``~/.kube/config``.
        ConfigError: names the file, the field and the fix.
    """
    if master is not None:
        return await _at(master, kubeconfig, context)
    wrong = ConfigError
    if kubeconfig is not None:
        paths = [kubeconfig]
    elif env.get("KUBECONFIG"):
        paths = [Path(part) for part in env["KUBECONFIG"].split(os.pathsep) if part]
    else:
        cluster = in_cluster(env, service_account) if context is None else None
        if cluster is not None:
            return cluster
        wrong = NoClusterError
        paths = [(home or _home()) / ".kube" / "config"]
    found = [path.expanduser() for path in paths if path.expanduser().is_file()]
    if not found:
        raise wrong(
            f"{os.pathsep.join(map(str, paths))}: no such file; pass --kubeconfig FILE or set "
            "KUBECONFIG (inside a cluster neither is needed)"
        )
    _home()  # the library for logins needs one as well
    # Imported here: not needed inside a cluster.
    from enbloc.client import kubeconfig as files  # noqa: PLC0415

    async with asyncio.timeout(files.LOAD_SECONDS):
        return await files.read(found, context)


async def _at(master: str, kubeconfig: Path | None, context: str | None) -> Cluster:
    """The cluster at this URL, with the credentials of the kubeconfig, if one is named."""
    if not master.startswith(("http://", "https://")):
        raise ConfigError(
            f"--master: must be a URL such as https://HOST:6443, is {quoted(redacted(master))}"
        )
    server = master.rstrip("/")
    if kubeconfig is None:
        return Cluster(server, source="--master")
    return replace(await load(kubeconfig, context), server=server)


def _home() -> Path:
    """The user's home directory; "/" for a user without one, as container runtimes set it.

    A pod may run as a user that its image does not know, without HOME.
    """
    try:
        return Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"
        return Path("/")
