"""What the store promises to whoever writes and reads runs."""

import asyncio
import pickle
import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evalmark import Case, Output, Result
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.errors import StoreBusyError, StoreError
from evalmark.storage.results.run_ids import new_run_id
from evalmark.store import open_store

from . import sample
from .conftest import go_on, record, save
from .places import in_a_file

EVERYWHERE = True


def cases(*numbers: int, **fields) -> list[Case]:
    return [sample.case(number, **fields) for number in numbers]


def ids(run) -> list[str]:
    return [result.trial.case.id for result in run.results]


def test_a_finished_run_comes_back_as_it_was(store, finished):
    assert replace(finished, results=()) == sample.run(status="complete")
    assert list(finished.results) == [sample.answered(trial) for trial in sample.trials(cases(*range(5)))]
    assert len(finished.results) == 5
    assert list(finished.results)[2] in finished.results


def test_results_come_in_the_order_of_datasets_positions_and_repeats(store):
    run = replace(sample.run(), datasets=(DatasetInfo(name="z"), DatasetInfo(name="a")), repeat=2)
    wanted = [trial for name in "za" for trial in sample.trials(cases(*range(4)), repeats=2, dataset=name)]
    shuffled = random.Random(1).sample(wanted, len(wanted))  # noqa: S311
    record(store, run, shuffled)
    assert [result.trial for result in store.run(run.id).results] == wanted


def test_more_results_than_a_page_come_once_each_and_in_order(store):
    wanted = sample.trials(cases(*range(1_203)))
    record(store, sample.run(), wanted[700:] + wanted[:700])
    assert [result.trial for result in store.run("last").results] == wanted


def test_results_can_be_read_after_the_store_is_closed_and_in_another_process(path):
    with open_store(path) as store:
        record(store, sample.run(), sample.trials(cases(1, 2)))
        run = store.run("last")
    assert ids(pickle.loads(pickle.dumps(run))) == ["case-01", "case-02"]  # noqa: S301  our own bytes


def test_iterating_twice_at_once_mixes_nothing_up(finished):
    assert all(one == two for one, two in zip(finished.results, finished.results, strict=True))


def test_saving_a_trial_again_replaces_its_result(store):
    (trial,) = sample.trials(cases(1))
    store.start(sample.run())
    save(store, sample.run().id, [trial])
    better = replace(sample.answered(trial), output=Output(value="better"))
    asyncio.run(store.sink(sample.run().id).write([better]))
    assert list(store.run("last").results) == [better]


