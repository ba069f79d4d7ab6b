"""Seeds of the differential tests: some in every run of the tests, ten thousand in the sweep."""

import pytest

SEEDS = [
    pytest.param(range(200), id="some"),
    pytest.param(range(200, 10_200), id="ten thousand", marks=pytest.mark.sweep),
]
FEW_SEEDS = [
    pytest.param(range(40), id="some"),
    pytest.param(range(40, 10_040), id="ten thousand", marks=pytest.mark.sweep),
]
"""Where the other library is slow."""
