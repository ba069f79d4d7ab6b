"""Pages found along an index are those of a plain look at every result, whatever is asked and however they are walked."""

import asyncio
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evalmark import Case, Output, Result, Score
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.storage.database.open import open_read_only
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.queries.pages import PagePosition, ResultBrowser
from evalmark.storage.queries.pagination import DEFAULT_BUDGET, ScanBudget
from evalmark.storage.queries.search import find_candidates, search_all
from evalmark.storage.queries.sorting import WORST_FIRST
from evalmark.store import Store, open_store
from tests.storage.store import sample

EVERYWHERE = True
RUN = 1
WALKING = ScanBudget(few=0, first=1, most=3)
"""Nothing is few, and each statement looks at next to nothing: every page is walked to."""
HURRIED = ScanBudget(few=0, least=1, patience=-1.0, first=1, most=1)
"""Time is up after every single result."""
ORDERS = [
    ResultFilter(order=order, sorted_metric=metric, descending=descending)
    for order, metric in (
        *(("position", ""), ("case", ""), ("verdict", ""), ("seconds", "")),
        *(("score", "alpha"), ("score", "beta"), ("score", "none has it")),
    )
    for descending in (False, True)
]


@dataclass(frozen=True)
class Stored:
    """A result with the number of its row."""

    number: int
    source: int
    result: Result

    @property
    def row(self):
        trial = self.result.trial
        return self.source, trial.dataset, trial.position, trial.repeat


def stored(db, run: int = RUN) -> list[Stored]:
    """Every result of a run, read without the indices that pages use."""
    sql = "select number, source, dataset, case_id, target, repeat, mode, fingerprint from result where run = ? and pass > 0"
    rows = db.execute(sql, (run,)).fetchall()
    return [(number, source, tuple(identity)) for number, source, *identity in rows]


def identity(result: Result):
    trial = result.trial
    return trial.dataset, trial.case.id, trial.target, trial.repeat, trial.mode, trial.case.fingerprint


def value(result: Result, metric: str, *, descending: bool) -> float | None:
    values = [score.value for score in result.scores if score.name == metric and score.value is not None]
    return (max if descending else min)(values, default=None)


def key(wanted: ResultFilter) -> Callable[[Stored], tuple]:
    """What a result is sorted by, without regard to the direction, and first of all whether it has that at all."""

    def of(one: Stored) -> tuple:
        result, trial = one.result, one.result.trial
        place = (*one.row, trial.target, trial.mode, result.verdict, one.number)
        if wanted.order == "position":
            return False, place
        if wanted.order == "case":
            return False, identity(result)
        if wanted.order == "verdict":
            return False, (WORST_FIRST.index(result.verdict), *one.row, one.number)
        if wanted.order == "seconds":
            seconds = result.output.seconds
            return seconds is None, (one.number,) if seconds is None else (seconds, one.number)
        found = value(result, wanted.sorted_metric, descending=wanted.descending)
        return found is None, place if found is None else (found, one.number)

    return of


def is_wanted(one: Stored, wanted: ResultFilter) -> bool:
    result, case = one.result, one.result.trial.case
    texts = [case.id, case.input, *case.tags, str(result.output.value), *(score.reason for score in result.scores)]
    low = -1e308 if wanted.low is None else wanted.low
    high = 1e308 if wanted.high is None else wanted.high
    values = [s.value for s in result.scores if s.value is not None and wanted.metric in ("", s.name)]
    if wanted.measure == "seconds":
        values = [] if result.output.seconds is None else [result.output.seconds]
    return (
        (not wanted.verdicts or result.verdict in wanted.verdicts)
        and (not wanted.tag or wanted.tag in case.tags)
        and wanted.target in ("", result.trial.target)
        and any(wanted.text.lower() in text.lower() for text in texts)
        and ((wanted.low is None and wanted.high is None) or any(low <= found <= high for found in values))
        and (wanted.numbers is None or one.number in wanted.numbers)
        and one.number not in wanted.without
        and all(is_wanted(one, other) for other in wanted.also)
        and not any(is_wanted(one, other) for other in wanted.excluding)
        and (not wanted.any_of or any(is_wanted(one, other) for other in wanted.any_of))
    )


