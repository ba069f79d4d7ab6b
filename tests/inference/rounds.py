"""How many random inputs a function is held to another library with: some in every test run, all in `make sweep`."""

import pytest


def rounds(some: int):
    """The parameter `rounds`: so many in every run, and ten thousand in a sweep."""
    return pytest.mark.parametrize(
        "rounds", [pytest.param(some, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.sweep)]
    )
