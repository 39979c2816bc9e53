# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The flags of kube-scheduler are taken: with effect, or with a warning that names them."""

import json
import re
import ssl
import subprocess
from pathlib import Path

import pytest
import yaml

from enbloc.cli import main
from enbloc.cli.go_values import CIPHERS, ciphers_of
from enbloc.cli.server_flags import WITHOUT_EFFECT
from enbloc.cli.servers import scheduler
from enbloc.client.lease import LeaseTiming
from enbloc.errors import ConfigError
from enbloc.model.request_rate import RequestRate
from enbloc.process.options import Options
from enbloc.run import controller_lease
from hack.build_controlplane import built
from tests.cli.options import told
from tests.controlplane import SCHEDULER

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@pytest.mark.parametrize(
    ("flags", "elects"),
    [
        ((), True),
        (("--leader-elect",), True),
        (("--leader-elect=true",), True),
        (("--leader-elect=false",), False),
        (("--leader_elect=F",), False),
        (("--no-leader-elect",), False),
    ],
)
def test_an_election_is_asked_for_as_go_does(flags: tuple[str, ...], *, elects: bool) -> None:
    assert told(*flags).leader_elect is elects


def test_a_switch_takes_nothing_but_true_and_false(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scheduler", "--log-format=text", "--leader-elect=maybe"]) == 2
    assert "'--leader-elect': must be true or false, is 'maybe'" in capsys.readouterr().err


def test_kubeadms_flags_are_taken_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    file = tmp_path / "scheduler.conf"
    options = told(
        f"--authentication-kubeconfig={file}",
        f"--authorization-kubeconfig={file}",
        "--bind-address=127.0.0.1",
        f"--kubeconfig={file}",
        "--leader-elect=true",
    )
    serving = options.serving
    assert (serving.authentication, serving.authorization) == (file, file)
    assert (serving.bind_address, serving.secure_port, serving.health_port) == (
        "127.0.0.1",
        10259,
        0,
    )
    assert options.kubeconfig == file
    assert not serving.strict_port  # it was not asked for by name


def test_in_a_pod_every_address_is_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert told().serving.bind_address == "127.0.0.1"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert told().serving.bind_address == "0.0.0.0"
    assert told().serving.strict_port  # probes ask for it
    assert told("--bind-address=::").serving.bind_address == "::"


def test_a_certificate_that_was_asked_for_must_be_usable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    serving = told("--tls-cert-file=/a", "--tls-private-key-file=/b").serving
    assert serving.strict_port


def test_tls_is_as_the_flags_say() -> None:
    serving = told(
        "--secure-port=10260",
        "--tls-cert-file=/a",
        "--tls-private-key-file=/b",
        "--tls-min-version=VersionTLS13",
        "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256",
    ).serving
    assert serving.certificate == (Path("/a"), Path("/b"))
    assert serving.least_tls is ssl.TLSVersion.TLSv1_3
    assert serving.ciphers == ["ECDHE-RSA-AES128-GCM-SHA256"]
    assert serving.strict_port


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tls-cert-file=/a",), "give both or neither"),
        (("--tls-cipher-suites=AES",), "unknown cipher suite 'AES'; known: TLS_ECDHE"),
        (
            ("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GMC_SHA256",),
            "unknown cipher suite 'TLS_ECDHE_RSA_WITH_AES_128_GMC_SHA256'; known: ",
        ),
    ],
)
def test_tls_flags_that_cannot_be_used_are_named(flags: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        told(*flags)


def test_who_may_read_what_is_as_the_flags_say() -> None:
    rules = told(
        "--authorization-always-allow-paths=/healthz,metrics,/debug/*",
        "--authentication-skip-lookup",
        "--authentication-token-webhook-cache-ttl=2m",
        "--authorization-webhook-cache-authorized-ttl=5m0s",
        "--authorization-webhook-cache-unauthorized-ttl=30s",
        "--client-ca-file=/ca",
    ).serving.rules
    assert rules.open_paths == ("/healthz", "/metrics", "/debug/*")
    assert (rules.token_seconds, rules.allowed_seconds, rules.refused_seconds) == (120, 300, 30)
    assert (rules.look_up, rules.client_authorities) == (False, Path("/ca"))


def test_the_lease_is_as_the_flags_say_and_then_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        HEAD + "leaderElection: {leaseDuration: 40s, renewDeadline: 20s, resourceName: a}\n"
    )
    options = told(
        f"--config={file}",
        "--leader-elect-renew-deadline=30s",
        "--leader-elect-resource-name=mine",
        "--leader-elect-resource-namespace=there",
        "--leader-elect-resource-lock=leases",
    )
    assert options.lease_timing == LeaseTiming(40.0, 30.0, 2.0)
    assert (options.lease_name, options.lease_namespace) == ("mine", "there")
    assert told(f"--config={file}").lease_timing is None


