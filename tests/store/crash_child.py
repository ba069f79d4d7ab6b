"""The process that is killed: reads one job a line, forks for each, tells how it ended.

A job writes, or resumes, the twenty results of `sample`, and says after each batch which
results were acknowledged; `at` and `how` say where the disk fails.
"""

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import sample

from evalmark.store import open_store
from evalmark.store.opening import writing
from evalmark.store.schema import STEPS
from evalmark.testing.crash import Disk

BATCH = 3


def s2_title(db) -> None:
    db.execute("alter table run add column title text")
    db.execute("update run set title = upper(id)")


def go_on(path: Path, say) -> None:
    """Start the run or take it up where it stands, to its end."""
    with open_store(path) as store:
        header = sample.run()
        if store.runs():
            header = store.resume(header.id)
        else:
            store.start(header)
        recorded, sink = store.recorded(header.id), store.sink(header.id)
        todo = [trial for trial in sample.trials([sample.case(n) for n in range(20)]) if not recorded(trial)]
        for first in range(0, len(todo), BATCH):
            batch = todo[first : first + BATCH]
            asyncio.run(sink.write([sample.answered(trial) for trial in batch]))
            say("acknowledged", [trial.case.id for trial in batch])
        store.finish(replace(header, status="complete", finished="2026-11-21T15:00:00Z"))
        say("finished", True)


def migrate(path: Path, say) -> None:
    writing(path, print, steps=(*STEPS, s2_title)).close()
    say("finished", True)


JOBS = {"go_on": go_on, "migrate": migrate}


def child(job: dict, out: int) -> None:
    def say(what: str, value) -> None:
        os.write(out, json.dumps({what: value}).encode() + b"\n")

    folder = Path(job["folder"])
    with Disk(folder, at=job["at"], how=job["how"]) as disk:
        try:
            JOBS[job["job"]](folder / ".evalmark" / "evalmark.db", say)
        except Exception as error:  # noqa: BLE001  told to the test
            say("error", f"{type(error).__name__}: {error}")
    say("changes", disk.changes)


def main() -> None:
    for line in sys.stdin:
        reading, out = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(reading)
            child(json.loads(line), out)
            os._exit(0)
        os.close(out)
        with os.fdopen(reading) as said:
            told = [json.loads(text) for text in said]
        _, status = os.waitpid(pid, 0)
        report = {"killed": os.WIFSIGNALED(status), "acknowledged": [], "changes": None, "finished": False, "error": None}
        for item in told:
            if "acknowledged" in item:
                report["acknowledged"] += item["acknowledged"]
            else:
                report |= item
        print(json.dumps(report), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
