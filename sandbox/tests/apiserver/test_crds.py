# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Custom kinds: ours, and one with everything in it."""

from typing import Any

import pytest

from .conftest import MERGE, STRATEGIC, TABLE, Client

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/enbloc.dev/v1alpha1/namespaces/default/podgroups"
TOPOLOGIES = "/apis/enbloc.dev/v1alpha1/topologies"
WIDGETS = "/apis/example.dev/v1/widgets"


def group(name: str, **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}}
    return {**head, "spec": spec}


def definition(**schema: Any) -> dict[str, Any]:
    """A cluster-wide kind with a spec of this schema, in two versions."""
    properties = {"spec": {"type": "object", **schema}}
    version = {"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}
    return {
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Cluster",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, **version},
                {"name": "v2", "served": True, "storage": False, **version},
                {"name": "v3", "served": False, "storage": False, **version},
            ],
        },
    }


def widget(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }


async def test_our_kind_is_there_from_the_start(api: Client) -> None:
    crd = await api.get(f"{CRDS}/podgroups.enbloc.dev")
    conditions = {one["type"]: one["status"] for one in crd["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    created = await api.create(GROUPS, group("a", roles=[{"name": "w"}]))
    assert created["spec"] == {
        "minMember": 1,
        "onIncomplete": "Repair",
        "roles": [{"name": "w", "minMember": 1}],
    }
    assert created["metadata"]["generation"] == 1
    listing = await api.get(GROUPS)
    assert (listing["kind"], listing["items"][0]["kind"]) == ("PodGroupList", "PodGroup")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            {"minMember": 0},
            "spec.minMember: Invalid value: 0: spec.minMember in body should be greater than or "
            "equal to 1",
            id="too small",
        ),
        pytest.param({"minMember": 10**6}, "less than or equal to 100000", id="too large"),
        pytest.param(
            {"minMember": "x"},
            'spec.minMember: Invalid value: "string": spec.minMember in body must be of type '
            'integer: "string"',
            id="a wrong type",
        ),
        pytest.param({"roles": [{}]}, "spec.roles[0].name: Required value", id="a name missing"),
        pytest.param(
            {"minMember": 9, "roles": [{"name": "a"}] * 2},
            'spec.roles[1]: Duplicate value: {"name":"a"}',
            id="a key twice",
        ),
        pytest.param(
            {"minMember": 99, "roles": [{"name": f"a{i}"} for i in range(17)]},
            "spec.roles: Too many: 17: must have at most 16 items",
            id="too many items",
        ),
        pytest.param({"priorityClassName": "a" * 254}, "Too long: may not be more", id="too long"),
        pytest.param({"priorityClassName": ""}, "should be at least 1 chars long", id="too short"),
        pytest.param({"priorityClassName": "A_"}, "should match '^[a-z0-9]", id="a pattern"),
        pytest.param(
            {"minMember": 1, "roles": [{"name": "a"}, {"name": "b"}]},
            "spec.roles: Invalid value: the minimums of the roles add up to more than minMember",
            id="a rule",
        ),
    ],
)
async def test_a_wrong_object_is_invalid_in_the_words_of_the_api_server(
    api: Client, spec: dict[str, Any], message: str
) -> None:
    status, body = await api.ask("POST", GROUPS, group("a", **spec))
    assert (status, body["reason"]) == (422, "Invalid")
    assert message in body["message"]


async def test_rules_see_the_old_object(api: Client) -> None:
    await api.create(GROUPS, group("a"))
    condition = {
        "type": "Scheduled", "status": "True", "observedGeneration": 1, "reason": "Scheduled",
        "lastTransitionTime": "2026-11-21T00:00:00Z", "message": "",
    }  # fmt: skip
    await api.patch(f"{GROUPS}/a/status", {"status": {"conditions": [condition]}})
    change = {"spec": {"priorityClassName": "x"}}
    status, body = await api.ask("PATCH", f"{GROUPS}/a", change, MERGE)
    assert status == 422
    assert "Forbidden: priorityClassName is immutable" in body["message"]
    assert body["details"]["causes"][0]["field"] == "spec.priorityClassName"
    await api.patch(f"{GROUPS}/a", {"spec": {"minMember": 3}})


async def test_spec_and_status_are_written_apart(api: Client) -> None:
    created = await api.create(GROUPS, {**group("a"), "status": {"members": 3}})
    assert "status" not in created
    both = {"spec": {"minMember": 2}, "status": {"members": 4}, "metadata": {"labels": {"a": "b"}}}
    status = await api.patch(f"{GROUPS}/a/status", both)
    assert (status["spec"]["minMember"], status["status"]) == (1, {"members": 4})
    assert "labels" not in status["metadata"]
    assert status["metadata"]["generation"] == 1
    spec = await api.patch(f"{GROUPS}/a", {**both, "status": {"members": 9}})
    assert (spec["spec"]["minMember"], spec["status"]) == (2, {"members": 4})
    assert spec["metadata"]["generation"] == 2
    wrong = {"status": {"members": -1}}
    assert (await api.ask("PATCH", f"{GROUPS}/a/status", wrong, MERGE))[0] == 422


