# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Finding the cluster: a kubeconfig file that is named, or the pod that this process runs in."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from enbloc.errors import ConfigError
from enbloc.kube.config import SERVICE_ACCOUNT, Cluster, in_cluster


async def load(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Cluster:
    """The cluster that flags, environment and files name, in the order that `kube.config` tells.

    Args:
        kubeconfig: the ``--kubeconfig`` flag.
        context: the ``--context`` flag; None for the file's current-context.
        env: the environment.
        home: the home directory; None for the user's.
        service_account: where a pod finds its service account.

    Raises:
        ConfigError: naming the file, the field and the fix.
    """
    if kubeconfig is not None:
        paths = [kubeconfig]
    elif env.get("KUBECONFIG"):
        paths = [Path(part) for part in env["KUBECONFIG"].split(os.pathsep) if part]
    else:
        cluster = in_cluster(env, service_account) if context is None else None
        if cluster is not None:
            return cluster
        paths = [(home or Path.home()) / ".kube" / "config"]
    found = [path.expanduser() for path in paths if path.expanduser().is_file()]
    if not found:
        raise ConfigError(
            f"{os.pathsep.join(map(str, paths))}: no such file; pass --kubeconfig FILE or set "
            "KUBECONFIG (inside a cluster neither is needed)"
        )
    # Imported here: in a cluster nothing of it is needed, and it costs 0.4 s and 47 MiB.
    from enbloc.kube import kubeconfig as files  # noqa: PLC0415

    return await asyncio.wait_for(files.read(found, context), files.LOAD_SECONDS)
