"""A guard in front of a user: what passes, what is done with the rest, and what is asked again."""

import asyncio
import functools
import inspect
import logging
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from evalmark import Output, Score, Similarity, Turn
from evalmark.core.values.call import Reply, Request
from evalmark.errors import ConfigError
from evalmark.quality import BlockedError, Guard, GuardVerdict
from evalmark.scorers import AnswerHallucination, AnswerQuality, Length
from evalmark.scoring.binding.bound_scorer import as_scorer
from tests.scoring.builtin.asking import Angles, angles

QUESTION = "Who built the bridge?"
CONTEXTS = ["Ida Holm built the bridge."]
GOOD, POOR = "Ida Holm [1].", "Ida Holm."
UNCITED = "quality: Missing citations."


def cites(output):
    return "[" in output


def brief(output):
    return len(output) < 20


def breaks(output):
    raise ValueError(f"no luck with {len(output)} characters")


def undecided(output):
    return 0.25


def silent(output):
    return None


def loud(output):
    return {"score": 0.0, "passed": False, "reason": f"{output!r} is loud"}


@dataclass(frozen=True)
class Nods:
    """A chat model that says what it is told to, and remembers what it was asked."""

    text: str = "yes"
    requests: list[Request] = field(default_factory=list)
    name: str = "local/nods"
    identity: str = "nods"

    async def __call__(self, request):
        self.requests.append(request)
        return Reply(text=self.text)


async def agreed(output, judge):
    """Whether the judge says yes."""
    return (await judge(Request(messages=(Turn(role="user", content=output),)))).text == "yes"


@dataclass
class Answers:
    """A function that gives one answer after another, and remembers how it was called."""

    answers: list
    calls: list = field(default_factory=list)

    def __call__(self, question, issues=()):
        self.calls.append((question, list(issues)))
        return self.answers[len(self.calls) - 1]


@pytest.mark.parametrize(
    ("check", "passed", "issues"),
    [
        pytest.param("quality", False, (UNCITED,), id="a name"),
        pytest.param({"length": {"max_chars": 20}}, True, (), id="a name with settings"),
        pytest.param({"length": {"max_chars": 5, "name": "short"}}, False, None, id="that goes by another name"),
        pytest.param(AnswerQuality(), False, (UNCITED,), id="an object"),
        pytest.param(cites, False, ("cites: the answer fails",), id="a function"),
        pytest.param(loud, False, ("loud: 'Ida Holm.' is loud",), id="a function with a reason"),
        pytest.param(
            as_scorer(undecided, threshold=0.5), False, ("undecided: the score 0.25 fails",), id="a bound one"
        ),
        pytest.param(as_scorer(undecided, threshold=0.2), True, (), id="a bound one that passes"),
        pytest.param("not-is-json", True, (), id="a negated name"),
        pytest.param(as_scorer(agreed, judge=Nods()), True, (), id="one bound to its judge"),
        pytest.param(as_scorer(agreed, judge=Nods("no")), False, ("agreed: the answer fails",), id="who says no"),
    ],
)
def test_any_scorer_is_a_check(check, passed, issues):
    verdict = Guard([check])(QUESTION, POOR, CONTEXTS)
    assert (verdict.passed, verdict.answer, verdict.passes, verdict.is_fallback) == (passed, POOR, 0, False)
    assert verdict.issues == issues or (issues is None and verdict.issues[0].startswith("short: "))


def test_every_check_has_to_pass_and_all_are_told():
    verdict = Guard(["quality", cites, brief])(QUESTION, "Unable to generate", CONTEXTS)
    assert [score.name for score in verdict.scores] == ["quality", "cites", "brief"]
    assert verdict.issues == (
        UNCITED,
        "quality: Answer contains fallback phrase: 'Unable to generate'",
        "cites: the answer fails",
    )
    assert not verdict.passed


