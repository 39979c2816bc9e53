# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extender: an HTTP service that has a say in filtering, scoring, preempting and binding."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from enbloc.model.credentials import URL
from enbloc.model.pods import Pod, PodUID


class NodeVictims(NamedTuple):
    """Who would have to leave one node for a pod.

    Attributes:
        node: its name.
        pods: those who would, the most important first.
        violations: how many of them go beyond a PodDisruptionBudget.
    """

    node: str
    pods: tuple[PodUID, ...]
    violations: int = 0


@dataclass(frozen=True, slots=True)
class TLS:
    """How to trust the service, and who we are to it; file names, or PEM texts that win.

    Attributes:
        server_name: whom the certificate must name; "" = the host of the URL.
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
        url: its prefix; each verb is appended after a slash.
        filter_verb, prioritize_verb, preempt_verb, bind_verb: "" = it has no say there.
        weight: of its scores.
        timeout: seconds for one call.
        node_cache_capable: it is sent node names, and knows the nodes; else it is sent nodes.
        managed: it is asked only about pods that request one of these; none = about all. The
            value says that the scheduler's own filter leaves this resource to it.
        ignorable: its failure is no reason against a pod.
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
        """Whether it wants to be asked who gives way to this pod."""
        return bool(self.preempt_verb) and self.interested(pod)