def leaders(every: list[Stored], wanted: ResultFilter) -> list[int]:
    """The rows that are wanted, by a plain sorting of everything."""
    sorted_by = key(wanted)
    ordered = sorted((one for one in every if is_wanted(one, wanted)), key=sorted_by, reverse=wanted.descending)
    ordered.sort(key=lambda one: sorted_by(one)[0])  # what has nothing to be sorted by comes last
    rows: dict[tuple, int] = {}
    for one in ordered:
        rows.setdefault(one.row, one.number)
    return list(rows.values())


def forwards(browsing: ResultBrowser, wanted: ResultFilter, limit: int, known=None) -> list[int]:
    """The rows of all pages, from the first to the last."""
    at, found = PagePosition(), []
    for _ in range(500):
        page = browsing.page(wanted, at, limit, known)
        found += [row.leader for row in page.rows]
        assert page.is_first == (at == PagePosition())
        if page.is_last:
            return found
        at = page.stopped_at or PagePosition(after=page.rows[-1].leader)
    raise AssertionError("there is no end of it")


def backwards(browsing: ResultBrowser, wanted: ResultFilter, limit: int, last: int) -> list[int]:
    """The rows before one, page by page from the end; the first page may repeat some."""
    at, found = PagePosition(before=last), []
    for _ in range(500):
        page = browsing.page(wanted, at, limit)
        rows = [row.leader for row in page.rows]
        if page.is_first:
            until = rows.index(at.before) if at.before in rows else len(rows)
            return rows[:until] + found
        found = rows + found
        at = page.stopped_at or PagePosition(before=rows[0])
    raise AssertionError("there is no beginning of it")


VALUES = st.sampled_from([None, -1.0, 0.0, 0.25, 0.25, 0.5, 1.0, 2.5])
WORDS = st.sampled_from(["fox", "Dog", "fox and dog", "50%", "owl"])


@st.composite
def results(draw, most: int = 9):
    """Results of some cases, targets, modes and repeats, with ties and gaps in everything."""
    trials = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["a.jsonl", "b.jsonl"]),
                st.integers(0, 4),
                st.integers(0, 1),
                st.sampled_from(["app:x", "app:y"]),
                st.sampled_from(["single", "conversation"]),
            ),
            max_size=most,
            unique=True,
        )
    )
    return [answered(draw, *trial) for trial in trials]


def answered(draw, dataset: str, position: int, repeat: int, target: str, mode: str) -> Result:
    tags = ("red",) if position % 2 else ("red", "blue")
    case = Case(id=f"{dataset[0]}{9 - position}", input=f"fox {position}", tags=tags)
    trial = Trial(case=case, dataset=dataset, target=target, position=position, repeat=repeat, mode=mode)
    error = "TimeoutError: late" if draw(st.integers(0, 5)) == 0 else None
    names = draw(st.lists(st.sampled_from(["alpha", "beta"]), max_size=2, unique=True))
    scores = []
    for name in names:
        worth = draw(VALUES)
        status = "unscored" if worth is None else "scored"
        passed = draw(st.booleans()) if worth is not None else None
        scores.append(Score(name=name, status=status, value=worth, passed=passed, reason=draw(WORDS)))
    seconds = draw(st.sampled_from([None, 0.0, 0.5, 0.5, 3.0]))
    return Result(trial=trial, output=Output(value=draw(WORDS), error=error, seconds=seconds), scores=tuple(scores))


@st.composite
def conditions(draw):
    """What may be asked besides an order."""
    low, high = draw(st.sampled_from([(None, None), (0.0, None), (None, 0.25), (0.25, 0.5), (0.9, 0.1)]))
    return ResultFilter(
        verdicts=draw(st.sampled_from([(), (), ("fail",), ("error",), ("fail", "pass"), ("unscored", "ungated")])),
        tag=draw(st.sampled_from(["", "", "red", "blue", "re"])),
        target=draw(st.sampled_from(["", "", "app:x", "app:y", "app"])),
        text=draw(st.sampled_from(["", "", "FOX", "dog", "50%", "none has it"])),
        metric=draw(st.sampled_from(["", "alpha"])),
        low=low,
        high=high,
        numbers=draw(st.sampled_from([None, None, frozenset({1, 2, 5}), frozenset()])),
        without=draw(st.sampled_from([frozenset(), frozenset({2, 3})])),
    )


