# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What binding plugins send their requests by, where nothing is watched."""

from enbloc.client.client import Client
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.objects import Objects


def objects(client: Client, watches: ObjectWatches | None = None) -> Objects:
    return Objects(client, watches or ObjectWatches(), lambda: 0.0, lambda _group, _but: False)
