# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a command says whose extra is not installed."""

from collections.abc import Generator
from contextlib import contextmanager

from enbloc.errors import UsageError


@contextmanager
def sandbox_extra(command: str) -> Generator[None]:
    """Around the imports of a command that needs the sandbox.

    Raises:
        UsageError: a module is missing; the message says how to get it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{command} needs the extra `sandbox`, which is not installed here (no module "
            f"{error.name}); enbloc's image leaves it out. On your own machine: "
            'pip install "enbloc[sandbox]"'
        ) from error