def write(store: Store, written: list[list[Result]]) -> None:
    """A run in several passes: each writes some results anew, and those that the last one did not meet leave it."""
    run = sample.run(name="run")
    run = replace(run, datasets=(DatasetInfo(name="a.jsonl"), DatasetInfo(name="b.jsonl")))
    store.start(run)
    for number, several in enumerate(written):
        if number:
            store.resume("run")
        asyncio.run(store.sink("run").write(several))
        if number < len(written) - 1:
            store.finish(replace(run, status="interrupted"))
    store.finish(replace(run, status="complete"))


def looked_at(store: Store, pace: ScanBudget) -> ResultBrowser:
    return ResultBrowser(open_read_only(store.path), store.path, RUN, pace)


def every_result(browsing: ResultBrowser) -> list[Stored]:
    found = []
    for number, source, of in stored(browsing._db):
        result = browsing.result(number)
        assert identity(result) == of
        found.append(Stored(number, source, result))
    return found


def check(store: Store, wanted: list[ResultFilter], limits=(1, 4)) -> None:
    walking, hurried, listing = (looked_at(store, pace) for pace in (WALKING, HURRIED, DEFAULT_BUDGET))
    every = every_result(listing)
    for asked, limit in itertools.product(wanted, limits):
        expected = leaders(every, asked)
        assert forwards(listing, asked, limit) == expected
        assert forwards(walking, asked, limit) == expected
        assert forwards(hurried, asked, limit) == expected
        assert listing.page(asked, limit=limit).total == len(expected)
        known = search_all(listing._db, RUN, asked, DEFAULT_BUDGET)
        assert forwards(walking, asked, limit, known) == expected
        assert search_all(listing._db, RUN, asked, replace(DEFAULT_BUDGET, few=-1)).rows == len(expected)
        for browsing in (listing, walking):
            if expected:
                assert backwards(browsing, asked, limit, expected[-1]) == expected[:-1]
            for one in every:
                around = browsing.neighbours(asked, one.number)
                if one.number in expected:
                    place = expected.index(one.number)
                    before, after = expected[place - 1 : place] or [None], expected[place + 1 : place + 2] or [None]
                    assert (around.before, around.after) == (before[0], after[0])
                    assert (around.is_first, around.is_last) == (place == 0, place == len(expected) - 1)
                else:
                    assert around == listing.neighbours(asked, one.number)
    for browsing in (walking, hurried, listing):
        browsing.close()


_UNSHRUNK = [
    Phase.explicit,
    Phase.reuse,
    Phase.generate,
]  # each example writes a store: making one smaller takes minutes


@pytest.mark.slow
@given(first=results(), second=results(most=4), asked=conditions(), order=st.sampled_from(ORDERS))
@settings(max_examples=80, deadline=None, phases=_UNSHRUNK)
def test_walking_finds_what_sorting_everything_finds(first, second, asked, order):
    met = {identity(result) for result in second}
    kept = [result for number, result in enumerate(first) if number % 3 or identity(result) in met]
    with TemporaryDirectory() as folder, open_store(Path(folder) / "evalmark.db") as store:
        write(store, [first, [*second, *(one for one in kept if identity(one) not in met)]])
        wanted = replace(asked, order=order.order, sorted_metric=order.sorted_metric, descending=order.descending)
        check(store, [order, wanted])


def many(count: int) -> list[Result]:
    """Results of two targets, the same every time."""
    rolled = random.Random(5)  # noqa: S311  the same rows every time
    found = []
    for number in range(count):
        case = Case(
            id=f"c{rolled.randrange(1000)}-{number}", input=f"fox {number}", tags=("blue",) if number % 3 else ()
        )
        for target in ("app:x", "app:y")[: 1 + number % 2]:
            trial = Trial(case=case, dataset=("a.jsonl", "b.jsonl")[number % 2], target=target, position=number)
            worth = rolled.choice([None, 0.0, 0.25, 0.25, 1.0])
            scores = () if worth is None else (Score(name="alpha", value=worth, passed=worth > 0.2),)
            output = Output(value="owl", seconds=rolled.choice([None, 0.5, 2.0]))
            found.append(Result(trial=trial, output=output, scores=scores))
    return found


