"""How many random inputs a function is held to another library with: some in every run of the tests, ten thousand in the sweep."""

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


def rounds(some: int):
    """The parameter `rounds`: so many in every run, and ten thousand in a sweep."""
    return pytest.mark.parametrize(
        "rounds", [pytest.param(some, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.sweep)]
    )
