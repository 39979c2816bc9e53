# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The plugins of volumes in cases small enough to check by hand.

Facts from kube-scheduler v1.36
pkg/scheduler/framework/plugins/volumebinding/{binder,volume_binding,scorer}_test.go;
pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions_test.go;
pkg/scheduler/framework/plugins/volumezone/volume_zone_test.go;
pkg/scheduler/framework/plugins/nodevolumelimits/csi_test.go.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from enbloc.framework.status import Code, Status
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodSpec, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.plugins.node_volume_limits import NodeVolumeLimits
from enbloc.plugins.volume_binding.filter import (
    NO_SPACE,
    NO_VOLUME,
    NOT_REACHED,
    NOTHING_TO_BIND,
)
from enbloc.plugins.volume_binding.plugin import VolumeBinding
from enbloc.plugins.volume_restrictions import DISK_CONFLICT, RestrictionsFilter, VolumeRestrictions
from enbloc.plugins.volume_zone import VolumeZone, ZoneFilter
from enbloc.storage.facts import (
    Attachable,
    ClaimRef,
    CSIDriver,
    CSINode,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from tests.world.builders import labelled
from tests.world.storage import (
    FAST,
    GIB,
    HOST,
    LOCAL,
    RWO,
    RWX,
    ZONE,
    bound,
    csi_node,
    csi_volume,
    hosts,
    inline,
    knowing,
    ledger,
    on,
    pv,
    pvc,
    seat,
    segment,
    table_of,
    using,
)
from tests.world.tables import snapshot

Plugin = VolumeBinding | VolumeRestrictions | VolumeZone | NodeVolumeLimits
DRIVER = CSIDriver("csi.example.com", storage_capacity=True)
NOW = StorageClass("now", "csi.example.com")
IN_TREE = "kubernetes.io/aws-ebs"


def answers(plugin: Plugin, pod: Pod, table: Nodes) -> Status | list[tuple[str, ...]] | None:
    """The refusal of the pod; or each node's reasons; None = the pod is skipped."""
    facts = snapshot(knowing(table, pod))
    evaluator = plugin.pre_filter(pod, facts)
    if evaluator is None or isinstance(evaluator, Status):
        return evaluator
    mask = evaluator.filter(pod, facts.nodes)
    found: list[tuple[str, ...]] = []
    for row, fits in enumerate(mask.tolist()):
        refused = ~mask & False
        refused[row] = not fits
        why = {evaluator.reason: 1}
        if not isinstance(evaluator, ZoneFilter):
            why = dict(evaluator.explain(pod, facts.nodes, refused))
        found.append(() if fits else tuple(why))
    return found


def refused(message: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, message)


# ── VolumeBinding ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("claims", "facts", "expected"),
    [
        pytest.param((), [], None, id="pod has no claims"),
        pytest.param(("a",), [bound("a", "v"), pv("v")], [()], id="all bound"),
        pytest.param(
            ("a",), [], refused('persistentvolumeclaim "a" not found'), id="claim does not exist"
        ),
        pytest.param(
            ("a", "b"), [bound("a", "v"), pv("v")],
            refused('persistentvolumeclaim "b" not found'), id="part of claims do not exist",
        ),
        pytest.param(
            ("a",), [pvc("a", storage_class="now")],
            refused("pod has unbound immediate PersistentVolumeClaims"), id="immediate, not bound",
        ),
        pytest.param(
            ("a",), [pvc("a", volume="v"), pv("v")],
            refused("pod has unbound immediate PersistentVolumeClaims"), id="prebound by a user",
        ),
        pytest.param(
            ("a",), [pvc("a", storage_class="")],
            refused("pod has unbound immediate PersistentVolumeClaims"), id="no class",
        ),
        pytest.param(("a",), [pvc("a")], [(NOTHING_TO_BIND,)], id="unbound, no matches"),
        pytest.param(
            ("a", "b"), [bound("a", "v"), pvc("b"), pv("v", affinity=on("bar", key="foo"))],
            [(NOT_REACHED, NOTHING_TO_BIND)], id="bound and unbound unsatisfied",
        ),
        pytest.param(("a",), [bound("a", "v")], [(NO_VOLUME,)], id="volume not found"),
        pytest.param(
            ("a",), [bound("a", "v", lost=True)],
            refused('persistentvolumeclaim "a" bound to non-existent persistentvolume "v"'),
            id="claim lost",
        ),
        pytest.param(
            ("a",), [pvc("a", deleting=True)],
            refused('persistentvolumeclaim "a" is being deleted'), id="claim being deleted",
        ),
        pytest.param(
            ("~a",), [],
            refused(
                "waiting for ephemeral volume controller to create the persistentvolumeclaim "
                '"pod-a"'
            ),
            id="ephemeral volume without its claim",
        ),
        pytest.param(
            ("~a",), [pvc("pod-a")],
            refused("PVC default/pod-a was not created for pod default/pod (pod is not owner)"),
            id="ephemeral volume with another's claim",
        ),
        pytest.param(
            ("~a",), [pvc("pod-a", owner="pod"), pv("v")], [()], id="ephemeral volume"
        ),
        pytest.param(
            ("a",), [pvc("a", problem="spec.selector: odd")],
            refused('persistentvolumeclaim "a" cannot be read: spec.selector: odd'),
            id="claim that cannot be read",
        ),
        pytest.param(("a",), [pvc("a", 2), pv("v", 1)], [(NOTHING_TO_BIND,)], id="too small"),
        pytest.param(
            ("a",), [pvc("a", mode="Block"), pv("v")], [(NOTHING_TO_BIND,)], id="another mode"
        ),
        pytest.param(
            ("a",), [pvc("a", access_modes=(RWO, RWX)), pv("v")], [(NOTHING_TO_BIND,)],
            id="another access mode",
        ),
        pytest.param(
            ("a",), [pvc("a", attributes_class="gold"), pv("v")], [(NOTHING_TO_BIND,)],
            id="another attributes class",
        ),
        pytest.param(
            ("a",),
            [pvc("a", selector=Selector((Requirement("t", Operator.IN, ("x",)),))), pv("v")],
            [(NOTHING_TO_BIND,)], id="labels that are not selected",
        ),
        pytest.param(
            ("a",), [pvc("a"), pv("v", available=False)], [(NOTHING_TO_BIND,)], id="not available"
        ),
        pytest.param(
            ("a",), [pvc("a"), pv("v", deleting=True)], [(NOTHING_TO_BIND,)], id="being deleted"
        ),
        pytest.param(
            ("a",), [pvc("a"), pv("v", claim=ClaimRef("default/b"))], [(NOTHING_TO_BIND,)],
            id="kept for another claim",
        ),
        pytest.param(
            ("a",), [pvc("a"), pv("v", claim=ClaimRef("default/a"), available=False)], [()],
            id="kept for this claim",
        ),
        pytest.param(
            ("a",),
            [pvc("a"), pv("v", 1, "elsewhere", claim=ClaimRef("default/a")), pv("w")],
            [(NOTHING_TO_BIND,)], id="kept for this claim elsewhere",
        ),
        pytest.param(
            ("a", "b"), [pvc("a", 1), pvc("b", 2), pv("v", 2)], [(NOTHING_TO_BIND,)],
            id="the larger claim finds its volume taken",
        ),
        pytest.param(("a",), [pvc("a", storage_class="fast")], [()], id="to be made"),
        pytest.param(
            ("a",), [pvc("a", storage_class="fast", selected_node="n")], [()],
            id="to be made here",
        ),
        pytest.param(
            ("a",), [pvc("a", storage_class="fast", selected_node="m")], [(NOTHING_TO_BIND,)],
            id="to be made elsewhere",
        ),
        pytest.param(
            ("a",), [pvc("a", storage_class="fast"), DRIVER], [(NO_SPACE,)], id="no segment"
        ),
        pytest.param(
            ("a",), [pvc("a", 5, "fast"), DRIVER, segment("s", 5, "z")], [()], id="enough storage"
        ),
        pytest.param(
            ("a",), [pvc("a", 5, "fast"), DRIVER, segment("s", 4, "z")], [(NO_SPACE,)],
            id="too little storage",
        ),
        pytest.param(
            ("a",), [pvc("a", 5, "fast"), DRIVER, segment("s", 9, "z", largest=4 * GIB)],
            [(NO_SPACE,)], id="too large for one volume",
        ),
        pytest.param(
            ("a",), [pvc("a", 5, "fast"), DRIVER, segment("s", 9, "y")], [(NO_SPACE,)],
            id="storage of another zone",
        ),
        pytest.param(
            ("a",), [pvc("a", 5, "fast"), DRIVER, segment("s", 9, "z", topology=None)],
            [(NO_SPACE,)], id="storage that nobody reaches",
        ),
        pytest.param(
            ("a",), [pvc("a", None, "fast"), DRIVER], [()], id="a claim without a size"
        ),
        pytest.param(
            ("a",), [pvc("a", 5, "fast"), CSIDriver("csi.example.com")], [()],
            id="a driver that does not say what it has",
        ),
        pytest.param(
            ("a",), [pvc("a", storage_class="near")], [(NOTHING_TO_BIND,)],
            id="made in other zones only",
        ),
    ],
)  # fmt: skip
def test_claims_decide_where_a_pod_goes(
    claims: Sequence[str], facts: Sequence[VolumeFact], expected: object
) -> None:
    near = StorageClass("near", "csi.example.com", waits=True, topologies=(((ZONE, ("y",)),),))
    table = table_of(hosts("n", zone="z"), LOCAL, FAST, NOW, near, *facts)

    assert answers(VolumeBinding(), using("pod", *claims), table) == expected


