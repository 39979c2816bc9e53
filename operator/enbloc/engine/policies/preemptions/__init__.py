# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions: the policy that evicts pods for groups of higher priority, and its records.

===============  ================================================  =================================
of               what is kept                                      until
===============  ================================================  =================================
a preemptor      `UnderWay`: its victims (`Leavers`, by group)     it is over
                 `Setbacks`: preemptions in vain                   its minimum is bound
                 the result of the last try                        it is planned
                 `PreemptorQueue`: that it is tried again          it is planned
a group with     `PreemptedBy`: by whom                            its minimum is bound
victims          `Rests`: which of its pods are left               its minimum is bound
a unit           `EvictionCounts`: how often it was evicted        an hour later
===============  ================================================  =================================

Each also ends with its group. `OpenPreemptions` tells which of those under way something concerns;
`begun` finds what another leader has begun, and `Reserver` reserves what becomes free.
"""

from enbloc.engine.policies.preemptions.preemptions import Preemptions

__all__ = ["Preemptions"]
