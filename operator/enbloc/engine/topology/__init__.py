# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topology: in which domain, such as a rack, a gang is placed.

`tree` has the domains of a node table, `room` how many members each could take, `candidates` which
of them are tried in which order, `regions` what of a trial is left when members must be in one
domain, `tree_order` which of several identical members takes which row, `refusals` why no domain
does, `apart` which groups a group keeps away from, `reserved` what minResources reserve in one
domain. None of it runs for a group that requests no topology.
"""

from enbloc.engine.topology.apart import opinions_apart, worse_rows
from enbloc.engine.topology.candidates import DomainCandidate, DomainCandidates, most_tried
from enbloc.engine.topology.refusals import no_domain, too_small
from enbloc.engine.topology.regions import (
    PlannedMember,
    chain_of,
    held_ranks,
    held_rows,
    inside,
    misplaced,
    region_of,
    required_domains,
    rows_around,
)
from enbloc.engine.topology.reserved import (
    DueInDomain,
    ReservedDomains,
    Taken,
    Tries,
    most_offered,
    taken_in_domains,
)
from enbloc.engine.topology.room import room_now
from enbloc.engine.topology.tree import Domains, domains_of, lies_in
from enbloc.engine.topology.tree_order import along_the_tree

__all__ = [
    "DomainCandidate",
    "DomainCandidates",
    "Domains",
    "DueInDomain",
    "PlannedMember",
    "ReservedDomains",
    "Taken",
    "Tries",
    "along_the_tree",
    "chain_of",
    "domains_of",
    "held_ranks",
    "held_rows",
    "inside",
    "lies_in",
    "misplaced",
    "most_offered",
    "most_tried",
    "no_domain",
    "opinions_apart",
    "region_of",
    "required_domains",
    "room_now",
    "rows_around",
    "taken_in_domains",
    "too_small",
    "worse_rows",
]
