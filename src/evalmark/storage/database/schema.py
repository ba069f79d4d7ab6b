"""The tables of a store, as numbered migration steps. Steps are appended and never edited."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from evalmark.core.errors import StoreError

from .connection import Connection, FileConnection
from .fields import sortable_time

APPLICATION = 0x65766D6B
"""SQLite's `application_id` of every store: "evmk"."""

Step = Callable[[Connection], None]


def s1_runs_results_vectors(db: Connection) -> None:
    """Runs, their results, and the vectors of texts."""
    db.execute("""
        create table run (
            number integer primary key autoincrement,  -- orders runs; a clock may jump
            id text not null unique,
            plan any not null,
            suite any not null,
            status text not null,
            pass integer not null,                     -- counts start and every resume
            holder text,                               -- the process that writes it, as JSON
            header text not null                       -- all other fields, as JSON
        ) strict;
        create table result (
            number integer primary key,
            run integer not null references run(number) on delete cascade,
            pass integer not null,                     -- when it was last confirmed; 0: no longer part of the run
            source integer not null,                   -- which of the run's datasets, from 0
            dataset any not null,                      -- names are bytes where they hold lone surrogates
            position integer not null,
            repeat integer not null,
            target any not null,
            case_id any not null,
            fingerprint text not null,
            verdict text not null,
            seconds real,
            place any not null,
            scores text not null,                      -- JSON
            output text not null,                      -- JSON
            content text not null,                     -- the case, as JSON
            checksum integer not null                  -- CRC-32; disks forget, and SQLite does not notice
        ) strict;
        create unique index result_once on result(run, dataset, case_id, target, repeat, fingerprint);
        create index result_order on result(run, source, dataset, position, repeat, target);
        create index result_verdict on result(run, verdict);
        create table vector (
            key blob primary key,                      -- SHA-256 of model and text
            numbers blob not null                      -- float32, little end first
        ) strict;
    """)


def s2_calls_and_modes(db: Connection) -> None:
    """Calls of chat models, what each run spent on them, and the mode of a trial."""
    db.execute("""
        create table call (
            number integer primary key,
            key any not null unique,                   -- who is asked what, for which repeat, the which time in a trial
            ok integer not null,                       -- 1: the reply may be replayed
            run integer,                               -- the number of the last run that paid for it
            model any not null,
            created any not null,
            input_tokens integer,
            output_tokens integer,
            cost real,
            identity any not null,
            repeat integer not null,
            use integer not null,
            error any,
            request text not null,                     -- JSON
            reply text,                                -- JSON
            checksum integer not null                  -- CRC-32
        ) strict;
        create table sent (                            -- requests that went out, and that no call was kept for
            run integer primary key,
            pass integer not null,                     -- the one that said so last
            known integer not null,                    -- bytes of its file of notes; what stands after them is under way
            under_way text not null,                   -- JSON: the keys that are, of those noted in these bytes
            lost text not null                         -- JSON: key to passes that sent it and never heard of it
        ) strict;
        create table spent (                           -- grows with every call that is kept
            run integer not null,
            model any not null,
            calls integer not null,
            failed integer not null,
            repeated integer not null,
            attempts integer not null,
            input_tokens integer not null,
            output_tokens integer not null,
            unknown_usage integer not null,
            cost real,
            unknown_cost integer not null,
            primary key (run, model)
        ) strict, without rowid;
        alter table result add column mode text not null default 'single';
        drop index result_once;
        create unique index result_once on result(run, dataset, case_id, target, repeat, mode, fingerprint);
        drop index result_order;
        create index result_order on result(run, source, dataset, position, repeat, target, mode);
    """)


def s3_tools(db: Connection) -> None:
    """Recorded calls of tools."""
    db.execute("""
        create table tool_call (
            number integer primary key,
            key text not null unique,                  -- which tool, in which version, asked what, for which input
            run integer,                               -- the number of the run that recorded it
            tool any not null,
            version any not null,
            created any not null,
            altered integer not null,                  -- 1: the key does not follow from what stands here
            arguments text not null,                   -- JSON
            input text not null,                       -- JSON
            result text not null,                      -- JSON
            checksum integer not null                  -- CRC-32
        ) strict;
    """)


