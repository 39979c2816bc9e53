# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Configurations of other schedulers: what each setting becomes, and that the result runs."""

import textwrap
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import Conversion, Findings, Source, convert
from enbloc.config.findings import SettingOutcome
from enbloc.config.foreign import FOREIGN
from enbloc.config.migrate.volcano_tables import ACTIONS, FILTERS, PLUGINS, SCORES
from enbloc.errors import ConfigError
from enbloc.framework.points import Point
from enbloc.model.peers import PEERS
from tests.config.files import configured, one, problems, sample, v1
from tests.effort import examples

KEPT, CHANGED, BUILT_IN, NOT_NEEDED, LOST = SettingOutcome


def conversion(text: str) -> Conversion:
    return convert([Source("f", text)], Findings())


def outcomes(text: str) -> dict[str, SettingOutcome]:
    """What became of each setting, by its path."""
    return {each.path: each.outcome for each in conversion(text).settings}


def said(text: str, path: str) -> str:
    """What is said of a setting."""
    [found] = [each for each in conversion(text).settings if each.path == path]
    return found.text


def documents(text: str) -> list[Any]:
    """What a file becomes; the scheduler reads it."""
    found = list(conversion(text).documents)
    configured(yaml.safe_dump_all(found))
    return found


def volcano(plugins: Any, actions: str = "allocate") -> str:
    """A configuration of Volcano with one tier."""
    return yaml.safe_dump({"actions": actions, "tiers": [{"plugins": plugins}]})


def plugin(name: str, **arguments: Any) -> str:
    """A configuration of Volcano with one plugin, whose arguments have dots for underlines."""
    given_ = {key.replace("_", "."): value for key, value in arguments.items()}
    return volcano([{"name": name, "arguments": given_}])


def scores(text: str) -> dict[str, int]:
    """What weighs how much at score, as the scheduler reads the converted file."""
    [profile] = configured(yaml.safe_dump_all(documents(text))).profiles.values()
    return {name: profile.weights[name] for name in profile.points[Point.SCORE]}


def strategy(text: str) -> Any:
    """The scoring strategy that NodeResourcesFit is given; None = its default."""
    [profile] = documents(text)[0]["profiles"]
    configs = {each["name"]: each["args"] for each in profile.get("pluginConfig", ())}
    found = configs.get("NodeResourcesFit", {}).get("scoringStrategy")
    if found is None:
        return None
    return found["type"], {each["name"]: each["weight"] for each in found["resources"]}


# ── plugins of Go in a KubeSchedulerConfiguration ────────────────────────────────────────────
def test_coscheduling_goes_and_its_timeout_stays() -> None:
    scheduler, ours = documents(sample("coscheduling.yaml"))
    assert scheduler["profiles"] == [{"schedulerName": "scheduler-plugins-scheduler"}]
    assert ours["scheduleTimeoutSeconds"] == 120
    where = "profiles[0].plugins"
    args = "profiles[0].pluginConfig[0].args"
    assert outcomes(sample("coscheduling.yaml")) == {
        "leaderElection.leaderElect": KEPT,
        "profiles[0].schedulerName": CHANGED,
        f"{where}.multiPoint.enabled[0]": BUILT_IN,
        f"{where}.multiPoint.enabled[1]": LOST,
        f"{where}.multiPoint.disabled[0]": CHANGED,
        f"{where}.postFilter.enabled[0]": LOST,
        f"{where}.postFilter.disabled[0]": CHANGED,
        "profiles[0].pluginConfig[0]": BUILT_IN,
        f"{args}.permitWaitingTimeSeconds": CHANGED,
        f"{args}.podGroupBackoffSeconds": NOT_NEEDED,
        f"{args}.podGroupRejectPercentage": NOT_NEEDED,
    }


@pytest.mark.parametrize("name", FOREIGN)
def test_a_plugin_of_another_project_is_refused_and_converted(name: str) -> None:
    text = one(f"plugins: {{filter: {{enabled: [{{name: {name}}}]}}}}")
    [problem] = problems(text)
    assert problem.startswith(f'profiles[0].plugins.filter.enabled[0].name: "{name}" is a plugin')
    assert "`enbloc config convert f0`" in problem
    [document] = documents(text)
    assert document["profiles"] == [{"schedulerName": "a"}]