@pytest.mark.parametrize(
    ("in_file", "flags", "rate"),
    [
        pytest.param(None, (), RequestRate(), id="nobody says"),
        pytest.param("{}", (), RequestRate(), id="the file does not"),
        pytest.param("{qps: 0, burst: 0}", (), RequestRate(), id="the file says 0"),
        pytest.param("{qps: 20}", (), RequestRate(20), id="the file"),
        pytest.param(None, ("--kube-api-qps=2.5",), RequestRate(2.5), id="a flag"),
        pytest.param(None, ("--kube-api-burst", "7"), RequestRate(0, 7), id="the other flag"),
        pytest.param(
            "{qps: 20, burst: 30}", ("--kube-api-qps=5",), RequestRate(5, 30), id="the flag wins"
        ),
        pytest.param("{qps: 20}", ("--kube-api-qps=-1",), RequestRate(-1), id="it lifts the limit"),
    ],
)
def test_the_rate_of_requests_is_as_the_flags_say_and_then_the_file(
    in_file: str | None, flags: tuple[str, ...], rate: RequestRate, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    if in_file is not None:
        file.write_text(f"{HEAD}clientConnection: {in_file}\n")
        flags = (*flags, f"--config={file}")
    options = told(*flags)
    assert options.request_rate == rate
    found = options.configuration
    assert (found.request_rate if found else RequestRate()) == rate


@pytest.mark.parametrize("command", ["scheduler", "controller", "run"])
@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--kube-api-qps=many", "must be a number, is 'many'"),
        ("--kube-api-qps=NaN", "must be a number, is 'NaN'"),
        ("--kube-api-burst=-1", "-1 is not in the range"),
    ],
)
def test_a_rate_that_is_none_is_refused(
    command: str, flag: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--log-format=text", flag]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "controllers"),
    [
        ("batch-enbloc-scheduler", "batch-enbloc-controller"),
        ("kube-scheduler", None),
        ("mine", None),
    ],
)
def test_run_names_its_controllers_lease_after_its_schedulers(
    name: str, controllers: str | None
) -> None:
    assert controller_lease(Options(lease_name=name)) == controllers


@pytest.mark.parametrize("lease", ["endpoints", "configmaps"])
def test_another_lock_than_leases_is_refused(
    lease: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["scheduler", "--log-format=text", f"--leader-elect-resource-lock={lease}"]
    assert main(command) == 2
    assert f'must be "leases", is "{lease}"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "debug"),
    [
        ((), False),
        (("--v=2",), False),
        (("-v", "3"), False),
        (("-v=3",), False),
        (("--v", "4"), True),
        (("-v5",), True),
        (("-v",), True),
        (("--verbose",), True),
    ],
)
def test_from_level_4_on_debug_lines_are_shown(
    flags: tuple[str, ...], caplog: pytest.LogCaptureFixture, *, debug: bool
) -> None:
    import logging  # noqa: PLC0415  # its root logger is what is looked at

    del caplog
    told(*flags)
    assert (logging.getLogger().level == logging.DEBUG) is debug


