"""The list of recorded sessions: in the width of the terminal, with a heading over each column."""

import pytest
from rich.cells import cell_len

from evalmark.core.values.session import Session
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.terminal.sessions import session_list_screen
from evalmark.storage.sessions.store import RecordedSession


def recorded(project, dropped=0, asked="Is Oslo in Norway, or where else?"):
    session = Session(id="d43cad3207d12e32", project=project, started="2026-11-22T04:34:13Z", dropped=dropped)
    return RecordedSession(session=session, answers=3, spans=9, failed=0, labels=1, first_input=asked)


@pytest.mark.parametrize("width", [70, 80, 100, 140])
@pytest.mark.parametrize("project", ["shop", "demoChatGPT", "a project of a very long name, longer than any"])
@pytest.mark.parametrize("dropped", [0, 12])
def test_each_session_is_one_line_below_one_heading(width, project, dropped):
    listed = session_list_screen([recorded(project, dropped), recorded("other")], TerminalStyle(width=width))
    header, line, _ = listed.strip("\n").splitlines()
    assert max(map(cell_len, (header, line))) <= width
    assert header.split()[:2] == ["session", "project"]
    assert line.split()[0] == "d43cad3207d12e32"
    assert project[:8] in line
    assert ("dropped" in header, line.endswith("  12")) == ((True, True) if dropped else (False, False))
    assert ("input" in header) is ("Is Oslo" in line)
    assert "input" in header or (dropped and width < 100)
    assert ("started" in header) <= ("input" in header)
    assert "started" in header or width < 140


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        pytest.param({"question": "Is Oslo\nin Norway?"}, "Is Oslo in Norway?", id="the one text of an input"),
        pytest.param({"a": 1, "b": 2}, '{"a": 1, "b": 2}', id="several arguments"),
        pytest.param("長" * 40, "長" * 10, id="characters that take two columns"),
        pytest.param("\x1b[31mred\ud800", "red", id="what a terminal would act on"),
        pytest.param("", "", id="an empty question"),
        pytest.param(None, "", id="no answer yet"),
    ],
)
def test_the_first_question_stands_in_its_column(asked, shown):
    said = session_list_screen([recorded("shop", asked=asked), recorded("shop")], TerminalStyle(width=80))
    assert shown in said
    assert "\x1b" not in said
    assert max(map(cell_len, said.splitlines())) <= 80
    assert len(said.strip("\n").splitlines()) == 5


def test_a_project_that_all_sessions_share_is_named_once():
    said = session_list_screen([recorded("shop"), recorded("shop")], TerminalStyle(width=60))
    assert said.count("shop") == 1
    assert "input" in said