def s4_sessions_and_labels(db: Connection) -> None:
    """Recorded sessions and spans of applications, and labels."""
    db.execute("""
        create table session (
            number integer primary key autoincrement,  -- orders sessions; a clock may jump
            id text not null unique,
            project any not null,
            dropped integer not null,
            header text not null                       -- all other fields, as JSON
        ) strict;
        create index session_project on session(project, number);
        create table span (
            number integer primary key autoincrement,
            id text not null unique,
            session text not null,
            project any not null,
            parent text not null,                      -- empty: an answer to a user
            template any not null,
            content text not null,                     -- the whole span, as JSON
            checksum integer not null                  -- CRC-32
        ) strict;
        create index span_session on span(session, number);
        create index span_project on span(project, number) where parent = '';
        create index span_template on span(template, number) where template != '';
        create table label (                           -- only ever grows
            number integer primary key autoincrement,
            about any not null,
            fingerprint text not null,                 -- of what it was said of; the same output elsewhere has the same
            content text not null,                     -- the whole label, as JSON
            checksum integer not null                  -- CRC-32
        ) strict;
        create index label_about on label(about, number);
        create index label_fingerprint on label(fingerprint, number);
    """)


def s5_sorted_results(db: Connection) -> None:
    """Indexes for each sort order of results, so that one page of a large run reads only its own rows."""
    db.execute("""
        drop index result_order;
        create index result_order on result(run, source, dataset, position, repeat, target, mode, verdict)
        where pass > 0;
        drop index result_verdict;
        create index result_verdict on result(run, verdict, source, dataset, position, repeat) where pass > 0;
        create index result_seconds on result(run, seconds) where pass > 0;
        create table scored (                          -- may have what a result had before: the result decides
            run integer not null,
            metric any not null,
            value real not null,
            result integer not null,
            primary key (run, metric, value, result)
        ) strict, without rowid;
    """)
    runs: list[Any] = db.execute("select number from run").fetchall()
    for run in runs:  # one run at a time, because its scores are sorted in memory
        db.execute(_SCORED.format(number="value", condition=""), run)


_SCORED = """
    insert into scored (run, metric, value, result)
    select f.run, json_extract(f.score, '$.name') as metric, cast(json_extract(f.score, '$.{number}') as double precision), f.number
    from (
        select r.run, r.number, case when j.type = 'object' then j.value end as score
        from result r, json_each(case when json_valid(r.scores) then r.scores else '[]' end) j where r.run = ?
    ) f
    where json_type(f.score, '$.name') = 'text' and json_type(f.score, '$.{number}') in ('real', 'integer') {condition}
    order by 1, 2, 3, 4
    on conflict do nothing
"""
_WITHOUT_VALUE = "and coalesce(json_type(f.score, '$.value'), 'null') not in ('real', 'integer')"


def s6_label_samples(db: Connection) -> None:
    """Outputs that were drawn at random to be labelled."""
    db.execute("""
        create table label_sample (                    -- only ever grows
            number integer primary key autoincrement,
            run text not null,                         -- the id of the run
            content text not null,                     -- the whole sample, as JSON
            checksum integer not null                  -- CRC-32
        ) strict;
        create index label_sample_run on label_sample(run, number);
    """)


def s7_reply_log(db: Connection) -> None:
    """Files of replies next to the store."""
    db.execute("""
        create table reply_log (                       -- a row for each file, from before its first reply
            id text primary key,                       -- the last part of the name of the file
            processed integer                          -- bytes of it that are in this store; null: all, it may be deleted
        ) strict;
    """)


def s8_run_totals(db: Connection) -> None:
    """The totals of finished runs, which a list of runs shows."""
    db.execute("""
        create table run_total (                       -- calculated from the results; may be missing
            run integer not null primary key,
            pass integer not null,                     -- the pass of the run that they were calculated for
            version integer not null,                  -- how they were calculated
            content text not null                      -- JSON
        ) strict;
    """)