@pytest.mark.parametrize(
    ("migrated", "expected"),
    [
        pytest.param(frozenset((IN_TREE,)), [()], id="as its CSI driver sees it"),
        pytest.param(frozenset[str](), [(NOT_REACHED,)], id="as it says itself"),
    ],
)
def test_an_old_disk_is_reached_by_the_labels_of_what_serves_it(
    migrated: frozenset[str], expected: object
) -> None:
    volume = pv("v", affinity=on("x"), plugin=IN_TREE, migrated_affinity=on("n"))
    table = table_of(hosts("n"), bound("a", "v"), volume, CSINode("n", migrated=migrated))

    assert answers(VolumeBinding(), using("pod", "a"), table) == expected


def test_an_old_disk_that_no_driver_understands_is_an_error() -> None:
    volume = pv("v", plugin=IN_TREE, problem="Invalid format")
    migrated = CSINode("n", migrated=frozenset((IN_TREE,)))
    table = table_of(hosts("n"), bound("a", "v"), volume, migrated)

    assert answers(VolumeBinding(), using("pod", "a"), table) == Status(
        Code.ERROR, "could not translate pv: Invalid format"
    )


def scores(table: Nodes, pod: Pod, shape: tuple[tuple[int, int], ...]) -> list[int] | None:
    plugin, facts = VolumeBinding(shape=shape), snapshot(knowing(table, pod))
    scorer = plugin.pre_score(pod, facts)
    return None if scorer is None else scorer.score(pod, facts.nodes).tolist()