@pytest.mark.slow
def test_every_order_and_condition_holds_wherever_the_store_is(store):
    write(store, [many(12)])
    asked = [
        *ORDERS,
        ResultFilter(verdicts=("fail",)),
        ResultFilter(tag="blue", order="score", sorted_metric="alpha"),
        ResultFilter(text="FOX 1", order="seconds", descending=True),
        ResultFilter(low=0.1, high=0.5, order="case"),
        ResultFilter(metric="alpha", low=0.5, order="verdict", descending=True),
        ResultFilter(numbers=frozenset({2, 3, 4, 9}), without=frozenset({3})),
        ResultFilter(measure="seconds", low=0.6, order="seconds"),
        ResultFilter(any_of=(ResultFilter(verdicts=("fail",)), ResultFilter(numbers=frozenset({2, 5})))),
        ResultFilter(
            any_of=(ResultFilter(excluding=(ResultFilter(tag="blue"),)), ResultFilter(measure="seconds", high=0.5)),
            excluding=(ResultFilter(metric="alpha", low=0.5),),
            order="case",
        ),
    ]
    check(store, asked, limits=(3,))


@pytest.mark.parametrize("wanted", [order for order in ORDERS if order.order in ("position", "case", "score")])
def test_rows_that_were_there_are_met_once_while_others_arrive(store, wanted):
    results = many(24)
    run = replace(sample.run(name="run"), datasets=(DatasetInfo(name="a.jsonl"), DatasetInfo(name="b.jsonl")))
    store.start(run)
    sink = store.sink("run")
    asyncio.run(sink.write(results[:18]))
    browsing = looked_at(store, WALKING)
    before = {row.leader for row in browsing.page(wanted, limit=99).rows}
    arriving = iter(results[18:])
    at, met = PagePosition(), []
    for _ in range(50):
        page = browsing.page(wanted, at, 2)
        met += [row.leader for row in page.rows]
        if page.is_last:
            break
        at = PagePosition(after=page.rows[-1].leader)
        asyncio.run(sink.write(list(itertools.islice(arriving, 2))))
    assert len(met) == len(set(met))
    assert before <= {*met}
    browsing.close()


@pytest.mark.parametrize("asked", [*ORDERS, ResultFilter(tag="blue", order="score", sorted_metric="alpha")])
def test_a_scan_is_continued_among_the_matches_once_they_are_known(store, asked):
    write(store, [many(12)])
    hurried, listing = looked_at(store, HURRIED), looked_at(store, DEFAULT_BUDGET)
    expected = leaders(every_result(listing), asked)
    known = search_all(listing._db, RUN, asked, DEFAULT_BUDGET)
    at, found = PagePosition(), []
    while not (page := hurried.page(asked, at, 3)).is_last:
        found += [row.leader for row in page.rows]
        at = page.stopped_at or PagePosition(after=page.rows[-1].leader)
        assert found + [row.leader for row in hurried.page(asked, at, 99, known).rows] == expected
    at, end = PagePosition(before=expected[-1]), len(expected) - 1
    while not (page := hurried.page(asked, at, 3)).is_first:
        end -= len(page.rows)
        at = page.stopped_at or PagePosition(before=page.rows[0].leader)
        (before,) = hurried.page(asked, at, 1, known).rows
        assert before.leader == expected[max(0, end - 1)]
    for browsing in (hurried, listing):
        browsing.close()


def test_a_result_that_left_the_run_leads_to_the_beginning(store):
    write(store, [many(6)])
    for pace in (WALKING, DEFAULT_BUDGET):
        browsing = looked_at(store, pace)
        first = browsing.page(ResultFilter(), limit=2)
        assert browsing.page(ResultFilter(), PagePosition(after=999), 2).rows == first.rows
        assert browsing.page(ResultFilter(), PagePosition(before=999), 2).rows == first.rows
        browsing.close()


