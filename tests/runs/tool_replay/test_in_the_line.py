"""Tools as the engine has them: what an agent hides does not stay hidden, and conversations remember what they heard."""

import asyncio
from dataclasses import dataclass, field

import pytest

from evalmark import Case, Output
from evalmark.core.context.tool_replay import ToolReplay
from evalmark.core.values.score import Trial
from evalmark.errors import StoreError
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import AnsweredTurn, Conversation, Limits, Work
from evalmark.testing.memory import MemorySink, MemoryToolLog
from evalmark.tools import replayed

made: list[str] = []


@pytest.fixture(autouse=True)
def nothing_called():
    made.clear()


@replayed
def look_up(word):
    made.append(word)
    return word.upper()


@replayed
async def look_up_soon(word):
    made.append(word)
    return word.upper()


@dataclass(frozen=True)
class Agent:
    """Asks a tool, and may take its error for an answer; remembers what it heard where it is asked to."""

    name = "agent"
    hides: bool = False
    soon: bool = False
    heard: list[str] = field(default_factory=list)

    async def __call__(self, case: Case) -> Output:
        try:
            found = await look_up_soon(case.input) if self.soon else look_up(case.input)
        except Exception as error:
            if not self.hides:
                raise
            found = str(error)
        self.heard.append(found)
        return Output(value=" ".join(self.heard))

    def new_conversation(self) -> "Agent":
        return Agent(self.hides, self.soon, [])


class Broken(MemoryToolLog):
    """A journal that cannot be read."""

    def find(self, key):
        raise StoreError("the disk is gone")


def trials(count: int, mode="single") -> list[Trial]:
    return [Trial(case=Case(id=f"x{n}", input=f"word{n}"), position=n, mode=mode) for n in range(count)]


def run(items, tools, target=Agent(), jobs=1):
    sink = MemorySink()
    work = Work(trials=items, targets={"": target}, scorers=(), sink=sink, tools=tools)
    return asyncio.run(run_trials(work, Limits(jobs=jobs))), sink.results


@pytest.mark.parametrize("soon", [False, True], ids=["a plain tool", "an async tool"])
@pytest.mark.parametrize("hides", [False, True], ids=["an agent that fails", "an agent that hides it"])
@pytest.mark.parametrize(
    ("journal", "calls", "says"),
    [
        pytest.param(MemoryToolLog(full_after=2), 3, "the disk is full", id="a journal that is full"),
        pytest.param(Broken(), 0, "the disk is gone", id="a journal that cannot be read"),
    ],
)
def test_a_journal_that_cannot_be_used_ends_the_run(journal, calls, says, hides, soon):
    journal.recordings.clear()
    outcome, results = run(trials(5), ToolReplay(lambda: journal), Agent(hides, soon))
    assert outcome.stopped
    assert outcome.reason == f"No further tool is called, since the call log cannot be used: {says}"
    assert len(made) == calls
    assert len(results) == max(0, calls - 1), "the trial that could not be recorded is no result"


def test_a_trial_names_each_recording_once_that_it_made_or_used():
    class Twice(Agent):
        async def __call__(self, case):
            return Output(value=[look_up(case.input), look_up("other"), look_up(case.input)], metadata={"calls": ["m"]})

    journal = MemoryToolLog()
    _, results = run(trials(1), ToolReplay(lambda: journal), Twice())
    assert results[0].output.metadata == {"calls": ["m", *journal.recordings]}
    assert results[0].calls == ("m", *journal.recordings)


def test_without_tools_to_heed_a_tool_is_only_called():
    _, results = run(trials(2), None)
    assert made == ["word0", "word1"]
    assert [result.output.metadata for result in results] == [{}, {}]


def test_a_conversation_that_goes_on_replays_the_tools_of_the_turns_it_hears_again():
    journal = MemoryToolLog()
    turns = trials(3, "conversation")
    _, results = run([Conversation(target="", turns=turns)], ToolReplay(lambda: journal))
    assert results[-1].output.value == "WORD0 WORD1 WORD2"
    made.clear()
    said = [AnsweredTurn(case=turns[n].case, output=results[n].output) for n in range(2)]
    _, again = run([Conversation(target="", turns=[*said, turns[2]])], ToolReplay(lambda: journal, "strict"))
    assert again[0].output.value == "WORD0 WORD1 WORD2"
    assert made == []


def test_the_journal_is_opened_by_the_first_tool_that_is_called():
    opened = []

    def open_it():
        opened.append(1)
        return MemoryToolLog()

    class Silent(Agent):
        async def __call__(self, case):
            return Output(value="nothing")

    run(trials(3), ToolReplay(open_it), Silent())
    assert opened == []
    run(trials(3), ToolReplay(open_it))
    assert opened == [1]
