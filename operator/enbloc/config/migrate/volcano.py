# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volcano's scheduler configuration (`volcano-scheduler.conf`), as far as enbloc has what it says.

Predicates become filters, nodeorder's weights those of scores, binpack the strategy of
NodeResourcesFit; gangs and priority need no word. Nobody is preempted where no action does that.
What else is not written down stays as it is here by default: without nodeorder any preference of
nodes is as good as another.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from enbloc.config.defaults import DEFAULTS
from enbloc.config.findings import Findings, SettingOutcome, meant
from enbloc.config.migrate import volcano_tables as tables
from enbloc.config.models import KIND, VERSION
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.resources import CPU, MEMORY

#: The schedulerName of Volcano's own default; the file does not say it.
SCHEDULER: Final = "volcano"
_FIT: Final = "NodeResourcesFit"
_PREEMPTION: Final = "DefaultPreemption"
_HEAVIEST: Final = 100
_LARGEST: Final = 2**31 - 1
_NO_EFFECT: Final = "had no effect on Volcano either: it reads"


class _Fit(NamedTuple):
    """What NodeResourcesFit is to score: by which strategy, weighed how, and resource → weight."""

    strategy: str
    weight: int
    resources: Mapping[str, int]


def is_volcano(document: Mapping[str, Any]) -> bool:
    """Whether a document looks like a configuration of Volcano's scheduler: it names no kind."""
    return "kind" not in document and not {"actions", "tiers"}.isdisjoint(document)


