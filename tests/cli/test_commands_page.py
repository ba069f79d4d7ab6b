"""The page on commands names every verb, flag and variable there is, and none that there is not."""

import asyncio
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import MISSING, fields

import pytest
import typer.main

from evalmark import Turn
from evalmark.cli.commands.app import program
from evalmark.cli.terminal import supervisor
from evalmark.cli.terminal.command_line import complete_words
from evalmark.core.settings import Settings
from evalmark.core.values.call import Call, Request
from evalmark.core.values.session import Session, Span
from evalmark.core.values.tool import ToolRecording, tool_key
from evalmark.store import open_store
from evalmark.testing.scripted import ScriptedReply, ScriptedServer
from tests.conftest import ROOT
from tests.prompts.generation import script

PAGE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
EXIT_CODES = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
FLAG = re.compile(r"(?<![\w-])-{1,2}[a-z][a-z-]*")
HELP = {"-h", "--help"}


def verbs(command, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Every verb with its flags."""
    for word, below in getattr(command, "commands", {}).items():
        yield from verbs(below, f"{name} {word}".strip())
    if not hasattr(command, "commands"):
        flags = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
        yield name, {flag for flag in flags if flag.startswith("-")} - HELP


VERBS = dict(verbs(typer.main.get_command(program())))


def sections() -> dict[str, str]:
    """The page by its headings that name a verb."""
    parts = re.split(r"^## evalmark (.+)$", PAGE, flags=re.MULTILINE)
    return {
        verb: re.split(r"^## ", text, flags=re.MULTILINE)[0]
        for verb, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_the_page_has_a_section_for_each_verb_and_for_nothing_else():
    assert sorted(sections()) == sorted(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_the_table_of_a_verb_names_its_flags_and_no_others(verb):
    rows = re.findall(r"^\| (`-.*?) \|", sections()[verb], re.MULTILINE)
    assert {flag for row in rows for flag in FLAG.findall(row)} == VERBS[verb]


@pytest.mark.parametrize("verb", VERBS)
def test_the_section_of_a_verb_shows_what_it_prints(verb):
    assert f"```console\n$ evalmark {verb}" in sections()[verb]


def test_every_command_on_the_page_takes_its_flags():
    known = sorted(VERBS, key=len, reverse=True)
    calls = re.findall(r"^(?:\$|\s*- run:)(?: EVALMARK_\w+=\w+)? evalmark (.*)$", PAGE, re.MULTILINE)
    assert len(calls) > 10
    for call in calls:
        whole = " ".join(complete_words(call.split()))
        verb = next(name for name in known if whole.startswith(name))
        assert set(FLAG.findall(call)) <= VERBS[verb], call


TABLES = {"models"}
"""Settings that have a table under [tool.evalmark], and no variable."""
WHEN_UNSET = {
    "cache_dir": "the user's cache folder",
    "lock": "no learned thresholds",
    "connections": "as many as `jobs`",
    "rpm": "what the endpoint says",
    "tpm": "what the endpoint says",
    "workers": "one for each processor",
    "models": "no named endpoints",
}
"""What holds where a setting has no value of its own."""


def default_of(field) -> str:
    """The default of a setting as the page writes it."""
    if field.name in WHEN_UNSET:
        assert field.default in (None, "", MISSING)
        return WHEN_UNSET[field.name]
    if field.default is None or field.default == ():
        return "none"
    if isinstance(field.default, (bool, int, float)):
        return f"{field.default:g}" if not isinstance(field.default, bool) else str(field.default).lower()
    return f"`{field.default}`"


def test_the_variables_on_the_page_are_the_settings():
    named = set(re.findall(r"EVALMARK_[A-Z_]+", PAGE + EXIT_CODES))
    settings = {f"EVALMARK_{field.name.upper()}" for field in fields(Settings) if field.name not in TABLES}
    assert named == settings | {"EVALMARK_FILTER", supervisor.SUPERVISE_VARIABLE}


def test_the_settings_on_the_page_have_their_defaults():
    rows = re.findall(
        r"^\| `(\w+)` \| (?:`EVALMARK_(\w+)`[^|]*)?\|.*\| (.*) \|$", PAGE.split("## Settings")[1], re.MULTILINE
    )
    assert [(name, default) for name, _, default in rows] == [(f.name, default_of(f)) for f in fields(Settings)]
    assert all(variable == ("" if name in TABLES else name.upper()) for name, variable, _ in rows)


def test_the_exit_codes_stand_in_the_order_in_which_they_are_decided():
    assert re.findall(r"^\| (\d+) \|", EXIT_CODES, re.MULTILINE) == ["2", "130", "1", "3", "0"]


# What the page shows is compared with what is printed, line by line; "…" stands for anything. Commands that need the
# embedding model, a signal, a browser, or a home folder are left out. The models that judge are a server on this machine.
LEFT_OUT = re.compile(r"evalmark (?:rag|models|doctor|view)|--case stolen|slow:answer|EVALMARK_")
DISLIKED = ("I cannot say.", "Ask somebody else.", "Orders are not my business.", "Please wait.", "Call the shop.")


def labelled(number: int) -> str:
    """A row with an answer and what somebody says of it."""
    expected = f"Your order {number} is on its way."
    liked = expected if number % 3 else f"Order {number} is on its way."
    said = {"answer": liked, "label": "up"} if number <= 30 else {"answer": DISLIKED[number % 5], "label": "down"}
    return json.dumps({"input": f"Where is order {number}?", "expected": expected} | said)


FILES = {
    "bad.yaml": "name: sums\ndatasets: [rows.csv]\nmetrics: [equal]\nrepeats: 2\n",
    "rows.jsonl": '{"id": "a", "input": "1 + 1?", "answer": "2"}\n{"id": "b", "input": "2 + 2?"\n'
    '{"id": "a", "input": "3 + 3?", "answer": NaN}\n',
    "down.py": 'def down(question):\n    raise ConnectionError("no route")\n',
    "slow.py": "def answer(text):\n    return text\n",
    "classify.prompty": script.PROMPT,
    "labelled.jsonl": "\n".join(map(labelled, range(1, 101))),
    "bot.py": "from pathlib import Path\n\n\ndef answer(question):\n"
    "    return 'no' if question in Path('failing.txt').read_text().split() else 'yes'\n",
    "daily.jsonl": "\n".join(json.dumps({"input": f"q{number}", "expected": "yes"}) for number in range(20)),
    "daily.yaml": "name: support bot\ndatasets: daily.jsonl\ntarget: bot:answer\nmetrics: [equals]\n",
    "orders.yaml": "name: orders\ndatasets: [labelled.jsonl]\nmetrics: [equals, {edit_similarity: {threshold: 0.5}}]\n",
}
FAILING = ("q1 q2", "q1 q2", "q1 q3", "q1", "q1 q2", "q2", "q1 q2", "q3", "q1 q2", "q1", "q1 q2")
"""What the target of daily.yaml got wrong in each run but the last."""
CHANGING = (
    (re.compile(r"\d{8}-\d{6}-\w{4}"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d(?![ T]\d)"), "DAY"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?"), "DATE"),
    (re.compile(r"[\d.,]+ m?s (median|p95)"), r"TIME \1"),
    (re.compile(r"\d+ results are stored"), "N results are stored"),  # as many as were judged when the budget ended
    (re.compile(r"~[\d,]+"), "~N"),  # grows with the prompts
    (re.compile(r" {2,}"), "  "),
)


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of the page's console blocks with the lines that it is said to print."""
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            if not LEFT_OUT.search(command):
                yield command, printed.splitlines()


USAGE = {"prompt_tokens": 500, "completion_tokens": 40, "total_tokens": 540}


def judge(said) -> ScriptedReply:
    """What the model of the page says of an answer of the tutor, and of a prompt."""
    if said.schema["properties"].keys() & script.ANSWERED:
        return ScriptedReply(text=script.Script()(said), usage=USAGE)
    score = said.schema["properties"].get("score", {"type": "boolean"})["type"]
    lost = "I am not sure what you ask" in said.text
    verdict = {
        "boolean": {"reason": "The student still has to find it.", "pass": True},
        "integer": {"reason": "It asks back." if lost else "As the example says.", "score": 2 if lost else 4},
        "number": {"reason": "Short sentences, no new terms.", "score": 90},
    }[score]
    return ScriptedReply(text=json.dumps(verdict), usage=USAGE)


@pytest.fixture
def models(monkeypatch):
    """A server behind the addresses of the page's models, as a reader has one in the environment."""
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(judge) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server
        assert server.problems == []


def record_by_hand(path) -> None:
    """What `cache clear --failed` forgets, and a call of a tool."""
    request = Request(messages=(Turn(role="user", content="Where is Oslo?"),))
    failed = Call(
        key=request.key("openai/NAME"),
        model="openai/NAME",
        identity="openai/NAME",
        request=request,
        error="answered 500",
        created="2026-11-21T14:32:05.000+00:00",
    )
    asked = {"query": "Oslo"}
    searched = ToolRecording(
        key=tool_key("search", "1", asked, "Where?"),
        tool="search",
        version="1",
        arguments=asked,
        input="Where?",
        result=["In Norway."],
        created="2026-11-21T14:32:05.000+00:00",
    )
    with open_store(path) as store:
        asyncio.run(store.call_log().keep(failed))
        store.tool_log().keep(searched)


def answer_by_hand(path) -> None:
    """A session of an app."""
    began = "2026-11-22T09:30:00.000000+00:00"
    session = Session(id="5" * 16, project="support", started=began)
    said = {"input": "Is my order on its way?", "output": "Yes, since this morning.", "seconds": 1.5, "name": "answer"}
    with open_store(path) as store:
        store.sessions.add([session], [Span(id="a" * 16, session=session.id, project="support", started=began, **said)])


def steady(line: str) -> str:
    for changing, name in CHANGING:
        line = changing.sub(name, line)
    return line.rstrip()


def test_what_the_page_shows_is_what_is_printed(evalmark, world, models, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(ROOT / "examples", world / "examples")
    for name, text in FILES.items():
        (world / name).write_text(text, encoding="utf-8")
    evalmark("run", "examples/checks/suite.yaml", "--target", "slow:answer", "--store", "other.db", "-q")
    evalmark("run", "orders.yaml", "--store", "orders.db", "-q")
    for _ in range(2):
        evalmark("run", "examples/checks/suite.yaml", "--store", "twice.db", "-q")
    for target in ([], ["--target", "slow:answer"]):
        evalmark("run", "examples/checks/suite.yaml", *target, "--store", "changed.db", "-q")
    for failing in (*FAILING, "q1 q2 q5 q6 q7 q8 q9 q10"):
        (world / "failing.txt").write_text(failing)
        evalmark("run", "daily.yaml", "--store", "daily.db", "-q")
    record_by_hand(world / ".evalmark" / "evalmark.db")
    answer_by_hand(world / "support.db")
    compared = 0
    for command, printed in shown_commands():
        said = [steady(line) for line in evalmark(*shlex.split(command)[1:]).text.splitlines()]
        for line in printed:
            if "…" not in line:
                assert steady(line) in said, f"{command}\n{line}\nis not in\n" + "\n".join(said)
                del said[: said.index(steady(line)) + 1]
                compared += 1
    assert compared > 80
