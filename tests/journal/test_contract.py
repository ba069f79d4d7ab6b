"""The journal in the store keeps the promise of every journal."""

from contextlib import closing, contextmanager

import apsw

from evalmark.journal.sent import Pass, interrupted
from evalmark.store import open_store
from tests.calls.journal_contract import JournalContract
from tests.store import sample


class TestJournalOfARun(JournalContract):
    @contextmanager
    def open(self, tmp_path):
        with open_store(tmp_path / "evalmark.db") as store:
            store.start(sample.run())
            self.path = store.path
            yield store.journal(sample.run().id)

    def under_way(self, journal):
        with closing(apsw.Connection(str(self.path))) as db:
            return interrupted(db, self.path, Pass(1, 1))
