# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What one tenant may do to keep the scheduler from others."""

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.changes import (
    HOSTILE,
    PRIORITY,
    PRIORITY_CLASS,
    VICTIM,
    Change,
    Create,
    Delete,
    Patch,
    Trick,
    gang,
    group,
    label,
    near,
    pod,
)
from benchmarks.preempting_tricks import almost, almost_alone, budgeted, preempting
from enbloc.client.paths import NODES, POD_GROUPS, PODS

# ── pods without a group ─────────────────────────────────────────────────────────────────────


def lone(count: int, spread: int = 1, namespace: str = HOSTILE, **how: Any) -> Trick:
    """Pods that want to be near what does not exist, each with a label that flips.

    Args:
        count: how many.
        spread: over how many namespaces.
        namespace: the only one, or how they begin.
        how: more of each pod.
    """
    names = [namespace if spread == 1 else f"{namespace}-{n}" for n in range(spread)]
    places = list(zip(range(count), itertools.cycle(names), strict=False))

    def before() -> Iterator[Change]:
        for index, where in places:
            affinity = near(f"none-{index}")
            yield pod(f"lone-{index}", namespace=where, affinity=affinity, **how)

    def round_(number: int) -> Iterator[Change]:
        for index, where in places:
            yield label(f"lone-{index}", number, namespace=where)

    kind = "in the gang's namespace" if namespace == VICTIM else ""
    kind = kind or (f"in {spread} namespaces" if spread > 1 else "")
    kind = kind or ("of higher priority" if how else "")
    return Trick(" ".join(filter(None, (f"{count} lone pods", kind))), before, round_)


def pending(count: int) -> Trick:
    def before() -> Iterator[Change]:
        for index in range(count):
            yield pod(f"large-{index}", cpu=1000 + index)

    return Trick(f"{count} pods that do not fit", before)


def ports(count: int = 4, each: int = 5000) -> Trick:
    def before() -> Iterator[Change]:
        for index in range(count):
            made = pod(f"ports-{index}", cpu=1000)
            opened = [{"containerPort": 1, "hostPort": 1000 + n} for n in range(each)]
            made.body["spec"]["containers"][0]["ports"] = opened
            yield made

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            yield label(f"ports-{index}", number)

    return Trick(f"{count} pods of {each} host ports", before, round_)


def pinned(count: int, nodes: int) -> Trick:
    def before() -> Iterator[Change]:
        for index in range(count):
            fields = [{"key": "metadata.name", "operator": "In", "values": [f"n{index % nodes}"]}]
            terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
            yield pod(f"pinned-{index}", cpu=1000, scheduler="nobody", affinity=affinity)

    return Trick(f"{count} pinned pods of nobody's scheduler", before)


def huge(count: int) -> Trick:
    def before() -> Iterator[Change]:
        for index in range(count):
            made = pod(f"huge-{index}", scheduler="nobody", node="n0")
            requests = {"memory": "64Pi", "cpu": "1m"}
            made.body["spec"]["containers"][0]["resources"]["requests"] = requests
            yield made

    return Trick(f"{count} pods of 64Pi on one node", before)


