# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which names of a device an expression can read at all."""

import pytest

from enbloc import cel


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        pytest.param('device.driver == "d"', set(), id="the driver only"),
        pytest.param('device.attributes["d"].model == "a"', {"d/model"}, id="a field"),
        pytest.param('device.attributes["d"]["model"] == "a"', {"d/model"}, id="an index"),
        pytest.param('device.attributes.d.model == "a"', {"d/model"}, id="fields all the way"),
        pytest.param('"model" in device.attributes["d"]', {"d/model"}, id="whether it is there"),
        pytest.param(
            'has(device.capacity["d"].m) && device.capacity["d"].n.compareTo(quantity("1")) > 0',
            {"d/m", "d/n"},
            id="two capacities",
        ),
        pytest.param('device.attributes["d"] == device.attributes["e"]', None, id="whole maps"),
        pytest.param(
            "device.attributes[device.driver].x == 1", None, id="a domain that is worked out"
        ),
        pytest.param(
            'device.attributes["d"]["a" + "b"] == 1', None, id="a name that is worked out"
        ),
        pytest.param('device.attributes.exists(a, a == "d")', None, id="all of them"),
        pytest.param(
            'cel.bind(d, device, d.attributes["d"].x == 1)', None, id="the device by another name"
        ),
        pytest.param("device.attributes[", None, id="no expression"),
    ],
)
def test_names_are_known_where_they_stand_in_the_expression(
    expression: str, names: set[str] | None
) -> None:
    assert cel.reads(expression) == names
