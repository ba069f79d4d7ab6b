"""evalmark cache: what is recorded, forgotten, written to a file and read from one."""

import asyncio
import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from evalmark import Output, Score
from evalmark.reports.text.numbers import DASH
from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedServer
from tests.storage.call_log.calls import MODEL, call, failed, key, tool_call
from tests.storage.store import sample

STORE = ".evalmark/evalmark.db"


def record(*calls, path=STORE) -> None:
    async def everything(journal) -> None:
        await asyncio.gather(*map(journal.keep, calls))

    with open_store(path) as store:
        asyncio.run(everything(store.call_log()))


def left() -> int:
    with open_store(STORE, read_only=True) as store:
        return store.check().calls


@pytest.fixture
def recorded(world):
    record(call(1), call(2), failed(3), call(4, model="other/model", identity="other"))
    return world


def test_an_empty_store_says_so(evalmark, world):
    open_store(STORE).close()
    assert evalmark("cache", "list").out.strip() == "No calls are recorded."
    assert evalmark("cache", "list", "--calls").out.strip() == "No calls are recorded."


def test_a_list_that_nothing_matches_says_so(evalmark, recorded):
    assert evalmark("cache", "list", "--match", "zzz").out.strip() == "None of 4 recorded calls matches."


def test_a_clear_in_an_empty_store_says_so(evalmark, world):
    open_store(STORE).close()
    assert evalmark("cache", "clear", "--all").out == "No calls are recorded, so none is deleted.\n"


@pytest.mark.parametrize("verb", [["list"], ["clear", "--all"], ["export", "out.jsonl"]])
def test_a_store_that_is_not_there_is_not_made(evalmark, world, verb):
    said = evalmark("cache", *verb)
    assert said.code == 2
    assert "there is no store yet" in said.err
    assert list(world.iterdir()) == []


def test_models_are_listed_with_what_their_calls_took(evalmark, recorded):
    rows = [line.split() for line in evalmark("cache", "list").out.strip().splitlines()]
    assert rows[0] == ["model", "calls", "replayable", "tokens", "in", "tokens", "out", "price", "newest"]
    assert rows[1] == ["other/model", "1", "1", "10", "4", "$0.25", "2026-11-21", "14:32:04"]
    assert rows[2] == [MODEL, "3", "2", "20", "3", "$0.50", "2026-11-21", "14:32:03"]


def test_single_calls_are_listed_newest_first(evalmark, recorded):
    lines = evalmark("cache", "list", "--calls").out.strip().splitlines()
    assert [line.split()[0] for line in lines[1:]] == [name[:12] for name in (key(4, "other"), key(3), key(2), key(1))]
    assert "no " in lines[2]
    assert len(evalmark("cache", "list", "--calls", "-n", "2").out.strip().splitlines()) == 3
    assert len(evalmark("cache", "list", "--match", "2 squared").out.strip().splitlines()) == 2


@pytest.mark.parametrize("columns", ["60", "80", "100", "200"])
def test_lists_fit_the_terminal(evalmark, world, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    record(call(1, model="provider/" + "long-name-" * 12), failed(2, model="m"))
    for words in ([], ["--calls"]):
        said = evalmark("cache", "list", *words).out
        assert max(len(line) for line in said.splitlines()) <= int(columns)
        assert "provi" in said


def test_nothing_that_was_recorded_acts_on_the_terminal(evalmark, world):
    record(call(1, model="\x1b]0;owned\x07evil/\x1b[31mmodel\n", created="\x1b[2J"), failed(2, model="\u202egpj"))
    for words in ([], ["--calls"]):
        said = evalmark("cache", "list", *words).out
        assert "evil/model" in said
        assert not {"\x1b", "\x07", "\u202e"} & set(said)


@pytest.mark.parametrize(
    ("words", "forgotten"),
    [
        pytest.param(["--all"], 4, id="all"),
        pytest.param(["--model", MODEL], 3, id="of a model"),
        pytest.param(["--failed"], 1, id="failed ones"),
        pytest.param(["--failed", "--model", "other/model"], 0, id="failed ones of a model that never failed"),
        pytest.param(["--older-than", "1d"], 2, id="old ones"),
        pytest.param(["--older-than", "30m"], 3, id="those of an hour ago"),
    ],
)
def test_what_is_cleared_is_counted(evalmark, world, words, forgotten):
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
    record(
        call(1, created="2020-01-01T00:00:00Z"),
        call(2, created=datetime.now(UTC).isoformat()),
        failed(3, created="2020-01-01T00:00:00Z"),
        call(4, model="other/model", identity="other", created=hour_ago),
    )
    said = evalmark("cache", "clear", *words)
    told = f"Deleted {forgotten} call{'' if forgotten == 1 else 's'}."
    told = told if forgotten else "None of 4 recorded calls matches, so none is deleted."
    assert (said.code, said.out) == (0, f"{told}\n")
    assert left() == 4 - forgotten


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param([], "name the calls to delete", id="nothing said"),
        pytest.param(["--all", "--failed"], "name the calls to delete", id="all and only some"),
        pytest.param(["--older-than", "soon"], "'soon' is not an age; write a number of days", id="no age"),
        pytest.param(["--older-than", "-3d"], "'-3d' is not an age", id="an age before birth"),
        pytest.param(["--older-than", "999999d"], "is before the first year", id="before all calendars"),
    ],
)
def test_a_clear_that_is_not_clear_forgets_nothing(evalmark, recorded, words, said):
    answer = evalmark("cache", "clear", *words)
    assert answer.code == 2
    assert said in answer.err
    assert left() == 4


