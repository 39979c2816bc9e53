# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Names of extended resources, by Kubernetes' rules."""

from typing import Final

from enbloc.model.qualified_names import qualified_name_problem

_NATIVE: Final = "kubernetes.io/"


def extended_resource_problem(text: str) -> str:
    """Why this is no name of an extended resource; "" if it is one."""
    problem = qualified_name_problem(text)
    if problem:
        return problem
    if "/" not in text or _NATIVE in text or text.startswith("requests."):
        return f'must be an extended resource such as "example.com/gpu", is "{text}"'
    return qualified_name_problem(f"requests.{text}")
