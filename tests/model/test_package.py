# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The package's public names, and what importing it costs."""

import subprocess
import sys

import pytest

import enbloc.model


def test_every_public_name_can_be_had() -> None:
    assert sorted(enbloc.model._HOME_OF) == sorted(enbloc.model.__all__)
    for name in enbloc.model.__all__:
        assert getattr(enbloc.model, name) is not None
    assert set(enbloc.model.__all__) <= set(dir(enbloc.model))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = enbloc.model.Nonsense


def test_the_fixed_names_cost_no_numpy() -> None:
    code = "import sys, enbloc.model.names; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