def of_host(name: str, gib: int) -> VolumeFact:
    """What is left on one node."""
    return segment(name, gib, "", topology=Selector((Requirement(HOST, Operator.IN, (name,)),)))


RISING = ((0, 0), (100, 10))
BENT = ((0, 0), (50, 3), (100, 5))
HDD = StorageClass("hdd", "kubernetes.io/no-provisioner", waits=True)


@pytest.mark.parametrize(
    ("shape", "claims", "facts", "expected"),
    [
        pytest.param(
            RISING, [pvc("a", 50)], [pv("va", 200, "a"), pv("wa", 200, "a"), pv("vb", 100, "b")],
            [25, 50, 0], id="close capacity is preferred",
        ),
        pytest.param(
            RISING, [pvc("a", 50), pvc("b", 100, "hdd")],
            [pv("va", 200, "a"), pv("vb", 100, "b"), pv("ha", 200, "a", storage_class="hdd"),
             pv("hb", 100, "b", storage_class="hdd")],
            [38, 75, 0], id="the mean of the classes",
        ),
        pytest.param(
            BENT, [pvc("a", 50)], [pv("va", 200, "a"), pv("vb", 100, "b")], [15, 30, 0],
            id="a shape of one's own",
        ),
        pytest.param(
            RISING, [pvc("a", 10, "fast")],
            [DRIVER, of_host("a", 100), of_host("b", 50), of_host("c", 10)],
            [10, 20, 100], id="storage that is left",
        ),
        pytest.param((), [pvc("a", 50)], [pv("va", 200, "a")], None, id="no shape, no scores"),
    ],
)  # fmt: skip
def test_nodes_score_by_the_storage_that_is_left(
    shape: tuple[tuple[int, int], ...],
    claims: Sequence[PersistentVolumeClaim],
    facts: Sequence[VolumeFact],
    expected: list[int] | None,
) -> None:
    table = table_of(hosts("a", "b", "c"), LOCAL, FAST, HDD, *claims, *facts)

    assert scores(table, using("pod", *(each.name for each in claims)), shape) == expected