class TestResume:
    def test_only_what_is_missing_is_computed(self, store):
        wanted = sample.trials(cases(*range(6)))
        record(store, sample.run(), wanted[:4], status="interrupted")
        assert go_on(store, sample.run().id, wanted) == ["case-04", "case-05"]
        assert [result.trial for result in store.run("last").results] == wanted

    def test_a_new_run_has_nothing_recorded(self, store):
        store.start(sample.run())
        trials = sample.trials(cases(1))
        save(store, sample.run().id, trials)
        assert not store.recorded(sample.run().id)(trials[0])

    def test_an_edited_case_runs_again_and_replaces_its_old_result(self, store):
        record(store, sample.run(), sample.trials(cases(1, 2, 3)), status="interrupted")
        edited = sample.trials([sample.case(1), sample.case(2, wording="How much is"), sample.case(3)])
        assert go_on(store, sample.run().id, edited) == ["case-02"]
        assert [result.trial for result in store.run("last").results] == edited

    def test_an_edited_case_hides_its_old_result_at_once(self, store):
        record(store, sample.run(), sample.trials(cases(1, 2, 3)), status="interrupted")
        edited = sample.trials([sample.case(1, wording="How much is")])
        go_on(store, sample.run().id, edited, status="interrupted")
        assert [result.trial.case.input[:8] for result in store.run("last").results] == [
            "How much",
            "What is ",
            "What is ",
        ]

    def test_a_case_that_is_edited_back_is_not_computed_again(self, store):
        original = sample.trials(cases(1, 2))
        record(store, sample.run(), original, status="interrupted")
        go_on(store, sample.run().id, sample.trials(cases(1, 2, wording="How much is")), status="interrupted")
        assert go_on(store, sample.run().id, original) == []
        assert [result.trial for result in store.run("last").results] == original

    def test_results_follow_cases_that_moved(self, store):
        record(store, sample.run(), sample.trials(cases(1, 2, 3)), status="interrupted")
        moved = [replace(one, place=f"moved.jsonl:{line}") for line, one in enumerate(cases(3, 1, 4, 2), start=1)]
        assert go_on(store, sample.run().id, sample.trials(moved)) == ["case-04"]
        assert list(store.run("last").results) == [sample.answered(trial) for trial in sample.trials(moved)]

    def test_cases_that_vanished_are_left_out_of_a_complete_run(self, store):
        record(store, sample.run(), sample.trials(cases(1, 2, 3)), status="interrupted")
        assert go_on(store, sample.run().id, sample.trials(cases(1, 3))) == []
        assert ids(store.run("last")) == ["case-01", "case-03"]
        assert len(store.run("last").results) == 2

    def test_cases_that_were_not_reached_stay_in_an_interrupted_run(self, store):
        record(store, sample.run(), sample.trials(cases(1, 2, 3)), status="interrupted")
        go_on(store, sample.run().id, sample.trials(cases(1)), status="interrupted")
        assert ids(store.run("last")) == ["case-01", "case-02", "case-03"]

    @in_a_file
    def test_thousands_of_moved_cases_are_confirmed(self, store):
        wanted = sample.trials(cases(*range(5_200)))
        record(store, sample.run(), wanted, status="interrupted")
        backwards = sample.trials([trial.case for trial in reversed(wanted)])
        assert go_on(store, sample.run().id, backwards) == []
        assert [result.trial for result in store.run("last").results] == backwards

    @in_a_file
    def test_what_was_seen_is_kept_when_saving_fails(self, path):
        wanted = sample.trials(cases(1, 2, 3))
        with open_store(path) as store:
            record(store, sample.run(), wanted, status="interrupted")
        with open_store(path, max_pages=1) as store:  # no page more than there are
            store.resume(sample.run().id)
            recorded = store.recorded(sample.run().id)
            assert all(recorded(trial) for trial in wanted)
            huge = Result(trial=sample.trials(cases(9))[0], output=Output(value="x" * 200_000))
            with pytest.raises(StoreError, match="full"):
                asyncio.run(store.sink(sample.run().id).write([huge]))
            store.finish(sample.run(status="complete"))
            assert ids(store.run("last")) == ["case-01", "case-02", "case-03"]

    def test_the_same_case_on_another_target_repeat_or_mode_is_another_trial(self, store):
        (trial,) = sample.trials(cases(1))
        record(store, sample.run(), [trial], status="interrupted")
        store.resume(sample.run().id)
        recorded = store.recorded(sample.run().id)
        others = [
            replace(trial, target="app:other"),
            replace(trial, repeat=1),
            replace(trial, dataset="other"),
            replace(trial, mode="conversation"),
        ]
        assert [recorded(other) for other in [trial, *others]] == [True, False, False, False, False]

    def test_both_modes_of_a_case_are_kept_and_come_in_one_order(self, store):
        singles = sample.trials(cases(1, 2, 3))
        turns = [replace(trial, mode="conversation") for trial in singles]
        record(store, sample.run(), [*singles, *reversed(turns)], status="interrupted")
        wanted = [trial for pair in zip(turns, singles, strict=True) for trial in pair]
        assert [result.trial for result in store.run("last").results] == wanted
        edited = sample.trials([sample.case(1), sample.case(2, wording="How much is"), sample.case(3)])
        assert go_on(store, sample.run().id, [*edited, *turns]) == ["case-02"]
        assert (
            sorted(result.trial.mode for result in store.run("last").results) == ["conversation"] * 3 + ["single"] * 3
        )

    def test_the_output_of_a_recorded_trial_is_given(self, store):
        known, new = sample.trials(cases(1, 2))
        record(store, sample.run(), [known], status="interrupted")
        store.resume(sample.run().id)
        recorded = store.recorded(sample.run().id)
        assert recorded.output(known) == sample.answered(known).output
        assert recorded.output(new) is None
        moved = replace(known, position=7, case=replace(known.case, place="elsewhere:3"))
        assert recorded.output(moved) == sample.answered(known).output

    @in_a_file
    def test_the_output_of_a_damaged_result_is_not_made_up(self, store, path):
        import apsw

        (known,) = sample.trials(cases(1))
        record(store, sample.run(), [known], status="interrupted")
        db = apsw.Connection(str(path))
        db.execute("update result set output = replace(output, '1', '2')")
        db.close()
        store.resume(sample.run().id)
        with pytest.raises(StoreError, match=r"case 'case-01' of 'squares.jsonl' is damaged"):
            store.recorded(sample.run().id).output(known)

    def test_a_complete_run_takes_further_cases(self, store):
        record(store, sample.run(), sample.trials(cases(1, 2)))
        assert go_on(store, sample.run().id, sample.trials(cases(1, 2, 3))) == ["case-03"]
        run = store.run("last")
        assert (run.status, ids(run)) == ("complete", ["case-01", "case-02", "case-03"])


