# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What Kueue's annotations of pods and pod templates say of where the pods are to lie.

Where Kueue has admitted the pods it has chosen their nodes too, and writes them into the pods: then
nothing is added to that. Source of keys and their meaning: Kueue v0.20,
apis/kueue/v1beta2/topology_types.go and pkg/controller/constants/constants.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from enbloc.controller.sources.source import topology_of_all

#: The annotations that are followed, by the field of `spec.topology`.
_FIELDS: Final[Mapping[str, str]] = {
    "required": "kueue.x-k8s.io/podset-required-topology",
    "preferred": "kueue.x-k8s.io/podset-preferred-topology",
}
_OTHERS: Final = (
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
    "kueue.x-k8s.io/podset-topology-spreading",
)
_TOGETHER: Final = "kueue.x-k8s.io/podset-group-name"
#: Labels and annotations, any of which Kueue writes when it admits a workload.
_ADMITTED: Final = ("kueue.x-k8s.io/workload", "kueue.x-k8s.io/managed", "kueue.x-k8s.io/tas")
#: All that is looked at.
KEYS: Final = (*_FIELDS.values(), *_OTHERS, _TOGETHER, *_ADMITTED)


class Asked(NamedTuple):
    """What the pods of a group ask for.

    Attributes:
        topology: `spec.topology`, as JSON; empty = none.
        ignored: a note on each annotation that is not followed.
    """

    topology: Mapping[str, str] = {}
    ignored: tuple[str, ...] = ()


def asked(pods: Sequence[Mapping[str, str]]) -> Asked:
    """What the pods of a group ask for.

    A constraint of Kueue's is of the pods of one template, and a group has one topology. So it
    counts where all templates say the same: what keeps all together keeps those of each.

    Args:
        pods: labels and annotations of each template, or of a pod.
    """
    if any(key in each for each in pods for key in _ADMITTED):
        return Asked()
    said = [{field: each[key] for field, key in _FIELDS.items() if each.get(key)} for each in pods]
    alike = bool(said) and all(each == said[0] for each in said)
    return Asked(said[0] if alike else {}, tuple(_ignored(pods, alike=alike)))


def _ignored(pods: Sequence[Mapping[str, str]], *, alike: bool) -> Iterator[str]:
    for key in (*_FIELDS.values(), *_OTHERS):
        found = any(each.get(key) for each in pods)
        if found and key in _OTHERS:
            yield topology_of_all(f"annotation {key}")
        elif found and not alike:
            yield topology_of_all(f"annotation {key} of some pod templates")
    if len({each.get(_TOGETHER) for each in pods}) > 1:
        yield topology_of_all(f"annotation {_TOGETHER} of some pod templates")