def test_what_was_promised_to_others_scores_as_taken() -> None:
    table = table_of(
        hosts("a", zone="z"), FAST, DRIVER, segment("s", 100, "z"), pvc("a", 50, "fast"),
        pvc("b", 10, "fast"),
    )  # fmt: skip
    seat(table, using("other", "a"), "a")

    assert scores(table, using("pod", "b"), RISING) == [20]


# ── VolumeZone ───────────────────────────────────────────────────────────────────────────────

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("volume", "nodes", "expected"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of several"),
        pytest.param({ZONE: "a"}, {}, True, id="a node without zones"),
        pytest.param({OLD_ZONE: "a"}, {ZONE: "a"}, True, id="the old label and the new"),
        pytest.param({ZONE: "a"}, {OLD_ZONE: "a"}, False, id="the new label and the old"),
        pytest.param({"tier": "x"}, {ZONE: "b"}, True, id="a volume without zones"),
        pytest.param({ZONE: "a__"}, {ZONE: "b"}, True, id="a label that makes no sense"),
    ],
)
def test_a_volume_is_in_the_zone_of_the_node(
    volume: dict[str, str], nodes: dict[str, str], expected: bool
) -> None:
    node = replace(labelled("n"), labels=tuple(sorted(nodes.items())))
    table = table_of([node], bound("a", "v"), pv("v", labels=tuple(sorted(volume.items()))))

    found = answers(VolumeZone(), using("pod", "a"), table)

    reason = [("node(s) had no available volume zone",)]
    assert found in ([()], None) if expected else found == reason


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param([], 'persistentvolumeclaim "a" not found', id="no claim"),
        pytest.param([bound("a", "v")], 'persistentvolume "v" not found', id="no volume"),
        pytest.param(
            [pvc("a", storage_class="")],
            "PersistentVolumeClaim had no pv name and storageClass name", id="no class",
        ),
        pytest.param(
            [pvc("a", storage_class="x")], 'storageclass.storage.k8s.io "x" not found',
            id="an unknown class",
        ),
        pytest.param([pvc("a", storage_class="now"), NOW], "PersistentVolume had no name",
                     id="immediate and unbound"),
    ],
)  # fmt: skip
def test_zones_of_what_cannot_be_bound_refuse_the_pod(
    facts: Sequence[VolumeFact], expected: str
) -> None:
    found = answers(VolumeZone(), using("pod", "a"), table_of(hosts("n"), *facts))

    assert found == refused(expected)


