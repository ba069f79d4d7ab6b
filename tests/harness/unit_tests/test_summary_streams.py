"""The summary of a unit test on streams that do not know every character."""

import sys
from io import BytesIO, TextIOWrapper

import pytest

from evalmark.harness.unit_tests.summary import print_summary


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        pytest.param("utf-8", "input  Où ? 日", id="all characters"),
        pytest.param("latin-1", r"input  Où ? \u65e5", id="those of Western Europe"),
        pytest.param("ascii", r"input  O\xf9 ? \u65e5", id="ASCII alone"),
    ],
)
def test_what_a_stream_does_not_know_is_escaped(monkeypatch, encoding, shown):
    written = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(written, encoding=encoding))
    print_summary("input  Où ? 日")
    assert written.getvalue().decode(encoding) == shown
