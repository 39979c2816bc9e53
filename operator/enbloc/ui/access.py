# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Access: who sends a request, and what of the cluster they may see.

On a loopback address, everybody who reaches it sees what the process' credentials may read. On
other addresses every request needs a bearer token. The API server says whose it is (TokenReview),
and whether they may `get` PodGroups of a namespace and `list` nodes (SubjectAccessReview). Its
answers are cached for ten seconds.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from typing import Final, Protocol

from enbloc.client.paths import NODES, POD_GROUPS
from enbloc.errors import EnblocError
from enbloc.process.access_rules import AccessRules
from enbloc.process.reviews import REVIEW_SECONDS, Find, OfResource, Reviews, User
from enbloc.telemetry import ActiveProblems
from enbloc.ui.view import ANYBODY, Viewer

#: The most namespaces that are reviewed for one page. If there are more, users who may not see all
#: have to name one.
MOST_NAMESPACES: Final = 200


class RefusedError(Exception):
    """A request is refused.

    Args:
        code: the HTTP status.
        text: the reason.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Access(Protocol):
    """Decides what a user may see."""

    async def viewer(
        self, authorization: str, namespaces: Collection[str], *, nodes: bool = False
    ) -> Viewer:
        """What the sender of this header may see.

        Args:
            authorization: the header; "" = none was sent.
            namespaces: the namespaces to decide on, the most important first.
            nodes: whether to decide on nodes.

        Raises:
            RefusedError: they may see nothing.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class OpenAccess:
    """Everybody may see everything."""

    async def viewer(
        self, authorization: str, namespaces: Collection[str], *, nodes: bool = False
    ) -> Viewer:
        """A viewer who may see everything."""
        del authorization, namespaces, nodes
        return ANYBODY

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class ReviewedAccess:
    """Access as the API server decides it.

    Args:
        find: the API server.
        clock: monotonic seconds.
    """

    def __init__(self, find: Find, clock: Callable[[], float] = time.monotonic) -> None:
        self._reviews = Reviews("ui", find, find, AccessRules(), clock)
        self._problems = ActiveProblems()

    async def close(self) -> None:
        """End its connections."""
        await self._reviews.close()

    async def viewer(
        self, authorization: str, namespaces: Collection[str], *, nodes: bool = False
    ) -> Viewer:
        """What the API server permits; a request without a valid token is refused."""
        if not self._reviews.bears_token(authorization):
            raise RefusedError(401, "a bearer token is needed")
        try:
            async with asyncio.timeout(REVIEW_SECONDS):
                user = await self._reviews.user(authorization)
                if user is None:
                    raise RefusedError(401, "the bearer token is not valid")
                found = await self._viewer(user, tuple(dict.fromkeys(namespaces)), nodes=nodes)
        except (EnblocError, OSError, TimeoutError) as error:
            why = str(error) or "the API server took too long"
            self._problems.report("reviews", f"cannot review access: {why}", logging.WARNING)
            raise RefusedError(503, "access cannot be reviewed now; see the log") from error
        self._problems.report("reviews", None)
        return found

    async def _viewer(self, user: User, namespaces: Collection[str], *, nodes: bool) -> Viewer:
        everything, sees_nodes = await asyncio.gather(
            self._reviews.may(user, _groups_of("")),
            self._reviews.may(user, _NODES) if nodes else _no(),
        )
        if everything:
            return Viewer(everything=True, nodes=sees_nodes)
        asked = tuple(namespaces)[:MOST_NAMESPACES]
        may = await asyncio.gather(*(self._reviews.may(user, _groups_of(ns)) for ns in asked))
        return Viewer(
            namespaces=frozenset(ns for ns, allowed in zip(asked, may, strict=True) if allowed),
            nodes=sees_nodes,
            complete=len(namespaces) <= MOST_NAMESPACES,
        )


_NODES: Final = OfResource(NODES.group, NODES.plural, "list")


def _groups_of(namespace: str) -> OfResource:
    return OfResource(POD_GROUPS.group, POD_GROUPS.plural, "get", namespace)


async def _no() -> bool:
    return False
