# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The spans of a decision and of its Bindings, by OpenTelemetry's own exporter in memory."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from enbloc.engine.effects import Bind, Decided
from enbloc.framework.act import Target
from enbloc.framework.status import refuse
from enbloc.live.plugin_times import PluginTimes
from enbloc.live.report import DecisionLog
from enbloc.live.traces import MOST_PHASES, Traces, from_environment
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey, PodUID

DECIDED = Decided(GroupKey("ns", "g"), "enbloc", 2, "scheduled", 8, "", "plan-1", pods=8)
BIND = Bind("enbloc", Target("plan-1", PodKey("ns", "g-0"), PodUID("u"), "n1"))


class World:
    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.traces = Traces(provider.get_tracer("test"))
        self.times = PluginTimes(self.traces)

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


def parent(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def identity(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def test_a_decision_is_a_cycle_with_its_plan_and_the_phases_of_that() -> None:
    world = World()
    assert world.times.begin("enbloc")
    for point in ("PreFilter", "Filter", "Filter", "PreScore", "Score", "PostFilter", "Permit"):
        world.times.call("A", point, lambda: refuse("no"))
    world.times.end()
    DecisionLog(world.traces).decided(DECIDED, 0.25)
    [cycle], [plan] = world.spans("enbloc.cycle"), world.spans("plan")
    assert parent(plan) == identity(cycle)
    for name in ("filter", "score", "preempt"):
        [phase] = world.spans(name)
        assert parent(phase) == identity(plan)
        assert phase.start_time is not None
        assert phase.end_time is not None
        assert cycle.start_time is not None
        assert cycle.start_time <= phase.start_time <= phase.end_time
    assert cycle.attributes == {
        "k8s.namespace.name": "ns",
        "enbloc.pod_group": "g",
        "enbloc.result": "scheduled",
        "enbloc.profile": "enbloc",
        "enbloc.attempts": 2,
    }


def test_a_decision_about_a_pod_without_a_group_names_the_pod() -> None:
    world = World()
    world.traces.decided(Decided(GroupKey("ns", "/p"), "enbloc", 1, "unschedulable", 0, ""), 0.1)
    [cycle] = world.spans("enbloc.cycle")
    assert cycle.attributes is not None
    assert cycle.attributes["k8s.pod.name"] == "p"
    assert "enbloc.pod_group" not in cycle.attributes


def test_a_binding_belongs_to_the_decision_that_placed_its_pod() -> None:
    world = World()
    world.traces.decided(DECIDED, 0.1)
    world.traces.bound(BIND, 0.02, "bound")
    [cycle], [bind] = world.spans("enbloc.cycle"), world.spans("enbloc.bind")
    assert parent(bind) == identity(cycle)
    assert bind.attributes is not None
    assert bind.attributes["enbloc.result"] == "bound"
    assert bind.attributes["k8s.node.name"] == "n1"


def test_a_long_search_makes_no_more_than_so_many_spans() -> None:
    world = World()
    for _ in range(MOST_PHASES):
        world.traces.called("Filter", 0.001)
        world.traces.called("Score", 0.001)
    world.traces.decided(DECIDED, 1.0)
    assert len(world.spans("filter")) + len(world.spans("score")) == MOST_PHASES
    [plan] = world.spans("plan")
    assert plan.attributes is not None
    assert plan.attributes["enbloc.phases_left_out"] == MOST_PHASES
    world.traces.decided(DECIDED, 1.0)
    assert len(world.spans("filter")) + len(world.spans("score")) == MOST_PHASES


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"},
    ],
)
def test_there_are_no_traces_unless_they_are_asked_for(environ: dict[str, str]) -> None:
    assert from_environment(environ) is None


@pytest.mark.parametrize("exporter", ["otlp", "console"])
def test_each_exporter_can_be_had(exporter: str) -> None:
    assert from_environment({"OTEL_TRACES_EXPORTER": exporter}) is not None


def test_an_exporter_that_there_is_not_is_named_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert from_environment({"OTEL_TRACES_EXPORTER": "jaeger"}) is None
    assert "OTEL_TRACES_EXPORTER=jaeger: use otlp or console" in caplog.text


@pytest.mark.processes
def test_nothing_of_opentelemetry_is_imported_while_there_are_no_traces() -> None:
    script = (
        "import sys, enbloc.live.scheduler, enbloc.live.traces as t; "
        "assert t.from_environment({}) is None; "
        "sys.exit('opentelemetry' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.processes
def test_without_the_extra_a_warning_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['opentelemetry'] = None; "
        "import enbloc.live.traces as t; "
        "assert t.from_environment({'OTEL_TRACES_EXPORTER': 'otlp'}) is None"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert "enbloc[otel] is absent" in done.stderr
