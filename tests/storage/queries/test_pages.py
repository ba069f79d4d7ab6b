"""Pages of a run's results: the right rows in the right order, whatever is asked, and never more than that."""

import asyncio
import itertools
from dataclasses import replace

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark import Case, Output, Result, Score, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.errors import StoreError
from evalmark.storage.queries.filter import ResultFilter, filter_condition
from evalmark.storage.queries.pages import PagePosition, RowNeighbours, TargetCase
from evalmark.storage.queries.trial_numbers import format_trial_id
from evalmark.store import open_store
from tests.storage.store import sample

EVERYWHERE = True

NASTY = [
    "'",
    '"',
    "';--",
    "' or 1=1 --",
    "%",
    "_",
    "!",
    "\\",
    "\x00",
    "\ud800",
    "); drop table run; --",
    "?",
    ":a",
    "é",
    "日本",
]


def kept(store, results, **fields):
    run = sample.run(**fields)
    store.start(run)
    asyncio.run(store.sink(run.id).write(results))
    store.finish(replace(run, status="complete"))
    return store.browse(run.id)


def results(count=20, repeats=1):
    cases = [sample.case(number) for number in range(count)]
    return [sample.answered(trial) for trial in sample.trials(cases, repeats)]


def ids(found):
    return [row.results[0].result.trial.case.id for row in found.rows]


def test_pages_give_every_row_once_in_the_order_of_the_run(store):
    browsing = kept(store, results())
    pages = [browsing.page(ResultFilter(), limit=7)]
    while not pages[-1].is_last:
        pages.append(browsing.page(ResultFilter(), PagePosition(after=pages[-1].rows[-1].leader), 7))
    assert [(page.total, page.place, page.is_first) for page in pages] == [
        (20, 0, True),
        (20, 7, False),
        (20, 14, False),
    ]
    assert list(itertools.chain.from_iterable(map(ids, pages))) == [f"case-{number:02}" for number in range(20)]
    assert browsing.page(ResultFilter(), PagePosition(before=pages[2].rows[0].leader), 7) == pages[1]


def test_a_row_holds_all_targets_of_a_case_and_each_repeat_is_a_row(store):
    first = results(3, repeats=2)
    second = [replace(result, trial=replace(result.trial, target="app:other")) for result in first]
    found = kept(store, first + second).page(ResultFilter())
    assert found.total == 6
    assert [{kept.result.trial.target for kept in row.results} for row in found.rows] == [
        {"app:square", "app:other"}
    ] * 6


def test_what_is_found_is_what_a_look_at_every_result_finds(store):
    every = results()
    browsing = kept(store, every)
    assert browsing.verdicts() == {"pass": 13, "fail": 7}
    for verdict in ("pass", "fail", "error"):
        wanted = [result.trial.case.id for result in every if result.verdict == verdict]
        assert ids(browsing.page(ResultFilter(verdicts=(verdict,)))) == wanted
    assert ids(browsing.page(ResultFilter(text="WHAT IS 7 times"))) == ["case-07"]
    assert browsing.page(ResultFilter(text="I do not know")).total == 7
    assert browsing.page(ResultFilter(text="liked")).total == 0
    assert browsing.page(ResultFilter(tag="squares")).total == 20
    assert browsing.page(ResultFilter(tag="square")).total == 0
    assert browsing.page(ResultFilter(metric="equals", low=1.0)).total == 13
    assert browsing.page(ResultFilter(high=0.5)).total == 7
    assert browsing.page(ResultFilter(metric="other", low=0.0)).total == 0


