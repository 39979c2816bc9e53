# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How it is set up: from the text of configuration files to profiles, by pure steps.

::

    parse (documents) → decode (strict, models) → convert (older, policy) → default and merge
    (merge) → validate and build (arguments, extenders, build) → Configuration

Nothing here reads files; the shells do. What models need is imported when a file is given: a
default start needs none of it.
"""

from typing import TYPE_CHECKING

from enbloc.config.build import default_configuration, default_profiles
from enbloc.config.configuration import Configuration, LeaderElection
from enbloc.config.documents import Source
from enbloc.config.findings import Findings
from enbloc.lazy import lazily

if TYPE_CHECKING:
    from enbloc.config.hiding import hidden
    from enbloc.config.migrate.conversion import Conversion, convert
    from enbloc.config.read import configure
    from enbloc.config.show import effective

__all__ = [
    "Configuration",
    "Conversion",
    "Findings",
    "LeaderElection",
    "Source",
    "configure",
    "convert",
    "default_configuration",
    "default_profiles",
    "effective",
    "hidden",
]

if not TYPE_CHECKING:  # type checkers know the names above, and no others
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "read": ["configure"],
            "migrate.conversion": ["Conversion", "convert"],
            "show": ["effective"],
            "hiding": ["hidden"],
        },
    )
