# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Resources: names as columns of the node table, and what a pod requests."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
#: Followed by a DeviceClass's name: the resource that the class always serves.
DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
PODS: Final = "pods"

#: The largest amount that a node offers in the tables, just below 64 PiB: a hundred times this fits
#: in int64, so no score overflows.
AMOUNT_LIMIT: Final = 2**56 - 1
#: The largest request in the tables; it fits no node, nor do larger ones.
REQUEST_LIMIT: Final = AMOUNT_LIMIT + 1

#: What a container that does not mention the resource counts as in scores (upstream's defaults).
DEFAULT_MILLI_CPU: Final = 100
DEFAULT_MEMORY: Final = 200 * 1024 * 1024
_DEFAULTS: Final = {CPU: DEFAULT_MILLI_CPU, MEMORY: DEFAULT_MEMORY}


class ResourceSpace:
    """Resource names ↔ columns, append-only: the meaning of a column never changes.

    Only resources that a node offers get a column, because pods may request any name. To drop
    columns that no node offers any more, the table starts a new space.

    Args:
        names: names that have a column from the start, besides those that always do.
    """

    __slots__ = ("_columns",)

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._columns = {CPU: 0, MEMORY: 1, EPHEMERAL_STORAGE: 2, PODS: 3}
        for name in names:
            self.column(name)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in column order."""
        return tuple(self._columns)

    def column(self, name: str) -> int:
        """The column of a name; added if it is new."""
        return self._columns.setdefault(name, len(self._columns))

    def find(self, name: str) -> int | None:
        """The column of a name; None = no node has offered it yet."""
        return self._columns.get(name)


class ContainerDemand(NamedTuple):
    """What one container requests.

    Attributes:
        requests: its requests, CPU in milli; a name with 0 counts as mentioned.
        sidecar: it is an init container with `restartPolicy: Always`.
    """

    requests: Mapping[str, int]
    sidecar: bool = False


class PodDemand(NamedTuple):
    """What a pod requests, and what it counts as in scores; fields as in PodSpec."""

    requests: tuple[tuple[str, int], ...]
    nonzero_cpu: int
    nonzero_memory: int
    fit_scored: tuple[tuple[str, int], ...] | None


def pod_demand(
    containers: Sequence[ContainerDemand],
    init_containers: Sequence[ContainerDemand] = (),
    pod_level: Mapping[str, int] | None = None,
    overhead: Mapping[str, int] | None = None,
) -> PodDemand:
    """A pod's requests in name order without zeros, with `("pods", 1)`; upstream's PodRequests.

    `pod_level` (`spec.resources.requests`) replaces the containers' total of cpu, memory and huge
    pages, name by name; `overhead` is added to everything. For scores, a container that does not
    mention cpu (memory) counts 100m (200 MiB); where pod-level requests are set, only if nothing
    else names it. NodeResourcesFit scores by the containers alone, each with its defaults;
    NodeResourcesBalancedAllocation by `requests`. Upstream rounds fractions of a byte up once for
    the pod; here every amount has been rounded already.

    Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/resource/helpers.go PodRequests;
    pkg/scheduler/framework/plugins/noderesources/resource_allocation.go.
    """
    level = {name: value for name, value in (pod_level or {}).items() if _settable(name)}
    extra = overhead or {}
    total = _finished(_aggregate(containers, init_containers), level, extra)
    alone = _finished(
        _aggregate(_with(containers, _DEFAULTS), _with(init_containers, _DEFAULTS)), {}, extra
    )
    scored = alone
    if level:
        defaults = {name: value for name, value in _DEFAULTS.items() if name not in total}
        scored = _finished(
            _aggregate(_with(containers, defaults), _with(init_containers, defaults)), level, extra
        )
    cpu, memory = scored.get(CPU, 0), scored.get(MEMORY, 0)
    fit = _sorted({**total, CPU: cpu, MEMORY: memory})
    fit_alone = _sorted(alone)
    return PodDemand(
        requests=_sorted({**total, PODS: 1}),
        nonzero_cpu=min(cpu, REQUEST_LIMIT),
        nonzero_memory=min(memory, REQUEST_LIMIT),
        fit_scored=None if fit_alone == fit else fit_alone,
    )


def _sorted(total: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """In name order, without zeros, clamped to what the tables hold."""
    return tuple((name, min(total[name], REQUEST_LIMIT)) for name in sorted(total) if total[name])


def _aggregate(
    containers: Iterable[ContainerDemand], init_containers: Iterable[ContainerDemand]
) -> dict[str, int]:
    """Per resource, what the containers need at their peak.

    An ordinary init container runs together with the sidecars before it, the containers with all
    sidecars.
    """
    main: dict[str, int] = {}
    for container in containers:
        _add(main, container.requests)
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in init_containers:
        if container.sidecar:
            _add(main, container.requests)
            _add(sidecars, container.requests)
            running = sidecars
        else:
            running = dict(container.requests)
            _add(running, sidecars)
        for name, value in running.items():
            peak[name] = max(peak.get(name, 0), value)
    for name, value in peak.items():
        main[name] = max(main.get(name, 0), value)
    return main


def _finished(
    total: dict[str, int], level: Mapping[str, int], overhead: Mapping[str, int]
) -> dict[str, int]:
    total.update(level)
    _add(total, overhead)
    return total


def _with(
    containers: Iterable[ContainerDemand], defaults: Mapping[str, int]
) -> list[ContainerDemand]:
    return [ContainerDemand({**defaults, **c.requests}, c.sidecar) for c in containers]


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _settable(name: str) -> bool:
    """Whether upstream honours this name in pod-level requests."""
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def is_extended(resource: str) -> bool:
    """Whether the name is a vendor's: a domain other than kubernetes.io, then a slash."""
    vendor = "/" in resource and "kubernetes.io/" not in resource
    return vendor and not resource.startswith("requests.")


def may_be_devices(resource: str) -> bool:
    """Whether a DeviceClass may serve the resource.

    Source: kube-scheduler v1.36 pkg/scheduler/util/utils.go IsDRAExtendedResourceName.
    """
    return is_extended(resource) or resource.startswith(DEVICE_CLASS_PREFIX)
