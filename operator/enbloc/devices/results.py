# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Results: the devices found for a claim, as written into its status.

Source: kube-scheduler v1.36 staging/src/k8s.io/dynamic-resource-allocation/structured/internal
allocator Allocate, createNodeSelector.
"""

import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from enbloc.devices.facts import AllocatedDevice, Allocation, ClaimSpec, Config
from enbloc.devices.search import Pick
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.requirements import NAME_FIELD, Operator, Requirement

#: The namespace of share IDs, which derive from what is shared: the same decision gives the same
#: ID.
_SHARES: Final = uuid.UUID("6f1f2f0c-6d0a-5f0e-9a60-0d9d6b1f7c11")


def allocation_of(picks: Sequence[Pick], spec: ClaimSpec, node: str, claim: str) -> Allocation:
    """The allocation of a claim (by its UID) whose first user is on this node."""
    return Allocation(
        results=tuple(_result(pick, at, claim) for at, pick in enumerate(picks)),
        config=(*_of_classes(picks), *_of_claim(picks, spec)),
        terms=_terms(picks, node),
    )


def score_of(picks: Iterable[Pick], most: int) -> int:
    """Σ(`most` − place among the alternatives) over the alternatives that were chosen."""
    chosen = {pick.want.name: pick.want for pick in picks if pick.want.alternative}
    return sum(most - want.order for want in chosen.values())


def _result(pick: Pick, at: int, claim: str) -> AllocatedDevice:
    device, (driver, pool) = pick.pool.devices[pick.position], pick.pool.key
    share = ""
    if pick.consumed is not None:
        share = str(uuid.uuid5(_SHARES, f"{claim}/{at}/{driver}/{pool}/{device.name}"))
    return AllocatedDevice(
        request=pick.want.name,
        driver=driver,
        pool=pool,
        device=device.name,
        admin=pick.want.ask.admin,
        tolerations=pick.want.ask.tolerations,
        conditions=device.traits.conditions,
        failures=device.traits.failures,
        share=share,
        consumed=pick.consumed or (),
    )


def _of_classes(picks: Sequence[Pick]) -> tuple[Config, ...]:
    """Each class's config once, for all requests that name the class, in the requests' order."""
    requests: dict[str, list[str]] = {}
    configs: dict[str, tuple[Config, ...]] = {}
    for name, want in {pick.want.name: pick.want for pick in picks}.items():
        requests.setdefault(want.device_class.name, []).append(name)
        configs[want.device_class.name] = want.device_class.config
    return tuple(
        Config(config.opaque, tuple(requests[name]), "FromClass")
        for name, of_class in configs.items()
        for config in of_class
    )


def _of_claim(picks: Sequence[Pick], spec: ClaimSpec) -> Iterable[Config]:
    """The claim's config, once per request, or chosen alternative, that it names."""
    chosen = {pick.want.request: pick.want for pick in picks}
    for config in spec.config:
        made = Config(config.opaque, config.requests, "FromClaim")
        if not config.requests:
            yield made
            continue
        for request in spec.requests:
            want = chosen.get(request.name)
            of_alternative = want is not None and want.alternative and want.name in config.requests
            if request.name in config.requests or of_alternative:
                yield made


def _terms(picks: Iterable[Pick], node: str) -> tuple[NodeSelectorTerm, ...] | None:
    """The terms for nodes that can use all of these devices; None = all nodes can."""
    expressions: list[Requirement] = []
    fields: list[Requirement] = []
    for pick in picks:
        site, device = pick.pool.sites[pick.position], pick.pool.devices[pick.position]
        if site.node or device.traits.binds_to_node:
            named = Requirement(NAME_FIELD, Operator.IN, (node,))
            return (NodeSelectorTerm(fields=(named,)),)
        for term in (site.terms or ())[:1]:
            _join(expressions, term.expressions)
            _join(fields, term.fields)
    if not expressions and not fields:
        return None
    return (NodeSelectorTerm(tuple(expressions), tuple(fields)),)


def _join(known: list[Requirement], more: Iterable[Requirement]) -> None:
    for each in more:
        if not any(_same(each, other) for other in known):
            known.append(each)


def _same(one: Requirement, other: Requirement) -> bool:
    alike = one.key == other.key and one.operator == other.operator
    return alike and set(one.values) == set(other.values)