def test_other_plugins_stay_as_they_are() -> None:
    text = one(
        """
        plugins:
          multiPoint: {enabled: [{name: Coscheduling}]}
          queueSort: {enabled: [{name: PrioritySort}], disabled: [{name: "*"}]}
          score: {enabled: [{name: ImageLocality, weight: 7}, {name: NodeMetadata}], disabled: []}
        """
    )
    [document] = documents(text)
    assert document["profiles"][0]["plugins"] == {
        "queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]},
        "score": {"enabled": [{"name": "ImageLocality", "weight": 7}], "disabled": []},
    }


@pytest.mark.parametrize(
    ("plugins", "preempts"),
    [
        ("postFilter: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}", False),
        ("postFilter: {enabled: [{name: Coscheduling}]}", True),
        ("postFilter: {enabled: [{name: CapacityScheduling}], disabled: [{name: '*'}]}", True),
        (
            (
                "postFilter: {enabled: [{name: Coscheduling}, {name: CapacityScheduling}],"
                " disabled: [{name: '*'}]}"
            ),
            True,
        ),
        (
            (
                "postFilter: {enabled: [{name: PreemptionToleration}],"
                " disabled: [{name: DefaultPreemption}]}"
            ),
            True,
        ),
        (
            (
                "multiPoint: {enabled: [{name: PreemptionToleration}],"
                " disabled: [{name: DefaultPreemption}]}"
            ),
            True,
        ),
        (
            (
                "multiPoint: {enabled: [{name: Coscheduling}]},"
                " postFilter: {disabled: [{name: DefaultPreemption}]}"
            ),
            False,
        ),
    ],
)
def test_who_preempted_before_does_so_converted_and_nobody_else(
    plugins: str, preempts: bool
) -> None:
    [document] = documents(one(f"plugins: {{{plugins}}}"))
    [profile] = configured(yaml.safe_dump(document)).profiles.values()
    assert ("DefaultPreemption" in profile.points.get(Point.POST_FILTER, ())) is preempts


def test_a_plugin_that_nobody_knows_is_lost_by_name() -> None:
    text = one("plugins: {score: {enabled: [{name: Ours}]}}")
    assert outcomes(text)["profiles[0].plugins.score.enabled[0]"] is LOST
    assert 'no plugin "Ours" is installed' in said(text, "profiles[0].plugins.score.enabled[0]")


@pytest.mark.parametrize("point", ["queueSort", "postFilter"])
@pytest.mark.parametrize("found", ["[{name: Coscheduling}]", "[]", "5", "a"])
def test_plugins_of_a_point_that_are_no_mapping_are_a_problem(point: str, found: str) -> None:
    text = one(f"plugins: {{multiPoint: {{enabled: [{{name: Ours}}]}}, {point}: {found}}}")
    with pytest.raises(ConfigError, match=rf"profiles\[0\].plugins.{point}: must be a mapping"):
        conversion(text)


@pytest.mark.parametrize(
    ("args", "timeout"),
    [
        ("{permitWaitingTimeSeconds: 0}", None),
        ("{permitWaitingTimeSeconds: null}", None),
        ("{defaultTimeout: 10m}", 600),
        ("{defaultTimeout: 10ms}", 1),
    ],
)
def test_the_timeout_is_read_as_each_project_writes_it(args: str, timeout: int | None) -> None:
    text = one(f"pluginConfig: [{{name: Coscheduling, args: {args}}}]")
    timeouts = [each.get("scheduleTimeoutSeconds") for each in documents(text)[1:]]
    assert timeouts == ([] if timeout is None else [timeout])


@pytest.mark.parametrize("value", ["-1", "soon", "[]", "4294967296", "1.5", "true"])
def test_a_timeout_that_is_none_is_a_problem(value: str) -> None:
    text = one(f"pluginConfig: [{{name: Coscheduling, args: {{defaultTimeout: {value}}}}}]")
    with pytest.raises(ConfigError, match=r"defaultTimeout: must be a number of seconds above 0"):
        conversion(text)


