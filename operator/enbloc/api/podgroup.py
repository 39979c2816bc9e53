# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroup of enbloc.dev/v1alpha1, as defined by `crds/podgroups.enbloc.dev.yaml`.

That file is the source of truth: `tests/api` compares every field, type, bound, default and enum
below with it. Only the API server checks its rules across fields (CEL). An optional field that is
absent is None: absent and zero may mean different things.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

Int32 = Annotated[int, Field(le=2**31 - 1)]
Count = Annotated[Int32, Field(ge=0)]
Priority = Annotated[Int32, Field(ge=-(2**31))]
Generation = Annotated[int, Field(ge=0, le=2**63 - 1)]
Time = Annotated[AwareDatetime, Field(strict=False)]  # JSON has it as an RFC 3339 string
RoleName = Annotated[str, Field(min_length=1, max_length=63)]
Name = Annotated[RoleName, Field(pattern=f"^{_DNS_LABEL}$")]
ObjectName = Annotated[str, Field(min_length=1, max_length=253, pattern=f"^{_DNS_SUBDOMAIN}$")]
#: A Topology of ours, or with an API group before it, one of another project's.
TopologyName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=507,
        pattern=rf"^({_DNS_SUBDOMAIN}/)?{_DNS_SUBDOMAIN}$|^{_DNS_SUBDOMAIN}/[*]$",
    ),
]
#: Of a label of nodes; the name of a level is such a key too.
LabelKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=317,
        pattern=rf"^({_DNS_SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$",
    ),
]
GroupCount = Annotated[int, Field(ge=1, le=32)]
Quantity = (
    Annotated[int, Field(ge=0)]
    | Annotated[
        str,
        Field(
            max_length=64,
            pattern=r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
            r"([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
        ),
    ]
)


class Strict(BaseModel):
    """A JSON object with known keys only: an unknown key is an error that names its path."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        serialize_by_alias=True,
        strict=True,
        validate_by_name=True,
    )


class ObjectMeta(Strict):
    """The metadata that enbloc reads; all other fields are kept as they are."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: Generation | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PartTopology(Strict):
    """Where the members of a role or a sub-group are placed relative to each other."""

    required: LabelKey | None = None
    preferred: LabelKey | None = None


class Role(Strict):
    """A role with a minimum of its own, in addition to that of the group."""

    name: Name
    min_member: Annotated[int, Field(ge=0, le=100_000)] = 1
    parent: Name | None = None
    pod_group_name: ObjectName | None = None
    topology: PartTopology | None = None


class SubGroup(Strict):
    """An inner node of a tree whose leaves are the roles.

    If min_group_count is absent, all of its children are required.
    """

    name: Name
    min_group_count: GroupCount | None = None
    parent: Name | None = None
    topology: PartTopology | None = None


class TopologySlice(Strict):
    """Slices of one size: members with consecutive ranks, placed in one domain of a level."""

    size: Annotated[int, Field(ge=1, le=100_000)]
    required: LabelKey


class GroupLabels(Strict):
    """PodGroups, selected by their labels."""

    match_labels: Annotated[
        dict[str, Annotated[str, Field(max_length=63)]], Field(min_length=1, max_length=8)
    ]


class TopologyApart(Strict):
    """A rule that keeps members away from other groups; `from` is a keyword of Python."""

    level: LabelKey
    from_: Annotated[GroupLabels, Field(alias="from")]
    max: Annotated[int, Field(ge=1, le=100_000)] = 1
    mode: Literal["Required", "Preferred"] = "Required"


class GroupTopology(Strict):
    """Where the members of a group are placed relative to each other; not empty."""

    name: TopologyName | None = None
    required: LabelKey | None = None
    preferred: LabelKey | None = None
    slices: Annotated[list[TopologySlice], Field(max_length=4)] | None = None
    apart: Annotated[list[TopologyApart], Field(max_length=4)] | None = None


