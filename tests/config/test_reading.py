# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import json
import re
from pathlib import Path

import pytest
import yaml

from enbloc.config import LeaderElection, Source, configure, effective
from enbloc.config.strict import duration, seconds
from enbloc.engine.preemption import MinRuntime, PreemptionLimits
from enbloc.engine.queue.item import Backoff
from enbloc.engine.settings import Settings
from enbloc.errors import ConfigError
from enbloc.model.request_rate import RequestRate
from tests.config.files import HEAD, configured, one, problems, sample, v1

OURS = "apiVersion: config.enbloc.dev/v1alpha1\nkind: EnblocConfiguration\n"
KINDS = "KubeSchedulerConfiguration, EnblocConfiguration or Policy"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            v1("parallelisms: 2"), 'parallelisms: Unknown field "parallelisms" (did', id="top"
        ),
        pytest.param(one("plugins: {filters: {}}"), "profiles[0].plugins.filters: Unk", id="point"),
        pytest.param(one("plugins: {filter: {on: []}}"), "profiles[0].plugins.filter.", id="set"),
        pytest.param(v1("parallelism: '2'"), 'parallelism: must be an integer, is "2"', id="t"),
        pytest.param(v1("parallelism: true"), "parallelism: must be an integer", id="bool"),
        pytest.param(v1("parallelism: 0"), "parallelism: must be greater than 0, is 0", id="range"),
        pytest.param(v1("percentageOfNodesToScore: 101"), "percentageOfNodesToScore: must", id="%"),
        pytest.param(v1("podInitialBackoffSeconds: 0"), "podInitialBackoffSeconds: must", id="0 s"),
        pytest.param(
            v1("podInitialBackoffSeconds: 9\npodMaxBackoffSeconds: 8"),
            "podMaxBackoffSeconds: must be at least podInitialBackoffSeconds, which is 9; is 8",
            id="the longest pause is below the first",
        ),
        pytest.param(v1("profiles: {a: b}"), "profiles: must be a list", id="no list"),
        pytest.param(v1("profiles: [5]"), "profiles[0]: must be a mapping", id="no mapping"),
        pytest.param(
            v1("clientConnection: {burst: -1}"),
            "clientConnection.burst: must be greater than or equal to 0, is -1",
            id="burst",
        ),
        pytest.param(
            v1("clientConnection: {qps: .inf}"),
            "clientConnection.qps: must be a finite number",
            id="qps",
        ),
        pytest.param(
            v1("leaderElection: {leaseDuration: 15}"),
            'leaderElection.leaseDuration: must be a duration such as "15s" or "1m30s", is 15',
            id="a duration without a unit",
        ),
        pytest.param(
            v1("leaderElection: {leaseDuration: 5 min}"),
            'leaderElection.leaseDuration: must be a duration such as "15s"',
            id="a duration with a foreign unit",
        ),
        pytest.param(
            v1("leaderElection: {leaseDuration: 10s}"),
            "leaderElection.leaseDuration: must be above renewDeadline (10 s), is 10 s",
            id="lease not above renewal",
        ),
        pytest.param(
            v1("leaderElection: {renewDeadline: 2s}"),
            "leaderElection.renewDeadline: must be above 1.2 × retryPeriod (2 s), is 2 s",
            id="renewal not above retry",
        ),
        pytest.param(
            v1("leaderElection: {retryPeriod: -1s}"),
            "leaderElection.retryPeriod: must be above 0, is -1 s",
            id="negative retry",
        ),
        pytest.param(
            v1("leaderElection: {resourceLock: endpoints}"),
            'leaderElection.resourceLock: must be "leases", is "endpoints"',
            id="lock",
        ),
        pytest.param("kind: Nothing\n", 'kind: Unknown "Nothing" (known: KubeSched', id="kind"),
        pytest.param(
            "a: b\n", "kind: Required: KubeSchedulerConfiguration, EnblocCo", id="no kind"
        ),
        pytest.param("kind: Policy\n", "apiVersion: Required: v1", id="no version"),
        pytest.param(
            HEAD.replace("/v1", "/v1alpha2"),
            'apiVersion: Unknown "kubescheduler.config.k8s.io/v1alpha2" (did you mean',
            id="too old",
        ),
        pytest.param(
            OURS.replace("config.enbloc.dev", "enbloc.dev"),
            'apiVersion: must be "config.enbloc.dev/v1alpha1", is "enbloc.dev/v1alpha1"',
            id="the group of our kinds, which are no files",
        ),
        pytest.param(OURS + "timeout: 1\n", 'timeout: Unknown field "timeout"', id="our own field"),
        pytest.param(
            OURS + "searchSteps: -1\n",
            "searchSteps: must be greater than or equal to 0, is -1",
            id="fewer steps than none",
        ),
        pytest.param(
            OURS + "searchSteps: 1.5\n", "searchSteps: must be an integer, is 1.5", id="half"
        ),
        pytest.param(
            OURS + "priorityClassRaises: sometimes\n",
            'priorityClassRaises: must be true or false, is "sometimes"',
            id="neither true nor false",
        ),
        pytest.param(OURS + "reservationLimits: 3", "reservationLimits: must be a mapping", id="3"),
        pytest.param("- a\n", "document 1 must be a mapping, is a list", id="a list"),
        pytest.param("hello\n", "document 1 must be a mapping, is a single value", id="a value"),
        pytest.param(
            "scheduler: {}", f"kind: Required: {KINDS}; in values of the chart", id="values"
        ),
        pytest.param("a: [", "neither YAML nor JSON: ", id="no YAML"),
        pytest.param('{"a": ', "neither YAML nor JSON: ", id="no JSON"),
        pytest.param("a: &a [*a]\n", "neither YAML nor JSON: Circular", id="one that holds itself"),
        pytest.param(v1("parallelism: 1\nparallelism: 2"), 'line 4: "parallelism" given', id="2×"),
        pytest.param('{"kind": "Policy", "kind": "Policy"}', '"kind" given twice', id="2× in JSON"),
        pytest.param(HEAD + "---\n" + HEAD, "kind: a second KubeSchedulerConfiguration;", id="two"),
        pytest.param(
            OURS + "reservationSeconds: 0", "reservationSeconds: must be greater than 0", id="none"
        ),
        pytest.param(
            OURS + "reservationLimits: {cpu: many}", "reservationLimits.cpu: ", id="no quantity"
        ),
        pytest.param(
            OURS + "reservationLimits: {memory: -1}",
            'reservationLimits.memory: "-1" is neg',
            id="-",
        ),
        pytest.param(
            OURS + "---\n" + OURS, "kind: a second EnblocConfiguration; the", id="ours 2×"
        ),
        pytest.param(
            OURS + "minRuntimeSeconds: -1",
            "minRuntimeSeconds: must be greater than or equal to 0, is -1",
            id="protected for less than no time",
        ),
        pytest.param(
            OURS + "minRuntimeSeconds: 1000000000000",
            "minRuntimeSeconds: must be less than or equal to 31536000, is 1000000000000",
            id="protected for ever",
        ),
        pytest.param(
            OURS + "minRuntimeSeconds: 10m",
            'minRuntimeSeconds: must be an integer, is "10m"',
            id="protected for no number of seconds",
        ),
        pytest.param(
            OURS + "minRuntimes: {batch: 600}", "minRuntimes: must be a list", id="rules by name"
        ),
        pytest.param(
            OURS + "minRuntimes: [{seconds: 600}]",
            "minRuntimes[0]: must have a priorityClassName or a namespace",
            id="a rule for all",
        ),
        pytest.param(
            OURS + "minRuntimes: [{namespace: a}]",
            "minRuntimes[0].seconds: Required",
            id="a rule without a time",
        ),
        pytest.param(
            OURS + "minRuntimes: [{namespace: a, seconds: -1}]",
            "minRuntimes[0].seconds: must be greater than or equal to 0, is -1",
            id="a rule with less than no time",
        ),
        pytest.param(
            OURS + "minRuntimes: [{priorityClassName: 'High!', seconds: 1}]",
            'minRuntimes[0].priorityClassName: must be the name of a PriorityClass, is "High!"',
            id="no name of a PriorityClass",
        ),
        pytest.param(
            OURS + "minRuntimes: [{namespace: a.b, seconds: 1}]",
            'minRuntimes[0].namespace: must be the name of a namespace, is "a.b"',
            id="no name of a namespace",
        ),
        pytest.param(
            OURS + "minRuntimes: [{namespace: a, seconds: 1}, {namespace: a, seconds: 2}]",
            "minRuntimes[1]: Duplicate: minRuntimes[0] has the same names",
            id="two rules for the same",
        ),
        pytest.param(
            OURS + "preemptionDelaySeconds: 1e12",
            "preemptionDelaySeconds: must be an integer",
            id="a delay for ever",
        ),
        pytest.param(
            OURS + "maxEvictionsPerUnit: 0",
            "maxEvictionsPerUnit: must be greater than 0, is 0",
            id="nobody may be evicted at all",
        ),
        pytest.param(
            OURS + "maxLostWorkSeconds: -1",
            "maxLostWorkSeconds: must be greater than or equal to 0, is -1",
            id="less than no work",
        ),
    ],
)
def test_what_cannot_be_read_is_named_by_its_path(text: str, said: str) -> None:
    found = problems(text)
    assert any(line.startswith(said) for line in found), found