async def test_columns_and_selectable_fields_are_served(api: Client) -> None:
    await api.create(GROUPS, group("a", minMember=4, priorityClassName="low"))
    await api.create(GROUPS, group("b"))
    selected = await api.get(f"{GROUPS}?fieldSelector=spec.priorityClassName=low")
    assert [item["metadata"]["name"] for item in selected["items"]] == ["a"]
    assert (await api.ask("GET", f"{GROUPS}?fieldSelector=spec.minMember=1"))[0] == 400
    table = await api.get(GROUPS, Accept=TABLE)
    columns = [one["name"] for one in table["columnDefinitions"]]
    assert columns[:3] == ["Name", "Status", "Min"]
    assert table["rows"][0]["cells"][2] == 4


async def test_topologies_are_of_the_whole_cluster_and_shown_by_their_outer_and_inner_levels(
    api: Client,
) -> None:
    levels = [{"name": each, "nodeLabel": f"example.com/{each}"} for each in ("zone", "block", "r")]
    head = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "Topology"}
    body = {**head, "metadata": {"name": "default"}, "spec": {"levels": levels}}
    await api.create(TOPOLOGIES, body)
    table = await api.get(TOPOLOGIES, Accept=TABLE)
    assert [one["name"] for one in table["columnDefinitions"]][1:3] == ["Outermost", "Innermost"]
    assert table["rows"][0]["cells"][:3] == ["default", "zone", "r"]


async def test_a_strategic_merge_of_a_custom_kind_is_refused(api: Client) -> None:
    await api.create(GROUPS, group("a"))
    assert (await api.ask("PATCH", f"{GROUPS}/a", {}, STRATEGIC))[0] == 415


async def test_a_put_of_a_custom_object_names_its_version(api: Client) -> None:
    await api.create(GROUPS, group("a"))
    assert (await api.ask("PUT", f"{GROUPS}/a", group("a")))[0] == 422


async def test_unknown_fields_and_needless_nulls_are_pruned(api: Client) -> None:
    body = group("a", foo=1, priorityClassName=None, minMember=None, roles=[{"name": "w", "x": 1}])
    created = await api.create(GROUPS, body)
    assert created["spec"] == {
        "minMember": 1,
        "onIncomplete": "Repair",
        "roles": [{"name": "w", "minMember": 1}],
    }
    assert 'unknown field \\"spec.foo\\"' in api.headers["Warning"]
    strict = f"{GROUPS}?fieldValidation=Strict"
    status, answer = await api.ask("POST", strict, {**body, "metadata": {"name": "b"}})
    assert (status, 'unknown field "spec.roles[0].x"' in answer["message"]) == (400, True)


async def test_a_kind_may_be_installed_changed_and_removed_while_running(api: Client) -> None:
    assert (await api.ask("GET", WIDGETS))[0] == 404
    crd = await api.create(CRDS, definition(properties={"size": {"type": "integer"}}))
    assert crd["spec"]["names"] == {
        "kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList",
    }  # fmt: skip
    assert (await api.ask("POST", CRDS, definition()))[0] == 409
    await api.create(WIDGETS, widget("a", size=1, colour="red"))
    crd["spec"]["versions"][0]["schema"] = definition(
        properties={"size": {"type": "integer", "minimum": 5}, "colour": {"type": "string"}}
    )["spec"]["versions"][0]["schema"]
    assert (await api.ask("PUT", f"{CRDS}/widgets.example.dev", crd))[0] == 200
    assert (await api.ask("POST", WIDGETS, widget("b", size=1)))[0] == 422
    created = await api.create(WIDGETS, widget("b", size=6, colour="red"))
    assert created["spec"]["colour"] == "red"
    assert (await api.ask("DELETE", f"{CRDS}/widgets.example.dev"))[0] == 200
    assert (await api.ask("GET", WIDGETS))[0] == 404
    await api.create(CRDS, definition())
    assert (await api.get(WIDGETS))["items"] == []


async def test_every_served_version_shows_the_same_objects(api: Client) -> None:
    await api.create(CRDS, definition(**{"x-kubernetes-preserve-unknown-fields": True}))
    newer = WIDGETS.replace("v1", "v2")
    body = {**widget("a", x={"y": [1]}), "apiVersion": "example.dev/v2"}
    assert (await api.create(newer, body))["apiVersion"] == "example.dev/v2"
    old = await api.get(f"{WIDGETS}/a")
    assert (old["apiVersion"], old["spec"]) == ("example.dev/v1", {"x": {"y": [1]}})
    assert (await api.ask("GET", WIDGETS.replace("v1", "v3")))[0] == 404
    async with api.watch(f"{newer}?watch=1") as events:
        assert (await anext(events))["object"]["apiVersion"] == "example.dev/v2"


