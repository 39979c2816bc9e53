# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How much a run tries: hypothesis' profile of the run says so (`--hypothesis-profile=full`).

quick is `make test` and `make laws`, full is `make test-all`: both try the same cases each time, so
that what passed passes again until the code changes. deep tries other cases each time, for hours. A
run is bounded by examples and steps, never by seconds: a slow machine is no fault of ours.
"""

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

#: Times what a test says of itself. A quick run tries half of that: laws cover what it leaves out.
FACTORS: Final = {"quick": 0.5, "full": 2, "deep": 100}
_EXAMPLES: Final = 100
#: Those that watch the clock, and those that count what a strategy gave up.
_UNCHECKED: Final = (HealthCheck.too_slow, HealthCheck.filter_too_much)


def register() -> None:
    """Make the profiles known, and quick the one that counts."""
    for name, factor in FACTORS.items():
        settings.register_profile(
            name,
            max_examples=int(_EXAMPLES * factor),
            deadline=None,
            derandomize=name != "deep",
            print_blob=True,
            suppress_health_check=_UNCHECKED,
        )
    settings.load_profile("quick")


def times(count: int) -> int:
    """How many examples of a property this run tries, of which a test says `count`."""
    return max(1, count * settings().max_examples // _EXAMPLES)


def deep() -> bool:
    """Whether other cases are to be tried each time, until something breaks."""
    return settings().max_examples >= _EXAMPLES * FACTORS["deep"]


def examples(count: int, **more: Any) -> settings:
    """Settings of a property that says so of itself."""
    return settings(max_examples=times(count), **more)


def slow(reason: str) -> pytest.MarkDecorator:
    """Not part of `make test`, for this reason; `make test-all` runs it."""
    return pytest.mark.slow(reason=reason)
