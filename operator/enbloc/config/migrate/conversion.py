# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Conversion: turns files of any supported version, kind or project into enbloc configuration."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enbloc.config.current import current
from enbloc.config.defaults import DEFAULTS, GONE, TAKEN_IN
from enbloc.config.documents import Source, parse, plain, stamped
from enbloc.config.findings import Findings, SettingOutcome
from enbloc.config.migrate.itemize import Setting, itemized
from enbloc.config.migrate.stripping import without_foreign
from enbloc.config.migrate.volcano import from_volcano, is_volcano, spelled_out
from enbloc.config.models import KIND, OUR_KIND, OUR_VERSION
from enbloc.config.policy import POLICY_KIND
from enbloc.config.read import check, no_kind
from enbloc.framework.registry import Registry
from enbloc.plugins.in_tree import IN_TREE

_CONFIG_MAP: Final = "ConfigMap"
_KINDS: Final = (KIND, OUR_KIND, POLICY_KIND)
#: Keys of a ConfigMap that are meant for a scheduler, whatever the text is.
_KEYS: Final = ("volcano-scheduler.conf", "volcano-scheduler-ci.conf", "policy.cfg")
_PLUGINS: Final = ".plugins."
_TIMEOUT: Final = "scheduleTimeoutSeconds"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The result of a conversion.

    Attributes:
        documents: configurations that enbloc reads.
        settings: every setting of the files, with what became of it.
    """

    documents: Sequence[dict[str, Any]]
    settings: Sequence[Setting]

    @property
    def lost(self) -> int:
        """How many settings no longer have an effect."""
        return sum(each.outcome is SettingOutcome.LOST for each in self.settings)


def convert(
    sources: Iterable[Source], findings: Findings, registry: Registry | None = None
) -> Conversion:
    """Every document, in today's form, which `configure` reads.

    Args:
        sources: the files. A ConfigMap is as good as the files that it holds.
        findings: collects what is wrong.
        registry: where plugins come from; None = the in-tree ones and the installed ones.

    Raises:
        ConfigError: something must not be left out, or cannot be read.
    """
    registry = registry or Registry(IN_TREE)
    made: list[dict[str, Any]] = []
    settings: list[Setting] = []
    timeouts: list[int] = []
    for source, document in _documents(sources, findings):
        findings.source = source
        about = Findings(source)
        new, found = _converted(document, registry, about)
        timeouts += found
        if new is not None and not about.problems:
            check(new, registry, about)
            made.append(plain(new))
        if document.get("kind") == POLICY_KIND:
            # Its plugins are ours: warnings about them would be about nothing that anybody wrote.
            about.warnings = [each for each in about.warnings if _PLUGINS not in each.path]
        findings.problems += about.problems
        findings.warnings += about.warnings
        written = spelled_out(document) if is_volcano(document) else document
        settings += itemized(source, written, [*about.notes, *about.warnings])
    findings.refuse()
    if timeouts:
        _set_timeout(made, max(timeouts))
    return Conversion(made, settings)


def _documents(
    sources: Iterable[Source], findings: Findings
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each document with what messages call its file; those of ConfigMaps one by one."""
    for source in sources:
        findings.source = source.name
        for document in parse(source, findings):
            if document.get("kind") != _CONFIG_MAP:
                yield source.name, document
                continue
            inner = list(_held(source.name, document, findings))
            findings.source = source.name
            if not inner:
                text = "this ConfigMap holds no configuration of a scheduler that enbloc knows"
                findings.problem("data", text)
            yield from inner


def _held(
    name: str, config_map: dict[str, Any], findings: Findings
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The configurations in a ConfigMap; what is wrong with their texts is noted."""
    data = config_map.get("data")
    for key, text in data.items() if isinstance(data, dict) else ():
        found = Source(f"{name}, {key}", str(text))
        about = Findings(found.name)
        documents = [
            document
            for document in parse(found, about)
            if document.get("kind") in _KINDS or is_volcano(document)
        ]
        # Other keys are not configuration, and may not be YAML either.
        if documents or key in _KEYS or KIND in found.text or OUR_KIND in found.text:
            findings.problems += about.problems
        for document in documents:
            yield found.name, document


def _converted(
    document: dict[str, Any], registry: Registry, findings: Findings
) -> tuple[dict[str, Any] | None, list[int]]:
    """The document as it is today, and the timeouts of Coscheduling in it, in seconds."""
    kind = document.get("kind")
    if is_volcano(document):
        return stamped(from_volcano(document, findings)), []
    if kind == OUR_KIND:
        return document, []
    if kind not in (KIND, POLICY_KIND):
        findings.problem("kind", no_kind(document))
        return None, []
    known = {*registry.names, *DEFAULTS, *GONE, *TAKEN_IN}
    new, timeouts = without_foreign(current(stamped(document), findings), known, findings)
    return new, timeouts


def _set_timeout(documents: list[dict[str, Any]], timeout: int) -> None:
    """Say it in our configuration, unless that says one itself."""
    for document in documents:
        if document.get("kind") == OUR_KIND:
            document.setdefault(_TIMEOUT, timeout)
            return
    documents.append({"apiVersion": OUR_VERSION, "kind": OUR_KIND, _TIMEOUT: timeout})