METADATA = [
    {"region": "eu", "turns": 3, "user": {"plan": "free tier"}, "langs": ["de", "fr"]},
    {"region": "EU", "turns": 3.5, "beta": True, "my key": "x%y"},
    {"region": "us", "turns": "3", "langs": "de", "beta": "true"},
    {"region": None, "turns": 4, "beta": False, "straße": "é☺"},
    {"note": "region eu", "langs": {"de": 1}},
    {},
    {"seen": [True, 2, "x"]},
    {"seen": [1, False, "true story"]},
]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(ResultFilter(metadata="region", value="eu"), [0], id="a text, its case counts"),
        pytest.param(ResultFilter(metadata="user.plan", value="free tier"), [0], id="a nested field"),
        pytest.param(
            ResultFilter(metadata="my key", value="x%y"), [1], id="a name with a blank, a value with a wildcard"
        ),
        pytest.param(ResultFilter(metadata="straße", value="é☺"), [3], id="other letters"),
        pytest.param(ResultFilter(metadata="turns", value="3", low=3, high=3), [0, 2], id="a number, also as a text"),
        pytest.param(ResultFilter(metadata="turns", value="3.0", low=3, high=3), [0], id="a number written otherwise"),
        pytest.param(ResultFilter(metadata="turns", low=3.2), [1, 3], id="a range: texts are no numbers"),
        pytest.param(ResultFilter(metadata="beta", value="true"), [1, 2], id="true, also as a text"),
        pytest.param(ResultFilter(metadata="beta", value="1", low=1, high=1), [], id="true is not 1"),
        pytest.param(ResultFilter(metadata="langs", value="de"), [0, 2], id="an element of a list, not a key"),
        pytest.param(ResultFilter(metadata="seen", value="true"), [6], id="true as an element of a list"),
        pytest.param(ResultFilter(metadata="seen", value="1", low=1, high=1), [7], id="true in a list is not 1"),
        pytest.param(
            ResultFilter(metadata="seen", value="2.0", low=2, high=2), [6], id="a number in a list written otherwise"
        ),
        pytest.param(ResultFilter(metadata="no such", value="eu"), [], id="a field that no case has"),
        pytest.param(ResultFilter(metadata="region.eu", value="eu"), [], id="a field of something that is no object"),
        pytest.param(
            ResultFilter(excluding=(ResultFilter(metadata="region", value="eu"),)),
            [1, 2, 3, 4, 5, 6, 7],
            id="all others",
        ),
    ],
)
def test_cases_are_found_by_their_metadata(store, asked, expected):
    every = [
        replace(one, trial=replace(one.trial, case=replace(one.trial.case, metadata=metadata)))
        for one, metadata in zip(results(len(METADATA)), METADATA, strict=True)
    ]
    assert ids(kept(store, every).page(asked)) == [f"case-{number:02}" for number in expected]


def test_tokens_and_cost_of_an_output_are_those_of_its_own_calls(store):
    def call(key: str, tokens: int | None, cost: float | None) -> Call:
        request = Request(messages=(Turn(role="user", content=key),))
        reply = Reply(text="x", usage=Usage(input_tokens=tokens, output_tokens=1), cost=cost)
        return Call(key=key, model="m", identity="m", request=request, reply=reply)

    calls = [["a"], ["a", "b"], ["b", "unpriced"], ["gone", "a"], [], ["a"]]
    every = [
        replace(one, output=replace(one.output, metadata={"calls": keys}))
        for one, keys in zip(results(6), calls, strict=True)
    ]
    every[5] = replace(every[5], output=replace(every[5].output, usage=Usage(input_tokens=7, output_tokens=None)))
    for one in (call("a", 10, 0.5), call("b", 20, 0.25), call("unpriced", None, None)):
        asyncio.run(store.call_log().keep(one))
    browsing = kept(store, every)
    assert ids(browsing.page(ResultFilter(measure="cost", low=0.5))) == ["case-00", "case-01", "case-05"]
    assert ids(browsing.page(ResultFilter(measure="cost", high=0.6))) == ["case-00", "case-05"]
    assert ids(browsing.page(ResultFilter(measure="tokens", low=12))) == ["case-01", "case-02"]
    assert ids(browsing.page(ResultFilter(measure="tokens", high=7))) == ["case-05"]


def test_only_results_with_certain_numbers_are_found_and_other_conditions_hold_too(store):
    browsing = kept(store, results())
    numbers = [row.results[0].number for row in browsing.page(ResultFilter()).rows]
    chosen = frozenset(numbers[3:9])
    assert ids(browsing.page(ResultFilter(numbers=chosen))) == [f"case-{number:02}" for number in range(3, 9)]
    failed = browsing.page(ResultFilter(numbers=chosen, verdicts=("fail",)))
    assert [row.results[0].number for row in failed.rows] == [
        row.results[0].number
        for row in browsing.page(ResultFilter(verdicts=("fail",))).rows
        if row.results[0].number in chosen
    ]
    assert browsing.page(ResultFilter(numbers=frozenset())).total == 0
    assert browsing.page(ResultFilter(numbers=frozenset({999_999}))).total == 0