@pytest.mark.parametrize(
    ("check", "issue"),
    [
        pytest.param(
            breaks, "breaks: the check failed with an error: ValueError: no luck with 9 characters", id="it breaks"
        ),
        pytest.param(silent, "silent: the check gave no score: the scorer returned None", id="it says nothing"),
        pytest.param(undecided, "undecided: the score 0.25 has no pass threshold", id="a number without a threshold"),
        pytest.param("quality", "quality: the check gave no score: there are no contexts", id="it lacks contexts"),
        pytest.param(lambda output: 7, "lambda: the score 7 has no pass threshold", id="a number on another scale"),
    ],
)
def test_what_cannot_be_decided_does_not_pass_unless_it_fails_open(check, issue):
    closed, opened = (Guard([check], fail_open=way)(QUESTION, POOR) for way in (False, True))
    assert (closed.passed, closed.issues) == (False, (issue,))
    assert (opened.passed, opened.issues) == (True, ())
    assert closed.scores == opened.scores


def test_a_check_that_says_no_counts_even_where_it_fails_open():
    assert not Guard([cites, breaks], fail_open=True)(QUESTION, POOR).passed


def test_a_check_that_takes_too_long_counts_as_broken():
    stop = threading.Event()

    def slow(output):
        return stop.wait(10)

    verdict = Guard([slow], timeout=0.02)(QUESTION, POOR)
    stop.set()
    assert verdict.issues == ("slow: the check failed with an error: no score within 0.02 s",)


def test_what_does_not_pass_is_logged_and_goes_through():
    assert Guard([cites])(QUESTION, POOR).answer == POOR
    assert Guard([cites]).wrap(lambda question: POOR)(QUESTION) == POOR


def test_a_fallback_takes_the_place_of_what_does_not_pass():
    guard = Guard([cites], on_fail="fallback", fallback="Please ask the desk.")
    verdict = guard(QUESTION, POOR)
    assert (verdict.answer, verdict.is_fallback, verdict.passed) == ("Please ask the desk.", True, False)
    assert verdict.issues == ("cites: the answer fails",)
    assert [guard.wrap(lambda question, a=a: a)(QUESTION) for a in (POOR, GOOD)] == ["Please ask the desk.", GOOD]


def test_a_blocked_answer_raises_with_all_that_was_found_and_without_the_answer_in_its_text():
    guard = Guard([cites, loud], on_fail="block")
    for ask in (lambda: guard(QUESTION, POOR), lambda: guard.wrap(lambda question: POOR)(QUESTION)):
        with pytest.raises(BlockedError) as blocked:
            ask()
        assert str(blocked.value) == "The guard blocked the answer: it did not pass cites, loud."
        assert blocked.value.issues == ("cites: the answer fails", "loud: 'Ida Holm.' is loud")
        assert blocked.value.verdict.answer == POOR
    assert Guard([cites], on_fail="block").wrap(lambda question: GOOD)(QUESTION) == GOOD


@pytest.mark.parametrize(
    ("answers", "max_passes", "answer", "passes", "issues"),
    [
        pytest.param([GOOD], 2, GOOD, 0, 0, id="the first answer passes"),
        pytest.param([POOR, GOOD], 2, GOOD, 1, 0, id="the second passes"),
        pytest.param([POOR, POOR, GOOD], 2, GOOD, 2, 0, id="the third passes"),
        pytest.param([POOR, "a" * 30, "b" * 30], 2, POOR, 2, 1, id="none passes: the best one"),
        pytest.param(["a" * 30, POOR, "b"], 2, POOR, 2, 1, id="none passes: the first of the best"),
        pytest.param(["a" * 30, "b" * 30], 1, "a" * 30, 1, 2, id="no more passes than allowed"),
    ],
)
def test_a_function_is_asked_again_until_an_answer_passes(answers, max_passes, answer, passes, issues):
    function = Answers(answers)
    guard = Guard([cites, brief], on_fail="retry", max_passes=max_passes)
    verdict = guard.wrap(function, verdicts=True)(QUESTION)
    assert (verdict.answer, verdict.passes, len(verdict.issues)) == (answer, passes, issues)
    assert len(function.calls) == len(answers)
    again = Answers(answers)
    assert guard.wrap(again)(QUESTION) == answer


