"""The journal in the store keeps the promise of every journal."""

from contextlib import contextmanager

import apsw

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
        db = apsw.Connection(str(self.path))
        count = db.execute("select count(*) from sent").get
        db.close()
        return count