def test_a_flag_without_effect_is_named_and_stops_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told(
        "--kube-api-content-type=application/json",
        "--log-flush-frequency",
        "5s",
        "--feature-gates=A=true",
        "--feature-gates=B=false",
        "--contention-profiling",
        "--vmodule=cache=4",
    )
    said = capsys.readouterr().err
    for name in (
        "kube-api-content-type",
        "log-flush-frequency",
        "feature-gates",
        "contention-profiling",
    ):
        assert said.count(f"WARNING --{name}: accepted, without effect: ") == 1
    assert "--cert-dir" not in said


def test_an_unknown_flag_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scheduler", "--log-format=text", "--secure-prt=1"]) == 2
    assert "No such option '--secure-prt'" in (said := capsys.readouterr().err)
    assert "--secure-port" in said


@pytest.mark.parametrize(
    "flag", ["--log-format=json", "--logging-format=json", "--log_format=json"]
)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--secure-prt=1"], "No such option '--secure-prt'"),
        (["--kubeconfig=/does/not/exist"], "/does/not/exist: no such file"),
        (["--config=/does/not/exist"], "/does/not/exist: cannot be read"),
        (["--tls-cert-file=/a"], "give both or neither"),
        (["--secure-port=70000"], "not in the range"),
    ],
)
def test_what_ends_a_process_is_json_where_log_lines_are(
    wrong: list[str], flag: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scheduler", *wrong, flag]) == 2
    [line] = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert message in said["message"]
    assert said["severity"] == "critical"


def test_the_configuration_can_be_written_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "written.yaml"
    command = [
        "scheduler",
        "--log-format=text",
        f"--write-config-to={file}",
        "--pod-max-in-unschedulable-pods-duration=7s",
        "--kube-api-qps=7",
    ]
    assert main(command) == 0
    assert "podMaxInUnschedulablePodsSeconds: 7\n" in file.read_text()
    assert "clientConnection:\n  qps: 7.0\n  burst: 100\n" in file.read_text()
    assert main(["config", "check", str(file)]) == 0


def test_what_flags_say_of_the_election_is_written_too(tmp_path: Path) -> None:
    given, written = tmp_path / "given.yaml", tmp_path / "written.yaml"
    given.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "leaderElection: {leaderElect: false, leaseDuration: 40s, resourceNamespace: there}\n"
    )
    command = [
        "scheduler",
        "--log-format=text",
        f"--config={given}",
        f"--write-config-to={written}",
        "--leader-elect",
        "--leader-elect-lease-duration=20s",
        "--leader-elect-resource-name=ours",
    ]
    assert main(command) == 0
    election = next(yaml.safe_load_all(written.read_text()))["leaderElection"]
    assert election["leaderElect"] is True
    assert election["leaseDuration"] == "20s"
    assert election["renewDeadline"] == "10s"
    assert election["resourceName"] == "ours"
    assert election["resourceNamespace"] == "there"


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scheduler", "--version"]) == 0
    assert capsys.readouterr().out.startswith("enbloc ")


@pytest.mark.controlplane
def test_every_flag_of_kube_scheduler_is_taken() -> None:
    binary = built([SCHEDULER]) / SCHEDULER
    shown = subprocess.run(
        [str(binary), "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    theirs = set(re.findall(r"^ +(?:-\w, )?--([\w-]+) ", shown, re.MULTILINE))
    assert {"config", "secure-port", "leader-elect", "v"} <= theirs
    ours = {name for parameter in scheduler.params for name in parameter.opts} | {"--help"}
    assert {f"--{name}" for name in theirs} - ours == set()
    assert set(WITHOUT_EFFECT) - theirs == set()


@pytest.mark.parametrize(
    "name", [name for name in CIPHERS if "_AES_" in name or "_CHACHA20" in name]
)
def test_a_cipher_suite_of_go_s_is_one_of_openssl_s(name: str) -> None:
    [cipher] = ciphers_of(name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(cipher)
    assert cipher in [each["name"] for each in context.get_ciphers()]
