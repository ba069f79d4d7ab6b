"""Whatever a target, a scorer or a dataset holds can be stored, and plain data comes back equal."""

import enum
import json
import math
import string
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Example, Gate, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.errors import StoreError
from evalmark.storage.database.fields import from_sql, sql_text
from evalmark.storage.results.stored_results import decode_result, encode_result
from evalmark.storage.results.stored_runs import decode_run, encode_run
from evalmark.store import open_store
from tests.storage.store import sample
from tests.storage.store.conftest import record
from tests.storage.store.places import in_a_file

EVERYWHERE = True


def spelled(text: str) -> str:
    """Two lone surrogates in a row spell one character, and JSON knows only that one."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


anything = st.text(st.characters(), max_size=8).map(spelled)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers()
data = st.recursive(
    st.none() | st.booleans() | numbers | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=6,
)
mapping = st.dictionaries(anything, data, max_size=3)
texts = st.lists(anything, max_size=3).map(tuple)
optional = st.none() | anything
calls = st.builds(
    ToolCall,
    name=anything,
    arguments=mapping,
    result=data,
    error=optional,
    id=anything,
    started=optional,
    seconds=st.none() | st.floats(0, 1e9),
)
turns = st.builds(Turn, role=anything, content=data)
tokens = st.none() | st.integers(0, 10**9)
outputs = st.builds(
    Output,
    value=data,
    error=optional,
    seconds=st.none() | st.floats(0, 1e9),
    contexts=st.none() | texts,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    metadata=mapping,
    transcript=st.lists(turns | calls, max_size=3).map(tuple),
    usage=st.none() | st.builds(Usage, input_tokens=tokens, output_tokens=tokens),
)
cases = st.builds(
    Case,
    id=anything,
    input=data,
    expected=data,
    examples=st.lists(st.builds(Example, value=data, liked=st.booleans()), max_size=2).map(tuple),
    contexts=st.none() | texts,
    history=st.lists(turns, max_size=2).map(tuple),
    given=st.none() | outputs,
    tags=texts,
    metadata=mapping,
    place=anything,
)
scores = st.builds(
    Score,
    name=anything,
    status=st.sampled_from(["scored", "unscored", "error", "skipped"]),
    raw=data,
    value=st.none() | st.floats(0, 1),
    direction=st.sampled_from(["higher", "lower"]),
    passed=st.none() | st.booleans(),
    reason=anything,
    detail=mapping,
)
trials = st.builds(
    Trial,
    case=cases,
    dataset=anything,
    target=anything,
    position=st.integers(0, 10**9),
    repeat=st.integers(0, 99),
    mode=st.sampled_from(["single", "conversation"]),
)
results = st.builds(Result, trial=trials, output=outputs, scores=st.lists(scores, max_size=3).map(tuple))
gates = st.builds(
    Gate,
    min_pass_rate=st.none() | st.floats(0, 1),
    max_unscored=st.integers(0, 9),
    max_errors=st.integers(0, 9),
    min_score=st.none() | st.floats(0, 1),
    thresholds=st.dictionaries(anything, st.floats(0, 1), max_size=2),
)
runs = st.builds(
    Run,
    id=anything,
    name=anything,
    created=anything,
    finished=optional,
    status=st.sampled_from(["running", "complete", "interrupted", "stopped"]),
    target=anything,
    datasets=st.lists(
        st.builds(DatasetInfo, name=anything, path=anything, rows=st.none() | st.integers(0)), max_size=2
    ).map(tuple),
    metrics=st.lists(
        st.builds(
            Metric,
            name=anything,
            direction=st.sampled_from(["higher", "lower"]),
            threshold=st.none() | st.floats(0, 1),
            unit=anything,
            judge=anything,
            base=anything,
        ),
        max_size=2,
    ).map(tuple),
    repeat=st.integers(1, 99),
    gate=st.none() | gates,
    suite=anything,
    plan=anything,
    embedder=anything,
    versions=st.dictionaries(anything, anything, max_size=2),
    spending=st.lists(
        st.builds(
            Spending,
            model=anything,
            **dict.fromkeys(("calls", "replayed", "failed", "repeated", "attempts"), st.integers(0, 10**6)),
            **dict.fromkeys(("input_tokens", "output_tokens", "unknown_usage", "unknown_cost"), st.integers(0, 10**12)),
            cost=st.none() | st.floats(0, 1e6),
        ),
        max_size=2,
    ).map(tuple),
    notes=texts,
)


@given(results)
def test_a_result_of_plain_data_comes_back_equal(result):
    row = encode_result(result).row
    assert decode_result(row) == result
    assert (row.scores + row.output + row.content).isascii()


@given(runs)
def test_the_header_of_a_run_comes_back_equal(run):
    assert decode_run(encode_run(run)) == run


@given(st.text(st.characters()))
def test_every_text_survives_sqlite_and_different_ones_stay_different(text):
    assert from_sql(sql_text(text)) == text
    if not isinstance(sql_text(text), bytes):
        assert sql_text(text) == text


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("\ud800 alone", id="a lone surrogate"),
        pytest.param("a\x00b", id="a NUL"),
        pytest.param(2**63, id="an integer beyond SQLite's"),
        pytest.param(-(10**400), id="an integer beyond every float"),
        pytest.param("x" * 10_000_000, id="ten million characters"),
        pytest.param({"a": [1, {"b": None}]}, id="nested data"),
        pytest.param(0.1 + 0.2, id="a float to the last bit"),
        pytest.param("", id="an empty text"),
        pytest.param(None, id="nothing"),
    ],
)
def test_values_come_back_from_the_file(path, value):
    trial = Trial(case=Case(id="\ud800\x00", input=value), dataset="\udfff", position=0)
    result = Result(
        trial=trial, output=Output(value=value, seconds=-0.0), scores=(Score(name="s", raw=value, detail={"v": value}),)
    )
    with open_store(path) as store:
        record(store, sample.run(), [])
        store.resume(sample.run().id)
        assert not store.recorded(sample.run().id)(trial)
        import asyncio

        asyncio.run(store.sink(sample.run().id).write([result]))
        store.finish(sample.run(status="complete"))
    with open_store(path, read_only=True) as store:
        assert list(store.run("last").results) == [result]


class Colour(enum.Enum):
    RED = "red"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def ring() -> list:
    made: list = []
    made.append(made)
    return made


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        pytest.param(math.nan, "nan", id="NaN becomes its name"),
        pytest.param(math.inf, "inf", id="infinity becomes its name"),
        pytest.param(np.float32(0.5), 0.5, id="a numpy number becomes a number"),
        pytest.param(np.array([1, 2]), [1, 2], id="an array becomes a list"),
        pytest.param((1, {2}), [1, [2]], id="tuples and sets become lists"),
        pytest.param({1: "a"}, {"1": "a"}, id="keys become texts"),
        pytest.param(Colour.RED, "Colour.RED", id="an object becomes its text"),
        pytest.param(Broken(), "(a Broken that cannot be stored: RuntimeError)", id="an object without a text says so"),
        pytest.param(1 << 20_000, hex(1 << 20_000), id="an integer too long to print becomes hexadecimal"),
    ],
)
def test_what_is_not_plain_data_is_kept_as_far_as_it_goes(value, kept):
    result = sample.answered(sample.trials([sample.case(1)])[0])
    score = replace(result.scores[0], raw=value, detail={"inner": [value]})
    strange = replace(result, output=replace(result.output, value=value), scores=(score,))
    back = decode_result(encode_result(strange).row)
    assert back.output.value == kept
    assert back.scores[0].raw == kept
    assert back.scores[0].detail == {"inner": [kept]}


def test_a_cycle_is_cut_off():
    result = sample.answered(sample.trials([sample.case(1)])[0])
    row = encode_result(replace(result, output=Output(value=ring()))).row
    assert '"..."' in row.output


def test_unknown_numbers_are_none_and_never_nan():
    result = sample.answered(sample.trials([sample.case(1)])[0])
    score = replace(result.scores[0], value=math.nan)
    row = encode_result(replace(result, output=replace(result.output, seconds=math.inf), scores=(score,))).row
    back = decode_result(row)
    assert (back.scores[0].value, back.output.seconds, row.seconds) == (None, None, None)


def test_fields_that_a_target_filled_carelessly_are_kept_in_their_own_form():
    careless = Output(
        value=1, contexts=[1, "b"], tool_calls=({"name": "search"},), metadata=["x"], error=ValueError("v")
    )  # type: ignore[arg-type]
    back = decode_result(encode_result(Result(trial=Trial(case=Case(id="1")), output=careless)).row).output
    assert back.contexts == ("1", "b")
    assert back.tool_calls == (ToolCall(name="{'name': 'search'}"),)
    assert back.metadata == {"value": ["x"]}
    assert back.error == "v"


@pytest.mark.parametrize(
    ("column", "content", "said"),
    [
        pytest.param("output", "{", "Expecting", id="broken JSON"),
        pytest.param("output", '{"seconds":"fast"}', "str in the place of a number", id="a text for a number"),
        pytest.param("output", '{"colour":1}', "unknown field 'colour'", id="a field that nobody wrote"),
        pytest.param("scores", "{}", "dict in the place of a list", id="an object for a list"),
        pytest.param(
            "scores", '[{"name":"s","status":"maybe"}]', "'maybe' in the place of one of", id="an unknown word"
        ),
        pytest.param("scores", '[{"passed":true}]', "missing 1 required", id="a field that is missing"),
        pytest.param("content", '{"tags":[1]}', "int in the place of a text", id="a number for a text"),
        pytest.param("content", "[]", "list in the place of an object", id="a list for an object"),
    ],
)
@in_a_file
def test_a_damaged_row_is_refused_with_run_and_case(path, column, content, said):
    import apsw

    with open_store(path) as store:
        record(store, sample.run(), sample.trials([sample.case(n) for n in range(3)]))
    db = apsw.Connection(str(path))
    db.execute(f"update result set {column} = ? where case_id = 'case-01'", (content,))  # noqa: S608
    db.close()
    with open_store(path, read_only=True) as store, pytest.raises(StoreError, match=said) as error:
        list(store.run("last").results)
    assert "'case-01'" in str(error.value)
    assert sample.run().id in str(error.value)


@in_a_file
def test_a_damaged_header_is_refused(path):
    import apsw

    with open_store(path) as store:
        record(store, sample.run(), [])
    db = apsw.Connection(str(path))
    db.execute("update run set header = ?", (json.dumps({"id": 1}),))
    db.close()
    with open_store(path) as store, pytest.raises(StoreError, match=r"header of run number 1 is damaged"):
        store.runs()


@pytest.mark.parametrize("column", ["scores", "output", "content"])
def test_bytes_in_the_place_of_a_text_are_damage(column):
    """Damage may turn one into the other, whatever the table says of its columns."""
    row = encode_result(sample.answered(sample.trials([sample.case(1)])[0])).row
    with pytest.raises(ValueError, match="bytes in the place of a text"):
        decode_result(row._replace(**{column: getattr(row, column).encode()}))


@given(st.text(string.printable))
def test_garbage_is_refused_with_a_value_error_or_read(text):
    row = encode_result(sample.answered(sample.trials([sample.case(1)])[0])).row
    for column in ("scores", "output", "content"):
        try:
            decode_result(row._replace(**{column: text}))
        except ValueError:
            continue
