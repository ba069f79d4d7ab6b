"""JSON and JSONL: to their schema, without loss, in one pass, and comparable without times."""

import json
import math
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from evalmark import Case, Output, Result, Run, Score, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.score import Trial
from evalmark.reports.files.comparison_json import comparison_as_json
from evalmark.reports.files.options import ReportOptions
from evalmark.reports.files.run_json import as_json, as_jsonl
from evalmark.stats.summary.summarise import summarise
from tests.reports.text import compared, judged, sides
from tests.reports.text.example import HOSTILE, RESULTS, RUN, everywhere

SCHEMAS = {
    name: json.loads(files("evalmark.reports.files").joinpath("schemas", name).read_text())
    for name in ("run.schema.json", "line.schema.json", "comparison.schema.json")
}
REGISTRY = Registry().with_resources((name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items())
DOCUMENT, LINE, COMPARISON = (Draft202012Validator(schema, registry=REGISTRY) for schema in SCHEMAS.values())
EMPTY = Run(id="r", name="", created="")
NO_TIMES = ReportOptions(times=False)


@pytest.mark.parametrize("options", [ReportOptions(), NO_TIMES], ids=["with times", "without"])
@pytest.mark.parametrize(
    "run",
    [RUN, EMPTY, replace(RUN, gate=None, status="interrupted", finished=None), judged.RUN, sides.RUN, everywhere("x")],
    ids=["full", "empty", "unfinished", "judged", "tests that do not count", "something everywhere"],
)
def test_both_are_what_their_schemas_say(run, options):
    document = json.loads("".join(as_json(run, options=options)))
    DOCUMENT.validate(document)
    lines = [json.loads(line) for line in "".join(as_jsonl(run, options=options)).splitlines()]
    for line in lines:
        LINE.validate(line)
    assert [line["kind"] for line in lines] == ["run", *["result"] * len(run.results), "summary"]
    assert [line | {"kind": "result"} for line in document["results"]] == lines[1:-1]
    assert (document["run"], document["summary"], document["gate"]) == (
        lines[0]["run"],
        lines[-1]["summary"],
        lines[-1]["gate"],
    )


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_schemas_are_schemas(schema):
    Draft202012Validator.check_schema(SCHEMAS[schema])


@pytest.mark.parametrize(
    "line",
    [
        pytest.param({"kind": "result"}, id="a result without anything"),
        pytest.param({"kind": "other"}, id="an unknown kind"),
        pytest.param({"kind": "run", "format": "evalmark-run", "version": 2, "run": {}}, id="another version"),
    ],
)
def test_the_schema_refuses(line):
    assert not LINE.is_valid(line)


def test_texts_survive_unchanged_and_nothing_in_the_file_acts():
    text = "".join(as_jsonl(RUN))
    hostile = next(
        line
        for line in map(json.loads, text.splitlines())
        if line.get("position") == 3 and line["dataset"] == "odd ones"
    )
    assert hostile["case"]["input"] == hostile["output"]["value"] == HOSTILE
    assert not [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    text.encode("utf-8")


@given(st.text(), st.floats())
def test_any_text_and_any_number_can_be_written_and_read_back(text, number):
    score = Score(name=text, raw=number, value=number, reason=text, detail={text: number})
    result = Result(
        trial=Trial(case=Case(id=text, input=text)), output=Output(value=text, seconds=number), scores=(score,)
    )
    line = "".join(as_jsonl(Run(id="r", name=text, created="", results=(result,)))).split("\n")[1]
    found = json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    LINE.validate(found)
    assert found["case"]["id"] == found["output"]["value"] == text
    assert found["scores"][0]["value"] == (number if math.isfinite(number) else None)


def test_without_times_two_runs_of_the_same_are_the_same_text():
    later = replace(
        RUN,
        id="another",
        created="2027-01-01T00:00:00+00:00",
        finished=None,
        results=[replace(r, output=replace(r.output, seconds=99.0)) for r in RESULTS],
    )
    for write in (as_json, as_jsonl):
        assert "".join(write(RUN, options=NO_TIMES)) == "".join(write(later, options=NO_TIMES))
        assert "".join(write(RUN)) != "".join(write(later))


class Watched(list):
    """Results that count how often they are read."""

    rounds = 0
    taken = 0

    def __iter__(self):
        self.rounds += 1
        for item in list.__iter__(self):
            self.taken += 1
            yield item


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".csv", ".html", ".junit.xml", ".md"])
def test_a_writer_with_the_figures_at_hand_reads_results_as_it_writes(ending):
    from evalmark.reports.files.writers import WRITERS

    watched = Watched(RESULTS)
    chunks = WRITERS[ending](replace(RUN, results=watched), summarise(RUN))
    next(chunks)
    assert watched.taken <= 1
    list(chunks)
    # A page has to know first how much of each text it has room for.
    assert watched.rounds == {".md": 0, ".html": 2}.get(ending, 1)


