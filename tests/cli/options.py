# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a server is told by flags, without running one."""

from typing import Any

import click

from enbloc.cli.flags import cluster_flags, config_flag
from enbloc.cli.server_flags import server_flags
from enbloc.cli.servers import ServerCommand, serve
from enbloc.process.options import Options


def told(*arguments: str, leader_elect: bool = True, secure_port: int = 10259) -> Options:
    """The options that a server gets from these flags; the other two are defaults of flags."""
    seen: list[Options] = []

    async def server(options: Options) -> int:
        seen.append(options)
        return 0

    @click.command(cls=ServerCommand)
    @config_flag
    @cluster_flags
    @server_flags(leader_elect=leader_elect, secure_port=secure_port)
    def command(**flags: Any) -> int:
        return serve(server, "scheduler", **flags)

    command.main(["--log-format=text", *arguments], standalone_mode=False)
    [options] = seen
    return options
