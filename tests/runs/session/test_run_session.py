"""A run session: its trials share limits, models and the embedding model; what each spends is counted apart."""

import asyncio
import threading

import pytest

from evalmark import Case, Output
from evalmark.core.settings import Settings
from evalmark.core.sync import BackgroundLoop
from evalmark.core.values.score import Trial
from evalmark.errors import ConfigError
from evalmark.harness.evals.definition import Eval
from evalmark.harness.evals.eval_plan import prepare_eval
from evalmark.runs.engine.work import AnsweredTrial
from evalmark.runs.session.run_session import ResultList, RunSession
from evalmark.runs.session.run_store import MemoryRunStore
from evalmark.testing.chat import ScriptedModel

CASES = [Case(id=str(n), input=f"q{n}", expected="yes") for n in range(5)]


def session(**settings):
    memory = MemoryRunStore()
    return RunSession(Settings(**settings), lambda: memory)


def prepare(of, task=lambda q: "yes", scorers=("equals",), **more):
    return prepare_eval(Eval(name="e", data=(), task=task, scorers=tuple(scorers), **more), CASES, of)


def ask(of, prepared, items, **more):
    found = ResultList()

    async def run():
        reason = await of.run(prepared, items, found, **more)
        await of.close()
        return reason

    return asyncio.run(run()), found.results


def trials(prepared):
    target = prepared.bound.target.name
    return [Trial(case=case, dataset="e", target=target, position=n) for n, case in enumerate(CASES)]


def test_trials_are_answered_and_judged_and_handed_over():
    mine = session()
    prepared = prepare(mine)
    reason, found = ask(mine, prepared, trials(prepared))
    assert (reason, sorted(r.trial.case.id for r in found)) == ("", list("01234"))
    assert {r.verdict for r in found} == {"pass"}


def test_an_output_that_is_there_is_only_judged():
    mine = session()
    called = []
    prepared = prepare(mine, task=called.append)
    item = AnsweredTrial(trial=trials(prepared)[0], output=Output(value="no"))
    _, (found,) = ask(mine, prepared, [item])
    assert (found.verdict, found.output.value, called) == ("fail", "no", [])


def test_a_stop_leaves_out_what_has_not_begun():
    mine = session()

    async def stops(question):
        mine.stop.set()
        return "yes"

    prepared = prepare(mine, task=stops)
    _, found = ask(mine, prepared, trials(prepared), jobs=1)
    assert [r.trial.case.id for r in found] == ["0"]


def test_a_judge_costs_what_it_costs_and_only_since_then():
    mine = session()
    model = ScriptedModel(['{"reason": "r", "choice": "C"}'] * 9)
    prepared = prepare(mine, scorers=["factuality"], judge=model)
    before = mine.spending()
    _, found = ask(mine, prepared, trials(prepared)[:2])
    assert len(found) == 2
    (spent,) = mine.spent_since(before)
    assert spent.calls == len(model.requests) >= 2
    assert mine.spent_since(mine.spending()) == ()


def test_a_conversation_judge_has_no_place_here():
    class Talk:
        name, needs_history = "talk", True

        def __call__(self, case, output):
            return 1.0

    mine = session()
    with pytest.raises(ConfigError, match="talk scores conversations"):
        prepare(mine, scorers=[Talk()])


def test_a_loop_runs_in_a_thread_of_its_own_and_ends_what_is_left():
    loop = BackgroundLoop()
    ended = threading.Event()

    async def where():
        return threading.current_thread().name

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    assert loop.run(where()) == "evalmark"
    loop.start(forever())
    loop.run(where())
    loop.close()
    assert ended.is_set()
