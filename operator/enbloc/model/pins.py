# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pins: pods whose nodeSelector names the host, as topology-aware admission writes it.

Members of a gang that differ only in this are of one class, except for the nodes that each may
have. A topology spread constraint counts the nodes that a nodeSelector allows, so pods with such a
constraint are not treated as alike.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from enbloc.model.pods import Pod, PodSpec

HOSTNAME: Final = "kubernetes.io/hostname"

#: Classes of more bytes than this are not compared with others.
LARGE: Final = 16 * 1024


def host_of(spec: PodSpec) -> str:
    """The host that the nodeSelector of a class names; "" = none, or it must not be split off."""
    if not spec.node_selector or spec.spread or spec.size > LARGE:
        return ""
    return next((value for key, value in spec.node_selector if key == HOSTNAME), "")


@lru_cache(maxsize=8192)
def without_host(spec: PodSpec) -> PodSpec:
    """The class without the host that it names; equal classes give one object."""
    return _one(replace(spec, node_selector=_others(spec)))


def hosts(pods: Iterable[Pod]) -> int:
    """How many hosts these pods name."""
    return len({host_of(spec) for spec in {id(pod.spec): pod.spec for pod in pods}.values()} - {""})


def _others(spec: PodSpec) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in spec.node_selector if key != HOSTNAME)


@lru_cache(maxsize=4096)
def _one(spec: PodSpec) -> PodSpec:
    return spec
