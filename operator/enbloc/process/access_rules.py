# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who may see which pages of a process, as its flags say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AccessRules:
    """How requests are authenticated and authorized, as kube-scheduler's flags say.

    Attributes:
        open_paths: the paths open to everybody; one that ends in `*` is a prefix.
        token_seconds: how long the answer of a TokenReview is cached.
        allowed_seconds: how long an allowing SubjectAccessReview is cached.
        refused_seconds: how long a denying SubjectAccessReview is cached.
        look_up: whether to read the CAs of client certificates from the cluster.
        client_authorities: a file with the CAs of client certificates; None = look them up.
    """

    open_paths: Sequence[str] = ("/healthz", "/readyz", "/livez")
    token_seconds: float = 10.0
    allowed_seconds: float = 10.0
    refused_seconds: float = 10.0
    look_up: bool = True
    client_authorities: Path | None = None
