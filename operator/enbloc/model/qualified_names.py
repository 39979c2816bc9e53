# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Names of labels and resources, by Kubernetes' rules."""

import re
from typing import Final

from enbloc.model.dns_names import LONGEST_NAME, SUBDOMAIN
from enbloc.model.text import quoted

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def qualified_name_problem(text: str) -> str:
    """Why a text is no valid name of a label or resource; "" = it is one."""
    domain, slash, name = text.rpartition("/")
    fits = len(name) <= 63 and _NAME.fullmatch(name) is not None
    if slash:
        fits = fits and len(domain) <= 253 and SUBDOMAIN.fullmatch(domain) is not None
    if fits:
        return ""
    return (
        f'must be a name such as "example.com/name" (letters, digits, "-", "_", ".", at most 63; '
        f"the domain in lower case), is {quoted(text)}"
    )


def object_name_problem(text: str) -> str:
    """Why a text is no valid name of an object; "" = it is one."""
    if len(text) <= LONGEST_NAME and SUBDOMAIN.fullmatch(text):
        return ""
    return f"{quoted(text)} is not the name of an object"
