# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every plugin that comes with enbloc keeps the contract it is asked to keep.

ENBLOC_LAWS=deep asks each on many more clusters.
"""

import os

import pytest

from enbloc.framework.registry import Factory
from enbloc.plugins import IN_TREE
from enbloc.testing import check_plugin

EXAMPLES = 1000 if os.environ.get("ENBLOC_LAWS") == "deep" else 30


@pytest.mark.parametrize("factory", IN_TREE.values(), ids=IN_TREE.keys())
def test_a_plugin_keeps_the_contract(factory: Factory) -> None:
    check_plugin(factory(), examples=EXAMPLES)
