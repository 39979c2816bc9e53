# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions: the policy that lets others give way, and what it keeps.

===============  ================================================  =================================
of               what is kept                                      until
===============  ================================================  =================================
a preemptor      `UnderWay`: its victims (`Leavers`, by group)     it is over
                 `Setbacks`: what was in vain                      its minimum is bound
                 what came of the last try                         it is planned
                 `Line`: that it is tried again, and from when     it is planned
a group that     `Told`: by whom                                   its minimum is bound
gave way         `Rests`: who is left of it                        its minimum is bound
a unit           `EvictionCounts`: how often it gave way           an hour later
===============  ================================================  =================================

Each ends with its group as well. `begun` finds what another leader has begun.
"""

from enbloc.engine.policies.preemptions.preemptions import Preemptions

__all__ = ["Preemptions"]