class TestRetryingErrors:
    """A run of four cases, of which 1 and 3 ended in an error."""

    @pytest.fixture
    def trials(self, store):
        trials = sample.trials(cases(*range(4)))
        store.start(sample.run())
        asyncio.run(store.sink(sample.run().id).write([self.ended(trial) for trial in trials]))
        store.finish(sample.run(status="complete"))
        return trials

    @staticmethod
    def ended(trial) -> Result:
        broken = trial.case.metadata["number"] % 2
        return Result(trial=trial, output=Output(error="down")) if broken else sample.answered(trial)

    @pytest.mark.parametrize("said", ["on resuming", "on asking"])
    def test_errors_are_run_again_and_replaced_and_nothing_else_is(self, store, trials, said):
        store.resume(sample.run().id, retry_errors=said == "on resuming")
        recorded = store.recorded(sample.run().id, retry_errors=said == "on asking")
        todo = [trial for trial in trials if not recorded(trial)]
        assert [trial.case.id for trial in todo] == ["case-01", "case-03"]
        save(store, sample.run().id, todo)
        store.finish(sample.run(status="complete"))
        assert list(store.run("last").results) == [sample.answered(trial) for trial in trials]

    def test_they_are_recorded_unless_one_asks_to_retry(self, store, trials):
        store.resume(sample.run().id)
        assert all(map(store.recorded(sample.run().id), trials))

    def test_what_breaks_again_is_the_newer_error(self, store, trials):
        store.resume(sample.run().id, retry_errors=True)
        assert not store.recorded(sample.run().id)(trials[1])
        again = Result(trial=trials[1], output=Output(error="still down"))
        asyncio.run(store.sink(sample.run().id).write([again]))
        store.finish(sample.run(status="interrupted"))
        assert [result.output.error for result in store.run("last").results] == [None, "still down", None, "down"]

    def test_errors_that_were_met_and_not_run_again_stay_part_of_a_complete_run(self, store, trials):
        """Those beyond `--limit`, or of cases that a filter leaves out."""
        store.resume(sample.run().id, retry_errors=True)
        recorded = store.recorded(sample.run().id)
        assert [recorded(trial) for trial in trials] == [True, False, True, False]
        save(store, sample.run().id, [trials[1]])
        store.finish(sample.run(status="complete"))
        assert [result.verdict for result in store.run("last").results] == ["fail", "pass", "pass", "error"]

    def test_a_pass_that_breaks_off_loses_no_error_and_retries_the_rest_next_time(self, store, trials):
        store.resume(sample.run().id, retry_errors=True)
        recorded = store.recorded(sample.run().id)
        assert not recorded(trials[1])
        save(store, sample.run().id, [trials[1]])
        store.finish(sample.run(status="interrupted"))
        assert len(store.run("last").results) == 4
        store.resume(sample.run().id, retry_errors=True)
        recorded = store.recorded(sample.run().id)
        assert [trial.case.id for trial in trials if not recorded(trial)] == ["case-03"]

    def test_the_next_resume_does_not_retry_by_itself(self, store, trials):
        store.resume(sample.run().id, retry_errors=True)
        store.finish(sample.run(status="interrupted"))
        store.resume(sample.run().id)
        assert all(map(store.recorded(sample.run().id), trials))

    def test_a_complete_run_with_errors_is_found_only_by_one_who_retries(self, store, trials):
        assert store.unfinished("p", "s.yaml") is None
        assert store.unfinished("p", "s.yaml", retry_errors=True).id == sample.run().id
        assert store.unfinished("p", "other", retry_errors=True) is None
        store.resume(sample.run().id, retry_errors=True)
        save(store, sample.run().id, [trial for trial in trials if not store.recorded(sample.run().id)(trial)])
        store.finish(sample.run(status="complete"))
        assert store.unfinished("p", "s.yaml", retry_errors=True) is None