def test_the_figures_of_judges_are_in_the_document():
    found = json.loads("".join(as_json(judged.RUN)))
    helpful = found["summary"]["groups"][0]["metrics"][1]
    assert (helpful["judge"], helpful["base"], helpful["raw_unit"]) == (judged.LARGE, "helpful", "1..5")
    assert helpful["unscored_by_kind"] == {"judge_refused": 1, "judge_range": 1}
    assert helpful["worst"][0]["reason"] == "Only one of the three steps is there."
    (agreement,) = found["summary"]["agreements"]
    assert (agreement["n"], agreement["pairs"][0]["same"]["passed"], agreement["level"]) == (18, 11, "ordinal")
    assert [spent["unknown_cost"] for spent in found["run"]["spending"]] == [0, 4, 5, 0]
    assert [spent["cost"] for spent in found["run"]["spending"]] == [0.0204, 12.3, None, None]
    assert {result["mode"] for result in found["results"]} == {"single", "conversation"}


def test_a_transcript_keeps_its_order_and_its_times_only_where_times_are_wanted():
    call = ToolCall(name="search", arguments={"q": 1}, result=[2], id="c1", started="2026-11-21T10:15:00Z", seconds=0.2)
    said = (Turn(role="user", content="hi"), call, Turn(role="assistant", content="done"))
    output = Output(value="done", transcript=said, usage=Usage(input_tokens=7))
    run = replace(EMPTY, results=[Result(trial=Trial(case=Case(id="c")), output=output)])
    with_times, without = (
        json.loads("".join(as_json(run, options=options)))["results"][0]["output"]
        for options in (ReportOptions(), NO_TIMES)
    )
    kept = {"name": "search", "arguments": {"q": 1}, "result": [2], "error": None, "id": "c1"}
    assert [event["kind"] for event in with_times["transcript"]] == ["turn", "tool call", "turn"]
    assert with_times["tool_calls"] == [kept | {"started": "2026-11-21T10:15:00Z", "seconds": 0.2}]
    assert with_times["usage"]["input_tokens"] == 7
    assert without["tool_calls"] == [kept]
    assert without["transcript"][1] == kept | {"kind": "tool call"}
    assert "usage" not in without


@pytest.mark.parametrize(
    ("found", "pairs"),
    [(compared.WORSE, ()), (compared.WORSE, compared.PAIRS), (compared.FEW, ()), (compared.NOTHING, ())],
    ids=["worse", "with its texts", "few cases", "nothing in common"],
)
def test_a_comparison_is_what_its_schema_says(found, pairs):
    document = json.loads("".join(comparison_as_json(found, pairs)))
    COMPARISON.validate(document)
    assert (document["outcome"], document["exit_code"]) == (found.outcome, found.exit_code)
    assert len(document.get("pairs", [])) == len(pairs)


def test_a_run_can_bring_its_comparison_along():
    text = "".join(as_json(compared.NOW, options=ReportOptions(comparison=compared.WORSE)))
    DOCUMENT.validate(json.loads(text))
    assert json.loads(text)["comparison"]["outcome"] == "worse"
