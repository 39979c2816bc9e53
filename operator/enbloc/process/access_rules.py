# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who may see what of a process: what the flags for it say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class AccessRules:
    """How requests are authenticated and authorized: what kube-scheduler's flags say.

    Attributes:
        open_paths: what everybody may see; one that ends in `*` is a prefix.
        token_seconds: so long is kept what a TokenReview said.
        allowed_seconds: so long is kept that a SubjectAccessReview said yes.
        refused_seconds: and that it said no.
        look_up: whether the cluster is asked whose client certificates it accepts.
        client_authorities: a file of authorities of client certificates; None = look them up.
    """

    open_paths: Sequence[str] = ("/healthz", "/readyz", "/livez")
    token_seconds: float = 10.0
    allowed_seconds: float = 10.0
    refused_seconds: float = 10.0
    look_up: bool = True
    client_authorities: Path | None = None