# ── VolumeRestrictions ───────────────────────────────────────────────────────────────────────

GCE = inline("gcePersistentDisk", pdName="d")
EBS = inline("awsElasticBlockStore", volumeID="d")
ISCSI = inline("iscsi", iqn="q")
RBD = inline("rbd", monitors="a,b", pool="p", image="i")


def with_disk(name: str, volume: PodVolume, node: str = "") -> Pod:
    return using(name, spec=PodSpec(volumes=(volume,)), node=node)


@pytest.mark.parametrize(
    ("mine", "theirs", "fits"),
    [
        pytest.param(GCE, GCE, False, id="the same GCE disk"),
        pytest.param(GCE, inline("gcePersistentDisk", pdName="e"), True, id="another GCE disk"),
        pytest.param(
            GCE._replace(read_only=True), GCE._replace(read_only=True), True, id="only read"
        ),
        pytest.param(GCE._replace(read_only=True), GCE, False, id="read by one only"),
        pytest.param(EBS, EBS, False, id="the same EBS volume"),
        pytest.param(
            EBS._replace(read_only=True), EBS._replace(read_only=True), False,
            id="the same EBS volume, only read",
        ),
        pytest.param(ISCSI, ISCSI, False, id="the same iSCSI name"),
        pytest.param(RBD, RBD, False, id="the same RBD image"),
        pytest.param(
            RBD, inline("rbd", monitors="b,c", pool="p", image="i"), False, id="a common monitor"
        ),
        pytest.param(
            RBD, inline("rbd", monitors="c", pool="p", image="i"), True, id="no common monitor"
        ),
        pytest.param(
            RBD, inline("rbd", monitors="a,b", pool="q", image="i"), True, id="another pool"
        ),
        pytest.param(GCE, inline("cinder", volumeID="d"), True, id="a kind that may be shared"),
    ],
)  # fmt: skip
def test_pods_of_one_node_do_not_share_a_disk(
    mine: PodVolume, theirs: PodVolume, *, fits: bool
) -> None:
    table = table_of(hosts("a", "b"))
    seat(table, with_disk("other", theirs), "a")

    found = answers(VolumeRestrictions(), with_disk("pod", mine), table)

    assert found == [() if fits else (DISK_CONFLICT,), ()]


def test_one_node_says_of_disks_what_it_says_among_others() -> None:
    table = table_of(hosts("a", "b"))
    seat(table, with_disk("other", GCE), "a")
    evaluator = VolumeRestrictions().pre_filter(with_disk("pod", GCE), snapshot(table))
    assert isinstance(evaluator, RestrictionsFilter)

    alone = [evaluator.filter(with_disk("pod", GCE), table.take(slice(r, r + 1))) for r in (0, 1)]

    assert [mask.tolist() for mask in alone] == [[False], [True]]


# ── NodeVolumeLimits ─────────────────────────────────────────────────────────────────────────

TOO_MANY = [("node(s) exceed max volume count",)]


def limited(count: int, *facts: VolumeFact) -> Nodes:
    claims = [bound(f"c{i}", f"v{i}", storage_class="fast") for i in range(4)]
    volumes = [csi_volume(f"v{i}") for i in range(4)]
    return table_of(
        hosts("n"), FAST, csi_node("n", csi_example_com=count), *claims, *volumes, *facts
    )


@pytest.mark.parametrize(
    ("limit", "there", "mine", "fits"),
    [
        pytest.param(2, ["c0"], ["c1"], True, id="room for one more"),
        pytest.param(1, ["c0"], ["c1"], False, id="no room"),
        pytest.param(1, ["c0"], ["c0"], True, id="attached already"),
        pytest.param(2, ["c0"], ["c1", "c2"], False, id="two more"),
        pytest.param(2, ["c0", "c1"], ["c0", "c2"], False, id="one of two is attached already"),
        pytest.param(1, ["unbound"], ["c0"], False, id="one that is to be made counts"),
        pytest.param(1, ["missing"], ["c0"], True, id="one that is missing does not"),
    ],
)
def test_a_node_attaches_so_many_volumes_of_a_driver(
    limit: int, there: list[str], mine: list[str], *, fits: bool
) -> None:
    table = limited(limit, pvc("unbound", 1, "fast"))
    seat(table, replace(using("other", *there), node="n"), "n")

    assert answers(NodeVolumeLimits(), using("pod", *mine), table) == ([()] if fits else TOO_MANY)


