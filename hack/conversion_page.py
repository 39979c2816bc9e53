# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The reference page of the conversion of other schedulers' settings."""

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
    SettingOutcome.KEPT: "written to the result with the same meaning",
    SettingOutcome.CHANGED: "written as something similar; the table says what differs",
    SettingOutcome.BUILT_IN: "enbloc always does this, so no setting is needed",
    SettingOutcome.NOT_NEEDED: "the setting has no purpose in enbloc, and needs no replacement",
    SettingOutcome.LOST: "enbloc does not do this; the table says what to do instead",
}


def conversion_page() -> str:
    """What `enbloc config convert` makes of each setting of others."""
    return "\n".join(
        (
            head("Conversion of other schedulers' settings", "operator/enbloc/config/"),
            "`enbloc config convert FILE` prints the converted configuration on stdout, and a",
            "table that shows what each setting became on stderr. A file is a",
            "KubeSchedulerConfiguration of any version, a Policy, `volcano-scheduler.conf`, or a",
            "ConfigMap that holds one of these. With `--output=json` both are one object.\n",
            table("Outcome | Meaning", [(f"`{each}`", text) for each, text in _MEANS.items()]),
            "The exit code is 0 if nothing is `lost`, 3 if something is, and 2 if a file cannot be",
            "read or holds a filter that must not be left out.\n",
            "## Profiles with the name of another scheduler\n",
            "A profile may have one of these schedulerNames, so that pod templates need no change.",
            "A warning at startup, and `enbloc config check`, name the features of that scheduler",
            "that enbloc does not serve:\n",
            table(
                "schedulerName | Project | Not served",
                ((f"`{n}`", peer.project, "; ".join(peer.lacks)) for n, peer in PEERS.items()),
            ),
            "## Plugins of scheduler-plugins and Koordinator\n",
            "A file that enables one of these plugins is refused, and the error names the command",
            "that converts it. Conversion enables a default plugin again that was disabled in",
            "favour of one of them. It does so for DefaultPreemption if that plugin was one of",
            f"{quoted(PREEMPTING)}.",
            f"If `{COSCHEDULING}` is the only plugin at postFilter, there is no preemption, as",
            "before.\n",
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
                        "`scheduleTimeoutSeconds`; the longest of all profiles",
                    ),
                    *_rows(COSCHEDULING_ARGUMENTS.items()),
                ),
            ),
            "## Actions of Volcano\n",
            "Pods are preempted only if one of these actions is listed:",
            f"{quoted(volcano.PREEMPTING)}. Otherwise `DefaultPreemption` is disabled at",
            "postFilter, and a row `actions` says so.\n",
            table("Action | Outcome | Became", _rows(volcano.ACTIONS.items())),
            "## Plugins of Volcano\n",
            "In Volcano, a plugin that the file does not list is off. In enbloc, filters always",
            "apply, and without `nodeorder` and `binpack` the default scores stay, because any",
            "preference among nodes is as good as none. Tiers, which decide between plugins about",
            "victims, have no equivalent.\n",
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
            "`leastrequested.weight` and `mostrequested.weight` score the same resources in",
            "opposite directions. NodeResourcesFit has one strategy, which gets their difference.",
            "If `binpack` is on, it sets the strategy, and both weights are ignored.\n",
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
