# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""YuniKorn's task groups, from the annotation of an application's pods.

Source of the meaning: yunikorn-k8shim v1.6, pkg/cache/utils.go and task_group.go, and its user
guide on gang scheduling. enbloc has no placeholder pods, so it ignores the fields of a task group
that place them: the pods themselves have these fields.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from enbloc.client.decoding import UNREADABLE, why
from enbloc.controller.sources.source import (
    LARGEST,
    LONGEST_TIMEOUT,
    MOST_ROLES,
    Derived,
    RefusedGroup,
    misnamed,
)
from enbloc.model.quantity import MAXIMUM, render
from enbloc.model.text import clipped, quoted
from enbloc.wire.auto_groups import HEAD, SPARK_ROLE
from enbloc.wire.objects import Quantities
from enbloc.wire.problems import Problems, quantities

TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"
TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"
POLICY: Final = "yunikorn.apache.org/schedulingPolicyParameters"
KEYS: Final = (TASK_GROUPS, TASK_GROUP, POLICY, SPARK_ROLE)

#: The task group of the pod that submits a RayJob, beside those of its cluster: kuberay,
#: ray-operator/controllers/ray/batchscheduler/yunikorn/yunikorn_task_groups.go.
_SUBMITTER: Final = "submitter"
_MOST_RESOURCES: Final = 64
#: The most parameters that are read; YuniKorn knows two.
_MOST_PARAMETERS: Final = 16
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_STYLES: Final[Mapping[str, str]] = {
    "Soft": "its pods are never started one by one",
    "Hard": "its pods are not failed, and wait",
}


class _TaskGroup(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    min_member: int = 0
    min_resource: Quantities | None = None


_READ: Final = msgspec.json.Decoder(tuple[_TaskGroup, ...]).decode


def declaration(said: Mapping[str, str]) -> Derived | RefusedGroup | None:
    """The PodGroup of an application; None = these keys of one of its pods declare none.

    A task group is a role. Those whose pods are created only when others run have no minimum, and
    capacity for all is reserved.
    """
    mine = said.get(TASK_GROUP)
    if TASK_GROUPS not in said or not mine:
        return None
    groups: Sequence[_TaskGroup] = ()
    try:
        groups = _READ(said[TASK_GROUPS])
        problem = "; ".join(_problems(groups))
    except UNREADABLE as error:
        problem = f"{why(error)}; write a JSON list of objects with name, minMember, minResource"
    if problem:
        return RefusedGroup(clipped(f"annotation {TASK_GROUPS}: {problem}"))
    minimums = {each.name: each.min_member for each in groups}
    if said.get(SPARK_ROLE) == "driver":  # it creates its executors once it runs
        minimums = {name: minimum if name == mine else 0 for name, minimum in minimums.items()}
    if HEAD in minimums and _SUBMITTER in minimums:  # created once the cluster is ready
        minimums[_SUBMITTER] = 0
    spec: dict[str, Any] = {
        "minMember": max(1, sum(minimums.values())),
        "roles": [{"name": name, "minMember": minimum} for name, minimum in minimums.items()],
    }
    resources = _resources(groups)
    if resources:
        spec["minResources"] = resources
    notes: list[str] = []
    timeout = _policy(said.get(POLICY, ""), notes)
    if timeout:
        spec["scheduleTimeoutSeconds"] = timeout
    return Derived(spec, ignored=clipped("; ".join(notes)))


def _problems(groups: Sequence[_TaskGroup]) -> Iterator[str]:
    """Why no PodGroup can be made, each reason with the place in the list."""
    if not groups:
        yield "the list is empty; write one task group or more"
    if len(groups) > MOST_ROLES:
        yield f"it lists {len(groups)} task groups; {MOST_ROLES} are supported"
        return
    for index, each in enumerate(groups):
        if problem := misnamed(each.name):
            yield f"[{index}].name: {problem}"
        if not 0 <= each.min_member <= LARGEST:
            yield f"[{index}].minMember: {each.min_member} is not between 0 and {LARGEST}"
        problems = Problems()
        quantities(each.min_resource, f"[{index}].minResource", problems)
        yield from problems
    for name, times in Counter(each.name for each in groups).items():
        if times > 1:
            yield f"{quoted(name)} is listed {times} times; list each task group once"
    if sum(each.min_member for each in groups) > LARGEST:
        yield f"minMember adds up to more than {LARGEST}"
    if len({name for each in groups for name in each.min_resource or ()}) > _MOST_RESOURCES:
        yield f"minResource names more than {_MOST_RESOURCES} resources"


def _resources(groups: Sequence[_TaskGroup]) -> Mapping[str, str]:
    """What the minimums of all task groups request together."""
    total = Counter[str]()
    for each in groups:
        for name, amount in quantities(each.min_resource, "", Problems()).items():
            total[name] += amount * each.min_member
    return {name: render(name, min(amount, MAXIMUM)) for name, amount in total.items() if amount}


def _policy(text: str, notes: list[str]) -> int:
    """The timeout of the parameters in seconds, 0 = none; adds notes on ignored parameters."""
    timeout = 0
    for parameter in text.split(maxsplit=_MOST_PARAMETERS)[:_MOST_PARAMETERS]:
        name, _, value = parameter.partition("=")
        if name == "placeholderTimeoutInSeconds":
            if _SECONDS.fullmatch(value):
                timeout = min(int(value), LONGEST_TIMEOUT)
            else:
                notes.append(
                    f"annotation {POLICY}: {name}={quoted(value)} is ignored; write whole seconds"
                )
        elif name == "gangSchedulingStyle" and value in _STYLES:
            notes.append(
                f"annotation {POLICY}: {name}={value} is ignored: when the timeout has passed, "
                f"the group waits for its next attempt; {_STYLES[value]}"
            )
        else:
            notes.append(f"annotation {POLICY}: {quoted(parameter)} is ignored")
    return timeout