def heavy(count: int, size: int = 600_000) -> Trick:
    """Pods of this many bytes, made and deleted a hundredth at a time."""
    text = "x" * (size // 4)
    at_once = max(count // 100, 1)

    def made(number: int) -> Iterator[Create]:
        for index in range(at_once):
            name = f"heavy-{number % 100}-{index}"
            notes = {f"note-{n}": f"{number}{text}" for n in range(1)}
            env = [{"name": f"e{n}", "value": f"{number}{text}"} for n in range(3)]
            one = pod(name, cpu=1000, annotations=notes)
            one.body["spec"]["containers"][0]["env"] = env
            yield one

    def before() -> Iterator[Change]:
        for number in range(100):
            yield from made(number)

    def round_(number: int) -> Iterator[Change]:
        for one in made(number):
            yield Delete(PODS, HOSTILE, one.body["metadata"]["name"])
            yield one

    return Trick(f"{count} pods of {size // 1000} KB made and deleted", before, round_)


def absurd(nodes: int) -> Trick:
    """Two gangs whose members name their nodes, which refuse them."""

    def before() -> Iterator[Change]:
        for name in ("one", "two"):
            yield group(name, nodes)
            for index in range(nodes):
                made = f"{name}-{index}"
                yield pod(made, name, cpu=100_000, node=f"n{index}")
                refused = {"phase": "Failed", "reason": "OutOfcpu", "message": "no"}
                yield Patch(PODS, HOSTILE, made, {"status": refused}, "status")

    return Trick("absurd pods that name their nodes", before)


def terminating(count: int, nodes: int) -> Trick:
    def before() -> Iterator[Change]:
        for index in range(count):
            made = pod(f"ends-{index}", node=f"n{index % nodes}" if index % 2 else "")
            made.body["metadata"]["finalizers"] = ["example.com/stays"]
            yield made
            yield Delete(PODS, HOSTILE, f"ends-{index}")

    def round_(number: int) -> Iterator[Change]:
        for index in range(0, count, 10):
            yield label(f"ends-{index}", number)

    return Trick(f"{count} pods that stay Terminating", before, round_)


def gates(count: int) -> Trick:
    """Pods that do not fit, whose gate goes; then they are made again."""

    def made(index: int) -> Create:
        gate = [{"name": "example.com/gate"}]
        return pod(f"gated-{index}", cpu=1000 + index, schedulingGates=gate)

    def before() -> Iterator[Change]:
        for index in range(count):
            yield made(index)

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            if number % 2:
                yield Delete(PODS, HOSTILE, f"gated-{index}")
                yield made(index)
            else:
                patch = {"spec": {"schedulingGates": None}}
                yield Patch(PODS, HOSTILE, f"gated-{index}", patch)

    return Trick(f"gates of {count} pods", before, round_)


def placeable(failing: int, spread: int) -> Trick:
    """Pods that fit come and go, beside gangs in many namespaces that do not."""

    def before() -> Iterator[Change]:
        for index in range(failing):
            yield from gang(f"g{index}", 2, namespace=f"{HOSTILE}-{index % spread}", cpu=99)

    def round_(number: int) -> Iterator[Change]:
        for index in range(20):
            if number:
                yield Delete(PODS, HOSTILE, f"small-{number - 1}-{index}")
            yield pod(f"small-{number}-{index}")
        for index in range(failing):
            where = f"{HOSTILE}-{index % spread}"
            yield label(f"g{index}-0", number, namespace=where)

    return Trick(f"small pods beside {failing} gangs in {spread} namespaces", before, round_)


def deep(count: int, depth: int) -> Trick:
    """Pods and PodGroups whose managedFields nest deep, made and deleted a tenth at a time.

    The sandbox's API server takes none that nest so deep; a real one keeps them.
    """
    tenth = max(count // 10, 1)

    def made(index: int) -> Iterator[Create]:
        for one in (group(f"deep-{index}", 2), pod(f"deep-{index}", f"deep-{index}", cpu=1000)):
            entry = {
                "manager": "somebody",
                "operation": "Update",
                "apiVersion": one.resource.api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": msgspec.Raw(b'{"f:a":' * depth + b"{}" + b"}" * depth),
            }
            one.body["metadata"]["managedFields"] = [entry]
            yield one

    def before() -> Iterator[Change]:
        for index in range(count):
            yield from made(index)

    def round_(number: int) -> Iterator[Change]:
        for index in range(tenth):
            at = (number % 10) * tenth + index
            yield Delete(POD_GROUPS, HOSTILE, f"deep-{at}")
            yield Delete(PODS, HOSTILE, f"deep-{at}")
            yield from made(at)

    return Trick(f"{count} objects that nest {depth} deep", before, round_, engine_only=True)


# ── gangs ────────────────────────────────────────────────────────────────────────────────────


def infeasible(count: int) -> Trick:
    def before() -> Iterator[Change]:
        for index in range(count):
            yield from gang(f"g{index}", 2, cpu=1000 + index)

    def round_(number: int) -> Iterator[Change]:
        for index in range(0, count, 4):
            yield label(f"g{index}-0", number)

    return Trick(f"{count} infeasible gangs", before, round_)


def searching(count: int, size: int = 24) -> Trick:
    """Gangs that no sum refutes: each attempt is a search that spends all its steps."""

    def before() -> Iterator[Change]:
        for index in range(count):
            name = f"search-{index}"
            yield group(name, size)
            for member in range(size):
                cpu = (5, 7, 9, 11)[member % 4]
                apart = {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "rack",
                                "labelSelector": {"matchLabels": {"kind": f"{index}-{member % 6}"}},
                            }
                        ]
                    }
                }
                labels = {"kind": f"{index}-{member % 6}"}
                yield pod(
                    f"{name}-{member}",
                    name,
                    cpu=cpu,
                    labels=labels,
                    affinity=apart,
                    node_selector={"pool": "few"},
                )

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            yield label(f"search-{index}-0", number)

    return Trick(f"{count} gangs that are searched for", before, round_)