def test_results_are_left_out_by_their_numbers(store):
    browsing = kept(store, results(5))
    numbers = [row.results[0].number for row in browsing.page(ResultFilter()).rows]
    assert ids(browsing.page(ResultFilter(without=frozenset(numbers[1:4])))) == ["case-00", "case-04"]
    both = ResultFilter(numbers=frozenset(numbers[:2]), without=frozenset(numbers[1:]))
    assert ids(browsing.page(both)) == ["case-00"]


def test_trials_are_found_by_their_ids_and_name_them_as_results_do(store):
    first = results(3, repeats=2)
    odd = replace(first[0].trial, dataset="d\ud800", target="é", mode="conversation", case=sample.case(9))
    every = [*first, sample.answered(odd)]
    browsing = kept(store, every)
    numbers = browsing.numbers_with_output(ResultFilter())
    by_number = {number: browsing.result(number).trial.id for number in numbers}
    trials = browsing.trials()
    assert {number: format_trial_id(one) for number, one in trials.among(numbers)} == by_number
    assert {one for _, one in trials.numbered(by_number.values())} == {result.trial.id for result in every}
    assert [*trials.numbered(["", "xyz", "0" * 12, by_number[numbers[0]].upper()])] == []
    assert browsing.trials() is trials


def test_an_output_that_is_an_error_is_no_answer_and_one_whose_score_broke_is(store):
    answered, broken, unjudged = results(3)
    broken = replace(broken, output=Output(error="TimeoutError: late"), scores=())
    unjudged = replace(unjudged, scores=(Score(name="x", status="error", reason="it broke"),))
    browsing = kept(store, [answered, broken, unjudged])
    found = {browsing.result(number).trial.case.id for number in browsing.numbers_with_output(ResultFilter())}
    assert found == {"case-00", "case-02"}
    assert len(browsing.numbers_with_output(ResultFilter(verdicts=("error",)))) == 1
    assert browsing.numbers_with_output(ResultFilter(metric="x", low=2.0)) == []


def test_results_are_found_whose_scores_are_near_a_value_or_far_apart(store):
    names = ("a'?\ud800", "b")
    values = [(0.1, 0.2), (0.5, 0.9), (0.9, None), (0.4, 0.4), (None, 0.0), (0.0, 1.0)]
    every = [
        replace(found, scores=tuple(Score(name=n, value=v) for n, v in zip(names, pair, strict=True) if v is not None))
        for found, pair in zip(results(6), values, strict=True)
    ]
    browsing = kept(store, every)

    def cases(numbers):
        return [int(browsing.result(number).trial.case.id.removeprefix("case-")) for number in numbers]

    assert cases(browsing.nearest_scores(names[0], 0.45, 3))[2:] == [0]
    assert {*cases(browsing.nearest_scores(names[0], 0.45, 2))} == {1, 3}
    assert {*cases(browsing.nearest_scores(names[0], 0.45, 99))} == {0, 1, 2, 3, 5}
    assert cases(browsing.widest_scores(names, 99)) == [5, 1, 0]
    assert cases(browsing.widest_scores(names, 1)) == [5]
    assert browsing.nearest_scores("unknown", 0.5, 9) == []


def test_the_results_of_cases_are_found_by_name_target_and_mode(store):
    first = results(3, repeats=2)
    odd = replace(first[0].trial, dataset="d\ud800", target="é", mode="conversation", case=sample.case(9))
    browsing = kept(store, [*first, sample.answered(odd)])
    known = first[2].trial
    asked = [
        TargetCase(known.dataset, known.case.id, known.target),
        TargetCase("d\ud800", "case-09", "é", "conversation"),
        TargetCase("d\ud800", "case-09", "é"),
        TargetCase(known.dataset, "' or 1=1 --", known.target),
    ]
    found = browsing.results_of_cases(asked)
    assert [len(several) for several in found] == [2, 1, 0, 0]
    assert [one.result.trial.repeat for one in found[0]] == [0, 1]
    assert found[1][0].result.trial == odd
    assert browsing.numbers(asked) == [tuple(one.number for one in several) for several in found]