def test_the_longest_timeout_of_several_profiles_counts_unless_ours_says_one() -> None:
    profile = "- schedulerName: {}\n  pluginConfig: [{{name: Coscheduling, args: {}}}]\n"
    each = [
        profile.format(name, f"{{permitWaitingTimeSeconds: {n}}}")
        for name, n in [("a", 9), ("b", 30)]
    ]
    text = v1("profiles:\n" + "".join(each))
    assert documents(text)[1]["scheduleTimeoutSeconds"] == 30
    ours = "---\napiVersion: config.enbloc.dev/v1alpha1\nkind: EnblocConfiguration\n"
    assert documents(f"{text}{ours}searchSteps: 5\n")[1]["scheduleTimeoutSeconds"] == 30
    assert documents(f"{text}{ours}scheduleTimeoutSeconds: 7\n")[1]["scheduleTimeoutSeconds"] == 7


# ── Volcano ──────────────────────────────────────────────────────────────────────────────────
def test_a_configuration_of_volcano_is_told_setting_by_setting() -> None:
    text = sample("volcano-scheduler.conf")
    one_, two = "tiers[0].plugins", "tiers[1].plugins"
    assert outcomes(text) == {
        "actions[0]": NOT_NEEDED,
        "actions[1]": BUILT_IN,
        "actions[2]": BUILT_IN,
        "actions[3]": BUILT_IN,
        f"{one_}[0]": BUILT_IN,
        f"{one_}[1]": BUILT_IN,
        f"{one_}[1].enablePreemptable": NOT_NEEDED,
        f"{one_}[1].enableJobReady": LOST,
        f"{one_}[2]": NOT_NEEDED,
        f"{two}[0]": LOST,
        f"{two}[0].enablePreemptible": NOT_NEEDED,
        f"{two}[1]": KEPT,
        f"{two}[1].arguments.predicate.VolumeBindingEnable": KEPT,
        f"{two}[1].arguments.predicate.NodePortsEnable": KEPT,
        f"{two}[1].arguments.predicate.CacheEnable": NOT_NEEDED,
        f"{two}[2]": LOST,
        f"{two}[3]": CHANGED,
        f"{two}[3].arguments.imagelocality.weight": KEPT,
        f"{two}[3].arguments.tainttoleration.weight": KEPT,
        f"{two}[3].arguments.podaffinity.weight": NOT_NEEDED,
        f"{two}[4]": CHANGED,
        f"{two}[4].arguments.binpack.weight": KEPT,
        f"{two}[4].arguments.binpack.cpu": KEPT,
        f"{two}[4].arguments.binpack.memory": KEPT,
        f"{two}[4].arguments.binpack.resources": KEPT,
        f"{two}[4].arguments.binpack.resources.nvidia.com/gpu": KEPT,
        "configurations[0]": BUILT_IN,
        "configurations[0].arguments.predicateErrorCacheEnable": NOT_NEEDED,
        "profiles[0].schedulerName": CHANGED,
    }
    assert said(text, f"{two}[0].enablePreemptible").endswith('did you mean "enablePreemptable"?')
    assert strategy(text) == ("MostAllocated", {"cpu": 5, "memory": 1, "nvidia.com/gpu": 2})
    weights = scores(text)
    assert (weights["TaintToleration"], weights["NodeResourcesFit"]) == (5, 10)
    assert "ImageLocality" not in weights
    [profile] = configured(yaml.safe_dump_all(documents(text))).profiles.values()
    assert profile.name == "volcano"
    assert "VolumeBinding" not in profile.points[Point.FILTER]
    assert "NodePorts" in profile.points[Point.FILTER]


@pytest.mark.parametrize("name", PLUGINS)
def test_each_plugin_of_volcano_alone_is_told_and_gives_a_file_that_runs(name: str) -> None:
    text = volcano([{"name": name, "enableNodeOrder": True, "arguments": {"any": 1}}])
    found = outcomes(text)
    assert found["tiers[0].plugins[0]"] is PLUGINS[name][0]
    assert said(text, "tiers[0].plugins[0]")
    assert documents(text)


