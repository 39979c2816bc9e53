# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a tenant may do with pods that give way, and with those that almost make them."""

import itertools
from collections.abc import Iterator

from benchmarks.changes import (
    HOSTILE,
    LOW,
    LOW_CLASS,
    Change,
    Create,
    Delete,
    Trick,
    gang,
    label,
    pod,
)
from enbloc.client.paths import POD_DISRUPTION_BUDGETS, POD_GROUPS, PODS


def giving_way(count: int, nodes: int, share: int = 20) -> Iterator[Create]:
    """Bound pods of low priority, which share so many CPUs of each node."""
    for index in range(count):
        made = pod(
            f"low-{index}",
            node=f"n{index % nodes}",
            labels={"app": f"low-{index % 100}"},
            priority_class=LOW_CLASS,
            priority=LOW,
        )
        requests = {"cpu": f"{1000 * share * nodes // count}m", "memory": "16Mi"}
        made.body["spec"]["containers"][0]["resources"]["requests"] = requests
        yield made


def budget(name: str, app: str) -> Create:
    """A budget that allows no disruption of some pods of low priority."""
    body = {
        "apiVersion": POD_DISRUPTION_BUDGETS.api_version,
        "kind": POD_DISRUPTION_BUDGETS.kind,
        "metadata": {"name": name, "namespace": HOSTILE},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": app}}},
    }
    return Create(POD_DISRUPTION_BUDGETS, body)


def almost(low: int, nodes: int, gangs: int = 20, budgets: int = 0) -> Trick:
    """Gangs of as many members as there are nodes and one more, each of which could have a node.

    So the proof that preemption does not help takes a look at everybody of lower priority. One
    label of each flips.
    """

    def before() -> Iterator[Change]:
        yield from giving_way(low, nodes)
        for index in range(budgets):
            yield budget(f"budget-{index}", f"low-{index % 100}")
        for index in range(gangs):
            yield from gang(f"almost-{index}", nodes + 1, cpu=28)

    def round_(number: int) -> Iterator[Change]:
        for index in range(gangs):
            yield label(f"almost-{index}-0", number)

    more = f" and {budgets} budgets" if budgets else ""
    return Trick(f"{gangs} gangs almost preempt {low} low pods{more}", before, round_)


def budgeted(low: int, nodes: int, count: int = 20) -> Trick:
    """Pods almost preempt others that have a label each, under the largest selectors there may be.

    Each budget covers all of them.
    """

    def before() -> Iterator[Change]:
        for index, made in enumerate(giving_way(low, nodes)):
            made.body["metadata"]["labels"] = {"app": f"low-{index}"}
            yield made
        for index in range(count):
            made = budget(f"wide-{index}", "")
            absent = [{"key": f"k{index}-{key}", "operator": "DoesNotExist"} for key in range(256)]
            made.body["spec"]["selector"] = {"matchExpressions": absent}
            yield made
        for index in range(20):
            yield from gang(f"almost-{index}", nodes + 1, cpu=28)

    def round_(number: int) -> Iterator[Change]:
        for index in range(20):
            yield label(f"almost-{index}-0", number)

    return Trick(f"20 gangs almost preempt {low} low pods under {count} selectors", before, round_)


def almost_alone(low: int, nodes: int, count: int = 600) -> Trick:
    """Pods that could have a node if those of low priority were all that keeps them off it.

    One that they keep away from sits on each, and a label of each flips.
    """
    selector = {"matchLabels": {"app": "keeper"}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    def before() -> Iterator[Change]:
        yield from giving_way(low, nodes)
        for index in range(nodes):
            yield pod(f"keeper-{index}", node=f"n{index}", labels={"app": "keeper"})
        for index in range(count):
            yield pod(f"alone-{index}", cpu=28, affinity=apart)

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            yield label(f"alone-{index}", number)

    return Trick(f"{count} pods almost preempt {low} low pods", before, round_)


def preempting(low: int, nodes: int, count: int = 20) -> Trick:
    """Gangs preempt pods of low priority; both end, and are made again."""

    def before() -> Iterator[Change]:
        yield from giving_way(low, nodes)

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            if number:
                for member in range(4):
                    yield Delete(PODS, HOSTILE, f"high-{number - 1}-{index}-{member}")
                yield Delete(POD_GROUPS, HOSTILE, f"high-{number - 1}-{index}")
            yield from gang(f"high-{number}-{index}", 4, cpu=28)
        for one in itertools.islice(giving_way(low, nodes), 40 * count):
            one.body["metadata"]["name"] += f"-{number}"
            one.body["spec"].pop("nodeName")
            yield one

    name = f"{count} gangs at a time preempt {low} low pods"
    return Trick(name, before, round_, evicts=True)
