# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path

import pytest
import yaml

from enbloc.cli import main
from enbloc.config.defaults import DEFAULTS
from tests.cli.options import told
from tests.config.files import DATA, HEAD, sample


def test_a_file_with_five_mistakes_is_refused_with_all_five(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = DATA / "five-mistakes.yaml"
    assert main(["config", "check", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    head, *lines = captured.err.splitlines()
    assert head == f"{file}: 5 problems"
    assert [line.split(": ")[0] for line in lines] == [
        "  parallelism",
        "  leaderElection.leaseDuration",
        "  profiles[0].plugins.filter.enabled[0].name",
        "  profiles[0].pluginConfig[0].args.hardPodAffinityWeigth",
        "  profiles[0].plugins.bind",
    ]


def test_each_file_is_checked_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = DATA / "v1.yaml", DATA / "five-mistakes.yaml"
    assert main(["config", "check", str(good), str(bad), str(DATA / "policy.json")]) == 2
    captured = capsys.readouterr()
    assert captured.out == f"{good}: valid\n{DATA / 'policy.json'}: valid\n"
    assert f"warning: {good}: percentageOfNodesToScore: accepted and not honoured" in captured.err
    assert f"{bad}: 5 problems" in captured.err


def test_invisible_characters_of_a_file_are_shown_as_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, odd = tmp_path / "wrong.yaml", tmp_path / "odd.yaml"
    wrong.write_text(HEAD + '"\\r\\u202eX": 1\n')
    off = '{filter: {disabled: [{name: "\\r\\u202eY"}]}}'
    odd.write_text(f"{HEAD}profiles: [{{plugins: {off}}}]\n")
    assert main(["config", "check", str(wrong), str(odd)]) == 2
    shown = capsys.readouterr().err
    assert r"\r\u202eX: Unknown field" in shown
    assert r'"\r\u202eY" is not a plugin here' in shown
    assert "\u202e" not in shown


def test_without_a_file_the_default_plugins_are_shown_in_order_with_weights(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "show"]) == 0
    captured = capsys.readouterr()
    scheduler, ours = yaml.safe_load_all(captured.out)
    [profile] = scheduler["profiles"]
    assert profile["schedulerName"] == "enbloc"
    shown = profile["plugins"]["multiPoint"]["enabled"]
    weights = {name: default.weight for name, default in DEFAULTS.items()}
    weights["VolumeBinding"] = 1  # whoever scores has one; kube-scheduler's list names none
    assert {each["name"]: each.get("weight") for each in shown} == weights
    assert [each["name"] for each in shown] == list(DEFAULTS)
    assert ours["kind"] == "EnblocConfiguration"
    assert (ours["searchSteps"], ours["priorityClassRaises"]) == (20_000, False)
    assert captured.err == ""


def test_an_empty_configuration_is_shown_like_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    bare = tmp_path / "bare.yaml"
    bare.write_text(HEAD)
    outputs: list[str] = []
    for files in ([], [empty], [bare]):
        assert main(["config", "show", *map(str, files)]) == 0
        outputs.append(capsys.readouterr().out)
    assert len(set(outputs)) == 1


def test_files_are_shown_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = tmp_path / "theirs.yaml", tmp_path / "ours.yaml"
    first, second = sample("v1.yaml").split("---\n")
    theirs.write_text(first)
    ours.write_text(second)
    assert main(["config", "show", str(ours), str(theirs)]) == 0
    shown = list(yaml.safe_load_all(capsys.readouterr().out))
    assert shown[0]["podMaxBackoffSeconds"] == 60
    assert shown[1]["scheduleTimeoutSeconds"] == 120


def test_a_policy_is_converted_and_a_table_says_what_became_of_each_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "convert", str(DATA / "policy.json")]) == 0
    captured = capsys.readouterr()
    document = yaml.safe_load(captured.out)
    assert document["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    head, *rows, last = captured.err.splitlines()
    assert head.split() == ["SETTING", "VALUE", "OUTCOME", "BECAME"]
    assert [row.split()[0] for row in rows[:2]] == ["predicates[0]", "predicates[1]"]
    [equal] = [row for row in rows if row.startswith("priorities[3]")]
    assert "not-needed" in equal
    assert last == f"lost: 0 of {len(rows)} settings"


COSCHEDULING = DATA / "coscheduling.yaml"


def test_a_conversion_that_loses_a_setting_ends_with_3_and_is_a_valid_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "convert", str(COSCHEDULING)]) == 3
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1] == "lost: 2 of 11 settings"
    made = tmp_path / "enbloc.yaml"
    made.write_text(captured.out)
    assert main(["config", "check", str(made)]) == 0


