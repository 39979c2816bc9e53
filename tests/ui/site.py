# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A site that shows a view, and who reads it."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.config import default_configuration
from enbloc.model.groups import GroupKey
from enbloc.process.workers import ThreadWorker
from enbloc.ui.access import Access, OpenAccess
from enbloc.ui.attempts import GroupHistory
from enbloc.ui.facts import Facts
from enbloc.ui.history import Histories
from enbloc.ui.questions import head
from enbloc.ui.server import Address, Site, served
from enbloc.ui.state import Keeper, Latest
from enbloc.ui.view import View
from tests.ui.dom import Element, parsed
from tests.world.virtual_time import time_source


@dataclass
class Answer:
    """What a browser gets."""

    code: int
    headers: Mapping[str, str]
    text: str

    @property
    def page(self) -> Element:
        """The same, read."""
        return parsed(self.text)


class Reader:
    """Who reads a site."""

    def __init__(self, session: aiohttp.ClientSession, keeper: Keeper, url: str) -> None:
        self.session, self.keeper, self.url = session, keeper, url

    @property
    def latest(self) -> Latest:
        """What is shown."""
        assert self.keeper.view is not None
        return self.keeper.view

    async def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Any request; `_` of a header's name stands for `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.request(
            method, self.url + path, headers=sent, allow_redirects=False
        ) as response:
            text = await response.text()
            return Answer(response.status, response.headers, text)

    async def read(self, path: str, **headers: str) -> Element:
        """A page that is there, once what it shows has been worked out."""
        answer = await self.ask(path, **headers)
        while answer.code == 202:
            await asyncio.sleep(2.0)
            answer = await self.ask(path, **headers)
        assert answer.code == 200, answer.text
        return answer.page


class Silent(Histories):
    """Nothing was said of any group."""

    async def of(self, key: GroupKey, members: Collection[str]) -> GroupHistory:
        """Nothing."""
        del key, members
        return GroupHistory()


def latest(view: View) -> Latest:
    """A view as a keeper has it; threads work on it."""
    return Latest(head(view), ThreadWorker(view))


def keeper(view: View | None) -> Keeper:
    """One that has this view, and follows nothing."""
    client = Client(Cluster("http://127.0.0.1:9"), component="test", clock=time_source())
    made = Keeper(client, default_configuration(), ThreadWorker(Facts()))
    made.histories = Silent(client)
    made.view = None if view is None else latest(view)
    return made


@asynccontextmanager
async def reading(
    view: View | None, access: Access | None = None, *, local: bool = True
) -> AsyncGenerator[Reader]:
    """A reader of a site that shows this view; by plain HTTP, whoever may reach it."""
    kept = keeper(view)
    site = Site(kept, access or OpenAccess(), local=local)
    try:
        async with (
            served(site, Address(port=0)) as url,
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
        ):
            yield Reader(session, kept, url)
    finally:
        if kept.view is not None:
            kept.view.worker.close()
        await kept.close()