@pytest.mark.parametrize("name", ACTIONS)
def test_each_action_of_volcano_is_told(name: str) -> None:
    text = volcano([], actions=f" {name} ,")
    assert outcomes(text)["actions[0]"] is ACTIONS[name][0]
    assert said(text, "actions[0]")


@pytest.mark.parametrize("actions", ["preempt", "enqueue, allocate, gangpreempt", " preempt ,"])
def test_who_lists_an_action_that_preempts_has_preemption(actions: str) -> None:
    text = volcano([], actions=actions)
    [profile] = configured(yaml.safe_dump_all(documents(text))).profiles.values()
    assert "DefaultPreemption" in profile.points[Point.POST_FILTER]
    assert "actions" not in outcomes(text)


@pytest.mark.parametrize(
    "text",
    [
        volcano([], actions="enqueue, allocate, backfill"),
        volcano([], actions="reclaim, preemption"),
        volcano([], actions=""),
        yaml.safe_dump({"tiers": [{"plugins": [{"name": "gang"}]}]}),
    ],
)
def test_nobody_is_preempted_where_no_action_of_volcano_does_that(text: str) -> None:
    [profile] = configured(yaml.safe_dump_all(documents(text))).profiles.values()
    assert "DefaultPreemption" not in profile.points.get(Point.POST_FILTER, ())
    assert outcomes(text)["actions"] is KEPT
    assert "DefaultPreemption is off" in said(text, "actions")


@pytest.mark.parametrize("argument", FILTERS)
@pytest.mark.parametrize("off", [False, "false", "F", "0"])
def test_a_predicate_that_is_off_is_off_at_filter(argument: str, off: Any) -> None:
    text = volcano([{"name": "predicates", "arguments": {argument: off}}])
    [profile] = configured(yaml.safe_dump_all(documents(text))).profiles.values()
    assert FILTERS[argument] not in profile.points[Point.FILTER]
    [default] = configured("").profiles.values()
    assert set(default.points[Point.FILTER]) - set(profile.points[Point.FILTER]) <= {
        FILTERS[argument]
    }


def test_the_defaults_of_nodeorder_are_the_defaults_here() -> None:
    [default] = configured("").profiles.values()
    weights = {name: default.weights[name] for name in default.points[Point.SCORE]}
    assert scores(plugin("nodeorder")) == weights
    assert strategy(plugin("nodeorder")) is None


@pytest.mark.parametrize("argument", SCORES)
def test_a_weight_of_nodeorder_is_that_of_its_plugin(argument: str) -> None:
    name, _ = SCORES[argument]
    text = volcano([{"name": "nodeorder", "arguments": {"leastrequested.weight": 0, argument: 9}}])
    assert scores(text)[name] == 9
    text = volcano([{"name": "nodeorder", "arguments": {"leastrequested.weight": 0, argument: 0}}])
    assert name not in scores(text)


@pytest.mark.parametrize(
    ("least", "most", "weight", "found"),
    [
        (3, 1, 2, None),
        (1, 4, 3, ("MostAllocated", {"cpu": 1, "memory": 1})),
        (2, 2, None, None),
        (0, 0, None, None),
    ],
)
def test_spreading_and_packing_leave_their_difference(
    least: int, most: int, weight: int | None, found: Any
) -> None:
    text = plugin("nodeorder", leastrequested_weight=least, mostrequested_weight=most)
    assert scores(text).get("NodeResourcesFit") == weight
    assert strategy(text) == found
    assert all(each is not LOST for each in outcomes(text).values())


def test_packing_wins_over_spreading_that_was_asked_for_and_that_is_told() -> None:
    arguments = {"leastrequested.weight": 2}
    plugins = [{"name": "nodeorder", "arguments": arguments}, {"name": "binpack"}]
    text = volcano(plugins)
    assert outcomes(text)["tiers[0].plugins[0].arguments.leastrequested.weight"] is LOST
    assert strategy(text) == ("MostAllocated", {"cpu": 1, "memory": 1})


def test_packing_alone_is_all_that_scores() -> None:
    assert set(scores(plugin("binpack", binpack_weight=2))) & {
        name for name, _ in SCORES.values()
    } == {"NodeResourcesFit"}


