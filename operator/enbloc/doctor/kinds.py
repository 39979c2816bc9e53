# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whether our kind is there as this version knows it, and which others go by the same names."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from enbloc.api.podgroup import PodGroupSpec, PodGroupStatus
from enbloc.client.client import Client
from enbloc.client.paths import CRDS, POD_GROUPS
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.shapes import CRD
from enbloc.model.names import API_VERSION

CHECK: Final = "crds"
OURS: Final = POD_GROUPS.label()
SHORT_NAME: Final = "epg"
_APPLY: Final = "apply crds/ of this version: kubectl apply --server-side -f crds/"


async def definitions(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Our CRD, and those of others."""
    found = False
    async for each in client.list(CRDS, shape=CRD):
        name = each.metadata.name
        where = f"customresourcedefinition {name}"
        if name == OURS:
            found = True
            if lack := lacking(each):
                message = f"lacks {', '.join(lack)}, which enbloc of this version uses; {_APPLY}"
                yield Finding(CHECK, Verdict.FAULT, where, message)
        elif SHORT_NAME in (each.spec.names.short_names or ()):
            message = f'has the short name {SHORT_NAME} too; say "{OURS}" to kubectl'
            yield Finding(CHECK, Verdict.WARNING, where, message)
        elif each.spec.names.plural == POD_GROUPS.plural:
            message = f'is called podgroups too; say "{OURS}" or "{SHORT_NAME}" to kubectl'
            yield Finding(CHECK, Verdict.WARNING, where, message)
    if not found and not ours.planned:
        where = f"customresourcedefinition {OURS}"
        yield Finding(CHECK, Verdict.FAULT, where, f"is not there; {_APPLY}")


def lacking(definition: CRD) -> list[str]:
    """What a definition of our kind has not, and this version uses."""
    versions = [each for each in definition.spec.versions or () if each.name == API_VERSION]
    if not versions or not versions[0].served:
        return [f"the version {API_VERSION}"]
    schema = versions[0].schema and versions[0].schema.open_api_v3_schema
    known = _properties(schema)
    return [
        f"{part}.{field}"
        for part, model in (("spec", PodGroupSpec), ("status", PodGroupStatus))
        for field in _fields(model)
        if field not in _properties(known.get(part))
    ]


def _fields(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}