def test_recordings_go_to_a_file_and_into_another_store(evalmark, recorded):
    assert evalmark("cache", "export", "out.jsonl").out == "out.jsonl: 3 calls\n"
    assert evalmark("cache", "export", "one.jsonl", "--model", "other/model").out == "one.jsonl: 1 call\n"
    assert evalmark("cache", "import", "out.jsonl", "--store", "b.db").out == (
        "out.jsonl: 3 calls added, 0 known before\n"
    )
    assert evalmark("cache", "import", "out.jsonl", "--store", "b.db").out == (
        "out.jsonl: 0 calls added, 3 known before\n"
    )


@pytest.mark.parametrize(
    ("there", "said"),
    [
        pytest.param(STORE, "something other than recorded calls", id="the store itself"),
        pytest.param("suite.yaml", "something other than recorded calls", id="a file of the user's"),
        pytest.param("link.jsonl", "something other than recorded calls", id="a link to one"),
        pytest.param("pipe", "something other than recorded calls", id="a pipe, which is not opened"),
        pytest.param(".", "this is a folder", id="a folder"),
    ],
)
def test_an_export_takes_the_place_of_recordings_alone(evalmark, recorded, there, said):
    (recorded / "suite.yaml").write_text("datasets: rows.jsonl\n")
    (recorded / "link.jsonl").symlink_to("suite.yaml")
    os.mkfifo(recorded / "pipe")
    refused = evalmark("cache", "export", there)
    assert (refused.code, said in refused.err) == (2, True), refused.text
    assert (recorded / "suite.yaml").read_text() == "datasets: rows.jsonl\n"
    assert left() == 4


def test_an_export_of_nothing_does_not_take_the_place_of_recordings(evalmark, recorded):
    refused = evalmark("cache", "export", "new.jsonl", "--model", "a/slip")
    assert (refused.code, "no recorded call matches" in refused.err) == (2, True), refused.text
    evalmark("cache", "export", "kept.jsonl")
    before = (recorded / "kept.jsonl").read_bytes()
    refused = evalmark("cache", "export", "kept.jsonl", "--model", "a/slip")
    assert (refused.code, "no recorded call matches" in refused.err) == (2, True), refused.text
    assert (recorded / "kept.jsonl").read_bytes() == before
    assert sorted(file.name for file in recorded.iterdir()) == [".evalmark", "kept.jsonl"]


def test_the_name_of_a_file_does_not_act_on_the_terminal(evalmark, recorded):
    for verb in ("export", "import"):
        said = evalmark("cache", verb, "\x1b[2J.jsonl")
        assert (said.code, "\x1b" in said.text) == (0, False)


def test_an_export_takes_the_place_of_an_older_one(evalmark, recorded):
    for file in ("new.jsonl", "empty.jsonl", "new.jsonl"):
        (recorded / "empty.jsonl").touch()
        assert evalmark("cache", "export", file).code == 0
    assert (recorded / "new.jsonl").read_bytes() == (recorded / "empty.jsonl").read_bytes()


def test_the_calls_of_a_run_are_exported(evalmark, recorded):
    with open_store(STORE) as store:
        store.start(sample.run())
        asyncio.run(store.call_log(sample.run().id).keep(call(9)))
        store.finish(sample.run(status="complete"))
    assert evalmark("cache", "export", "out.jsonl", "--run", "last").out == "out.jsonl: 1 call\n"
    said = evalmark("cache", "export", "out.jsonl", "--run", "last~7")
    assert (said.code, "no run 'last~7'" in said.err) == (2, True)


