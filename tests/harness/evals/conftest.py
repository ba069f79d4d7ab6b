"""Evals by themselves, as scripts have them: no pytest plugin keeps what they find."""

import pytest

from evalmark.harness.evals.pytest_run import CURRENT_PYTEST_RUN


@pytest.fixture(autouse=True)
def script(world):
    """As outside of tests, in an empty folder."""
    token = CURRENT_PYTEST_RUN.set(None)
    yield world
    CURRENT_PYTEST_RUN.reset(token)