def test_a_conversion_for_programs_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "convert", "--output=json", str(COSCHEDULING)]) == 3
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert (found["apiVersion"], found["kind"]) == ("cli.enbloc.dev/v1alpha1", "Conversion")
    assert found["lost"] == 2
    assert [each["kind"] for each in found["documents"]] == [
        "KubeSchedulerConfiguration",
        "EnblocConfiguration",
    ]
    assert found["settings"][-1] == {
        "file": str(COSCHEDULING),
        "path": "profiles[0].pluginConfig[0].args.podGroupRejectPercentage",
        "value": "10",
        "outcome": "not-needed",
        "became": "no member holds capacity while it waits for others, so there are none to reject",
    }


def test_settings_of_several_files_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(COSCHEDULING), str(DATA / "volcano-scheduler.conf")]
    assert main(["config", "convert", *files]) == 3
    head, *rows, _ = capsys.readouterr().err.splitlines()
    assert head.split()[0] == "FILE"
    assert {row.split()[0] for row in rows} == set(files)


def test_a_plugin_that_cannot_run_is_refused_with_the_command_that_converts_the_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config", "check", str(COSCHEDULING)]) == 2
    said = capsys.readouterr().err
    assert f"Run `enbloc config convert {COSCHEDULING}`, and use its output" in said


def test_a_profile_with_the_name_of_another_scheduler_says_what_of_it_is_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + "profiles: [{schedulerName: volcano}, {schedulerName: enbloc}]\n")
    assert main(["config", "check", str(file)]) == 0
    [said] = capsys.readouterr().err.splitlines()
    text = '"volcano" is Volcano\'s name; not served are: queues and fair share (Queue,'
    assert said.startswith(f"warning: {file}: profiles[0].schedulerName: {text}")
    command = ["scheduler", "--config", str(file), "--kubeconfig", "/does/not/exist"]
    assert main([*command, "--log-format", "text"]) == 2
    logged = capsys.readouterr().err.splitlines()
    assert sum('profiles[0].schedulerName: "volcano" is Volcano\'s' in line for line in logged) == 1