def near_gangs(count: int, spread: int = 1) -> Trick:
    """Gangs that want to be near what does not exist: each domain is searched for each."""

    def before() -> Iterator[Change]:
        for index in range(count):
            where = f"{HOSTILE}-{index % spread}" if spread > 1 else HOSTILE
            yield from gang(f"near-{index}", 2, namespace=where, affinity=near(f"none-{index}"))

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            where = f"{HOSTILE}-{index % spread}" if spread > 1 else HOSTILE
            yield label(f"near-{index}-0", number, namespace=where)

    kind = f" in {spread} namespaces" if spread > 1 else ""
    return Trick(f"{count} gangs with affinity{kind}", before, round_)


def kinds(count: int, gangs: int = 2) -> Trick:
    """Gangs of members no two of which are alike, the last of which does not fit."""

    def before() -> Iterator[Change]:
        for each in range(gangs):
            yield group(f"kinds-{each}", count)
            for index in range(count):
                cpu = 1000 if index == count - 1 else 1
                made = pod(f"kinds-{each}-{index}", f"kinds-{each}", cpu=cpu)
                requests = made.body["spec"]["containers"][0]["resources"]["requests"]
                requests["memory"] = f"{1 + each * count + index}Ki"
                yield made

    def round_(number: int) -> Iterator[Change]:
        for each in range(gangs):
            yield label(f"kinds-{each}-0", number)

    return Trick(f"{gangs} gangs of {count} kinds", before, round_)


def told_apart(members: int) -> Trick:
    """A gang of alike members that does not fit, and one pod that names the label of each."""

    def before() -> Iterator[Change]:
        says = [{"key": "rank", "operator": "In", "values": [str(n) for n in range(4000)]}]
        term = {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchExpressions": says},
            "namespaceSelector": {},
        }
        offered = {"weight": 1, "podAffinityTerm": term}
        drawn = {"preferredDuringSchedulingIgnoredDuringExecution": [offered]}
        yield pod("names-all", affinity={"podAffinity": drawn})
        yield group("told-apart", members)
        for index in range(members):
            cpu = 1000 if index == members - 1 else 1
            yield pod(f"told-{index}", "told-apart", cpu=cpu, labels={"rank": str(index)})

    def round_(number: int) -> Iterator[Change]:
        yield label("told-0", number)

    return Trick(f"{members} members told apart by a label", before, round_)


def reserving(count: int, cpu: int) -> Trick:
    """Gangs that are promised room, and of which one member ever comes."""

    def before() -> Iterator[Change]:
        for index in range(count):
            yield group(f"rest-{index}", 1, minResources={"cpu": str(cpu)})
            yield pod(f"rest-{index}-0", f"rest-{index}")

    return Trick(f"{count} gangs whose minResources never come", before)


def owners(count: int) -> Trick:
    """One PodGroup, whose members have an owner each."""

    def before() -> Iterator[Change]:
        yield group("owners", count + 1)
        for index in range(count):
            uid = f"00000000-0000-0000-0000-{index:012}"
            owner = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": f"j{index}", "uid": uid},
            }
            yield pod(f"owned-{index}", "owners", owner=owner)

    def round_(number: int) -> Iterator[Change]:
        for index in range(0, count, 100):
            yield label(f"owned-{index}", number)

    return Trick(f"{count} owners in one PodGroup", before, round_)