@pytest.mark.parametrize(
    ("rules", "paths"),
    [
        ("{seconds: 1}, {seconds: 2}", ["minRuntimes[0]", "minRuntimes[1]"]),
        ("{namespace: 5, seconds: 1}", ["minRuntimes[0].namespace"]),
        ("{priorityClass: a, seconds: 1}", ["minRuntimes[0].priorityClass"]),
        (
            "{namespace: a, seconds: 1}, {namespace: a, priorityClass: b, seconds: 2}",
            ["minRuntimes[1].priorityClass"],
        ),
        ("{namespace: a, seconds: x}, {namespace: a, seconds: 2}", ["minRuntimes[0].seconds"]),
    ],
)
def test_a_mistake_in_a_rule_on_runtime_is_told_once(rules: str, paths: list[str]) -> None:
    assert [line.split(": ")[0] for line in problems(OURS + f"minRuntimes: [{rules}]")] == paths


@pytest.mark.parametrize(
    "text", ["minRuntimes: [{seconds: 1}]", "reservationLimits: {cpu: many}", "searchSteps: -1"]
)
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_what_is_wrong_with_our_own_settings_is_told_by_the_name_of_their_file(
    text: str, order: list[int]
) -> None:
    files = [Source("scheduler.yaml", v1("")), Source("ours.yaml", OURS + text)]
    with pytest.raises(ConfigError, match=r"^ours.yaml: 1 problem\n"):
        configure([files[each] for each in order])
    with pytest.raises(ConfigError, match=r"^ours.yaml: 1 problem\n"):
        configure(files[1:])


