import numpy as np
import pytest

from river_margins.networks.layers import sum_in_order


@pytest.mark.parametrize("units", [1, 2, 5])
def test_rows_of_zeros_change_no_bit_of_a_sum(units):
    draw = np.random.default_rng(units)
    for _ in range(100):
        count = draw.integers(2, 60)
        rows, inputs, places = draw.normal(size=(count, units)), draw.normal(size=count), draw.integers(0, count + 1, 3)
        found = sum_in_order(inputs, rows)
        more = sum_in_order(np.insert(inputs, places, 7.0), np.insert(rows, places, 0.0, axis=0))
        assert (more == found).all() and found == pytest.approx(inputs @ rows, rel=1e-9, abs=1e-12)