def test_a_function_that_asks_for_the_issues_gets_those_of_its_last_answer():
    function = Answers(["a" * 30, POOR, GOOD])
    Guard([cites, brief], on_fail="retry", max_passes=2).wrap(function)(QUESTION)
    no_citation, too_long = "cites: the answer fails", "brief: the answer fails"
    assert function.calls == [(QUESTION, []), (QUESTION, [no_citation, too_long]), (QUESTION, [no_citation])]


def test_a_function_that_needs_issues_gets_none_at_first():
    seen = []

    def answer(question, issues):
        seen.append(issues)
        return POOR

    guarded = Guard([cites], on_fail="retry").wrap(answer)
    guarded(QUESTION)
    guarded(QUESTION, issues=["too long"])
    assert seen == [[], ["cites: the answer fails"], ["too long"], ["cites: the answer fails"]]


def test_a_function_that_asks_for_no_issues_is_called_as_before():
    calls = []

    def answer(question, **more):
        calls.append((question, more))
        return POOR

    Guard([cites], on_fail="retry", max_passes=3).wrap(answer)(QUESTION, tone="calm")
    assert calls == [(QUESTION, {"tone": "calm"})] * 4


@pytest.mark.parametrize(
    ("then", "shown"), [("log", POOR), ("fallback", "Please ask the desk."), ("block", BlockedError)]
)
def test_where_asking_again_does_not_help_then_decides(then, shown):
    fallback = "Please ask the desk." if then == "fallback" else None
    guarded = Guard([cites], on_fail="retry", then=then, fallback=fallback).wrap(lambda question: POOR)
    if shown is BlockedError:
        with pytest.raises(BlockedError):
            guarded(QUESTION)
    else:
        assert guarded(QUESTION) == shown


def test_an_answer_that_is_there_already_cannot_be_asked_for_again():
    assert Guard([cites], on_fail="retry", max_passes=5)(QUESTION, POOR).passes == 0
    with pytest.raises(BlockedError):
        Guard([cites], on_fail="retry", then="block")(QUESTION, POOR)


@pytest.mark.parametrize(
    ("returned", "answer", "contexts"),
    [
        pytest.param(POOR, POOR, None, id="a text"),
        pytest.param(Output(value=POOR, contexts=("a",)), POOR, ("a",), id="an Output"),
        pytest.param({"answer": POOR, "contexts": ["a"]}, POOR, ("a",), id="a mapping"),
        pytest.param({"answer": POOR}, POOR, None, id="a mapping without contexts"),
        pytest.param({"text": POOR}, {"text": POOR}, None, id="a mapping without an answer"),
        pytest.param(SimpleNamespace(answer=POOR), POOR, None, id="an object"),
        pytest.param(
            SimpleNamespace(answer=POOR, contexts=[SimpleNamespace(text="a")]), POOR, ("a",), id="with its own contexts"
        ),
        pytest.param(SimpleNamespace(content=POOR, response_metadata={}), POOR, None, id="a chat message"),
        pytest.param(None, None, None, id="nothing"),
    ],
)
def test_what_a_function_returns_is_read_and_handed_on_as_it_is(returned, answer, contexts):
    seen = []

    def look(case, output):
        seen.append((case.input, output.value, case.contexts_of(output), output.seconds >= 0))
        return True

    assert Guard([look]).wrap(lambda question: returned)(QUESTION) is returned
    assert seen == [(QUESTION, answer, contexts, True)]


def test_retrieval_scores_beside_the_answer_count():
    function = Guard(["quality"]).wrap(
        lambda question: {"answer": GOOD, "contexts": CONTEXTS, "retrieval_scores": [0.1]}, verdicts=True
    )
    assert function(QUESTION).issues == ("quality: Low retrieval relevance (avg: 0.100 < 0.25)",)