def test_five_different_mistakes_are_told_at_once() -> None:
    found = problems(sample("five-mistakes.yaml"))
    assert [line.split(": ")[0] for line in found] == [
        "parallelism",
        "leaderElection.leaseDuration",
        "profiles[0].plugins.filter.enabled[0].name",
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeigth",
        "profiles[0].plugins.bind",
    ]
    assert 'Unknown "NodeAffinty" (did you mean "NodeAffinity"? in-tree: Default' in found[2]


def test_one_mistake_hides_no_other_and_paths_stay_those_of_the_file() -> None:
    text = one(
        """
        plugins:
          filter:
            enabled: [5, {names: x}, {name: NodeAfinity}, {name: NodeName, weight: -1}]
        """
    )
    path = "profiles[0].plugins.filter.enabled"
    assert [line.split(": ")[0] for line in problems(text)] == [
        f"{path}[0]",
        f"{path}[1].name",
        f"{path}[1].names",
        f"{path}[3].weight",
        f"{path}[2].name",
    ]


def test_problems_of_several_files_are_told_by_file() -> None:
    found = problems(v1("parallelism: 0"), OURS + "scheduleTimeoutSeconds: 0\n")
    assert len(found) == 2


def test_a_long_value_is_quoted_in_part() -> None:
    (told,) = problems(v1(f"parallelism: {'x' * 100_000}"))
    assert "parallelism: must be an integer" in told
    assert len(told) < 300
    (told,) = problems(v1(f"parallelism: {'-' + '9' * 1_000}"))
    assert len(told) < 300


def test_json_is_read_like_yaml_and_null_is_as_good_as_absent() -> None:
    document = yaml.safe_load(sample("v1.yaml").split("---\n")[0])
    document["parallelism"] = None
    document["profiles"][1]["plugins"]["filter"] = None
    from_json = configured(json.dumps(document, indent="\t"))
    from_yaml = configured(sample("v1.yaml").split("---\n")[0])
    assert from_json.profiles == from_yaml.profiles


def test_yaml_may_begin_with_a_brace() -> None:
    kind = "kind: KubeSchedulerConfiguration"
    text = f"{{apiVersion: kubescheduler.config.k8s.io/v1, {kind}, podMaxBackoffSeconds: 30}}"
    assert configured(text).settings.backoff.maximum == 30


def test_what_a_file_sets_is_in_the_configuration() -> None:
    found = configured(sample("v1.yaml"))
    assert list(found.profiles) == ["default-scheduler", "no-scores"]
    assert found.settings.backoff == Backoff(2.0, 60.0)
    assert found.settings.schedule_timeout == 120
    assert found.settings.reservation_seconds == 600
    assert found.settings.reservation_limits == (
        ("cpu", 64_000),
        ("memory", 2**40),
        ("nvidia.com/gpu", 8),
    )
    assert found.settings.missing_grace == 0
    assert found.settings.longest_wait == 600
    assert found.settings.search_steps == 0
    assert found.settings.priority_class_raises
    assert found.kubeconfig == "/etc/kubernetes/scheduler.conf"
    assert found.request_rate == RequestRate(100, 200)
    assert found.leader_election == LeaderElection(
        leader_elect=True,
        lease_duration=30,
        renew_deadline=20,
        retry_period=3,
        resource_name="kube-scheduler",  # it serves default-scheduler
        resource_namespace="scheduling",
    )
    assert found.profiles["no-scores"].score == ()


