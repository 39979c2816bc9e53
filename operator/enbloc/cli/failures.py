# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The errors of a command with several requests to the API server, one line each."""

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from enbloc.cli.tables import say
from enbloc.errors import EnblocError


def say_each(group: ExceptionGroup[Exception]) -> None:
    """Print each error on stderr; one that concerns every request only once."""
    for line in lines(group):
        say(f"error: {line}", err=True)


def lines(group: ExceptionGroup[Exception]) -> Sequence[str]:
    """The errors with their fixes; one that concerns every request only once.

    That nobody reads the output any more, as with `| head`, is not an error to be told.
    """
    errors = (each for each in _leaves(group) if not isinstance(each, BrokenPipeError))
    return list(dict.fromkeys(_said(error) for error in errors))


def forbidden(group: ExceptionGroup[Exception]) -> bool:
    """Whether all errors are missing permissions."""
    from enbloc.client.errors import Forbidden  # noqa: PLC0415  # not for `--help`

    return all(isinstance(error, Forbidden) for error in _leaves(group))


def transient(group: ExceptionGroup[Exception]) -> bool:
    """Whether the same requests may succeed later, with the same credentials."""
    from enbloc.client.errors import (  # noqa: PLC0415  # not for `--help`
        APIError,
        Forbidden,
        Unauthorized,
    )

    errors = list(_leaves(group))
    known = all(isinstance(e, APIError) and not isinstance(e, Unauthorized) for e in errors)
    return known and not all(isinstance(error, Forbidden) for error in errors)


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    """The exceptions of a group and of its nested groups."""
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _said(error: Exception) -> str:
    """The error with its fix; the same text for errors that concern every request."""
    from enbloc.client.errors import (  # noqa: PLC0415  # not for `--help`
        APIError,
        Unauthorized,
        Unreachable,
    )

    if isinstance(error, Unreachable):
        return f"the API server cannot be reached: {error.message}"
    if isinstance(error, Unauthorized):
        return (
            "the API server does not accept the credentials (401); log in again, or correct the "
            "user of the context in the kubeconfig"
        )
    if isinstance(error, APIError):
        return error.advice
    if isinstance(error, EnblocError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return " ".join(f"unexpected {type(error).__name__}{where}: {error}".split())
