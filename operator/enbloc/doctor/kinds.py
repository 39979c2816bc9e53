# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether enbloc's kinds exist as this version needs them, and which other kinds share names."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from enbloc.api.podgroup import PodGroupSpec, PodGroupStatus
from enbloc.api.topology import TopologySpec
from enbloc.client.client import Client
from enbloc.client.paths import CRDS, POD_GROUPS, TOPOLOGIES
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.shapes import CRD
from enbloc.model.names import API_VERSION

CHECK: Final = "crds"
_APPLY: Final = "apply crds/ of this version: kubectl apply --server-side -f crds/"


class OwnKind(NamedTuple):
    """What the doctor checks in the CustomResourceDefinition of one of enbloc's kinds.

    Attributes:
        plural: its name in URLs.
        short_name: its short name.
        models: the models of the parts of its objects.
        absent: how bad a missing definition is.
        without: the consequence of a missing definition, as it stands before the fix.
    """

    plural: str
    short_name: str
    models: Mapping[str, type[BaseModel]]
    absent: Verdict
    without: str = ""


OURS: Final[Mapping[str, OwnKind]] = {
    POD_GROUPS.label(): OwnKind(
        POD_GROUPS.plural, "epg", {"spec": PodGroupSpec, "status": PodGroupStatus}, Verdict.FAULT
    ),
    TOPOLOGIES.label(): OwnKind(
        TOPOLOGIES.plural,
        "ebtopo",
        {"spec": TopologySpec},
        Verdict.WARNING,
        "spec.topology of PodGroups can name node labels only; ",
    ),
}


async def definitions(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Findings about enbloc's CRDs, and about others with the same names."""
    missing = dict(OURS)
    async for each in client.list(CRDS, shape=CRD):
        name = each.metadata.name
        where = f"customresourcedefinition {name}"
        if missing.pop(name, None) is not None:
            if lack := lacking(each):
                message = f"lacks {', '.join(lack)}, which enbloc of this version uses; {_APPLY}"
                yield Finding(CHECK, Verdict.FAULT, where, message)
        elif message := _alike(each):
            yield Finding(CHECK, Verdict.WARNING, where, message)
    if ours.planned:
        return
    for name, kind in missing.items():
        where = f"customresourcedefinition {name}"
        yield Finding(CHECK, kind.absent, where, f"is not there; {kind.without}{_APPLY}")


def _alike(other: CRD) -> str:
    """The name of an enbloc kind that another kind's definition also has; "" = none."""
    for label, kind in OURS.items():
        if kind.short_name in (other.spec.names.short_names or ()):
            return f'has the short name {kind.short_name} too; say "{label}" to kubectl'
        if other.spec.names.plural == kind.plural:
            return f'is called {kind.plural} too; say "{label}" or "{kind.short_name}" to kubectl'
    return ""


def lacking(definition: CRD) -> list[str]:
    """What this version uses and the definition of an enbloc kind lacks."""
    versions = [each for each in definition.spec.versions or () if each.name == API_VERSION]
    if not versions or not versions[0].served:
        return [f"the version {API_VERSION}"]
    schema = versions[0].schema and versions[0].schema.open_api_v3_schema
    known = _properties(schema)
    return [
        f"{part}.{field}"
        for part, model in OURS[definition.metadata.name].models.items()
        for field in _fields(model)
        if field not in _properties(known.get(part))
    ]


def _fields(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}
