"""Every journal of tools keeps the same promise."""

from contextlib import contextmanager

import pytest

from evalmark.errors import DamagedRecordingError, StoreFullError
from evalmark.runs.session.run_store import MemoryRunStore
from evalmark.testing.memory import MemoryToolLog

from .journal_contract import ToolJournalContract, recording


class TestMemory(ToolJournalContract):
    @contextmanager
    def open(self, tmp_path):
        yield MemoryRunStore().tool_log()


class TestTheOneForTests(ToolJournalContract):
    @contextmanager
    def open(self, tmp_path):
        yield MemoryToolLog()


def test_the_one_for_tests_is_damaged_and_full_where_it_is_told_to_be():
    journal = MemoryToolLog(full_after=1, damaged={recording().key})
    with pytest.raises(DamagedRecordingError):
        journal.find(recording().key)
    journal.keep(recording())
    assert journal.find(recording().key) == recording()
    with pytest.raises(StoreFullError):
        journal.keep(recording("coffee"))