class Bot:
    guard = Guard([lambda query: query == QUESTION])

    @guard.wrap
    def answer(self, question, *, tone="calm"):
        """Answers."""
        return POOR

    def other(self, topic, query):
        return POOR


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda wrap: wrap(lambda question: POOR)(QUESTION), id="by place"),
        pytest.param(lambda wrap: wrap(lambda question: POOR)(question=QUESTION), id="by name"),
        pytest.param(lambda wrap: wrap(lambda topic, question: POOR)("x", QUESTION), id="as the second parameter"),
        pytest.param(lambda wrap: wrap(lambda topic: POOR)(QUESTION), id="under any name, as the first"),
        pytest.param(lambda wrap: wrap(lambda topic="x", *, query: POOR)(query=QUESTION), id="by name only"),
        pytest.param(lambda wrap: wrap(Bot().other)("x", QUESTION), id="to a method of an object"),
        pytest.param(lambda wrap: wrap(functools.partial(Bot().other, "x"))(QUESTION), id="to a partial"),
    ],
)
def test_the_question_is_found(ask):
    guard = Guard([lambda query: query == QUESTION], on_fail="block")
    assert ask(guard.wrap) == POOR


def test_a_method_is_guarded_where_it_is_written_and_stays_what_it_was():
    assert Bot().answer(QUESTION, tone="loud") == POOR
    assert (Bot.answer.__name__, Bot.answer.__doc__) == ("answer", "Answers.")
    assert list(inspect.signature(Bot().answer).parameters) == ["question", "tone"]


def test_contexts_of_the_call_count_where_the_answer_brings_none():
    def answer(question, contexts):
        return {"answer": GOOD, "contexts": ["another"]} if "own" in question else GOOD

    seen = []

    def look(contexts):
        seen.append(contexts)
        return True

    guarded = Guard([look]).wrap(answer)
    guarded(QUESTION, ["given"])
    guarded("own", contexts=[SimpleNamespace(text="given")])
    assert seen == [("given",), ("another",)]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        pytest.param(lambda: POOR, "Guard: <lambda> has no parameter for the question.", id="no question"),
        pytest.param(max, "Guard: max does not expose its parameters; wrap it", id="a function written in C"),
    ],
)
def test_a_function_that_cannot_be_guarded_is_refused(function, message):
    with pytest.raises(ConfigError) as refused:
        Guard([cites]).wrap(function)
    assert message in str(refused.value)


def test_streams_are_refused():
    def stream(question):
        yield POOR

    async def later(question):
        yield POOR

    async def coroutine(question):
        return POOR

    for function in (stream, later):
        with pytest.raises(ConfigError, match="streams its answer; a guard needs the whole answer"):
            Guard([cites]).wrap(function)
    for function in (stream, coroutine):
        with pytest.raises(ConfigError, match=f"returned a {'generator' if function is stream else 'coroutine'}"):
            Guard([cites]).wrap(lambda question, ask=function: ask(question))(QUESTION)


def test_what_the_function_raises_goes_to_its_caller():
    with pytest.raises(ZeroDivisionError):
        Guard([cites], fail_open=True).wrap(lambda question: 1 / 0)(QUESTION)
    with pytest.raises(TypeError, match="missing"):
        Guard([cites]).wrap(lambda question, tone: POOR)(QUESTION)


def test_async_functions_stay_async_and_share_the_callers_loop():
    loops = set()

    async def answer(question, issues=()):
        loops.add(asyncio.get_running_loop())
        return GOOD if issues else POOR

    class Answer:
        async def __call__(self, question):
            return POOR

    async def judged(output):
        loops.add(asyncio.get_running_loop())
        return "[" in output

    async def main():
        guard = Guard([judged], on_fail="retry")
        guarded = guard.wrap(answer)
        assert inspect.iscoroutinefunction(guarded)
        several = await asyncio.gather(*(guarded(QUESTION) for _ in range(5)))
        verdict = await guard.check(QUESTION, POOR, CONTEXTS, run_id="r")
        return several, verdict.passed, await guard.wrap(Answer())(QUESTION), loops == {asyncio.get_running_loop()}

    assert asyncio.run(main()) == ([GOOD] * 5, False, POOR, True)