@pytest.mark.parametrize("command", ["check", "show", "convert"])
def test_files_that_cannot_be_read_are_all_named(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    assert main(["config", command, str(binary), "/does/not/exist"]) == 2
    said = capsys.readouterr().err
    assert f"{binary}: cannot be read: it is not UTF-8" in said
    assert "/does/not/exist: cannot be read: No such file or directory" in said


@pytest.mark.parametrize("command", ["scheduler", "run"])
def test_a_server_does_not_start_with_a_wrong_file(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--log-format=text", "--config", str(DATA / "five-mistakes.yaml")]) == 2
    assert "five-mistakes.yaml: 5 problems\n  parallelism: must be" in capsys.readouterr().err


def test_the_controller_has_no_such_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["controller", "--config", str(DATA / "v1.yaml")]) == 2
    assert "No such option '--config'" in capsys.readouterr().err


def test_two_files_may_not_both_configure_the_scheduler(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [str(DATA / "v1.yaml"), str(DATA / "policy.json")]
    command = ["scheduler", "--log-format=text", "--config", files[0], "--config", files[1]]
    assert main(command) == 2
    said = f"kind: a second Policy; the first one is in {files[0]}: remove one"
    text = f"{files[1]}: 1 problem\n  {said}"
    assert text in capsys.readouterr().err


def test_the_files_kubeconfig_counts_and_the_flag_wins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + "clientConnection: {kubeconfig: /from/the/file}\n")
    command = ["scheduler", "--config", str(file), "--log-format", "text", "--secure-port", "0"]
    assert main(command) == 2
    assert "/from/the/file: no such file" in capsys.readouterr().err
    assert main([*command, "--kubeconfig", "/from/the/flag"]) == 2
    assert "/from/the/flag: no such file" in capsys.readouterr().err


def test_what_is_not_honoured_is_logged_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["scheduler", "--config", str(DATA / "v1.yaml"), "--kubeconfig", "/does/not/exist"]
    assert main([*command, "--log-format", "text"]) == 2
    said = capsys.readouterr().err
    assert "WARNING Configuration: percentageOfNodesToScore: accepted and not honoured: " in said


ELECTION = "leaderElection: {leaderElect: %s, resourceNamespace: theirs}\n"


@pytest.mark.parametrize(
    ("in_file", "default", "flags", "elects", "namespace"),
    [
        pytest.param("true", False, (), True, "theirs", id="the file, where no flag was given"),
        pytest.param("false", True, (), False, "theirs", id="the file, when it says no"),
        pytest.param("null", False, (), False, "theirs", id="the default, where no one says"),
        pytest.param("false", True, ("--leader-elect",), True, "theirs", id="the flag wins"),
        pytest.param("true", True, ("--lease-namespace", "n"), True, "n", id="its namespace too"),
    ],
)
def test_a_flag_that_was_given_wins_over_the_file(
    in_file: str,
    flags: tuple[str, ...],
    namespace: str,
    tmp_path: Path,
    *,
    default: bool,
    elects: bool,
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + ELECTION % in_file)
    options = told("--config", str(file), *flags, leader_elect=default)
    assert options.leader_elect is elects
    assert options.lease_namespace == namespace
    assert options.configuration is not None


def test_without_a_file_there_is_no_configuration() -> None:
    assert told().configuration is None


SECRETS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: https://user:s3cret@example.com/x
  filterVerb: filter
  tlsConfig: {certData: UEVN, keyData: czNjcmV0}
"""


@pytest.mark.parametrize("command", ["show", "convert"])
def test_credentials_are_printed_only_where_that_is_asked(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(SECRETS)
    assert main(["config", command, str(file)]) == 0
    captured = capsys.readouterr()
    [extender] = next(yaml.safe_load_all(captured.out))["extenders"]
    assert extender["urlPrefix"] == "https://***@example.com/x"
    assert extender["tlsConfig"]["keyData"] == "***"
    assert extender["tlsConfig"]["certData"] == "UEVN"
    assert "s3cret" not in captured.out + captured.err
    assert "see --raw" in captured.err
    assert main(["config", command, "--raw", str(file)]) == 0
    captured = capsys.readouterr()
    [extender] = next(yaml.safe_load_all(captured.out))["extenders"]
    assert extender["urlPrefix"] == "https://user:s3cret@example.com/x"
    assert extender["tlsConfig"]["keyData"] == "czNjcmV0"
    assert "s3cret" not in captured.err


@pytest.mark.parametrize(
    "extender",
    [
        "urlPrefix: user:s3cret@example.com",
        "urlPrefix: 'http://user:s3/cret@example.com'",
        "urlPrefix: {a: s3cret}",
        "urlPrefix: 'http://user:s3cret@h:x'",
        "{urlPrefix: 'http://h', tlsConfig: {keyData: s3cret}}",
        "{urlPrefix: 'http://h', tlsConfig: {keyData: [s3cret]}}",
        "{urlPrefix: 'http://h', tlsConfig: {keyData: 's3cret}}",
    ],
)
def test_no_problem_of_a_file_quotes_a_credential(
    extender: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"{HEAD}\nextenders:\n- {extender}\n")
    assert main(["config", "check", str(file)]) == 2
    captured = capsys.readouterr()
    assert "s3" not in captured.out + captured.err
