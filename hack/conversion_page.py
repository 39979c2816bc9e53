# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The reference page of what settings of other schedulers become."""

from collections.abc import Iterable, Iterator

from enbloc.config.defaults import DEFAULTS
from enbloc.config.findings import SettingOutcome
from enbloc.config.foreign import (
    COSCHEDULING,
    COSCHEDULING_ARGUMENTS,
    FOREIGN,
    PREEMPTING,
    TIMEOUTS,
)
from enbloc.config.migrate import volcano_tables as volcano
from enbloc.model.peers import PEERS
from hack.reference import head, quoted, table

_MEANS = {
    SettingOutcome.KEPT: "written down again, and means the same",
    SettingOutcome.CHANGED: "written as something near; the table says what differs",
    SettingOutcome.BUILT_IN: "enbloc always does it, so there is nothing to write",
    SettingOutcome.NOT_NEEDED: "its purpose does not exist in enbloc: nobody misses it",
    SettingOutcome.LOST: "enbloc does not do it; the table says what to do instead",
}


def conversion_page() -> str:
    """What `enbloc config convert` makes of each setting of others."""
    return "\n".join(
        (
            head("What settings of other schedulers become", "operator/enbloc/config/"),
            "`enbloc config convert FILE` prints the configuration that a file amounts to on",
            "stdout, and a table with each of its settings on stderr. A file is a",
            "KubeSchedulerConfiguration of any version, a Policy, `volcano-scheduler.conf`, or a",
            "ConfigMap that holds one of these. With `--output=json` both are one object.\n",
            table("Outcome | Means", [(f"`{each}`", text) for each, text in _MEANS.items()]),
            "The exit code is 0 if nothing is `lost`, 3 if something is, and 2 if a file cannot be",
            "read or holds a filter that must not be left out.\n",
            "## Profiles with the name of another scheduler\n",
            "A profile may have the schedulerName of one of these, so that nobody has to change a",
            "pod template. A warning at the start, and `enbloc config check`, name what of that",
            "scheduler is not served:\n",
            table(
                "schedulerName | Project | Not served",
                ((f"`{n}`", peer.project, "; ".join(peer.lacks)) for n, peer in PEERS.items()),
            ),
            "## Plugins of scheduler-plugins and Koordinator\n",
            "A file that enables one of these is refused with the command that converts it. Where",
            "a default plugin was disabled in its favour, that one runs again. DefaultPreemption",
            f"does so after {quoted(PREEMPTING)}; where",
            f"`{COSCHEDULING}` is all that is at postFilter, nobody is preempted, as before.\n",
            table(
                "Plugin | Of | Outcome | Became",
                ((f"`{n}`", each.project, f"`{each[1]}`", each[2]) for n, each in FOREIGN.items()),
            ),
            f"Arguments of `{COSCHEDULING}`:\n",
            table(
                "Argument | Outcome | Became",
                (
                    (
                        quoted(TIMEOUTS),
                        f"`{SettingOutcome.CHANGED}`",
                        "`scheduleTimeoutSeconds`; of several profiles the longest",
                    ),
                    *_rows(COSCHEDULING_ARGUMENTS.items()),
                ),
            ),
            "## Actions of Volcano\n",
            "Nobody gives way to a higher priority unless one of these is listed:",
            f"{quoted(volcano.PREEMPTING)}. Where none is, `DefaultPreemption` is disabled at",
            "postFilter, and a row `actions` says so.\n",
            table("Action | Outcome | Became", _rows(volcano.ACTIONS.items())),
            "## Plugins of Volcano\n",
            "A plugin that is not listed in the file is off there. Here filters always hold, and",
            "without `nodeorder` and `binpack` the default scores stay: any preference is as good",
            "as none. Tiers have no equivalent: they decide between plugins about victims.\n",
            table("Plugin | Outcome | Became", _rows(volcano.PLUGINS.items())),
            "### Arguments of predicates\n",
            table(
                "Argument | Outcome | Became",
                (
                    *(
                        (f"`{n}`", f"`{SettingOutcome.KEPT}`", f"`{p}`")
                        for n, p in volcano.FILTERS.items()
                    ),
                    *_rows(volcano.OTHER_PREDICATES.items()),
                ),
            ),
            "### Arguments of nodeorder\n",
            "`leastrequested.weight` and `mostrequested.weight` score the same resources against",
            "each other, and NodeResourcesFit has one strategy: it gets their difference. Where",
            "`binpack` is on, it sets the strategy, and `leastrequested.weight` gives way.\n",
            table(
                "Argument | Weight of | Default of Volcano | Default here",
                (
                    (f"`{name}`", f"`{plugin}`", str(default), str(DEFAULTS[plugin].weight))
                    for name, (plugin, default) in volcano.SCORES.items()
                ),
            ),
        )
    )


def _rows(
    items: Iterable[tuple[str, tuple[SettingOutcome, str]]],
) -> Iterator[tuple[str, str, str]]:
    for name, (outcome, text) in items:
        yield f"`{name}`", f"`{outcome}`", text