def test_a_plain_function_may_run_a_loop_of_its_own_and_stays_in_its_thread():
    async def inner():
        return GOOD

    def answer(question):
        threads.append(threading.current_thread())
        return asyncio.run(inner())

    threads = []
    guarded = Guard([cites], on_fail="block").wrap(answer)
    assert guarded(QUESTION) == GOOD
    assert threads == [threading.current_thread()]


def test_a_plain_guard_works_inside_a_running_loop():
    async def handler():
        return Guard([cites])(QUESTION, GOOD).passed

    assert asyncio.run(handler()) is True


def test_one_guard_serves_many_threads_and_keeps_nothing_of_them():
    guard = Guard([cites, {"length": {"max_chars": 20}}], on_fail="retry")
    before = dict(vars(guard))
    found = {}

    def work(number):
        function = Answers([POOR, GOOD] if number % 2 else [GOOD])
        found[number] = guard.wrap(function, verdicts=True)(QUESTION).passes

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: n % 2 for n in range(16)}
    assert vars(guard) == before


def test_watch_is_told_every_verdict_before_it_raises():
    told: list[GuardVerdict] = []
    guarded = Guard([cites], on_fail="block", watch=told.append).wrap(Answers([GOOD, POOR]))
    guarded(QUESTION)
    with pytest.raises(BlockedError):
        guarded(QUESTION)
    assert [verdict.passed for verdict in told] == [True, False]


def test_checks_share_the_embedding_model_that_is_handed_in():
    model = Angles()
    checks = [{"answer_hallucination": {"threshold": 0.5}}, {"context_relevance": {"threshold": 0.5}}]
    guard = Guard(checks, embeddings=model)
    verdict = guard("q deg=0", "One deg=10. Two deg=150.", ["c deg=0"])
    assert [score.name for score in verdict.scores] == ["answer_hallucination", "context_relevance"]
    assert (verdict.passed, len(model.requests)) == (True, 1)
    assert guard("q deg=0", "Two deg=150.", ["c deg=0"]).issues[0].startswith("answer_hallucination: ")
    plain = Guard([AnswerHallucination()], embeddings=angles, fail_open=True)
    assert plain("q deg=0", "One deg=10.", ["c deg=0"]).scores[0].value == 0.0
    assert Guard([as_scorer(AnswerHallucination(), threshold=0.5)], embeddings=model)("q", "deg=0", ["deg=0"]).passed


def test_a_scorer_with_an_embedding_model_of_its_own_keeps_it():
    own, other = Angles(), Angles()
    Guard([Similarity(embedder=own)], embeddings=other)("q", "deg=0")
    assert other.requests == []


def test_checks_share_the_judge_that_is_handed_in():
    judge = Nods()
    assert Guard([agreed, {"length": {"max_chars": 20}}], judge=judge)(QUESTION, POOR).passed
    assert [request.messages[0].content for request in judge.requests] == [POOR]