def test_neighbours_are_those_of_the_order_asked_for(store):
    browsing = kept(store, results(5))
    wanted = ResultFilter(order="case", descending=True)
    numbers = [row.leader for row in browsing.page(wanted).rows]
    for place, number in enumerate(numbers):
        before = numbers[place - 1] if place else None
        after = numbers[place + 1] if place < 4 else None
        ends = {"is_first": place == 0, "is_last": place == 4}
        assert browsing.neighbours(wanted, number) == RowNeighbours(before=before, after=after, **ends)
    assert browsing.neighbours(ResultFilter(), 99) == RowNeighbours()


def test_a_result_is_found_in_its_own_run_only(store):
    browsing = kept(store, results(2))
    other = kept(store, results(3), name="20261121-143205-bbbb")
    assert browsing.result(1).trial.case.id == "case-00"
    assert browsing.result(3) is None
    assert other.result(3).trial.case.id == "case-00"
    assert len(browsing.results_of_same_case(1)) == 1
    with pytest.raises(StoreError, match="no run"):
        store.browse("nothing")


def test_nothing_of_the_store_can_be_changed_while_it_is_read(store):
    browsing = kept(store, results(2))
    browsing.page(ResultFilter(order="score", sorted_metric="equals"))
    with pytest.raises((apsw.ReadOnlyError, StoreError)):
        browsing._db.execute("delete from run")


@given(text=st.one_of(st.sampled_from(NASTY), st.text(max_size=8)), low=st.floats(allow_nan=False))
@settings(max_examples=150)
def test_what_is_asked_reaches_sql_as_parameters_only(text, low):
    plain = filter_condition(1, ResultFilter(text="a", tag="a", metric="a", low=0.5, order="score", sorted_metric="a"))
    nasty = filter_condition(
        1,
        ResultFilter(text=text or "a", tag=text or "a", metric=text or "a", low=low, order="score", sorted_metric=text),
    )
    assert nasty.conditions == plain.conditions
    assert nasty.conditions.count("?") == len(nasty.parameters)


@pytest.mark.parametrize("text", NASTY)
def test_texts_that_mean_something_to_sql_find_themselves_and_nothing_else(store, text):
    whole = f"before {text} after"
    made = [
        Result(trial=replace(sample.trials([case])[0], position=number), output=Output(value=value), scores=(score,))
        for number, (case, value, score) in enumerate(
            [
                (Case(id="a", tags=(text,)), whole, Score(name=text, value=0.5)),
                (Case(id="b", tags=("x",)), "other", Score(name="other", value=0.9)),
            ]
        )
    ]
    browsing = kept(store, made)
    if text not in ("\x00", "\ud800"):  # SQLite ends a pattern at the first, and no address can hold the second
        assert ids(browsing.page(ResultFilter(text=text))) == ["a"]
        assert ids(browsing.page(ResultFilter(tag=text))) == ["a"]
    assert browsing.page(ResultFilter(metric=text, low=0.0)).total <= 1
    assert browsing.page(ResultFilter(order="score", sorted_metric=text)).total == 2


def test_a_row_is_found_by_its_place_whatever_time_is_asked_for(tmp_path):
    with open_store(tmp_path / "evalmark.db") as store:
        browsing = kept(store, results())
        asked = filter_condition(1, ResultFilter(measure="seconds", low=0.1, high=0.9))
        sql = f"""
            explain query plan select r.number from result o join result r on r.run = o.run and r.source = o.source
            and r.dataset = o.dataset and r.position = o.position and r.repeat = o.repeat and r.pass > 0
            where o.number = ? and {asked.conditions}
        """  # noqa: S608  texts of ours
        plan = browsing._db.execute(sql, (1, *asked.parameters)).fetchall()
        browsing.close()
    assert "result_seconds" not in str(plan)