def test_what_a_run_has_used_is_exported_with_what_it_has_paid_for(evalmark, recorded):
    """Calls 1, 2 and 4 were paid for before, and 3 cannot be replayed."""
    output = Output(value="", metadata={"calls": [key(1)]})
    scores = (Score(name="m", detail={"calls": [key(2), key(3), "gone"]}), Score(name="n", detail={"calls": 7}))
    with open_store(STORE) as store:
        store.start(sample.run())
        asyncio.run(store.call_log(sample.run().id).keep(call(9)))
        result = replace(sample.answered(sample.trials([sample.case(1)])[0]), output=output, scores=scores)
        asyncio.run(store.sink(sample.run().id).write([result]))
        store.finish(sample.run(status="complete"))
    assert evalmark("cache", "export", "out.jsonl", "--run", "last").out == "out.jsonl: 3 calls\n"
    keys = {json.loads(line)["key"] for line in (recorded / "out.jsonl").read_text().splitlines()[1:]}
    assert keys == {key(1), key(2), key(9)}
    assert evalmark("cache", "export", "one.jsonl", "--run", "last", "--model", "other/model").code == 2


def test_a_line_that_was_changed_is_refused_with_its_place(evalmark, recorded):
    evalmark("cache", "export", "out.jsonl")
    lines = (recorded / "out.jsonl").read_text().splitlines()
    data = json.loads(lines[2])
    data["request"]["messages"][0]["content"] = "Ignore all that."
    (recorded / "out.jsonl").write_text("\n".join([*lines[:2], json.dumps(data), *lines[3:]]))
    said = evalmark("cache", "import", "out.jsonl", "--store", "b.db")
    assert said.code == 2
    assert said.err.startswith("out.jsonl:3: the key does not match the request in the line")
    with open_store("b.db", read_only=True) as store:
        assert store.check().calls == 0


def test_every_verb_of_the_cache_has_help(evalmark):
    for verb in ("list", "clear", "export", "import"):
        assert "--store" in evalmark("cache", verb, "--help").out


# Calls of tools.


@pytest.fixture
def with_tools(recorded):
    with open_store(STORE) as store:
        for number in (5, 6):
            store.tool_log().keep(tool_call(number))
        store.tool_log().keep(tool_call(7, tool="cube", version=""))
    return recorded


def test_tools_are_listed_under_the_models(evalmark, with_tools):
    rows = [line.split() for line in evalmark("cache", "list").out.strip().splitlines()]
    assert [row[0] for row in rows if row] == ["model", "other/model", MODEL, "tool", "cube", "square"]
    assert rows[-2:] == [
        ["cube", DASH, "1", "2026-11-21", "14:32:07"],
        ["square", "1", "2", "2026-11-21", "14:32:06"],
    ]


def test_a_store_with_tools_alone_lists_them(evalmark, world):
    with open_store(STORE) as store:
        store.tool_log().keep(tool_call(1))
    said = evalmark("cache", "list").out
    assert "No calls" not in said
    assert "square" in said


def test_single_calls_of_tools_stand_among_those_of_models(evalmark, with_tools):
    lines = evalmark("cache", "list", "--calls", "-n", "4").out.strip().splitlines()[1:]
    assert [line.split()[1] for line in lines] == ["cube", "square", "square", "other/model"]
    (line,) = evalmark("cache", "list", "--match", tool_call(5).key).out.strip().splitlines()[1:]
    assert "square 1 (a tool)" in line


@pytest.mark.parametrize(
    ("flags", "says", "left_of"),
    [
        pytest.param(["--tool", "square"], "Deleted 2 calls.\n", (4, 1), id="of one tool"),
        pytest.param(["--tool", "none"], "None of 7 recorded calls matches, so none is deleted.\n", (4, 3), id="none"),
        pytest.param(["--all"], "Deleted 7 calls.\n", (0, 0), id="all"),
        pytest.param(["--failed"], "Deleted 1 call.\n", (3, 3), id="failed ones"),
        pytest.param(["--model", MODEL], "Deleted 3 calls.\n", (1, 3), id="of one model"),
    ],
)
def test_calls_of_tools_are_forgotten(evalmark, with_tools, flags, says, left_of):
    assert evalmark("cache", "clear", *flags).out == says
    with open_store(STORE, read_only=True) as store:
        assert (store.check().calls, store.check().tool_calls) == left_of


@pytest.mark.parametrize(
    "words", [["clear", "--tool", "a", "--model", "b"], ["clear", "--tool", "a", "--failed"]], ids=["model", "failed"]
)
def test_conditions_that_no_call_of_a_tool_meets_are_refused(evalmark, with_tools, words):
    said = evalmark("cache", *words)
    assert said.code == 2
    assert "--tool names calls of tools and --" in said.err


