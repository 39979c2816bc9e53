# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The plugin of kubectl has no package that makes certificates."""

import sys

import pytest

from enbloc.errors import ConfigError
from enbloc.telemetry.certificates import self_signed


def test_who_cannot_make_a_certificate_says_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigError, match="cryptography is not installed; pass --tls-cert-file"):
        self_signed(["localhost"], 0.0)
