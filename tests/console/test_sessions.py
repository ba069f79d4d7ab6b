"""The list of recorded sessions: in the width of the terminal, with a heading over each column."""

import pytest
from rich.cells import cell_len

from evalmark.console import Look, session_list
from evalmark.traffic import Recorded
from evalmark.values import Session


def recorded(project, dropped=0):
    session = Session(id="d43cad3207d12e32", project=project, started="2026-11-22T04:34:13Z", dropped=dropped)
    return Recorded(session=session, answers=3, spans=9, failed=0, labels=1)


@pytest.mark.parametrize("width", [70, 80, 100, 140])
@pytest.mark.parametrize("project", ["shop", "demoChatGPT", "a project of a very long name, longer than any"])
@pytest.mark.parametrize("dropped", [0, 12])
def test_each_session_is_one_line_below_one_heading(width, project, dropped):
    header, line = session_list([recorded(project, dropped)], Look(width=width)).strip("\n").splitlines()
    assert max(map(cell_len, (header, line))) <= width
    assert header.split()[:2] == ["session", "project"]
    assert line.split()[0] == "d43cad3207d12e32"
    assert project[:8] in line
    assert ("dropped" in header, line.endswith("  12")) == ((True, True) if dropped else (width >= 100, False))