def test_what_no_file_sets_is_the_engine_s_default() -> None:
    assert configured(OURS).settings == Settings()


def test_limits_of_preemption_are_read_and_shown_as_they_are() -> None:
    text = (
        OURS
        + """
minRuntimeSeconds: 600
minRuntimes:
  - {priorityClassName: batch, namespace: research, seconds: 3600}
  - {namespace: research, seconds: 0}
preemptionDelaySeconds: 120
maxEvictionsPerUnit: 3
maxLostWorkSeconds: 0
"""
    )
    found = configured(text)
    rules = (MinRuntime(3600.0, "batch", "research"), MinRuntime(0.0, "", "research"))
    assert found.settings.preemption == PreemptionLimits(600.0, rules, 120.0, 3, 0.0)
    [_, ours] = effective(found)
    assert ours == {**ours, **yaml.safe_load(text)}


def test_documents_may_come_in_several_files() -> None:
    first, second = sample("v1.yaml").split("---\n")
    assert configured(second, first).settings == configured(sample("v1.yaml")).settings
    assert configured(second).settings.schedule_timeout == 120


def test_what_is_accepted_and_not_honoured_is_named() -> None:
    text = v1(
        """
        parallelism: 4
        percentageOfNodesToScore: 10
        percentageOfPlacementsToScore: 10
        enableProfiling: false
        enableContentionProfiling: false
        delayCacheUntilActive: true
        clientConnection: {qps: 1, burst: 2, contentType: application/json, acceptContentTypes: a}
        profiles:
        - percentageOfNodesToScore: 5
          plugins:
            placementScore: {enabled: [{name: PodGroupPodsCount}]}
            placementGenerate: {}
            filter: {disabled: [{name: Foo}], enabled: [{name: NodeName, weight: 3}]}
            postFilter: {enabled: [{name: DefaultPreemption}]}
          pluginConfig:
          - {name: DefaultPreemption, args: {minCandidateNodesAbsolute: 5}}
          - {name: VolumeBinding, args: {bindTimeoutSeconds: 600}}
        extenders:
        - {urlPrefix: "https://x.example", preemptVerb: p, enableHTTPS: true}
        """
    )
    assert [warning.split(": ")[0] for warning in configured(text).warnings] == [
        "parallelism",
        "enableProfiling",
        "enableContentionProfiling",
        "percentageOfNodesToScore",
        "percentageOfPlacementsToScore",
        "delayCacheUntilActive",
        "clientConnection.acceptContentTypes",
        "profiles[0].percentageOfNodesToScore",
        "profiles[0].plugins.placementScore",
        "extenders[0].enableHTTPS",
        "profiles[0].plugins.filter.enabled[0].weight",
        "profiles[0].plugins.filter.disabled[0].name",
    ]


def test_the_examples_of_the_documentation_are_valid() -> None:
    page = Path("docs/reference/configuration.md").read_text("utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert examples
    for example in examples:
        assert configured(example).warnings == ()


def test_a_duration_of_zero_is_the_default_as_in_kube_scheduler() -> None:
    found = configured(v1("leaderElection: {leaseDuration: 0s, renewDeadline: 0s}"))
    assert found.leader_election == configured(v1("")).leader_election


def test_timing_does_not_count_where_nobody_is_elected() -> None:
    text = v1("leaderElection: {leaderElect: false, leaseDuration: 1s, resourceLock: endpoints}")
    assert configured(text).leader_election.leader_elect is False


def test_keys_that_are_no_text_are_unknown_fields() -> None:
    found = problems(v1("5: a\ntrue: b"))
    assert [line.split(": ")[0] for line in found] == ["5", "true"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("15s", 15), ("1m30s", 90), ("1.5h", 5400), ("250ms", 0.25), ("0", 0), ("-2s", -2)],
)
def test_durations_are_read_as_go_writes_them(text: str, value: float) -> None:
    assert seconds(text) == value
    assert seconds(duration(value)) == value


def test_a_duration_that_cannot_be_read_is_not_compared_with_the_others() -> None:
    times = "leaseDuration: 10, renewDeadline: 15s, retryPeriod: 1 s"
    told = [line.partition(":")[0] for line in problems(v1(f"leaderElection: {{{times}}}"))]
    assert told == ["leaderElection.leaseDuration", "leaderElection.retryPeriod"]


@pytest.mark.parametrize("levels", [101, 500, 900])
def test_a_file_that_nests_too_deep_is_a_problem(levels: int) -> None:
    """It once ended with a traceback."""
    text = '{"kind": "KubeSchedulerConfiguration", "profiles": ' + "[" * levels + "]" * levels + "}"
    assert problems(text) == ["document 1 nests deeper than 100 levels"]
