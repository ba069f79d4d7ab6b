import pytest

from evalmark.core.settings import HTTP_LIBRARIES

from . import wild


@pytest.fixture(params=HTTP_LIBRARIES)
def library(request, monkeypatch):
    """Run a test with each of the two clients."""
    monkeypatch.setattr(wild, "library", request.param)
    return request.param
