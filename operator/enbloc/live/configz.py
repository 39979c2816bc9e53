# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page /configz: the configuration that the scheduler runs with."""

import json

from enbloc.config import Configuration


def configz(configuration: Configuration) -> str:
    """The configuration with every default, without credentials, as JSON.

    kube-scheduler's part is under `componentconfig`, as there; ours is under its API group.
    """
    from enbloc.config import effective, hidden  # noqa: PLC0415  # 20 MiB, loaded only on request

    scheduler, ours = map(hidden, effective(configuration))
    group = ours["apiVersion"].partition("/")[0]
    return json.dumps({"componentconfig": scheduler, group: ours})
