# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Memory: what is worked out once about devices, and shared by all forks of the table."""

from collections.abc import Callable, Hashable
from typing import Final

from enbloc.devices.asked import DeviceVerdict
from enbloc.devices.demand import Demand, demand_of
from enbloc.devices.effort import UNSEEN
from enbloc.devices.facts import ClaimSpec, DeviceClass
from enbloc.devices.pools import Pool
from enbloc.devices.selectors import Selectors
from enbloc.devices.views import Spread

#: Different specs of claims that are remembered, and so of claims of one group.
MOST_SPECS: Final = 256
#: Bytes of them, roughly, beyond which they are forgotten.
_MOST_BYTES: Final = 16 * 2**20
_MOST_VERDICTS: Final = 16_384


class Memory:
    """What is worked out once and shared by all forks: it follows from the objects alone."""

    def __init__(self) -> None:
        self.selectors = Selectors()
        self.demands: dict[Hashable, Demand] = {}
        self._bytes = 0
        self.verdicts: dict[Hashable, DeviceVerdict] = {}
        #: As the last table of more than one node was seen.
        self.spread: Spread | None = None
        #: Those that come from a lack of effort, in the decision that is made.
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
        """A pool is no more."""
        if pool is not None:
            for demand in self.demands.values():
                demand.forget(pool)

    def known(self, key: Hashable) -> DeviceVerdict | None:
        """A verdict that is remembered."""
        return self.verdicts.get(key) or self.short.get(key)

    def begin(self) -> None:
        """A decision begins: so much may be worked out for it."""
        self.selectors.effort.renew()
        self.short.clear()

    def keep(self, key: Hashable, verdict: DeviceVerdict) -> DeviceVerdict:
        """Remember a verdict."""
        if len(self.verdicts) >= _MOST_VERDICTS:
            self.verdicts.clear()
        self.verdicts[key] = verdict
        return verdict
