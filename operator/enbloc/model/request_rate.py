# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Request rate: how many requests per second a client of the API server may send."""

from dataclasses import dataclass
from typing import Final

#: kube-scheduler's defaults for the one that is not set. Source: kube-scheduler v1.36
#: pkg/scheduler/apis/config/v1/defaults.go SetDefaults_KubeSchedulerConfiguration.
DEFAULT_QPS: Final = 50.0
DEFAULT_BURST: Final = 100


@dataclass(frozen=True, slots=True)
class RequestRate:
    """`qps` and `burst` as a file or flags set them; without either there is no limit.

    Attributes:
        qps: requests per second; negative = no limit, 0 = not set.
        burst: how many requests may be sent at once after a pause; 0 = not set.
    """

    qps: float = 0.0
    burst: int = 0

    @property
    def is_set(self) -> bool:
        """Whether one of the two is set."""
        return bool(self.qps or self.burst)

    def over(self, other: "RequestRate") -> "RequestRate":
        """This rate, with values that are not set taken from another."""
        return RequestRate(self.qps or other.qps, self.burst or other.burst)

    def completed(self) -> "RequestRate":
        """This rate; if only one of the two is set, the other gets kube-scheduler's default."""
        return self.over(RequestRate(DEFAULT_QPS, DEFAULT_BURST)) if self.is_set else self
