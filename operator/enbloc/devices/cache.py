# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cache: results about devices, shared by all forks of the table."""

from collections.abc import Callable, Hashable
from typing import Final

from enbloc.devices.demand import Demand, demand_of
from enbloc.devices.effort import UNSEEN
from enbloc.devices.facts import ClaimSpec, DeviceClass
from enbloc.devices.needs import DeviceVerdict
from enbloc.devices.pools import Pool
from enbloc.devices.selectors import Selectors
from enbloc.devices.views import Spread

#: How many different specs of claims are cached, and allowed in one group.
MOST_SPECS: Final = 256
#: Their approximate total bytes beyond which they are forgotten.
_MOST_BYTES: Final = 16 * 2**20
_MOST_VERDICTS: Final = 16_384


class DeviceCache:
    """Cached results that follow from the objects alone, shared by all forks."""

    def __init__(self) -> None:
        self.selectors = Selectors()
        self.demands: dict[Hashable, Demand] = {}
        self._bytes = 0
        self.verdicts: dict[Hashable, DeviceVerdict] = {}
        #: The Spread of the last table of more than one node.
        self.spread: Spread | None = None
        #: Verdicts that come from a lack of effort, in the current decision.
        self.short: dict[Hashable, DeviceVerdict] = {}

    def demand(self, spec: ClaimSpec, find: Callable[[str], DeviceClass | None]) -> Demand:
        """The demand of claims with this spec; no node can serve it once the effort is spent."""
        classes = tuple(find(ask.device_class) for ask in spec.asks)
        known = self.demands.get((spec, classes))
        if known is None:
            if self.selectors.effort.spent:
                return Demand(spec, problem=f": {UNSEEN}", selectors=self.selectors)
            if len(self.demands) >= MOST_SPECS or self._bytes > _MOST_BYTES:
                self.demands.clear()
                self.verdicts.clear()
                self._bytes = 0
            known = demand_of(spec, find, self.selectors)
            if not known.problem.endswith(UNSEEN):  # else the rest is compiled later
                self._bytes += spec.size
                self.demands[spec, classes] = known
        return known

    def forget(self, pool: Pool | None) -> None:
        """Drop cached results about a pool that no longer exists."""
        if pool is not None:
            for demand in self.demands.values():
                demand.forget(pool)

    def known(self, key: Hashable) -> DeviceVerdict | None:
        """The cached verdict of a key; None = there is none."""
        return self.verdicts.get(key) or self.short.get(key)

    def begin(self) -> None:
        """Start a new decision with full effort."""
        self.selectors.effort.renew()
        self.short.clear()

    def keep(self, key: Hashable, verdict: DeviceVerdict) -> DeviceVerdict:
        """Cache a verdict, and return it."""
        if len(self.verdicts) >= _MOST_VERDICTS:
            self.verdicts.clear()
        self.verdicts[key] = verdict
        return verdict
