# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Keys that look like ours but are not: a typo must not place a member alone."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, NamedTuple

from enbloc.model.names import (
    API_GROUP,
    AUTO_GROUP_KEY,
    CHECKPOINT_KEY,
    EXPECTED_SECONDS_KEY,
    MIN_MEMBER_KEY,
    PLAN_KEY,
    POD_GROUP_KEY,
    RANK_KEY,
    ROLE_KEY,
    SCHEDULE_TIMEOUT_KEY,
    SIZE_KEY,
    TOPOLOGY_KEY,
    TOPOLOGY_PREFERRED_KEY,
    TOPOLOGY_REQUIRED_KEY,
    TOPOLOGY_SLICES_KEY,
)

_OURS: Final = frozenset(
    {
        POD_GROUP_KEY,
        ROLE_KEY,
        MIN_MEMBER_KEY,
        PLAN_KEY,
        RANK_KEY,
        SIZE_KEY,
        AUTO_GROUP_KEY,
        SCHEDULE_TIMEOUT_KEY,
        CHECKPOINT_KEY,
        EXPECTED_SECONDS_KEY,
        TOPOLOGY_KEY,
        TOPOLOGY_REQUIRED_KEY,
        TOPOLOGY_PREFERRED_KEY,
        TOPOLOGY_SLICES_KEY,
    }
)
#: Those of our keys that people write.
_WRITTEN: Final = sorted(_OURS - {PLAN_KEY, RANK_KEY, SIZE_KEY})
#: The similarity from which a key counts as a typo.
_ALIKE: Final = 0.8
_PROJECT: Final = API_GROUP.partition(".")[0]
_SEPARATORS: Final = str.maketrans("", "", "-_./ ")
_GROUPS: Final = ("podgroup", "podgroups", "podgroupname", "groupname", "group", "gang", "gangname")
_ROLES: Final = ("role", "roles", "rolename")


class NearMiss(NamedTuple):
    """A key that is not ours but looks as if it was meant to be.

    Attributes:
        said: what is wrong with it, and the key to write; follows its name in a sentence.
        certain: it cannot mean anything else, so the pod means to be a member.
    """

    said: str
    certain: bool


@lru_cache(maxsize=4096)
def near_miss(key: str) -> NearMiss | None:
    """What is wrong with a key of a pod; None = it is ours, or unrelated.

    Certain: keys under our domain that we do not define, and keys under similar domains (another
    ending, no domain at all) that end like a key of ours, whatever the case and dashes. A key
    without a domain may be anybody's.
    """
    if key in _OURS:
        return None
    flat = key.lower().translate(_SEPARATORS)
    domain = key.lower().rpartition("/")[0].translate(_SEPARATORS)
    about_us = _PROJECT in domain if domain else flat.startswith(_PROJECT)
    if about_us and flat.endswith(_GROUPS):
        return NearMiss(f"is unknown; use {POD_GROUP_KEY}", certain=True)
    if about_us and flat.endswith(_ROLES):
        return NearMiss(f"is unknown; use {ROLE_KEY}", certain=True)
    if key.lower().startswith(f"{API_GROUP}/"):
        meant = _meant(key)
        if meant:
            return NearMiss(f"is not a key of enbloc; use {meant}", certain=True)
        keys = f"a pod names its PodGroup with {POD_GROUP_KEY} and its role with {ROLE_KEY}"
        return NearMiss(f"is not a key of enbloc; {keys}", certain=True)
    if flat in ("podgroup", "podgroupname") and key != "pod-group-name":
        said = f"is ignored; to name a PodGroup of enbloc, use {POD_GROUP_KEY}"
        return NearMiss(said, certain=False)
    return None


def _meant(key: str) -> str:
    """The key of ours that is most similar to this one; "" = none is."""
    names = {each.partition("/")[2]: each for each in _WRITTEN}
    found = get_close_matches(key.lower().partition("/")[2], names, 1, _ALIKE)
    return names[found[0]] if found else ""


def near_misses(labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[str, bool]:
    """A pod's first certain near miss, else its first ("" = none); and whether it is certain."""
    uncertain = ""
    for kind, pairs in (("annotation", annotations), ("label", labels)):
        for key in pairs:
            found = near_miss(key)
            if found is None:
                continue
            text = f"{kind} {key} {found.said}"
            if found.certain:
                return text, True
            uncertain = uncertain or text
    return uncertain, False
