"""Every field of every value that is stored has its place in the store."""

from dataclasses import fields

import pytest

from evalmark import Case, Output, Run, Score
from evalmark.core.values.call import Attempt, Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.storage.database import field_specs as specs

LEFT_OUT = {Case: {"place"}, Run: {"results"}, Call: {"error", "masked"}}
"""A column of its own; rows of their own; a file of recordings holds no call that failed or is masked."""


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param(kind, spec, id=kind.__name__)
        for kind, spec in {
            Case: specs.CASE,
            Output: specs.OUTPUT,
            Score: specs.SCORE,
            Run: specs.RUN,
            Request: specs.REQUEST,
            Reply: specs.REPLY,
            Usage: specs._USAGE,
            Attempt: specs._ATTEMPT,
            Call: specs.CALL,
        }.items()
    ],
)
def test_no_field_is_forgotten(kind, spec):
    assert {field.name for field in fields(kind)} - LEFT_OUT.get(kind, set()) == set(spec)
