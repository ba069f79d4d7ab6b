"""The journal in the store keeps the promise of every journal."""

from contextlib import closing, contextmanager

import pytest

from evalmark.storage.call_log.requests_in_flight import RunPass, interrupted
from evalmark.storage.database.open import open_read_only, parse_store_location
from evalmark.store import open_store
from tests.models.middleware.journal_contract import JournalContract
from tests.storage.store import sample


class TestJournalOfARun(JournalContract):
    @contextmanager
    def open(self, tmp_path):
        with open_store(tmp_path / "evalmark.db") as store:
            store.start(sample.run())
            self.path, self.store = store.path, store
            yield store.call_log(sample.run().id)

    def in_flight(self, journal):
        self.store.runs()  # moves the calls of this process into the store
        with closing(open_read_only(self.path)) as db:
            return interrupted(db, self.path, RunPass(1, 1))


@pytest.mark.slow
class TestJournalOfARunOnAServer(TestJournalOfARun):
    @pytest.fixture(autouse=True)
    def _server(self, on_a_server, world):
        self.address = on_a_server

    @contextmanager
    def open(self, tmp_path):
        with open_store(self.address) as store:
            if not store.runs():
                store.start(sample.run())
            else:
                store.resume(sample.run().id)
            self.path, self.store = parse_store_location(self.address), store
            yield store.call_log(sample.run().id)