def test_an_attachment_counts_once_beside_the_pod_that_uses_it() -> None:
    table = limited(
        2, VolumeAttachment("x", "csi.example.com", "n", "v0"),
        VolumeAttachment("y", "csi.example.com", "n", "v1"),
    )  # fmt: skip
    seat(table, replace(using("other", "c0"), node="n"), "n")
    assert answers(NodeVolumeLimits(), using("pod", "c2"), table) == TOO_MANY

    ledger(table).drop(VolumeAttachment.kind, "y")
    assert answers(NodeVolumeLimits(), using("pod", "c2"), table) == [()]


def test_a_volume_that_two_claims_of_a_pod_name_counts_once() -> None:
    table = limited(1, bound("again", "v0", storage_class="fast"))
    assert answers(NodeVolumeLimits(), using("pod", "c0", "again"), table) == [()]

    seat(table, replace(using("other", "c0"), node="n"), "n")
    assert answers(NodeVolumeLimits(), using("pod", "again"), table) == [()]
    assert answers(NodeVolumeLimits(), using("pod", "c1"), table) == TOO_MANY


def test_an_inline_disk_counts_for_the_driver_that_serves_it() -> None:
    limits = csi_node("n", ebs_csi_aws_com=1)
    table = table_of(hosts("n"), limits)
    seat(table, with_disk("other", EBS), "n")

    other = with_disk("pod", inline("awsElasticBlockStore", volumeID="e"))
    assert answers(NodeVolumeLimits(), other, table) == TOO_MANY
    assert answers(NodeVolumeLimits(), with_disk("pod", EBS), table) == [()]


def test_an_old_disk_of_a_claim_counts_for_the_driver_that_serves_it() -> None:
    old = pv("v", plugin=IN_TREE, migrated=Attachable("ebs.csi.aws.com", "v"))
    table = table_of(hosts("n"), csi_node("n", ebs_csi_aws_com=0), bound("a", "v"), old)

    assert answers(NodeVolumeLimits(), using("pod", "a"), table) == TOO_MANY


@pytest.mark.parametrize(
    ("pod", "facts", "expected"),
    [
        pytest.param(
            using("pod", "a"), [],
            'looking up PVC default/a: persistentvolumeclaim "a" not found', id="no claim",
        ),
        pytest.param(
            using("pod", "~a"), [pvc("pod-a", owner="x")],
            "PVC default/pod-a was not created for pod default/pod (pod is not owner)",
            id="another's claim",
        ),
        pytest.param(
            with_disk("pod", inline("awsElasticBlockStore", volumeID="aws://x/y")), [],
            "converting volume(disk) from inline to csi: Invalid format for AWS volume (aws://x/y)",
            id="a disk that makes no sense",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_refuses_nodes(
    pod: Pod, facts: Sequence[VolumeFact], expected: str
) -> None:
    table = table_of(hosts("n"), csi_node("n", csi_example_com=9), *facts)

    assert answers(NodeVolumeLimits(), pod, table) == [(expected,)]


def test_a_node_takes_as_many_alike_pods_as_it_can_attach_volumes() -> None:
    table, pod = limited(3), using("pod", "c0")
    evaluator = NodeVolumeLimits().pre_filter(pod, snapshot(knowing(table, pod)))
    assert evaluator is not None
    seat(table, replace(using("other", "c1"), node="n"), "n")

    nodes = table.snapshot()
    assert evaluator.most(pod, nodes, ever=False).tolist() == [2]
    assert evaluator.most(pod, nodes, ever=True).tolist() == [3]
