# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DefaultBinder: bind a pod by the pods/binding subresource."""

from dataclasses import dataclass
from typing import ClassVar

from enbloc.framework.act import Api, Target
from enbloc.framework.status import Status


@dataclass(frozen=True)
class DefaultBinder:
    """Binds through the API server."""

    name: ClassVar[str] = "DefaultBinder"

    async def bind(self, target: Target, api: Api) -> Status:
        """Post the Binding, with the binding record; see `Api.bind` for the answers."""
        return await api.bind(target)