def test_calls_of_tools_go_to_a_file_and_come_from_it(evalmark, with_tools):
    assert evalmark("cache", "export", "all.jsonl").out == "all.jsonl: 6 calls\n"
    assert evalmark("cache", "export", "some.jsonl", "--tool", "square").out == "some.jsonl: 2 calls\n"
    assert evalmark("cache", "export", "some.jsonl", "--tool", "a", "--model", "b").code == 2
    assert evalmark("cache", "import", "all.jsonl", "--store", "new.db").out == (
        "all.jsonl: 6 calls added, 0 known before\n"
    )


def test_a_case_is_shown_with_the_calls_of_its_tools_in_full(evalmark, with_tools):
    (trial,) = sample.trials([sample.case(1)])
    result = sample.answered(trial)
    named = replace(result.output, metadata={"calls": [tool_call(5).key, "tool-gone"]})
    with open_store(STORE) as store:
        store.start(sample.run())
        asyncio.run(store.sink(sample.run().id).write([replace(result, output=named)]))
        store.finish(sample.run(status="complete"))
    said = evalmark("show", "last", "--calls").out
    assert "square 1  a tool" in said
    assert "What is 5 squared?" in said
    assert '{"square": [25, null]}' in said
    assert "The call tool-gone is no longer recorded." in said


def test_nothing_that_a_tool_gave_acts_on_the_terminal(evalmark, world):
    odd = tool_call(1, tool="\x1b[2Jname", version="\x1b]0;x\x07", result="\x1b[31mred", arguments={"\x9b2J": "\x1bc"})
    with open_store(STORE) as store:
        store.tool_log().keep(odd)
        store.start(sample.run())
        (trial,) = sample.trials([sample.case(1)])
        named = replace(sample.answered(trial), output=Output(value=1, metadata={"calls": [odd.key]}))
        asyncio.run(store.sink(sample.run().id).write([named]))
        store.finish(sample.run(status="complete"))
    for words in (["cache", "list"], ["cache", "list", "--calls"], ["show", "last", "--calls"]):
        said = evalmark(*words).out
        assert said
        assert not {"\x1b", "\x07", "\x9b"} & set(said)


ADDRESSES = """
datasets: [cases.jsonl]
target: {models: [openai/small]}
metrics: [{contains: {any: [small]}}]
"""


def test_recordings_of_another_address_are_named_and_mapped(evalmark, world, monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    (world / "cases.jsonl").write_text('{"input": "one"}\n{"input": "two"}\n')
    (world / "suite.yaml").write_text(ADDRESSES)
    with ScriptedServer(lambda said: f"from {said.model}") as first, ScriptedServer(lambda said: "never") as second:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{first.url}/v1")
        assert evalmark("run", "suite.yaml", "--store", "old.db").code == 0
        assert evalmark("cache", "export", "calls.jsonl", "--store", "old.db").code == 0
        monkeypatch.setenv("OPENAI_BASE_URL", f"{second.url}/v1")
        strict = ("run", "suite.yaml", "--replay", "strict")
        assert evalmark("cache", "import", "calls.jsonl").code == 0
        said = evalmark(*strict)
        assert said.code == 3
        told = "".join(said.text.split())
        mapping = f"{first.url}/v1={second.url}/v1"
        assert f"notrecordedatopenai/small@{second.url}/v1,butat{first.url}/v1:'one'" in told
        assert told.count(f"note:openai/small:Thesamerequestsarerecordedforanotheraddress,{first.url}/v1.") == 1
        assert f"evalmarkcacheimportcalls.jsonl--address{mapping}" in told
        assert evalmark("cache", "import", "calls.jsonl", "--address", mapping).out == (
            "calls.jsonl: 2 calls added, 0 known before\n"
        )
        assert evalmark(*strict).code == 0
        assert (
            evalmark("cache", "export", "mapped.jsonl", "--model", "openai/small").code == 0
        )  # what was mapped is sound
        assert evalmark("cache", "import", "mapped.jsonl", "--store", "third.db").out.endswith(
            "4 calls added, 0 known before\n"
        )
        assert second.requests == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("http://a/v1",), "--address http://a/v1: it takes OLD=NEW, two addresses"),
        (("a=b",), "--address a=b: it takes OLD=NEW, two addresses"),
        (("http://a=http://b", "http://a=http://c"), "http://a is mapped to http://b already"),
        (("http://nowhere/v1=http://b/v1",), "contains no call of a model at http://nowhere/v1; its addresses are "),
    ],
)
def test_an_address_that_cannot_be_mapped_is_refused(evalmark, recorded, words, said):
    assert evalmark("cache", "export", "calls.jsonl").code == 0
    found = evalmark("cache", "import", "calls.jsonl", *(word for text in words for word in ("--address", text)))
    assert found.code == 2
    assert said in " ".join(found.err.split())
