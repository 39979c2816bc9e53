# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SpreadFilter: where a pod may go without breaking a DoNotSchedule constraint."""

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from enbloc.framework.reads import Reads
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.selectors import SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.pod_topology_spread.constraints import (
    Counting,
    Table,
    counted,
    counts,
    keys_present,
)

SKEWED: Final = "node(s) didn't match pod topology spread constraints"
NO_KEY: Final = f"{SKEWED} (missing required label)"


class SpreadFilter(Counting["_Table"]):
    """Counts pods per domain, updated as pods come and go.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
    Filter.
    """

    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = SKEWED

    def __init__(
        self, pod: Pod, constraints: Sequence[SpreadConstraint], snapshot: Snapshot
    ) -> None:
        complete = keys_present(constraints, snapshot.nodes)
        tables = [_Table(each, pod, snapshot, complete) for each in constraints]
        super().__init__(pod.key.namespace, tables)

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """True where every constraint's key exists, and its skew stays within the bound."""
        del pod
        mask = np.ones(len(nodes), np.bool_)
        for table in self._tables:
            mask &= table.allowed()
        return mask

    def explain(self, pod: Pod, nodes: Nodes, refused: Mask) -> Counter[str]:
        """Each refused node counts once, for the first constraint that it breaks."""
        del pod, nodes
        reasons: Counter[str] = Counter()
        left = refused.copy()
        for table in self._tables:
            keyless = left & (table.codes == 0)
            skewed = left & ~keyless & ~table.allowed()
            for reason, rows in ((NO_KEY, keyless), (SKEWED, skewed)):
                if rows.any():
                    reasons[reason] += int(rows.sum())
                    left &= ~rows
        return reasons

    def unresolvable(self, pod: Pod, nodes: Nodes, refused: Mask) -> Mask:
        """Nodes that break their first constraint because they lack its key."""
        del pod, nodes
        found, left = np.zeros_like(refused), refused.copy()
        for table in self._tables:
            keyless = left & (table.codes == 0)
            found |= keyless
            left &= ~keyless & table.allowed()
        return found


class _Table(Table):
    """One constraint's pods, by domain; domain 0 is that of the nodes without the key."""

    def __init__(
        self, constraint: SpreadConstraint, pod: Pod, snapshot: Snapshot, complete: Mask
    ) -> None:
        nodes, key = snapshot.nodes, constraint.topology_key
        codes, size = nodes.domains(key).astype(np.intp), nodes.domain_count(key)
        super().__init__(
            constraint, codes, complete & counted(constraint, pod, nodes), size, pod, snapshot
        )
        self._domains = np.flatnonzero(np.bincount(codes[self.counted], minlength=size))
        self._room = constraint.max_skew - counts(constraint, pod.key.namespace, pod)

    def allowed(self) -> Mask:
        """bool[N]: with one more pod, the node's domain is within `max_skew` of the minimum.

        The minimum is over the domains that have a counted node; with fewer of them than
        `min_domains` it is 0.
        """
        least = 0
        if self._domains.size >= self.constraint.min_domains:
            least = int(self.counts[self._domains].min())
        allowed = self.counts <= self._room + least
        allowed[0] = False
        return allowed[self.codes]