class TestFinding:
    @pytest.fixture
    def three(self, store):
        for name in ("20261121-143205-aaaa", "20261121-143205-abcd", "20261122-000000-zzzz"):
            record(store, sample.run(name), [])
        return store

    @pytest.mark.parametrize(
        ("reference", "found"),
        [
            pytest.param("20261121-143205-abcd", "20261121-143205-abcd", id="a whole id"),
            pytest.param("20261122", "20261122-000000-zzzz", id="the only id that starts so"),
            pytest.param("last", "20261122-000000-zzzz", id="the newest"),
            pytest.param("last~2", "20261121-143205-aaaa", id="two before the newest"),
        ],
    )
    def test_a_run_is_found(self, three, reference, found):
        assert three.run(reference).id == found

    @pytest.mark.parametrize(
        ("reference", "said"),
        [
            pytest.param("20261121", "2 runs start with '20261121'.*abcd, .*aaaa", id="a start that two runs share"),
            pytest.param(
                "20261122-000000-zzzy", r"stored runs include 20261122-000000-zzzz \(.+?\)", id="a slip of the finger"
            ),
            pytest.param("%", "no run '%'", id="a wildcard is no wildcard"),
            pytest.param("last~3", "no run 'last~3'; the store has 3", id="further back than there are runs"),
            pytest.param(f"last~{10**30}", "0'; the store has 3", id="further back than SQLite can count"),
            pytest.param(f"last~{'9' * 5000}", "9'; the store has 3", id="further back than Python reads a number"),
            pytest.param("", "no run ''", id="nothing at all"),
        ],
    )
    def test_a_run_that_is_not_there_is_said(self, three, reference, said):
        with pytest.raises(StoreError, match=said):
            three.run(reference)

    def test_an_empty_store_says_so(self, store):
        with pytest.raises(StoreError, match="no runs in this store yet"):
            store.run("last")

    def test_runs_come_by_the_time_they_were_made_and_not_by_arrival(self, store):
        for name, created in [
            ("noon", "2026-11-21T12:00:00Z"),
            ("imported without a time", ""),
            ("imported, of last year", "2025-10-25T01:30:00Z"),
            ("eleven in UTC", "2026-11-21T13:00:00+02:00"),
            ("noon, arrived later", "2026-11-21T12:00:00Z"),
            ("no time", "noon"),
        ]:
            record(store, sample.run(name, created=created), [])
        order = ["noon, arrived later", "noon", "eleven in UTC", "imported, of last year"]
        order += ["no time", "imported without a time"]
        assert [run.id for run in store.runs()] == order
        assert [run.id for run in store.runs(limit=2)] == order[:2]
        assert [run.id for run in store.runs(before="noon")] == order[2:]
        assert store.run("last").id == order[0]
        assert store.run("s.yaml~3").id == order[3]
        newer, older = store.runs_of_suite(store.run("eleven in UTC"), later=1, earlier=2)
        assert ([run.id for run in newer], [run.id for run in older]) == (order[1:2], order[3:5])

    def test_the_runs_before_one_are_those_that_were_started_before_it(self, store):
        for name in "abcde":
            record(store, sample.run(name), [])
        assert [run.id for run in store.runs(before="d")] == ["c", "b", "a"]
        assert [run.id for run in store.runs(1, 1, before="d")] == ["b"]
        assert store.runs(before="a") == store.runs(before="of another store") == []

    def test_the_newest_unfinished_run_of_the_same_suite_is_found(self, store):
        record(store, sample.run("1"), [], status="interrupted")
        record(store, sample.run("2"), [], status="stopped")
        record(store, sample.run("3"), [])
        record(store, sample.run("4", plan="other"), [], status="interrupted")
        record(store, sample.run("5", suite="other"), [], status="interrupted")
        assert store.unfinished("p", "s.yaml").id == "2"
        assert store.unfinished("p", "unknown") is None


