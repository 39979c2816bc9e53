# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The real kube-scheduler takes and refuses the same files, and merges them to the same."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import effective
from enbloc.config.argument_models import MODELS, NoArgs
from enbloc.config.defaults import DEFAULTS, is_implied
from enbloc.framework.points import Point, points_of
from enbloc.framework.profile import Profile
from hack.build_controlplane import built
from tests.config.files import HEAD, args, configured, problems, sample
from tests.config.test_arguments import WRONG
from tests.effort import examples

pytestmark = pytest.mark.controlplane

#: Not there, or behind a gate that is off by default.
OURS = {"GangScheduling", "NodeQuarantine", "NodeReliability"}
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        path = Path(name)
        (path / "kubeconfig").write_text(KUBECONFIG)
        yield path


class Completed(NamedTuple):
    """The file as kube-scheduler completes it, and who it asks in each profile."""

    document: dict[str, Any]
    running: list[dict[str, Any]]


def completed(text: str, folder: Path) -> Completed | None:
    """What kube-scheduler makes of a file; None if it refuses it."""
    document = next(yaml.safe_load_all(text))
    connection = {**document.get("clientConnection", {}), "kubeconfig": str(folder / "kubeconfig")}
    given, written = folder / "given.yaml", folder / "written.yaml"
    given.write_text(yaml.safe_dump({**document, "clientConnection": connection}))
    written.unlink(missing_ok=True)
    command = [str(built(["kube-scheduler"]) / "kube-scheduler"), "--secure-port=0", "-v=2"]
    done = subprocess.run(
        [*command, f"--config={given}", f"--write-config-to={written}"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    if not written.exists():
        assert done.returncode != 0
        return None
    said = done.stderr.decode().splitlines()
    running = [json.loads(line.partition("Plugins=")[2]) for line in said if "Plugins=" in line]
    return Completed(yaml.safe_load(written.read_text()), running)


def asked(running: dict[str, Any], point: Point, ours: Profile) -> list[tuple[str, int]]:
    """Who is asked at a point there, as far as ours has a say, with the weights of scores."""
    enabled = running[point[0].upper() + point[1:]]["Enabled"] or []
    return [
        (each["Name"], (each["Weight"] or 1) if point is Point.SCORE else 0)
        for each in enabled
        if point in points_of(ours.plugin(each["Name"]))
    ]


def asks(point: Point, ours: Profile) -> list[tuple[str, int]]:
    """Who is asked at a point here."""
    return [
        (name, ours.weights[name] if point is Point.SCORE else 0)
        for name in ours.points[point]
        if name not in OURS and not is_implied(name, point)
    ]


def listed(profile: dict[str, Any]) -> list[tuple[str, int]]:
    """The MultiPoint list of a profile, weight 0 for none."""
    enabled = profile["plugins"]["multiPoint"].get("enabled", [])
    return [(e["name"], e.get("weight", 0)) for e in enabled if e["name"] not in OURS]


#: What says which arguments these are; what has several spellings; what the API defaults.
_LEFT_OUT = {
    *("apiVersion", "kind", "bindingTimeout", "filterTimeout"),
    *("nodeAffinityPolicy", "nodeTaintsPolicy"),
}


def bare(value: Any) -> Any:
    """A value without what is empty or left out."""
    if isinstance(value, list):
        return [bare(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: bare(each) for key, each in value.items() if key not in _LEFT_OUT}
    return {key: each for key, each in kept.items() if each not in ([], {}, None)}


def arguments(profile: dict[str, Any]) -> dict[str, Any]:
    """What each plugin is given."""
    given = [each for each in profile.get("pluginConfig", ()) if each["name"] not in OURS]
    found = {each["name"]: bare(each["args"]) for each in given}
    return {name: values for name, values in found.items() if values}


names = st.sampled_from([name for name in DEFAULTS if name not in OURS])
weighed = st.fixed_dictionaries({"name": names}, optional={"weight": st.integers(0, 9)})
plain = st.fixed_dictionaries({"name": st.one_of(names, names, names, st.just("*"))})


@examples(80)
@given(st.lists(weighed, max_size=6), st.lists(plain, max_size=6))
def test_multi_point_is_merged_alike(
    folder: Path, enabled: list[dict[str, Any]], disabled: list[dict[str, Any]]
) -> None:
    profile = {"plugins": {"multiPoint": {"enabled": enabled, "disabled": disabled}}}
    text = HEAD + yaml.safe_dump({"profiles": [profile]})
    theirs = completed(text, folder)
    if theirs is None:
        assert problems(text) != []
        return
    [ours, _] = effective(configured(text))
    [expected], [found] = theirs.document["profiles"], ours["profiles"]
    weights = dict(listed(found))
    assert list(weights) == [name for name, _ in listed(expected)]
    assert {name: weight for name, weight in listed(expected) if weight} == {
        name: weights[name] for name, weight in listed(expected) if weight
    }
    assert arguments(found) == arguments(expected)


points = st.sampled_from(["preFilter", "filter", "score", "reserve", "preEnqueue", "permit"])


@examples(120)
@given(
    points,
    st.lists(weighed, max_size=3),
    st.lists(plain, max_size=2),
    # Twice at MultiPoint is wrong here even where it reaches no point, there only where it does.
    st.lists(weighed, max_size=3, unique_by=lambda entry: entry["name"]),
)
def test_a_point_is_expanded_alike(
    folder: Path,
    point: str,
    enabled: list[dict[str, Any]],
    disabled: list[dict[str, Any]],
    everywhere: list[dict[str, Any]],
) -> None:
    sets = {point: {"enabled": enabled, "disabled": disabled}}
    profile = {"plugins": {**sets, "multiPoint": {"enabled": everywhere}}}
    text = HEAD + yaml.safe_dump({"profiles": [profile]})
    theirs, wrong = completed(text, folder), problems(text)
    if theirs is None or wrong:
        # A filter or score whose preparation is off fails there when the first pod comes.
        assert theirs is None or all(" needs pre" in line for line in wrong), wrong
        assert wrong
        return
    [ours], [running] = configured(text).profiles.values(), theirs.running
    for each in Point:
        assert asks(each, ours) == asked(running, each, ours), each


@pytest.mark.parametrize(
    ("name", "given"),
    # It does not look at what a plugin is given that takes nothing.
    [(name, given) for name, given, _ in WRONG if MODELS[name] is not NoArgs and name not in OURS],
)
def test_wrong_arguments_are_refused_by_both(
    folder: Path, name: str, given: dict[str, Any]
) -> None:
    assert completed(args(name, given), folder) is None


def test_the_sample_is_taken_and_completed_alike(folder: Path) -> None:
    text = sample("v1.yaml").split("---\n")[0]
    theirs = completed(text, folder)
    assert theirs is not None
    [ours, _] = effective(configured(text))
    for expected, found in zip(theirs.document["profiles"], ours["profiles"], strict=True):
        assert arguments(found) == arguments(expected)
    for field in ("podInitialBackoffSeconds", "podMaxBackoffSeconds"):
        assert theirs.document[field] == ours[field]


@pytest.mark.parametrize(
    "given", [{"qps": 20}, {"burst": 7}, {"qps": -1}, {"qps": 2.5, "burst": 9}]
)
def test_a_limit_of_requests_is_completed_alike(folder: Path, given: dict[str, float]) -> None:
    text = HEAD + yaml.safe_dump({"clientConnection": given})
    theirs = completed(text, folder)
    assert theirs is not None
    [ours, _] = effective(configured(text))
    connection = theirs.document["clientConnection"]
    assert ours["clientConnection"] == {name: connection[name] for name in ("qps", "burst")}


@pytest.mark.parametrize(
    "fields",
    [
        {"parallelism": 0},
        {"percentageOfNodesToScore": 101},
        {"podInitialBackoffSeconds": 0},
        {"podInitialBackoffSeconds": 9, "podMaxBackoffSeconds": 8},
        {"clientConnection": {"burst": -1}},
        {"leaderElection": {"leaseDuration": "10s"}},
        {"leaderElection": {"leaseDuration": "0s", "retryPeriod": "0s"}},
        {"leaderElection": {"resourceLock": "endpoints"}},
        {"leaderElection": {"leaderElect": False, "leaseDuration": "1s"}},
        {"unknown": 1},
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
        {"profiles": [{"schedulerName": "a"}, {}]},
        {"profiles": [{"pluginConfig": [{"name": "NodeAffinity"}, {"name": "NodeAffinity"}]}]},
        {"extenders": [{"urlPrefix": "http://a", "prioritizeVerb": "p"}]},
        {"extenders": [{"urlPrefix": "http://a", "bindVerb": "p"}] * 2},
        {"extenders": [{"urlPrefix": "http://a", "managedResources": [{"name": "cpu"}]}]},
    ],
)
def test_other_fields_are_refused_by_both_or_by_neither(
    folder: Path, fields: dict[str, Any]
) -> None:
    text = HEAD + yaml.safe_dump(fields)
    assert (completed(text, folder) is None) == (problems(text) != []), problems(text)