def empty(count: int) -> Trick:
    """PodGroups without members, made and deleted a tenth at a time."""
    tenth = max(count // 10, 1)

    def before() -> Iterator[Change]:
        for index in range(count):
            yield group(f"empty-{index}", 8)

    def round_(number: int) -> Iterator[Change]:
        for index in range(tenth):
            name = f"empty-{(number % 10) * tenth + index}"
            yield Delete(POD_GROUPS, HOSTILE, name)
            yield group(name, 8)

    return Trick(f"{count} empty PodGroups made and deleted", before, round_)


def most(members: int) -> Trick:
    def before() -> Iterator[Change]:
        yield group("most", 100_000)
        for index in range(members):
            yield pod(f"most-{index}", "most")

    def round_(number: int) -> Iterator[Change]:
        for index in range(members):
            yield label(f"most-{index}", number)

    return Trick("minMember of 100000", before, round_)


def flipping(count: int) -> Trick:
    """Gangs that do not fit, whose minimum flips."""

    def before() -> Iterator[Change]:
        for index in range(count):
            yield from gang(f"flip-{index}", 3, cpu=1000 + index)

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            patch = {"spec": {"minMember": 2 + number % 2}}
            yield Patch(POD_GROUPS, HOSTILE, f"flip-{index}", patch)

    return Trick(f"minMember of {count} gangs flips", before, round_)


def relabelled(nodes: int, waiting: int) -> Trick:
    """Labels of nodes change, while many pods wait that nodes could help."""

    def before() -> Iterator[Change]:
        for index in range(waiting):
            yield pod(f"waits-{index}", node_selector={"pool": f"none-{index}"})

    def round_(number: int) -> Iterator[Change]:
        for index in range(nodes):
            patch = {"metadata": {"labels": {"round": str(number)}}}
            yield Patch(NODES, "", f"n{index}", patch)

    return Trick(f"labels of {nodes} nodes, {waiting} pods wait", before, round_)


def refused(count: int, bindings: str) -> Trick:
    """Gangs that fit, and whose Bindings are denied or hang."""

    def before() -> Iterator[Change]:
        for index in range(count):
            yield from gang(f"refused-{index}", 2)

    def round_(number: int) -> Iterator[Change]:
        for index in range(count):
            yield label(f"refused-{index}-0", number)

    name = {"denied": "a webhook denies the Bindings", "hang": "hanging Bindings"}[bindings]
    return Trick(f"{name} of {count} gangs", before, round_, bindings, engine_only=True)


def tricks(nodes: int, scale: float = 1.0) -> Iterator[Trick]:
    """All of them.

    Args:
        nodes: how many the cluster has, called n0, n1, …
        scale: 1.0 = as many objects as a tenant may well have; less for a slow API server.
    """

    def some(count: int) -> int:
        return max(round(count * scale), 1)

    yield Trick("nothing", lambda: iter(()))
    yield lone(some(600))
    yield lone(some(600), namespace=VICTIM)
    yield lone(some(600), spread=some(200))
    yield lone(some(600), priority_class=PRIORITY_CLASS, priority=PRIORITY)
    yield pending(some(5000))
    yield infeasible(some(2000))
    yield searching(some(200))
    yield near_gangs(some(400))
    yield near_gangs(some(400), spread=some(200))
    yield kinds(some(1000))
    yield kinds(200)
    yield told_apart(some(2000))
    yield ports()
    yield pinned(100, nodes)
    yield huge(130)
    yield heavy(some(300))
    yield deep(some(300), 9000)
    yield absurd(nodes)
    yield reserving(10, nodes // 2)
    yield owners(some(10_000))
    yield terminating(some(1000), nodes)
    yield relabelled(nodes, some(1000))
    yield empty(some(5000))
    yield most(100)
    yield gates(some(200))
    yield flipping(some(200))
    yield placeable(some(600), some(200))
    yield refused(some(100), "denied")
    yield refused(some(100), "hang")
    yield almost(some(10_000), nodes)
    yield almost(some(10_000), nodes, budgets=some(10_000))
    yield budgeted(some(10_000), nodes)
    yield almost_alone(some(10_000), nodes)
    yield preempting(some(10_000), nodes)