class PodGroupSpec(Strict):
    """What a group needs to start.

    Attributes:
        min_member: minimum number of members that must be scheduled together.
        min_resources: capacity that must be free before any member is scheduled, by resource name.
        schedule_timeout_seconds: how long it may hold capacity while it waits; 0 = the default.
        roles: at most 16, each with a minimum of its own.
        priority_class_name: may lower the group's priority.
        on_incomplete: what happens to a partially bound gang that cannot be completed in time.
        min_group_count: minimum number of roles and sub-groups without a parent; absent = all.
        sub_groups: at most 16, the inner nodes of a tree.
        topology: where its members are placed relative to each other; absent = anywhere.
    """

    min_member: Annotated[int, Field(ge=1, le=100_000)] = 1
    min_resources: Annotated[dict[str, Quantity], Field(max_length=64)] | None = None
    schedule_timeout_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = None
    roles: Annotated[list[Role], Field(max_length=16)] | None = None
    priority_class_name: ObjectName | None = None
    on_incomplete: Literal["Repair", "Keep", "Restart"] = "Repair"
    min_group_count: GroupCount | None = None
    sub_groups: Annotated[list[SubGroup], Field(max_length=16)] | None = None
    topology: GroupTopology | None = None


class RoleStatus(Strict):
    """The counts of one role."""

    name: RoleName
    members: Count | None = None
    scheduled: Count | None = None
    ready: Count | None = None
    succeeded: Count | None = None


class Condition(Strict):
    """One condition of a group, always with all six fields."""

    type: Annotated[
        str,
        Field(
            min_length=1,
            max_length=316,
            pattern=rf"^({_DNS_SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        ),
    ]
    status: Literal["True", "False", "Unknown"]
    observed_generation: Generation
    last_transition_time: Time
    reason: Annotated[
        str,
        Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ]
    message: Annotated[str, Field(max_length=1024)]


class RunRole(Strict):
    """What is remembered of one role of a run."""

    name: RoleName
    min_member: Count | None = None
    succeeded: Count | None = None


class RunSubGroup(Strict):
    """What is remembered of one sub-group of a run."""

    name: RoleName
    min_group_count: Count | None = None


class Relaunch(Strict):
    """What is remembered of a run whose members were all gone, after some had succeeded."""

    succeeded: Count | None = None
    last_scheduled_time: Time | None = None
    min_member: Count | None = None
    roles: Annotated[list[RunRole], Field(max_length=16)] | None = None


class Run(Strict):
    """What the scheduler remembers of one run."""

    name: Annotated[str, Field(max_length=253)]
    owners: Annotated[list[Annotated[str, Field(max_length=253)]], Field(max_length=32)] | None = (
        None
    )
    min_member: Count | None = None
    scheduled_time: Time | None = None
    started_time: Time | None = None
    succeeded: Count | None = None
    roles: Annotated[list[RunRole], Field(max_length=16)] | None = None
    queue_time: Time | None = None
    plan: Annotated[str, Field(max_length=253)] | None = None
    min_group_count: Count | None = None
    sub_groups: Annotated[list[RunSubGroup], Field(max_length=16)] | None = None
    relaunch: Relaunch | None = None


class GroupTopologyStatus(Strict):
    """Where the bound members of a group are.

    Topologies of other projects have up to 16 levels, and HyperNodes have names of up to 253
    characters.
    """

    level: Annotated[str, Field(max_length=317)] | None = None
    path: Annotated[str, Field(max_length=4063)] | None = None
    spread: Annotated[dict[str, Count], Field(max_length=16)] | None = None


class PodGroupStatus(Strict):
    """Observed state of a group.

    Attributes:
        run: name of the newest run, which the counts are of.
        started_time: when the minimum last began to run together, in this run.
        succeeded: never goes back within a run.
        next_attempt_time: latest; absent if only a change in the cluster can help.
        expected: number of members that their owners can run at the same time from now on; absent =
            unknown.
        runs: what is remembered of each run that matters still, the newest last.
        topology: where the bound members are; absent without spec.topology.
    """

    observed_generation: Generation | None = None
    run: Annotated[str, Field(max_length=253)] | None = None
    started_time: Time | None = None
    members: Count | None = None
    scheduled: Count | None = None
    ready: Count | None = None
    succeeded: Count | None = None
    failed: Count | None = None
    roles: Annotated[list[RoleStatus], Field(max_length=16)] | None = None
    priority: Priority | None = None
    attempts: Count | None = None
    last_attempt_time: Time | None = None
    next_attempt_time: Time | None = None
    expected: Count | None = None
    runs: Annotated[list[Run], Field(max_length=16)] | None = None
    topology: GroupTopologyStatus | None = None
    conditions: Annotated[list[Condition], Field(max_length=16)] | None = None


class PodGroup(Strict):
    """A group of pods that are scheduled together, or not at all."""

    api_version: Literal["enbloc.dev/v1alpha1"] = "enbloc.dev/v1alpha1"
    kind: Literal["PodGroup"] = "PodGroup"
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec
    status: PodGroupStatus | None = None
