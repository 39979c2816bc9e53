# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How a machine of laws is run: so many worlds, the same ones each time, or others for ever."""

from collections import Counter
from collections.abc import Collection

from hypothesis import Phase as Stage
from hypothesis import seed, settings, target
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.effort import deep
from tests.laws.actions import Actions

DEEP = deep()


def run(
    machine: type[RuleBasedStateMachine], examples: int, steps: int, *, begin: int | None = None
) -> None:
    """Let so many worlds live; `begin` makes the same ones again, None = others each time."""
    if begin is not None:
        seed(begin)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            database=None,
            max_examples=examples,
            stateful_step_count=steps,
            # A failure lists its actions, which `shrinking` makes few.
            phases=(Stage.generate, Stage.target) if DEEP else (Stage.generate,),
            report_multiple_bugs=False,
        ),
    )


def end(world: Actions, reached: Counter[str]) -> None:
    """Let a world come to its end, and count the states that it reached."""
    world.do("ends")
    world.do("replay_gives_the_same_effects")
    reached.update(state for state, times in world.reached.items() if times)
    if DEEP:
        target(len(world.reached), label="states that matter")


def run_until_reached(
    machine: type[RuleBasedStateMachine],
    examples: int,
    steps: int,
    states: Collection[str],
    reached: Counter[str],
) -> None:
    """Let worlds live until all of these states were reached, or enough have lived."""
    reached.clear()
    for batch in range(24):
        run(machine, examples, steps, begin=batch)
        if not set(states) - set(reached):
            break
    for state, worlds in sorted(reached.items()):
        print(f"{worlds:6} {state}")
