# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How many requests a second a client of the API server may send."""

from dataclasses import dataclass
from typing import Final

#: What kube-scheduler takes for the one that is not set.
#: Source: kube-scheduler v1.36 pkg/scheduler/apis/config/v1/defaults.go
#: SetDefaults_KubeSchedulerConfiguration.
DEFAULT_QPS: Final = 50.0
DEFAULT_BURST: Final = 100


@dataclass(frozen=True, slots=True)
class RequestRate:
    """`qps` and `burst` as a file or flags set them; without either there is no limit.

    Attributes:
        qps: requests a second; negative = no limit, 0 = not set.
        burst: so many at once after a time with fewer; 0 = not set.
    """

    qps: float = 0.0
    burst: int = 0

    @property
    def is_set(self) -> bool:
        """Whether one of the two is set."""
        return bool(self.qps or self.burst)

    def over(self, other: "RequestRate") -> "RequestRate":
        """This, with what is not set taken from another."""
        return RequestRate(self.qps or other.qps, self.burst or other.burst)

    def completed(self) -> "RequestRate":
        """This; where one of the two is set, the other has kube-scheduler's default."""
        return self.over(RequestRate(DEFAULT_QPS, DEFAULT_BURST)) if self.is_set else self