def test_a_scan_that_reads_every_result_knows_how_many_match(store):
    write(store, [many(12)])
    browsing = looked_at(store, replace(WALKING, patience=1e9))
    every = every_result(browsing)
    for wanted in (
        ResultFilter(text="nowhere"),
        ResultFilter(text="e"),
        ResultFilter(text="alpha"),  # the name of a metric
        ResultFilter(low=0.5, order="seconds"),
    ):
        page = browsing.page(wanted)
        assert page.total == len(page.rows) == len(leaders(every, wanted))
    browsing.close()


def test_few_results_are_found_in_an_index_and_many_are_not_looked_at(store):
    write(store, [many(12)])
    browsing = looked_at(store, DEFAULT_BUDGET)
    db, pace = browsing._db, ScanBudget(few=4)
    numbers = {one.number: one.result for one in every_result(browsing)}
    high = [number for number, result in numbers.items() if value(result, "alpha", descending=False) == 1.0]
    assert find_candidates(db, RUN, ResultFilter(), pace) is None
    assert find_candidates(db, RUN, ResultFilter(), DEFAULT_BUDGET).numbers is None
    assert find_candidates(db, RUN, ResultFilter(numbers=frozenset({3, 1})), pace).numbers == [1, 3]
    assert find_candidates(db, RUN, ResultFilter(numbers=frozenset(range(9))), pace) is None
    assert find_candidates(db, RUN, ResultFilter(low=0.9), pace).numbers == high
    assert find_candidates(db, RUN, ResultFilter(metric="alpha", low=0.9, text="x"), pace).numbers == high
    assert find_candidates(db, RUN, ResultFilter(metric="beta", low=0.0), pace).numbers == []
    assert find_candidates(db, RUN, ResultFilter(low=0.0), pace) is None
    assert find_candidates(db, RUN, ResultFilter(verdicts=("error",)), pace).numbers == []
    assert find_candidates(db, RUN, ResultFilter(text="fox"), pace) is None
    browsing.close()


def in_order(count: int) -> list[Result]:
    """A result for each position."""
    trials = (
        Trial(case=Case(id=f"c{number}"), dataset="a.jsonl", target="app:x", position=number) for number in range(count)
    )
    return [Result(trial=trial, output=Output(value="owl")) for trial in trials]


@pytest.mark.parametrize("is_older", [False, True], ids=["a new store", "a store of an earlier version"])
def test_numbers_in_the_unit_of_a_metric_are_indexed_and_sorted(tmp_path, is_older):
    path, numbers = tmp_path / "evalmark.db", [3, 0, 12, 0.5, -2, 1, 40]
    with open_store(path) as store:
        scores = [Score(name="edits", raw=one, value=one if 0 <= one <= 1 else None) for one in numbers]
        scores += [Score(name="edits", raw="many"), Score(name="edits", raw=True, status="skipped")]
        write(
            store, [[replace(one, scores=(score,)) for one, score in zip(in_order(len(scores)), scores, strict=True)]]
        )
    if is_older:
        db = apsw.Connection(str(path))
        db.execute(
            "drop index run_created; alter table run drop column created; alter table spent drop column is_service"
        )
        db.execute("delete from scored where value not between 0 and 1; pragma user_version = 10")
        db.close()
    with open_store(path) as store:
        browsing = looked_at(store, ScanBudget(few=4))
        positions = {one.number: one.result.trial.position for one in every_result(browsing)}
        above = find_candidates(browsing._db, RUN, ResultFilter(metric="edits", low=2.0), ScanBudget(few=4))
        assert [numbers[positions[number]] for number in above.numbers] == [3, 12, 40]
        for descending in (False, True):
            order = ResultFilter(order="score", sorted_metric="edits", descending=descending)
            found = [positions[row.leader] for row in browsing.page(order).rows]
            assert [numbers[place] for place in found[:7]] == sorted(numbers, reverse=descending)
            assert {*found[7:]} == {7, 8}, "without a number, last"
        browsing.close()