def s9_run_summaries(db: Connection) -> None:
    """The summaries of finished runs, which the viewer shows without reading the results."""
    db.execute("""
        create table run_summary (                     -- calculated from the results; may be missing
            run integer not null primary key,
            pass integer not null,                     -- the pass of the run that it was calculated for
            version integer not null,                  -- how it was calculated
            content text not null                      -- JSON
        ) strict;
    """)


def s10_stop_requests(db: Connection) -> None:
    """Requests to stop runs."""
    db.execute("""
        create table run_stop (                        -- a run whose process looks for requests
            run integer not null primary key,
            pass integer not null,                     -- the pass of the run that looks
            by text                                    -- who requested it to stop; null: nobody
        ) strict;
    """)


def s11_scores_in_own_units(db: Connection) -> None:
    """Index the scores of metrics in a unit of their own too, so that results are sorted and filtered by them."""
    runs: list[Any] = db.execute("select number from run").fetchall()
    for run in runs:
        db.execute(_SCORED.format(number="raw", condition=_WITHOUT_VALUE), run)


def s12_time_of_runs_and_services(db: Connection) -> None:
    """The time at which a run started, by which runs are listed, and whether its calls went to a service, not a model.

    The number of an imported run is newer than its time.
    """
    db.execute("alter table spent add column is_service integer not null default 0")  # an HTTP service or a command
    db.execute("alter table run add column created text not null default ''")  # in UTC, to sort; empty if unknown
    rows: list[Any] = db.execute("select number, header from run").fetchall()
    for number, header in rows:
        with suppress(ValueError, TypeError, KeyError):  # a damaged header, which is reported when the run is read
            db.execute(
                "update run set created = ? where number = ?", (sortable_time(json.loads(header)["created"]), number)
            )
    db.execute("create index run_created on run(created, number)")


STEPS: tuple[Step, ...] = (
    s1_runs_results_vectors,
    s2_calls_and_modes,
    s3_tools,
    s4_sessions_and_labels,
    s5_sorted_results,
    s6_label_samples,
    s7_reply_log,
    s8_run_totals,
    s9_run_summaries,
    s10_stop_requests,
    s11_scores_in_own_units,
    s12_time_of_runs_and_services,
)


@contextmanager
def transaction(db: Connection) -> Iterator[None]:
    """Run the block in one transaction. It takes the write lock at once, so it cannot fail later for want of it."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        if db.in_transaction:  # SQLite has already rolled back after some errors
            db.execute("rollback")
        raise


def version(db: FileConnection) -> int:
    """Return the number of migration steps that were applied."""
    return int(db.pragma("user_version"))


def migrate(db: FileConnection, path: Path, steps: Sequence[Step] = STEPS) -> None:
    """Apply the missing migration steps in one transaction, after a backup of the older store.

    Raises:
        StoreError: a newer evalmark wrote it.
    """
    refuse_newer(db, path, steps)
    if version(db) == len(steps):
        return
    with transaction(db):
        done = version(db)  # another process may have migrated the store meanwhile
        if 0 < done < len(steps):
            copy(path, path.with_name(f"{path.name}.v{done}.bak"))
        for step in steps[done:]:
            step(db)
        db.pragma("application_id", APPLICATION)
        db.pragma("user_version", max(done, len(steps)))


def refuse_newer(db: FileConnection, path: Path, steps: Sequence[Step] = STEPS) -> None:
    """Raise StoreError if a newer evalmark wrote the file."""
    if version(db) > len(steps):
        raise StoreError(
            f"{path}: a newer evalmark wrote this store (store version {version(db)}, this one knows {len(steps)}); "
            "update evalmark, or name another file with --store."
        )


def copy(path: Path, to: Path) -> None:
    """Copy the committed data to another file, completely or not at all."""
    partial = to.with_name(f"{to.name}.part")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(apsw.Connection(str(path))) as source, closing(apsw.Connection(str(partial))) as target:
        source.set_busy_timeout(60_000)
        with target.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(1_000)
        target.pragma("journal_mode", "delete")  # so that the copy is a single file
    os.replace(partial, to)  # noqa: PTH105  replaces on every system