class TestHolding:
    def test_a_run_that_is_being_written_is_not_resumed(self, store, path):
        store.start(sample.run())
        with (
            open_store(path) as second,
            pytest.raises(StoreBusyError, match=r"is being written by process \d+ since 20"),
        ):
            second.resume(sample.run().id)

    def test_force_takes_a_run_and_the_former_writer_stops(self, store, path):
        store.start(sample.run())
        with open_store(path) as second:
            second.resume(sample.run().id, force=True)
            with pytest.raises(StoreBusyError, match="was taken over"):
                save(store, sample.run().id, sample.trials(cases(1)))
            save(second, sample.run().id, sample.trials(cases(2)))
        assert ids(store.run("last")) == ["case-02"]

    def test_closing_the_store_lets_its_runs_go(self, path):
        with open_store(path) as store:
            store.start(sample.run())
            assert store.run("last").status == "running"
        with open_store(path) as store:
            assert store.run("last").status == "interrupted"
            assert store.resume(sample.run().id).status == "running"

    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(lambda store: store.sink("x"), id="sink"),
            pytest.param(lambda store: store.recorded("x"), id="recorded"),
            pytest.param(lambda store: store.finish(sample.run("x")), id="finish"),
        ],
    )
    def test_a_run_must_be_started_first(self, store, act):
        with pytest.raises(StoreError, match="start or resume it first"):
            act(store)

    def test_an_id_is_used_once(self, store, finished):
        with pytest.raises(StoreError, match="already is a run"):
            store.start(sample.run())

    def test_an_unknown_run_cannot_be_resumed(self, store):
        with pytest.raises(StoreError, match="no run 'x' to resume"):
            store.resume("x")

    def test_a_closed_store_says_so(self, store):
        store.close()
        store.close()
        with pytest.raises(StoreError, match="is closed"):
            store.runs()


class TestForgetting:
    def test_a_forgotten_run_leaves_nothing_behind(self, store, finished):
        store.forget(finished.id)
        assert store.runs() == []
        assert store.check().results == 0

    def test_a_run_that_is_being_written_is_not_forgotten(self, store):
        store.start(sample.run())
        with pytest.raises(StoreBusyError, match="is being written"):
            store.forget(sample.run().id)

    def test_an_unknown_run_is_said(self, store):
        with pytest.raises(StoreError, match="no run 'x'"):
            store.forget("x")


@in_a_file
def test_a_copy_holds_what_was_saved_and_is_never_written_over(store, finished, tmp_path):
    store.copy(tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db", read_only=True) as copied:
        assert list(copied.run("last").results) == list(finished.results)
    with pytest.raises(StoreError, match="already"):
        store.copy(tmp_path / "copy.db")


def test_the_event_loop_goes_on_while_a_batch_is_saved(store):
    async def both() -> int:
        store.start(sample.run())
        big = [
            Result(
                trial=Trial(case=Case(id=str(n)), dataset="squares.jsonl", position=n),
                output=Output(value="x" * 100_000),
            )
            for n in range(200)
        ]
        saving = asyncio.create_task(store.sink(sample.run().id).write(big))
        turns = 0
        while not saving.done():
            await asyncio.sleep(0)
            turns += 1
        await saving
        return turns

    assert asyncio.run(both()) > 10
    assert len(store.run("last").results) == 200


def test_ids_of_one_second_differ_and_sort_by_time():
    choose = random.Random(7)  # noqa: S311
    moments = [datetime(2026, 11, 21, 14, 32, second, tzinfo=UTC) for second in (5, 5, 5, 6)]
    made = [new_run_id(moment, choose) for moment in moments]
    assert len(set(made)) == 4
    assert all(name.startswith("20261121-14320") for name in made)
    assert max(made) == made[3]
    assert new_run_id() != new_run_id()
