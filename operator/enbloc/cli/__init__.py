# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: parse, call, print; no logic lives here.

One module per command, imported when that command runs, because `enbloc --help` must be quick. A
command's module therefore imports what it calls inside its function. Other packages may add
commands (`other_packages`).
"""

from enbloc.cli.entry import cli, main

__all__ = ["cli", "main"]
