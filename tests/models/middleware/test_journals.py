"""The journal in memory keeps the promise of every journal."""

import asyncio
from contextlib import nullcontext

import pytest

from evalmark.errors import StoreFullError
from evalmark.testing.memory import MemoryCallLog

from .journal_contract import JournalContract, call


class TestMemoryJournal(JournalContract):
    def open(self, tmp_path):
        return nullcontext(MemoryCallLog())

    def in_flight(self, journal):
        return len(journal.in_flight)


class TestSlowMemoryJournal(JournalContract):
    def open(self, tmp_path):
        return nullcontext(MemoryCallLog(seconds=0.001))

    def in_flight(self, journal):
        return len(journal.in_flight)


def test_a_full_journal_says_so_and_keeps_what_it_has():
    journal = MemoryCallLog(full_after=1)
    asyncio.run(journal.keep(call("one")))
    with pytest.raises(StoreFullError, match="full"):
        asyncio.run(journal.keep(call("two")))
    assert [kept.key for kept in journal.calls] == [call("one").key]
    assert asyncio.run(journal.find(call("two").key)) is None