def test_a_judge_is_never_asked_for_where_no_check_wants_one():
    assert Guard([cites], judge="nobody/at-all")(QUESTION, GOOD).passed


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("", "Guard: agreed needs a judge; name one with `judge=` or EVALMARK_JUDGE."),
        ("openai/a,openai/b", "or EVALMARK_JUDGE. The settings name several: openai/a, openai/b."),
    ],
)
def test_a_check_without_its_judge_is_refused(variable, message, world, monkeypatch):
    monkeypatch.setenv("EVALMARK_JUDGE", variable)
    with pytest.raises(ConfigError) as refused:
        Guard([agreed])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"checks": []}, "`checks` has to be a list of scorers, with at least one in it", id="no check"),
        pytest.param({"checks": "quality"}, "`checks` has to be a list of scorers", id="a name alone"),
        pytest.param(
            {"checks": ["qualty"]}, "Guard: there is no scorer 'qualty'. Did you mean 'quality'?", id="a typo"
        ),
        pytest.param({"checks": [{"length": {"max": 3}}]}, "there is no setting 'max'", id="an unknown setting"),
        pytest.param({"checks": [Length]}, "Guard: 'Length' is not a scorer", id="a class"),
        pytest.param({"checks": [7]}, "Guard: 'int' is not a scorer", id="a number"),
        pytest.param({"checks": [cites, cites]}, "two checks have the name 'cites'", id="twice the same"),
        pytest.param(
            {"on_fail": "retr"}, "`on_fail` is 'retr'; it can be 'log', 'retry', 'fallback' or 'block'.", id="word"
        ),
        pytest.param({"then": "retry"}, "`then` is 'retry'; it can be 'log', 'fallback' or 'block'.", id="no end"),
        pytest.param({"then": "block"}, "`then` works only with on_fail='retry'.", id="an end of nothing"),
        pytest.param({"max_passes": 0}, "`max_passes` is 0; it has to be 1 or more.", id="no pass"),
        pytest.param({"max_passes": True}, "`max_passes` is True; it has to be 1 or more.", id="a truth value"),
        pytest.param({"on_fail": "fallback"}, "set the replacement: fallback='…'.", id="no fallback"),
        pytest.param(
            {"fallback": "x"}, "`fallback` is never used; set on_fail='fallback'", id="a fallback for nothing"
        ),
        pytest.param({"fail_open": "no"}, "`fail_open` is 'no'; it is True or False.", id="a word for a truth value"),
        pytest.param(
            {"timeout": 0}, "`timeout` is 0; it has to be a number of seconds above 0, or None.", id="no time"
        ),
        pytest.param({"judge": 7}, "`judge` is neither a chat model nor the name of one.", id="no judge"),
        pytest.param({"watch": "x"}, "`watch` is not callable; pass a function of a verdict.", id="no watch"),
    ],
)
def test_a_guard_that_cannot_work_is_refused_when_it_is_made(settings, message):
    with pytest.raises(ConfigError) as refused:
        Guard(**{"checks": [cites], **settings})
    assert message in str(refused.value)


def test_contexts_that_are_none_are_refused():
    with pytest.raises(ConfigError, match="Guard: contexts is a single text; pass a list of texts"):
        Guard([cites])(QUESTION, GOOD, "one")
    with pytest.raises(ConfigError, match="Guard: contexts\\[0\\] is 7; pass a text"):
        Guard([cites]).wrap(lambda question: {"answer": GOOD, "contexts": [7]})(QUESTION)


def test_the_log_has_figures_and_names_and_no_texts(caplog):
    def answer(question, run_id):
        return POOR

    with caplog.at_level(logging.INFO, "evalmark.quality"):
        Guard([cites, loud, undecided], on_fail="retry").wrap(answer)(QUESTION, run_id="r-17")
        Guard([brief])(QUESTION, POOR, run_id="r-18")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "WARNING",
            (
                "guard run_id='r-17' question=21 characters, answer=9 characters, retries=1, "
                "scores={'cites': 0.0, 'loud': 0.0, 'undecided': 0.25}, not passed=['cites', 'loud', 'undecided'], log"
            ),
        ),
        (
            "INFO",
            (
                "guard run_id='r-18' question=21 characters, answer=9 characters, retries=0, "
                "scores={'brief': 1.0}, not passed=[], passed"
            ),
        ),
    ]


def test_an_output_with_contexts_of_its_own_can_be_judged():
    output = Output(value=GOOD, contexts=tuple(CONTEXTS), metadata={"retrieval_scores": [0.9]})
    assert Guard(["quality"])(QUESTION, output).passed


def test_several_scores_of_one_check_are_all_counted():
    def tone(output):
        return [Score(name="polite", value=1.0, passed=True), Score(name="calm", value=0.0, passed=False)]

    assert Guard([tone])(QUESTION, POOR).issues == ("calm: the answer fails",)
