# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pins: pods whose nodeSelector names the host, as topology-aware admission writes it.

Members of a gang that differ in nothing else are of one class, but for the nodes that each may
have. A topology spread constraint counts the nodes that a nodeSelector leaves, so pods with one are
told apart by it.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from enbloc.model.pods import Pod, PodSpec

HOSTNAME: Final = "kubernetes.io/hostname"

#: Bytes from which on equal classes are not looked for.
LARGE: Final = 16 * 1024


def host_of(spec: PodSpec) -> str:
    """The host that the nodeSelector of a class names; "" = none, or it does not stand alone."""
    if not spec.node_selector or spec.spread or spec.size > LARGE:
        return ""
    return next((value for key, value in spec.node_selector if key == HOSTNAME), "")


@lru_cache(maxsize=8192)
def without_host(spec: PodSpec) -> PodSpec:
    """The same class without the host that it names; one object for equal ones."""
    return _one(replace(spec, node_selector=_others(spec)))


def hosts(pods: Iterable[Pod]) -> int:
    """How many hosts are named by these pods."""
    return len({host_of(spec) for spec in {id(pod.spec): pod.spec for pod in pods}.values()} - {""})


def _others(spec: PodSpec) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in spec.node_selector if key != HOSTNAME)


@lru_cache(maxsize=4096)
def _one(spec: PodSpec) -> PodSpec:
    return spec
