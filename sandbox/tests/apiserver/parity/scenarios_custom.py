# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversations: Custom resources."""

import asyncio
from typing import Any

from sandbox.tests.apiserver.parity.recorder import MERGE, STRATEGIC, Api
from sandbox.tests.apiserver.parity.talk import scenario


@scenario
async def a_custom_resource_is_served_validated_pruned_and_defaulted(api: Api) -> None:
    group = f"{api.namespace}.example.com"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 9},
                    "mode": {"type": "string", "enum": ["A", "B"], "default": "A"},
                },
                "x-kubernetes-validations": [
                    {"rule": "self.mode != 'B' || self.size > 2", "message": "B needs size > 2"}
                ],
            },
            "status": {"type": "object", "properties": {"seen": {"type": "integer"}}},
        },
    }
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await api.call("POST", crds, crd, quiet=True)
    things = f"/apis/{group}/v1/namespaces/{api.namespace}/things"
    for _ in range(100):
        if (await api.call("GET", things, quiet=True)).status == 200:
            break
        await asyncio.sleep(0.1)

    def thing(name: str, **spec: Any) -> dict[str, Any]:
        return {
            "apiVersion": f"{group}/v1",
            "kind": "Thing",
            "metadata": {"name": name},
            "spec": spec,
        }

    await api.call("POST", things, {**thing("a", size=3, nonsense=1), "status": {"seen": 1}})
    await api.call("POST", f"{things}?fieldValidation=Strict", thing("s", size=3, nonsense=1))
    await api.call("POST", things, thing("b", size=0))
    await api.call("POST", things, thing("c"))
    await api.call("POST", things, thing("d", size=1, mode="C"))
    await api.call("POST", things, thing("e", size=1, mode="B"))
    await api.call("POST", things, thing("f", size="big"))
    await api.call("PATCH", f"{things}/a", {"spec": {"size": 4}}, kind=MERGE)
    await api.call("PATCH", f"{things}/a/status", {"status": {"seen": 2}}, kind=MERGE)
    await api.call("PATCH", f"{things}/a", {"spec": {"size": 4}}, kind=STRATEGIC)
    await api.call("DELETE", f"{crds}/things.{group}", quiet=True)
