# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Capacity: what a request consumes of a device's capacity.

Source: kube-scheduler v1.36 staging/src/k8s.io/dynamic-resource-allocation/structured/internal
consumable_capacity.go CmpRequestOverCapacity, GetConsumedCapacityFromRequest.
"""

from collections.abc import Mapping

from enbloc.devices.facts import Amounts, CapacityPolicy, DeviceCapacity
from enbloc.model.quantity import NANO


def consumption(asked: Amounts, capacities: tuple[DeviceCapacity, ...]) -> Amounts | None:
    """What one claim consumes of each capacity, by name; None = the device can never serve it."""
    wanted = dict(asked)
    if not wanted.keys() <= {each.name for each in capacities}:
        return None
    taken: list[tuple[str, int]] = []
    for each in capacities:
        amount = _consumed(wanted.get(each.name), each)
        if amount > each.value or (each.policy and _violates(amount, each.policy)):
            return None
        taken.append((each.name, amount))
    return tuple(taken)


def has_room(
    taken: Amounts, used: Mapping[str, int], capacities: tuple[DeviceCapacity, ...]
) -> bool:
    """Whether `taken` fits beside what is used already; both name the same capacities."""
    values = {each.name: each.value for each in capacities}
    return all(used.get(name, 0) + amount <= values[name] for name, amount in taken)


def _consumed(wanted: int | None, capacity: DeviceCapacity) -> int:
    policy = capacity.policy
    if wanted is None:
        return policy.default if policy and policy.default is not None else capacity.value
    if policy is None:
        return wanted
    if policy.minimum is not None:
        return _within(wanted, policy.minimum, policy.step)
    return next((each for each in policy.values if wanted <= each), wanted)


def _within(wanted: int, minimum: int, step: int | None) -> int:
    """The amount, rounded up to the minimum plus a whole number of steps."""
    if wanted < minimum:
        return minimum
    if step is None:
        return wanted
    first, each = _units(minimum), _units(step)
    return (first + -(-(_units(wanted) - first) // each) * each) * NANO


def _violates(amount: int, policy: CapacityPolicy) -> bool:
    if policy.default is not None and amount == policy.default:
        return False
    if policy.minimum is not None:
        if policy.maximum is not None and amount > policy.maximum:
            return True
        apart = _units(amount) - _units(policy.minimum)
        return policy.step is not None and apart % _units(policy.step) != 0
    return bool(policy.values) and amount not in policy.values


def _units(amount: int) -> int:
    """The amount in whole units, rounded up."""
    return -(-amount // NANO)
