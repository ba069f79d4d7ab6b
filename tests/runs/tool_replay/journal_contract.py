"""What every journal of tools promises, as tests: its own test class inherits these and says how to open one."""

import threading
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from evalmark.core.protocols import ToolLog
from evalmark.core.values.tool import ToolRecording, tool_key

ARGUMENTS = {"query": "tea", "deep": {"é": ["日本", 1, 1.5, None, True, "\ud800"]}}


def recording(query: str = "tea", result: object = ("All about tea",), **more) -> ToolRecording:
    arguments = ARGUMENTS | {"query": query}
    fields = {
        "key": tool_key("search", "1", arguments, "Which tea?"),
        "tool": "search",
        "version": "1",
        "arguments": arguments,
        "input": "Which tea?",
        "result": list(result) if isinstance(result, tuple) else result,
        "created": "2026-01-01T00:00:00.000000+00:00",
    }
    return ToolRecording(**{**fields, **more})


class ToolJournalContract:
    """Inherit it, and say how to open a journal."""

    def open(self, tmp_path) -> AbstractContextManager[ToolLog]:
        """A new journal at this place."""
        raise NotImplementedError

    def test_what_is_not_recorded_is_not_found(self, tmp_path):
        with self.open(tmp_path) as journal:
            assert journal.find(recording().key) is None

    @pytest.mark.parametrize(
        "result",
        [
            pytest.param(None, id="nothing"),
            pytest.param("", id="an empty text"),
            pytest.param([], id="an empty list"),
            pytest.param({"a": [1, -0.5, True, None, "é\x00\ud800"]}, id="nested data"),
            pytest.param(10**30, id="a large number"),
        ],
    )
    def test_what_is_kept_is_found_as_it_was(self, tmp_path, result):
        with self.open(tmp_path) as journal:
            kept = journal.keep(recording(result=result))
            assert kept == journal.find(recording().key) == recording(result=result)

    def test_the_first_of_several_stays_and_all_go_on_with_it(self, tmp_path):
        later = recording(result=("Something else",), created="2026-01-02T00:00:00.000000+00:00")
        with self.open(tmp_path) as journal:
            journal.keep(recording())
            assert journal.keep(later) == recording()
            assert journal.find(recording().key) == recording()

    def test_one_that_is_wanted_anew_takes_its_place(self, tmp_path):
        later = recording(result=("Something else",), created="2026-01-02T00:00:00.000000+00:00")
        with self.open(tmp_path) as journal:
            journal.keep(recording())
            assert journal.keep(later, overwrite=True) == later
            assert journal.find(recording().key) == later

    def test_whoever_changes_a_result_changes_his_own(self, tmp_path):
        with self.open(tmp_path) as journal:
            given = recording()
            for holder in (given, journal.keep(given), journal.find(given.key)):
                holder.result.append("more")
            assert journal.find(given.key) == recording()

    def test_many_threads_keep_one_key_and_all_get_the_same(self, tmp_path):
        kept: list[ToolRecording] = []
        start = threading.Barrier(8)

        def work(number: int) -> None:
            start.wait()
            for turn in range(10):
                mine = recording(f"query {turn}", result=number, created=f"2026-01-01T00:00:0{number}.000000+00:00")
                got = journal.keep(mine)
                kept.append(got)
                assert journal.find(mine.key) == got

        with self.open(tmp_path) as journal:
            threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(kept) == 80
            for one in kept:
                assert journal.find(one.key) == replace(one)
