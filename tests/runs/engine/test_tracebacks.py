"""Where the user's code raised an error: its own frames, and nobody else's."""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from evalmark import Case, Output
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.runs.engine.trial import call_target, run_scorers
from evalmark.runs.targets.function import as_target
from evalmark.scoring.binding.bound_scorer import as_scorer

BOT = """
import asyncio, json

def look_up(question):
    return cities[question]

def answer(question):
    return look_up(question)

async def later(question):
    await asyncio.sleep(0)
    return look_up(question)

def stream(question):
    yield "a"
    yield look_up(question)

def parse(question):
    return json.loads(question)

def wrapped(question):
    try:
        return look_up(question)
    except NameError as error:
        raise ValueError("no answer") from error

def back_and_forth(question):
    return json.dumps({"a": object()}, default=lambda thing: look_up(question))

async def several(question):
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(later(question))

def deep(question):
    return deep(question) + 1

def huge(question):
    raise ValueError("x" * 1_000_000)

class Bot:
    def __init__(self):
        self.question = None

    def __call__(self, question):
        return look_up(question)

def score(output):
    return look_up(output)
"""


@pytest.fixture
def bot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app" / "traced_bot.py"
    path.parent.mkdir()
    path.write_text(BOT)
    spec = importlib.util.spec_from_file_location("traced_bot", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "traced_bot", module)
    spec.loader.exec_module(module)
    return module


def asked(thing) -> Output:
    async def main():
        with trial_context(TrialContext()):
            return await call_target(as_target(thing), Case(id="1", input="Oslo"))

    return asyncio.run(main())


def files(text: str) -> set[str]:
    return {line.split('"')[1] for line in text.splitlines() if line.lstrip(" |").startswith("File ")}


@pytest.mark.parametrize("name", ["answer", "later", "stream", "wrapped", "back_and_forth", "several", "Bot"])
def test_the_frames_are_the_users_alone_with_paths_from_the_working_directory(bot, name):
    told = asked(getattr(bot, name)).metadata
    assert files(told["traceback"]) == {"app/traced_bot.py"}
    assert "cities[question]" in told["traceback"]
    assert told["raised_at"].startswith("app/traced_bot.py:")


def test_the_place_is_the_last_line_of_the_user_also_where_a_library_raised(bot):
    assert asked(bot.answer).metadata["raised_at"] == f"app/traced_bot.py:{bot.look_up.__code__.co_firstlineno + 1}"
    output = asked(bot.parse)
    assert output.metadata["raised_at"] == f"app/traced_bot.py:{bot.parse.__code__.co_firstlineno + 1}"
    assert output.metadata["traceback"].endswith(output.error.partition(": ")[2])


def test_a_cause_is_told_before_what_it_caused(bot):
    text = asked(bot.wrapped).metadata["traceback"]
    assert text.index("NameError") < text.index("direct cause") < text.index("ValueError: no answer")


def test_a_long_traceback_is_cut_and_keeps_its_end(bot):
    text = asked(bot.deep).metadata["traceback"]
    assert "frames left out" in text
    assert len(text.splitlines()) < 20
    assert text.splitlines()[-1].startswith("RecursionError")


def test_a_huge_message_leaves_the_frames(bot):
    told = asked(bot.huge).metadata
    assert "in huge" in told["traceback"]
    assert len(told["traceback"]) < 25_000


def test_an_installed_package_as_the_target_shows_its_own_frames(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "installed_bot.py").write_text("def answer(question):\n    return missing\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(tmp_path)
    assert asked("installed_bot:answer").metadata["raised_at"] == "site-packages/installed_bot.py:2"


def test_what_evalmark_or_python_itself_raises_has_no_traceback():
    assert asked(json.loads).metadata == {}


def test_a_scorer_that_raises_says_where_too(bot):
    bound = [as_scorer(bot.score)]

    async def main():
        return await run_scorers(bound, Case(id="1"), Output(value="Oslo"))

    (score,) = asyncio.run(main())
    assert score.status == "error"
    assert score.detail["raised_at"] == f"app/traced_bot.py:{bot.look_up.__code__.co_firstlineno + 1}"
    assert files(score.detail["traceback"]) == {"app/traced_bot.py"}


def test_a_path_outside_of_the_working_directory_is_not_made_up(bot, tmp_path, monkeypatch):
    monkeypatch.chdir(Path("/"))
    place = asked(bot.answer).metadata["raised_at"]
    assert place.rpartition(":")[0] in (
        str(tmp_path / "app" / "traced_bot.py")[1:],
        "app/traced_bot.py",
    ) or place.startswith("~/")
