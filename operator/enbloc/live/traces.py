# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry traces: one for each decision, with the Bindings that follow from it.

::

    enbloc.cycle ─┬─ plan ─┬─ filter
                  │        ├─ score
                  │        └─ preempt
                  └─ enbloc.bind, one for each member

Off unless the standard variable `OTEL_TRACES_EXPORTER` names an exporter; without it, nothing of
OpenTelemetry is imported.
"""

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cachetools import LRUCache

import enbloc
from enbloc.engine.effects import Bind, Decided
from enbloc.model.groups import GroupKey

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

logger = logging.getLogger(__name__)

#: The phase of each extension point.
PHASES: Final = {
    "PreFilter": "filter",
    "Filter": "filter",
    "PreScore": "score",
    "Score": "score",
    "NormalizeScore": "score",
    "PostFilter": "preempt",
}
#: The most phases of one decision that become spans; a search may have thousands.
MOST_PHASES: Final = 32
#: The most plans whose trace is kept for their Bindings.
MOST_PLANS: Final = 1024


class _Phase(NamedTuple):
    name: str
    began: int
    ended: int


class Traces:
    """Makes the spans; times are nanoseconds since the epoch.

    Args:
        tracer: an OpenTelemetry tracer.
    """

    def __init__(self, tracer: "Tracer") -> None:
        self._tracer = tracer
        #: The phases of the current decision, at most MOST_PHASES; and how many more there were.
        self._phases: list[_Phase] = []
        self._passed_over = 0
        # Bounded: a Binding of a plan no longer kept begins a trace of its own.
        self._cycles: LRUCache[str, Any] = LRUCache(MOST_PLANS)

    def called(self, point: str, seconds: float) -> None:
        """Record a plugin's call at an extension point that has just ended."""
        name = PHASES.get(point)
        if name is None:
            return
        ended = time.time_ns()
        began = ended - round(seconds * 1e9)
        last = self._phases[-1] if self._phases else None
        if self._passed_over or (len(self._phases) == MOST_PHASES and last and last.name != name):
            self._passed_over += 1
            return
        if last is not None and last.name == name:  # one plugin after the other
            began = self._phases.pop().began
        self._phases.append(_Phase(name, began, ended))

    def decided(self, effect: Decided, seconds: float) -> None:
        """Write the spans of a decision; `called` has recorded its phases."""
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415  # optional

        ended = time.time_ns()
        phases, self._phases = self._phases, []
        passed_over, self._passed_over = self._passed_over, 0
        began = min([ended - round(seconds * 1e9), *(phase.began for phase in phases)])
        about: dict[str, str | int] = {
            **_of_group(effect.group),
            "enbloc.result": effect.result,
            "enbloc.profile": effect.profile,
            "enbloc.attempts": effect.attempts,
        }
        cycle = self._tracer.start_span("enbloc.cycle", start_time=began, attributes=about)
        context = set_span_in_context(cycle)
        counts = {"enbloc.members": effect.pods, "enbloc.placed": effect.placed}
        if passed_over:
            counts["enbloc.phases_left_out"] = passed_over
        plan = self._tracer.start_span("plan", context, start_time=began, attributes=counts)
        for phase in phases:
            inner = set_span_in_context(plan)
            span = self._tracer.start_span(phase.name, inner, start_time=phase.began)
            span.end(phase.ended)
        plan.end(ended)
        cycle.end(ended)
        if effect.result == "scheduled":
            self._cycles[effect.plan] = context

    def bound(self, effect: Bind, seconds: float, result: str) -> None:
        """Write the span of a Binding that has just ended, `seconds` after it began."""
        ended, target = time.time_ns(), effect.target
        span: Span = self._tracer.start_span(
            "enbloc.bind",
            self._cycles.get(target.plan),
            start_time=ended - round(seconds * 1e9),
            attributes={
                "k8s.namespace.name": target.pod.namespace,
                "k8s.pod.name": target.pod.name,
                "k8s.node.name": target.node,
                "enbloc.result": result,
                "enbloc.profile": effect.profile,
            },
        )
        span.end(ended)


def _of_group(group: GroupKey) -> dict[str, str]:
    name = group.name
    which = {"k8s.pod.name": name[1:]} if name.startswith("/") else {"enbloc.pod_group": name}
    return {"k8s.namespace.name": group.namespace, **which}


def from_environment(environ: Mapping[str, str]) -> Traces | None:
    """The traces that OpenTelemetry's standard variables configure; None = tracing is off."""
    wanted = environ.get("OTEL_TRACES_EXPORTER", "none").strip().lower()
    if wanted in ("", "none") or environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        return Traces(_tracer(wanted))
    except ImportError:
        logger.warning("Tracing is off: OTEL_TRACES_EXPORTER is set, but enbloc[otel] is absent")
    except (ValueError, OSError) as error:
        logger.warning("Tracing is off: %s", error)
    return None


def _tracer(wanted: str) -> "Tracer":
    """A tracer with the named exporter.

    Raises:
        ImportError: the extra is not installed.
        ValueError: there is no such exporter, or one of its variables is invalid.
    """
    # Optional, and slow to import.
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415
        BatchSpanProcessor,
        ConsoleSpanExporter,
        SimpleSpanProcessor,
    )

    named = Resource({"service.name": "enbloc-scheduler", "service.version": enbloc.__version__})
    # The variables take precedence. No flush at exit: it could wait for a collector that is gone.
    resource = named.merge(Resource.create())
    if resource.attributes.get("service.name", "").startswith("unknown_service"):  # type: ignore[union-attr]  # a name
        resource = Resource.create().merge(named)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    if wanted == "console":
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
    elif wanted == "otlp":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    else:
        text = f"OTEL_TRACES_EXPORTER={wanted}: use otlp or console"
        raise ValueError(text)
    return provider.get_tracer("enbloc", enbloc.__version__)
