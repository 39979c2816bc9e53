# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extended resources that devices serve: the requests of the claim that is made for a pod.

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/dynamicresources
extendeddynamicresources.go createRequestsAndMappings, createResourceRequestAndMappings.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from enbloc.devices.facts import DeviceClass, Request, SubRequest
from enbloc.model.pods import ContainerResource
from enbloc.model.resources import DEVICE_CLASS_PREFIX

#: The name of the claim until it is created.
MEANT: Final = "<extended-resources>"


def meant(namespace: str, uid: str) -> str:
    """The key of the claim to be created for a pod's extended resources."""
    return f"{namespace}/{MEANT}/{uid}"


#: `(container, resource, request)`: which request serves which container.
RequestMapping = tuple[str, str, str]
Mappings = tuple[RequestMapping, ...]


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """The class that serves each resource: the newest that names it, then the first by name."""
    found: dict[str, DeviceClass] = {}
    for each in sorted(classes, key=lambda each: (each.created, _Reversed(each.name))):
        if each.extended:
            found[each.extended] = each
        found[DEVICE_CLASS_PREFIX + each.name] = each
    return found


class _Reversed(str):
    """A string that sorts in reverse order."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def requests_for(
    containers: Sequence[ContainerResource], classes: Mapping[str, DeviceClass]
) -> tuple[tuple[Request, ...], Mappings]:
    """The requests for one pod's use of these resources, and which container uses which.

    Init containers reuse the devices of later containers; what they need beyond that is requested
    once, for the one that needs the most.
    """
    requests: list[Request] = []
    mappings: list[RequestMapping] = []
    for resource in sorted(classes):
        of_one = [each for each in containers if each.resource == resource and each.amount]
        made, used = _of_resource(of_one, classes[resource].name)
        requests += made
        mappings += used
    return tuple(sorted(requests, key=lambda each: each.name)), tuple(mappings)


def _of_resource(
    containers: Sequence[ContainerResource], device_class: str
) -> tuple[list[Request], list[RequestMapping]]:
    lasting = [
        (each, _request(each, device_class, each.amount)) for each in containers if not each.init
    ]
    mappings = [_mapping(each, request) for each, request in lasting]
    short: list[tuple[ContainerResource, Request]] = []
    passing: list[tuple[ContainerResource, Request]] = []
    for each in containers:
        if not each.init:
            continue
        left = each.amount
        for other, request in lasting:
            if left > 0 and other.container >= each.container:
                left -= other.amount
                passing.append((each, request))
        if left > 0:
            made = _request(each, device_class, left)
            short.append((each, made))
            passing.append((each, made))
    requests = [request for _, request in lasting]
    if short:
        most = max(short, key=lambda pair: _count(pair[1]))[1]  # the first of equals
        replaced = {request.name for _, request in short}
        passing = [
            (each, most if request.name in replaced else request) for each, request in passing
        ]
        requests.insert(0, most)
    return requests, mappings + [_mapping(each, request) for each, request in passing]


def _count(request: Request) -> int:
    return request.exactly.count if request.exactly else 0


def _request(of: ContainerResource, device_class: str, count: int) -> Request:
    name = f"container-{of.container}-request-{of.place}"
    return Request(name, SubRequest(name, device_class, count=count))


def _mapping(of: ContainerResource, request: Request) -> RequestMapping:
    return of.name, of.resource, request.name
