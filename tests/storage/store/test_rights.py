"""What docs/how-to/team-store.md says to an administrator, done to the letter on a real server; then each role works under its rights."""

import re
import subprocess

import pytest

from evalmark.core.values.label import Label
from evalmark.errors import StoreError
from evalmark.storage.store.location import store_exists, store_is_writable
from evalmark.store import open_store
from tests.conftest import ROOT
from tests.postgres import program

from . import sample
from .conftest import go_on, record

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'evalmark[postgres]'")
ROLES = ("ann", "bob", "evalmark_owner", "evalmark_writers", "evalmark_readers")
LABEL = Label(about="x", liked=True, by="ann", created="2026-11-22T02:00:00+00:00", content="c")


@pytest.fixture
def team(postgres, world):
    """The address of the database for each of the roles that the page names."""
    page = (ROOT / "docs" / "how-to" / "team-store.md").read_text(encoding="utf-8")
    database, roles = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    evals = postgres.replace("/postgres", "/evals")
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(database)
    with psycopg.connect(evals, autocommit=True) as db:
        db.execute(roles)
    yield lambda role: evals.replace("//evalmark@", f"//{role}@")
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("drop database evals with (force)")
        for role in ROLES:
            db.execute(f"drop role {role}")


def refused(address: str, sql: str) -> None:
    with psycopg.connect(address, autocommit=True) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute(sql)


def test_three_roles_do_what_they_may_and_nothing_else(team):
    for early in ("ann", "bob"):
        assert not store_exists(team(early))
    with pytest.raises(StoreError, match=r"this user lacks a permission .*docs/how-to/team-store\.md"):
        open_store(team("ann"))
    open_store(team("evalmark_owner")).close()

    with open_store(team("ann")) as store:
        record(store, sample.run(), sample.trials([sample.case(1)]), status="interrupted")
        assert go_on(store, sample.run().id, sample.trials([sample.case(1), sample.case(2)])) == ["case-02"]
        store.sessions.add_labels([LABEL])
        record(store, sample.run("gone"), [])
        store.forget("gone")
        assert store.recordings.clear() == 0
    assert store_is_writable(team("ann"))

    with open_store(team("bob"), read_only=True) as store:
        assert [run.id for run in store.runs()] == [sample.run().id]
        assert len(store.run("last").results) == 2
        assert store.browse(sample.run().id).verdicts() == {"pass": 2}
        assert store.sessions.all_labels() == [LABEL]
    assert not store_is_writable(team("bob"))
    with open_store(team("bob")) as store, pytest.raises(StoreError, match="this user lacks a permission"):
        store.sessions.add_labels([LABEL])

    for role in ("ann", "bob"):
        for sql in ("drop table evalmark.run", "alter table evalmark.run add column x text", "truncate evalmark.label"):
            refused(team(role), sql)
        refused(team(role), "create table evalmark.other (x text)")
        refused(team(role), "create schema other")
    refused(team("bob"), "delete from evalmark.run")
    refused(team("evalmark_owner"), "create schema other")


def test_a_backup_is_the_whole_store(team, postgres):
    with open_store(team("evalmark_owner")) as store:
        record(store, sample.run(), sample.trials([sample.case(n) for n in range(5)]))
        before = [*store.run("last").results]
    dump, psql = program("pg_dump"), program("psql")
    if dump is None or psql is None:
        pytest.skip("there is no pg_dump here")
    evals = postgres.replace("/postgres", "/evals")
    kept = subprocess.run([dump, "--schema=evalmark", evals], capture_output=True, check=True)
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute("create database restored")
    restored = postgres.replace("/postgres", "/restored")
    try:
        subprocess.run(
            [psql, "-q", "-v", "ON_ERROR_STOP=1", restored], input=kept.stdout, capture_output=True, check=True
        )
        with open_store(restored) as store:
            assert [*store.run("last").results] == before
            record(store, sample.run("after"), [])
            assert store.browse("last").verdicts() == {}
    finally:
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute("drop database restored with (force)")
