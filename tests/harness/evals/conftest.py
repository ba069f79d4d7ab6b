"""Evals by themselves, as scripts have them: no pytest plugin keeps what they find."""

import pytest

from evalmark.harness.evals.host import HOST


@pytest.fixture(autouse=True)
def script(world):
    """As outside of tests, in an empty folder."""
    token = HOST.set(None)
    yield world
    HOST.reset(token)
