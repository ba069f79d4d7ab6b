"""Results that were found elsewhere, kept as a run."""

import time
from dataclasses import replace

import pytest

from evalmark.errors import StoreError
from evalmark.interop.promptpex.importer import read_promptpex
from evalmark.runs.execution.run_writer import save_runs
from evalmark.store import open_store
from tests.reports.text import sides


def test_a_run_is_kept_with_an_id_and_a_date_of_its_own(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        kept = save_runs([sides.RUN], store)[0]
        again = store.run(kept.id)
    assert kept.id != sides.RUN.id
    assert (again.status, again.name, again.metrics, again.repeat) == ("complete", "classify", sides.METRICS, 2)
    assert again.finished is not None
    assert set(again.versions) == {"evalmark", "python"}


def test_every_result_is_there_in_its_order(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        kept = save_runs([sides.RUN], store)[0]
        found = [(r.trial, r.output.value, r.output.error, r.verdict) for r in kept.results]
    assert sorted(found, key=repr) == sorted(
        ((r.trial, r.output.value, r.output.error, r.verdict) for r in sides.RUN.results), key=repr
    )
    places = [(trial.position, trial.repeat) for trial, *_ in found]
    assert places == sorted(places)


def test_many_results_are_written_in_several_transactions(tmp_path):
    one = next(iter(sides.RUN.results))
    many = [
        replace(one, trial=replace(one.trial, position=n, case=replace(one.trial.case, id=str(n)))) for n in range(2500)
    ]
    with open_store(tmp_path / "a.db") as store:
        kept = save_runs([replace(sides.RUN, results=iter(many))], store)[0]
        assert len(kept.results) == 2500


def test_two_imports_are_two_runs(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        assert len({save_runs([sides.RUN], store)[0].id, save_runs([sides.RUN], store)[0].id}) == 2


def test_a_store_for_reading_takes_none(tmp_path):
    open_store(tmp_path / "a.db").close()
    with open_store(tmp_path / "a.db", read_only=True) as store, pytest.raises(StoreError):
        save_runs([sides.RUN], store)


def test_the_published_results_of_four_prompts_are_read_and_kept_within_a_second(tmp_path, shared):
    folders = sorted(path for path in (shared / "data" / "promptpex" / "v7").glob("*") if path.is_dir())
    started = time.process_time()
    with open_store(tmp_path / "a.db") as store:
        kept = [save_runs([read_promptpex(folder)], store)[0] for folder in folders]
        assert time.process_time() - started <= 1
        assert sum(len(run.results) for run in kept) == 1320
