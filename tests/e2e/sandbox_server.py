# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The sandbox's API server alone, as a process, with its fault hook open to the tests."""

import asyncio
import sys
from pathlib import Path

from enbloc_sandbox import Sandbox


async def serve(kubeconfig: Path) -> None:
    async with Sandbox(control=True) as sandbox:
        sandbox.write_kubeconfig(kubeconfig)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
