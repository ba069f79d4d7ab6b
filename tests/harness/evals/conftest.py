"""Evals by themselves, as scripts have them: no pytest plugin keeps what they find."""

import pytest

from evalmark.harness.evals.session import CURRENT_SESSION


@pytest.fixture(autouse=True)
def script(world):
    """As outside of tests, in an empty folder."""
    token = CURRENT_SESSION.set(None)
    yield world
    CURRENT_SESSION.reset(token)