def spelled_out(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its actions as a list of entries, so that each is a setting of its own."""
    names = (name.strip() for name in str(document.get("actions") or "").split(","))
    actions = [{"name": name} for name in names if name]
    return {**({"actions": actions} if actions else {}), **_without(document, "actions")}


def from_volcano(document: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    """A KubeSchedulerConfiguration v1 that does what this does; what of it is lost is noted."""
    return _Conversion(findings).of(spelled_out(document))


class _Conversion:
    """The conversion of one configuration."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._off: list[str] = []
        self._preempts = True
        self._scores: dict[str, int] | None = None
        self._least = self._most = 0
        self._ordering = self._spreading = ""
        self._packing = ""
        self._fit: _Fit | None = None

    def of(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The v1 document."""
        for index, each in enumerate(document.get("actions", ())):
            self._known(f"actions[{index}]", "action", each["name"], tables.ACTIONS)
        self._preempts = any(
            each["name"] in tables.PREEMPTING for each in document.get("actions", ())
        )
        if not self._preempts:
            self._findings.note("actions", *tables.NOT_PREEMPTING)
        for where, tier in self._mappings(document, "tiers", ""):
            for path, plugin in self._mappings(tier, "plugins", where):
                self._plugin(path, plugin)
        for path, each in self._mappings(document, "configurations", ""):
            self._configuration(path, each)
        if document.get("metrics"):
            self._findings.note("metrics", *tables.METRICS)
        for key in _without(document, "actions", "tiers", "configurations", "metrics"):
            self._findings.note(str(key), SettingOutcome.NOT_NEEDED, f"{_NO_EFFECT} no such field")
        return self._document()

    def _mappings(
        self, holder: Mapping[str, Any], field: str, where: str
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Each mapping of a list, with its path; what is none is a problem."""
        path = f"{where}.{field}" if where else field
        found = holder.get(field)
        if found is None:
            return
        if not isinstance(found, list):
            self._findings.problem(path, "must be a list")
            return
        for index, each in enumerate(found):
            if isinstance(each, dict):
                yield f"{path}[{index}]", each
            else:
                self._findings.problem(f"{path}[{index}]", "must be a mapping")

    def _known(self, path: str, what: str, name: str, table: Mapping[str, tables.Row]) -> bool:
        if name in table:
            self._findings.note(path, *table[name])
            return True
        near = meant(name, table)
        text = f'"{name}" is no {what} of Volcano that enbloc knows'
        self._findings.note(path, SettingOutcome.LOST, f"{text}; {near}" if near else text)
        return False

    def _configuration(self, path: str, given: Mapping[str, Any]) -> None:
        self._known(path, "action", str(given.get("name", "")), tables.ACTIONS)
        arguments = given.get("arguments")
        for key in arguments if isinstance(arguments, dict) else ():
            if key in tables.CONFIGURATIONS:
                self._findings.note(f"{path}.arguments.{key}", *tables.CONFIGURATIONS[key])

    # ── plugins ──────────────────────────────────────────────────────────────────────────────
    def _plugin(self, path: str, plugin: Mapping[str, Any]) -> None:
        name = str(plugin.get("name", ""))
        if not self._known(path, "plugin", name, tables.PLUGINS):
            return
        outcome = tables.PLUGINS[name][0]
        for key, value in _without(plugin, "name", "arguments").items():
            self._switch(f"{path}.{key}", name, str(key), outcome, off=value is False)
        arguments = plugin.get("arguments")
        if arguments is not None and not isinstance(arguments, dict):
            self._findings.problem(f"{path}.arguments", "must be a mapping")
            return
        given = {str(key): value for key, value in (arguments or {}).items()}
        where = f"{path}.arguments"
        scores = plugin.get("enableNodeOrder") is not False
        if name == tables.PREDICATES:
            self._predicates(where, given)
        elif name == tables.NODE_ORDER and scores:
            self._ordering = path
            self._node_order(where, given)
        elif name == tables.BINPACK and scores:
            self._binpack(path, given)
        elif name == tables.STRATEGY and scores:
            self._strategy(path, given)
        elif name in (tables.NODE_ORDER, tables.BINPACK, tables.STRATEGY):
            self._findings.note(where, SettingOutcome.NOT_NEEDED, "enableNodeOrder switches it off")

    def _switch(
        self, path: str, name: str, key: str, outcome: SettingOutcome, *, off: bool
    ) -> None:
        note = self._findings.note
        if key not in tables.SWITCHES:
            near = meant(key, tables.SWITCHES)
            text = f"{_NO_EFFECT} no such switch"
            note(path, SettingOutcome.NOT_NEEDED, f"{text}; {near}" if near else text)
        elif outcome in (SettingOutcome.LOST, SettingOutcome.NOT_NEEDED):
            note(path, SettingOutcome.NOT_NEEDED, f"goes with {name}")
        elif key in tables.OF_PREEMPTION:
            note(path, SettingOutcome.NOT_NEEDED, "preemption goes by priority alone")
        elif off and (name, key) in tables.ALWAYS:
            note(path, SettingOutcome.LOST, f"not switched off: {tables.ALWAYS[name, key]}")
        elif off and key == "enableNodeOrder":
            note(path, SettingOutcome.KEPT, "its scores are left out")
        else:
            note(path, SettingOutcome.NOT_NEEDED, "nothing here to switch")

    def _predicates(self, where: str, given: Mapping[str, Any]) -> None:
        for key, value in given.items():
            path = f"{where}.{key}"
            plugin = tables.FILTERS.get(key)
            if plugin is None:
                row = tables.OTHER_PREDICATES.get(key)
                self._findings.note(path, *(row or (SettingOutcome.LOST, "has no equivalent")))
                continue
            on = _boolean(value)
            if on is None:
                text = f"{_NO_EFFECT} true and false"
                self._findings.note(path, SettingOutcome.NOT_NEEDED, text)
                continue
            if not on and plugin not in self._off:
                self._off.append(plugin)
            self._findings.note(
                path, SettingOutcome.KEPT, f"{plugin} is {'on' if on else 'off'} at filter"
            )

    def _node_order(self, where: str, given: Mapping[str, Any]) -> None:
        self._scores = {}
        for key, (plugin, default) in tables.SCORES.items():
            weight = self._weight(where, given, key, default)
            path = f"{where}.{key}" if _is_weight(given.get(key)) else ""
            if key == tables.LEAST:
                self._least, self._spreading = weight, path
            elif key == tables.MOST:
                self._most, self._packing = weight, path
            else:
                self._scores[plugin] = weight
                if _is_weight(given.get(key)):
                    self._findings.note(path, SettingOutcome.KEPT, _weighed(plugin, weight))
        for key in given:
            if key not in tables.SCORES:
                text = f"{_NO_EFFECT} no such argument"
                self._findings.note(f"{where}.{key}", SettingOutcome.NOT_NEEDED, text)

    def _binpack(self, path: str, given: Mapping[str, Any]) -> None:
        where = f"{path}.arguments"
        weight = self._weight(where, given, "binpack.weight", 1)
        resources = {
            CPU: self._weight(where, given, "binpack.cpu", 1),
            MEMORY: self._weight(where, given, "binpack.memory", 1),
        }
        listed = given.get("binpack.resources")
        names = (name.strip() for name in listed.split(",")) if isinstance(listed, str) else ()
        for name in filter(None, names):
            if qualified_name_problem(name):
                problem = f"{name}: {qualified_name_problem(name)}"
                self._findings.problem(f"{where}.binpack.resources", problem)
            else:
                resources[name] = self._weight(where, given, f"binpack.resources.{name}", 1)
        known = ("binpack.weight", "binpack.cpu", "binpack.memory", "binpack.resources")
        for key, value in given.items():
            if key not in known and key.removeprefix("binpack.resources.") not in resources:
                text = f"{_NO_EFFECT} no such argument"
                self._findings.note(f"{where}.{key}", SettingOutcome.NOT_NEEDED, text)
            elif key == "binpack.resources" or _is_weight(value):
                weighed = key == "binpack.weight"
                text = _weighed(_FIT, weight) if weighed else "a resource of the strategy"
                self._findings.note(f"{where}.{key}", SettingOutcome.KEPT, text)
        self._score_by(path, _Fit("MostAllocated", weight, resources))

    def _strategy(self, path: str, given: Mapping[str, Any]) -> None:
        where = f"{path}.arguments"
        for key in _without(given, "resourceStrategyFitWeight", "resources"):
            self._findings.note(f"{where}.{key}", SettingOutcome.LOST, "has no equivalent")
        weight = self._weight(where, given, "resourceStrategyFitWeight", 10)
        listed = given.get("resources")
        if not isinstance(listed, dict) or not listed:
            listed = {CPU: {}, MEMORY: {}}
        types: set[str] = set()
        resources: dict[str, int] = {}
        for name, each in listed.items():
            each = each if isinstance(each, dict) else {}  # noqa: PLW2901  # as Volcano reads it
            if qualified_name_problem(str(name)):
                text = "names no single resource, and NodeResourcesFit needs each by its name"
                self._findings.note(f"{where}.resources.{name}", SettingOutcome.LOST, text)
                continue
            found = each.get("type")
            types.add(found if found == "MostAllocated" else "LeastAllocated")
            value = each.get("weight")
            resources[str(name)] = value if type(value) is int and value > 0 else 1
        if len(types) == 1:
            self._score_by(path, _Fit(types.pop(), weight, resources))
        elif types:
            text = "NodeResourcesFit has one scoringStrategy for all resources, not one for each"
            self._findings.note(path, SettingOutcome.LOST, text)

    def _score_by(self, path: str, fit: _Fit) -> None:
        resources = {name: weight for name, weight in fit.resources.items() if weight}
        if not fit.weight or not resources:
            self._findings.note(path, SettingOutcome.KEPT, "its weight is 0, so it scores nothing")
        elif self._fit is not None:
            text = "NodeResourcesFit has one scoringStrategy, and an earlier plugin has it"
            self._findings.note(path, SettingOutcome.LOST, text)
        else:
            self._fit = fit._replace(resources=_bounded(resources))

    def _weight(self, where: str, given: Mapping[str, Any], key: str, default: int) -> int:
        """A whole number as Volcano reads it; what cannot be a weight is noted."""
        value = given.get(key, default)
        path = f"{where}.{key}"
        if type(value) is not int:
            text = f"{_NO_EFFECT} whole numbers without quotes, so it is {default}"
            self._findings.note(path, SettingOutcome.NOT_NEEDED, text)
            return default
        if value < 0:
            self._findings.note(path, SettingOutcome.LOST, "a negative weight has no equivalent")
            return 0
        if value > _LARGEST:
            self._findings.problem(path, f"must be at most {_LARGEST}, is {value}")
        return value

    # ── the document ─────────────────────────────────────────────────────────────────────────
    def _document(self) -> dict[str, Any]:
        fit = self._settled()
        scores = self._scores
        if scores is None and fit is not None:
            scores = dict.fromkeys((plugin for plugin, _ in tables.SCORES.values()), 0)
        if scores is not None:
            scores = {**scores, _FIT: fit.weight if fit else 0}
        plugins = _plugins(self._off, scores or {}, preempts=self._preempts)
        profile: dict[str, Any] = {"schedulerName": SCHEDULER}
        if plugins:
            profile["plugins"] = plugins
        if fit is not None and fit != _Fit("LeastAllocated", fit.weight, {CPU: 1, MEMORY: 1}):
            resources = [{"name": name, "weight": each} for name, each in fit.resources.items()]
            strategy = {"type": fit.strategy, "resources": resources}
            profile["pluginConfig"] = [{"name": _FIT, "args": {"scoringStrategy": strategy}}]
        return {"apiVersion": VERSION, "kind": KIND, "profiles": [profile]}

    def _settled(self) -> _Fit | None:
        """The one strategy of NodeResourcesFit.

        Without binpack: spreading and packing score the same resources from 0 to 100 and against
        each other, so of a times the one and b times the other only the difference tells nodes
        apart.
        """
        weights = {self._spreading: self._least, self._packing: self._most}
        if self._fit is not None:
            if self._least and not self._spreading:
                text = f"{tables.LEAST}, {self._least} by default, gives way to binpack"
                self._findings.note(self._ordering, SettingOutcome.CHANGED, text)
            for path, weight in weights.items():
                if path and weight:
                    text = (
                        "gives way: NodeResourcesFit has one scoringStrategy, and binpack sets it"
                    )
                    self._findings.note(path, SettingOutcome.LOST, text)
                elif path:
                    self._findings.note(path, SettingOutcome.KEPT, "0 scores nothing")
            return self._fit
        difference = self._most - self._least
        strategy = "MostAllocated" if difference > 0 else "LeastAllocated"
        both = bool(self._most and self._least)
        for path in filter(None, weights):
            text = f"{strategy}: {_weighed(_FIT, abs(difference))}"
            self._findings.note(path, SettingOutcome.CHANGED if both else SettingOutcome.KEPT, text)
        return _Fit(strategy, abs(difference), {CPU: 1, MEMORY: 1}) if difference else None


def _plugins(off: list[str], scores: Mapping[str, int], *, preempts: bool) -> dict[str, Any]:
    """Each point where something is other than by default."""
    plugins: dict[str, Any] = {}
    if not preempts:
        plugins["postFilter"] = {"disabled": _named([_PREEMPTION])}
    if off:
        plugins["preFilter"] = {"disabled": _named(off)}
        plugins["filter"] = {"disabled": _named(off)}
    if "VolumeBinding" in off:
        plugins |= {point: {"disabled": _named(["VolumeBinding"])} for point in _OF_VOLUMES}
    silent = [name for name, weight in scores.items() if not weight]
    weighed = [
        {"name": name, "weight": weight}
        for name, weight in scores.items()
        if weight and weight != DEFAULTS[name].weight
    ]
    if silent:
        plugins["preScore"] = {"disabled": _named(silent)}
        plugins["score"] = {"disabled": _named(silent)}
    if weighed:
        plugins["score"] = {"enabled": weighed, **plugins.get("score", {})}
    return plugins


_OF_VOLUMES: Final = ("reserve", "preBind")


def _named(names: list[str]) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def _weighed(plugin: str, weight: int) -> str:
    return f"{plugin} at score, weight {weight}" if weight else f"{plugin} is off at score"


def _bounded(resources: Mapping[str, int]) -> dict[str, int]:
    """The weights in proportion, from 1 to what NodeResourcesFit takes."""
    most = max(_HEAVIEST, *resources.values())
    return {name: max(1, weight * _HEAVIEST // most) for name, weight in resources.items()}


def _is_weight(value: Any) -> bool:
    """Whether Volcano reads this as a weight, and it can be one here."""
    return type(value) is int and value >= 0


def _boolean(value: Any) -> bool | None:
    """As Volcano reads it, text as well; None = neither."""
    if isinstance(value, str):
        value = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}.get(
            value.lower()
        )
    return value if isinstance(value, bool) else None


def _without(given: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key not in names}