@pytest.mark.parametrize(
    ("given_", "weights"),
    [
        ({"binpack.cpu": 0}, {"memory": 1}),
        ({"binpack.cpu": 1000, "binpack.memory": 1}, {"cpu": 100, "memory": 1}),
        (
            {"binpack.resources": "a.io/x, ,a.io/y"},
            {"cpu": 1, "memory": 1, "a.io/x": 1, "a.io/y": 1},
        ),
        ({"binpack.resources": ["a.io/x"]}, {"cpu": 1, "memory": 1}),
    ],
)
def test_binpacks_resources_are_those_of_the_strategy(
    given_: dict[str, Any], weights: dict[str, int]
) -> None:
    text = volcano([{"name": "binpack", "arguments": given_}])
    assert strategy(text) == ("MostAllocated", weights)


def test_a_strategy_for_all_resources_is_kept_and_one_for_each_is_lost() -> None:
    most, least = {"type": "MostAllocated", "weight": 3}, {"type": "LeastAllocated"}
    alike = {"resources": {"cpu": most, "nvidia.com/gpu": most}, "resourceStrategyFitWeight": 4}
    text = volcano([{"name": "resource-strategy-fit", "arguments": alike}])
    assert strategy(text) == ("MostAllocated", {"cpu": 3, "nvidia.com/gpu": 3})
    assert scores(text)["NodeResourcesFit"] == 4
    mixed = {"resources": {"cpu": least, "nvidia.com/gpu": most}}
    text = volcano([{"name": "resource-strategy-fit", "arguments": mixed}])
    assert outcomes(text)["tiers[0].plugins[0]"] is LOST
    wild = {"resources": {"vendor.io/*": most}, "sra": {"enable": True}}
    text = volcano([{"name": "resource-strategy-fit", "arguments": wild}])
    found = outcomes(text)
    assert found["tiers[0].plugins[0].arguments.resources.vendor.io/*.type"] is LOST
    assert found["tiers[0].plugins[0].arguments.sra.enable"] is LOST


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tiers: {}", "tiers: must be a list"),
        ("tiers: [a]", r"tiers\[0\]: must be a mapping"),
        ("tiers: [{plugins: 1}]", r"tiers\[0\].plugins: must be a list"),
        ("tiers: [{plugins: [gang]}]", r"tiers\[0\].plugins\[0\]: must be a mapping"),
        (
            "tiers: [{plugins: [{name: binpack, arguments: []}]}]",
            r"tiers\[0\].plugins\[0\].arguments: must be a mapping",
        ),
        (
            "tiers: [{plugins: [{name: binpack, arguments: {binpack.weight: 2147483648}}]}]",
            r"arguments.binpack.weight: must be at most 2147483647, is 2147483648",
        ),
        (
            "tiers: [{plugins: [{name: binpack, arguments: {binpack.resources: 'a b'}}]}]",
            r"arguments.binpack.resources: a b: ",
        ),
    ],
)
def test_what_is_no_configuration_of_volcano_is_a_problem(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        conversion(text)


@pytest.mark.parametrize(
    ("given_", "outcome", "weight"),
    [(-1, LOST, None), ("2", NOT_NEEDED, 3), (True, NOT_NEEDED, 3), (1.0, NOT_NEEDED, 3)],
)
def test_a_weight_that_is_none_is_told(
    given_: Any, outcome: SettingOutcome, weight: int | None
) -> None:
    text = plugin("nodeorder", tainttoleration_weight=given_)
    path = "tiers[0].plugins[0].arguments.tainttoleration.weight"
    assert outcomes(text)[path] is outcome
    assert scores(text).get("TaintToleration") == weight


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(
        [*FILTERS, *SCORES, "binpack.weight", "binpack.cpu", "binpack.resources", "resources", "x"]
    ),
    JSON | st.integers(-3, 300) | st.sampled_from(["true", "nvidia.com/gpu"]),
)
ENTRIES = st.fixed_dictionaries(
    {"name": st.sampled_from([*PLUGINS, "x"]) | JSON},
    optional={"arguments": ARGUMENTS | JSON, "enableNodeOrder": JSON, "enableJobReady": JSON},
)
CONFIGURATIONS = st.fixed_dictionaries(
    {"tiers": st.lists(st.fixed_dictionaries({"plugins": st.lists(ENTRIES, max_size=4)})) | JSON},
    optional={"actions": JSON, "configurations": JSON, "metrics": JSON, "y": JSON},
)


