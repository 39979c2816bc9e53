# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extender: an HTTP service that takes part in filtering, scoring, preempting and binding."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from enbloc.model.credentials import URL
from enbloc.model.pods import Pod, PodUID


class NodeVictims(NamedTuple):
    """The victims on one node for a pod.

    Attributes:
        node: the name of the node.
        pods: the victims, the most important first.
        violations: how many of them violate a PodDisruptionBudget.
    """

    node: str
    pods: tuple[PodUID, ...]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class TLS:
    """TLS settings of a service: file names, or PEM texts, which take precedence.

    Attributes:
        server_name: the name that the certificate must have; "" = the host of the URL.
    """

    insecure: bool = False
    server_name: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_data: str = ""
    cert_data: str = ""
    key_data: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Extender:
    """One of `extenders` in KubeSchedulerConfiguration.

    Attributes:
        url: the URL prefix; each verb is appended after a slash.
        filter_verb, prioritize_verb, preempt_verb, bind_verb: "" = the extender does not take part
            there.
        weight: the weight of its scores.
        timeout: the timeout of one call, in seconds.
        node_cache_capable: it caches nodes, and is sent their names; else it is sent whole nodes.
        managed: resources; it is asked only about pods that request one of them; empty = about all
            pods. The value is True if the scheduler's own filter ignores the resource.
        ignorable: if it fails, scheduling goes on without it.
    """

    url: URL
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 1
    timeout: float = 5.0
    node_cache_capable: bool = False
    managed: Mapping[str, bool] = field(default_factory=dict[str, bool])
    ignorable: bool = False
    tls: TLS | None = None

    def interested(self, pod: Pod) -> bool:
        """Whether it wants to be asked about this pod."""
        return not self.managed or any(name in self.managed for name, _ in pod.spec.requests)

    def judges_victims(self, pod: Pod) -> bool:
        """Whether it wants to be asked about the victims for this pod."""
        return bool(self.preempt_verb) and self.interested(pod)
