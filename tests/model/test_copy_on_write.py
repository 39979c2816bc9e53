# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who holds a lease, or an array under one, keeps the owner from writing in place."""

import numpy as np
import pytest

from enbloc.model.copy_on_write import Ownership, leased


def alone(owner: Ownership) -> bool:
    return owner.exclusive


def test_an_owner_is_alone_until_someone_looks_and_after_all_have_gone() -> None:
    owner = Ownership()
    assert alone(owner)

    first, second = owner.lease(), owner.lease()
    third = second.lease()
    assert not alone(owner)
    del first, second
    assert not alone(owner)
    del third
    assert alone(owner)

    again = owner.lease()
    assert not alone(owner)
    assert not again.exclusive


@pytest.mark.parametrize("dtype", [np.int32, np.bool_])
def test_a_view_of_a_leased_array_keeps_the_lease(dtype: type[np.generic]) -> None:
    owner = Ownership()
    array = np.ones(6, dtype)
    view = leased(array[1:5], owner.lease())
    part = view[1:3].reshape(2, 1)
    del view
    assert not alone(owner)
    assert np.shares_memory(part, array)

    copy = part.copy()
    del part
    assert alone(owner)
    assert copy.dtype == dtype
    assert copy.shape == (2, 1)


def test_a_leased_array_may_be_empty_and_refuses_writes() -> None:
    owner = Ownership()
    assert len(leased(np.zeros(0, np.int32), owner.lease())) == 0

    with pytest.raises(ValueError, match="read-only"):
        leased(np.zeros(2, np.int32), owner.lease())[0] = 1