@examples(100)
@given(CONFIGURATIONS)
def test_whatever_volcano_is_given_is_refused_by_name_or_becomes_a_file_that_runs(
    document: dict[str, Any],
) -> None:
    with suppress(ConfigError):
        documents(yaml.safe_dump(document))


# ── ConfigMaps, and what is no configuration ─────────────────────────────────────────────────
def test_a_config_map_is_as_good_as_the_files_that_it_holds() -> None:
    files = {name: sample(name) for name in ("volcano-scheduler.conf", "coscheduling.yaml")}
    data = {**files, "readme": "no configuration: at all: [", "number": "1"}
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "data": data})
    found = conversion(text)
    assert [each["kind"] for each in found.documents] == [
        "KubeSchedulerConfiguration",
        "KubeSchedulerConfiguration",
        "EnblocConfiguration",
    ]
    assert {each.source for each in found.settings} == {f"f, {name}" for name in files}


@pytest.mark.parametrize("data", ["", "data: []", "data: {a: b}", "data: {a: 'kind: Secret'}"])
def test_a_config_map_that_holds_none_is_a_problem(data: str) -> None:
    with pytest.raises(ConfigError, match="data: this ConfigMap holds no configuration"):
        conversion(f"kind: ConfigMap\n{data}\n")


def test_a_mistake_in_a_config_map_is_told_by_the_name_of_its_file() -> None:
    data = {"s.yaml": one("plugins: {filters: {}}")}
    with pytest.raises(ConfigError, match=r"f, s.yaml: 1 problem\n  profiles\[0\].plugins.filters"):
        conversion(yaml.safe_dump({"kind": "ConfigMap", "data": data}))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("s.yaml", v1("parallelism: 1\nparallelism: 2\n"), 'line 4: "parallelism" given twice'),
        ("s.yaml", v1("profiles: [\n"), "neither YAML nor JSON: line 4"),
        ("volcano-scheduler.conf", "actions: [\n", "neither YAML nor JSON: line 2"),
    ],
)
def test_a_text_of_a_config_map_that_cannot_be_read_is_not_left_out(
    name: str, text: str, problem: str
) -> None:
    data = {name: text, "valid.yaml": v1("podMaxBackoffSeconds: 5\n")}
    with pytest.raises(ConfigError) as error:
        conversion(yaml.safe_dump({"kind": "ConfigMap", "data": data}))
    first, *lines = str(error.value).splitlines()
    assert first.startswith(f"f, {name}: 1 problem")
    assert problem in lines[0]


def test_all_mistakes_of_all_files_are_told_at_once() -> None:
    files = [Source("a", "tiers: 1"), Source("b", one("x: 1")), Source("c", "kind: Secret")]
    with pytest.raises(ConfigError) as error:
        convert(files, Findings())
    assert [line.split(":")[0] for line in str(error.value).splitlines()][::2] == ["a", "b", "c"]


def test_a_credential_is_in_no_table() -> None:
    text = v1(
        textwrap.dedent(
            """
            extenders:
            - urlPrefix: https://user:s3cret@example.com/x
              tlsConfig: {keyData: czNjcmV0}
            """
        )
    )
    values = [each.value for each in conversion(text).settings]
    assert "https://***@example.com/x" in values
    assert not any("s3cret" in value or "czNjcmV0" in value for value in values)


@pytest.mark.parametrize("name", PEERS)
def test_a_profile_of_a_peers_name_warns_once_of_what_is_not_served(name: str) -> None:
    found = configured(v1(f"profiles: [{{schedulerName: {name}}}, {{schedulerName: enbloc}}]"))
    [warning] = found.warnings
    assert warning.startswith(f'profiles[0].schedulerName: "{name}" is {PEERS[name].project}\'s')
    assert all(each in warning for each in PEERS[name].lacks)
