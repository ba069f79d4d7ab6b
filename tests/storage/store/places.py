"""Where stores may be: tests of a module that holds for both run in a file and on a server."""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T", bound=Callable[..., object])

PLACES = ("in a file", pytest.param("on a server", marks=pytest.mark.slow))


def in_a_file(test: T) -> T:
    """A test that damages a file, fills a disk or copies one: no server can be treated so."""
    test.in_a_file = True  # type: ignore[attr-defined]
    return test


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds, as a server that needs a moment to notice that a process is gone."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def everywhere(metafunc: pytest.Metafunc) -> None:
    """Have the tests of a module with `EVERYWHERE` run in each place; `path` is where the store then is."""
    holds = getattr(metafunc.module, "EVERYWHERE", False) and not getattr(metafunc.function, "in_a_file", False)
    if holds and "path" in metafunc.fixturenames:
        metafunc.parametrize("path", PLACES, indirect=True)