async def test_schemas_default_validate_and_preserve_at_any_depth(api: Client) -> None:
    port = {"x-kubernetes-int-or-string": True}
    item = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    schema = {
        "properties": {
            "port": port,
            "maybe": {"type": "string", "nullable": True},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "by": {"type": "object", "additionalProperties": item},
            "list": {"type": "array", "items": item, "minItems": 1},
            "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
            "even": {"type": "integer", "multipleOf": 2},
            "one": {"type": "string", "enum": ["a", "b"]},
            "when": {"type": "string", "format": "date-time"},
            "either": {
                "type": "object",
                "maxProperties": 1,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "template": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
        }
    }
    await api.create(CRDS, definition(**schema))
    good = widget(
        "a", port="http", maybe=None, tags=["x"], by={"k": {}}, list=[{}], ratio=0.5, even=2,
        one="a", when="2026-11-21T00:00:00Z", template={"kind": "Pod", "apiVersion": "v1", "z": 1},
    )  # fmt: skip
    created = await api.create(WIDGETS, good)
    assert created["spec"]["by"] == {"k": {"n": 3}}
    assert created["spec"]["list"] == [{"n": 3}]
    assert created["spec"]["maybe"] is None
    assert created["spec"]["template"]["z"] == 1
    for wrong, message in (
        ({"port": []}, "must be of type integer,string"),
        ({"tags": ["x", "x"]}, 'Duplicate value: "x"'),
        ({"list": []}, "should have at least 1 items"),
        ({"ratio": 0}, "should be greater than"),
        ({"even": 3}, "should be a multiple of 2"),
        ({"one": "c"}, 'Unsupported value: "c": supported values: "a", "b"'),
        ({"when": "now"}, 'must be of type date-time: "now"'),
        ({"either": {"a": 1, "b": 2}}, "Too many: 2: must have at most 1 item"),
    ):
        status, body = await api.ask("POST", WIDGETS, widget("b", **wrong))
        assert (status, message in body["message"]) == (422, True), body["message"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"group": ""}, "spec.group: Required value", id="no group"),
        pytest.param({"scope": "Planet"}, "spec.scope", id="a wrong scope"),
        pytest.param(
            {"names": {"kind": "W", "plural": "ws"}}, "must be spec.names.plural", id="name"
        ),
        pytest.param({"versions": []}, "exactly one version", id="no version"),
        pytest.param({"conversion": {"strategy": "Webhook"}}, "strategy None only", id="webhook"),
        pytest.param(
            {"versions": [{"name": "v1", "served": True, "storage": True}]},
            "openAPIV3Schema: Required value",
            id="no schema",
        ),
    ],
)
async def test_a_wrong_definition_is_refused(api: Client, change: Any, message: str) -> None:
    crd = definition()
    crd["spec"] |= change
    status, body = await api.ask("POST", CRDS, crd)
    assert (status, message in body["message"]) == (422, True), body["message"]


async def test_a_rule_that_cannot_be_compiled_is_refused_not_skipped(api: Client) -> None:
    rule = {"rule": "self.x ==="}
    status, body = await api.ask("POST", CRDS, definition(**{"x-kubernetes-validations": [rule]}))
    assert (status, "cannot compile the rule" in body["message"]) == (422, True)


async def test_a_rule_that_fails_to_evaluate_is_an_error(api: Client) -> None:
    rules = [{"rule": "self.x > 3", "message": "too small"}]
    items = {
        "type": "object",
        "x-kubernetes-validations": rules,
        "properties": {"x": {"type": "integer"}},
    }
    schema = {
        "properties": {
            "list": {"type": "array", "items": items},
            "map": {"type": "object", "additionalProperties": items},
        }
    }
    await api.create(CRDS, definition(**schema))
    await api.create(WIDGETS, widget("a", list=[{"x": 4}], map={"k": {"x": 5}}))
    for spec, message in (
        ({"list": [{"x": 4}, {"x": 1}]}, "spec.list[1]: Invalid value: too small"),
        ({"map": {"k": {"x": 1}}}, "spec.map[k]: Invalid value: too small"),
        ({"list": [{}]}, "rule evaluation error"),
    ):
        status, body = await api.ask("POST", WIDGETS, widget("b", **spec))
        assert (status, message in body["message"]) == (422, True), body["message"]


async def test_group_and_scope_of_a_definition_are_for_ever(api: Client) -> None:
    await api.create(CRDS, definition())
    change = {"spec": {"scope": "Namespaced"}}
    assert (await api.ask("PATCH", f"{CRDS}/widgets.example.dev", change, MERGE))[0] == 422
