# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Names of labels and resources, by Kubernetes' rules."""

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NATIVE: Final = "kubernetes.io/"


def qualified_name_problem(text: str) -> str:
    """Why this is no name of a label or a resource; "" if it is one."""
    domain, slash, name = text.rpartition("/")
    fits = len(name) <= 63 and _NAME.fullmatch(name) is not None
    if slash:
        fits = fits and len(domain) <= 253 and _DOMAIN.fullmatch(domain) is not None
    if fits:
        return ""
    return (
        f'must be a name such as "example.com/name" (letters, digits, "-", "_", ".", at most 63; '
        f'the domain in lower case), is "{text}"'
    )


def extended_resource_problem(text: str) -> str:
    """Why this is no name of an extended resource; "" if it is one."""
    problem = qualified_name_problem(text)
    if problem:
        return problem
    if "/" not in text or _NATIVE in text or text.startswith("requests."):
        return f'must be an extended resource such as "example.com/gpu", is "{text}"'
    return qualified_name_problem(f"requests.{text}")
