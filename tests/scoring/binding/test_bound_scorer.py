"""A scorer's parameters are filled by name, and its threshold decides."""

import asyncio
import functools
import math
import threading
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

from evalmark import Case, Output, Score, Similarity, ToolCall, Turn, rag
from evalmark.core.values.call import Reply, Request
from evalmark.errors import ConfigError
from evalmark.judges import MetricFile, Rubric
from evalmark.scorers import Contains, Equals
from evalmark.scoring.binding.bound_scorer import as_scorer, scorer_name
from evalmark.scoring.binding.score_conversion import as_scores
from evalmark.scoring.judges.measure import Measure
from evalmark.testing.chat import ScriptedModel
from tests.scoring.builtin.asking import Angles, ask, ask_all

CASE = Case(id="1", input="the input", expected="the expected", contexts=("the row's",), metadata={"kind": "x"})
OUTPUT = Output(value="the answer", tool_calls=(ToolCall(name="find"),))


def seen(scorer, output=OUTPUT, embedder=None):
    """What a scorer that returns its arguments in a mapping was given."""
    (score,) = asyncio.run(as_scorer(scorer, embedder=embedder)(CASE, output))
    return score.detail


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, "the input") for name in ("input", "question", "query")],
        *[(name, "the expected") for name in ("expected", "ground_truth", "groundTruth", "reference")],
        *[(name, "the answer") for name in ("output", "submission", "answer")],
        ("case", CASE),
        ("contexts", ("the row's",)),
        ("tool_calls", (ToolCall(name="find"),)),
        ("metadata", {"kind": "x"}),
    ],
)
def test_a_parameter_is_filled_by_its_name(name, value):
    scope = {}
    exec(f"def scorer({name}): return {{'score': 1, 'metadata': {{'given': {name}}}}}", scope)  # noqa: S102
    assert seen(scope["scorer"]) == {"given": value}


def test_beside_case_the_output_is_the_whole_output():
    def scorer(case, output):
        return {"score": 1, "metadata": {"given": output}}

    assert seen(scorer) == {"given": OUTPUT}


def test_contexts_of_the_target_count_before_those_of_the_row():
    def scorer(contexts):
        return {"score": 1, "metadata": {"given": contexts}}

    assert seen(scorer, Output(value="a", contexts=())) == {"given": ()}
    assert seen(scorer, Output(value="a", contexts=("found",))) == {"given": ("found",)}


def test_parameters_with_defaults_are_left_alone_and_a_catch_all_gets_the_rest():
    def scorer(output, limit=3, *rest, sharp=True, **more):
        return {"score": 1, "metadata": {"given": (output, limit, rest, sharp, more)}}

    assert seen(scorer) == {"given": ("the answer", 3, (), True, {"input": "the input", "kind": "x"})}


def test_keyword_only_parameters_are_filled_too():
    def scorer(*, output, expected):
        return {"score": 1, "metadata": {"given": (output, expected)}}

    assert seen(scorer) == {"given": ("the answer", "the expected")}


def test_async_functions_and_objects_get_the_embedder():
    async def function(output, embedder):
        return {"score": 1, "metadata": {"given": embedder}}

    class Object:
        async def __call__(self, output, embedder):
            return await function(output, embedder)

    embedder = Angles()
    assert seen(function, embedder=embedder) == {"given": embedder}
    assert seen(Object(), embedder=embedder) == {"given": embedder}
    assert seen(functools.partial(function), embedder=embedder) == {"given": embedder}


def wants_embedder(output, embedder):
    return True


def wants_prompt(output, prompt):
    return True


def nameless(output, /):
    return True


class Odd:
    direction = "sideways"

    def __call__(self, output):
        return 1.0


@pytest.mark.parametrize(
    ("scorer", "threshold", "message"),
    [
        pytest.param(wants_prompt, None, "scorer 'wants_prompt': cannot fill parameter 'prompt'", id="unknown name"),
        pytest.param(
            wants_embedder,
            None,
            "cannot fill parameter 'embedder'; make it an `async def`",
            id="an embedder in a plain function",
        ),
        pytest.param(nameless, None, "parameter 'output' cannot be filled by name; remove the `/`", id="positional"),
        pytest.param(Equals, None, r"scorer 'equals' is a class; pass an instance: Equals\(\)", id="a class"),
        pytest.param("equals", None, "'equals' is not a scorer; pass a function", id="a name"),
        pytest.param(None, None, "nothing is not a scorer", id="nothing"),
        pytest.param(max, None, "does not show its parameters; wrap it", id="a function written in C"),
        pytest.param(len, 1.5, "the threshold 1.5 is not a number from 0 to 1", id="a threshold above 1"),
        pytest.param(len, "0.5", "the threshold '0.5' is not a number from 0 to 1", id="a threshold as text"),
        pytest.param(len, True, "the threshold True is not a number", id="a threshold that is a truth value"),
        pytest.param(len, math.nan, "the threshold nan is not a number", id="a threshold that is no number"),
        pytest.param(Odd(), None, "its direction is 'sideways', not 'higher' or 'lower'", id="a direction of its own"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_the_run(scorer, threshold, message):
    with pytest.raises(ConfigError, match=message):
        as_scorer(scorer, threshold=threshold)


def test_without_an_embedder_a_scorer_can_be_planned_but_not_asked():
    bound = as_scorer(Similarity())
    assert bound.needs_embedder
    with pytest.raises(ConfigError, match="similarity needs an embedding model; name one with `embeddings`"):
        asyncio.run(bound(CASE, OUTPUT))


def test_an_embedder_of_its_own_wins_over_the_runs():
    own, of_the_run = Angles(), Angles()
    bound = as_scorer(Similarity(embedder=own), embedder=of_the_run)
    assert not bound.needs_embedder
    asyncio.run(bound(Case(id="1", expected="deg=0"), Output(value="deg=0")))
    assert (len(own.requests), len(of_the_run.requests)) == (1, 0)


@pytest.mark.parametrize(
    ("scorer", "name"),
    [
        pytest.param(len, "len", id="a function's name"),
        pytest.param(functools.partial(wants_prompt, prompt="x"), "wants_prompt", id="that of a partial's function"),
        pytest.param(Similarity(), "similarity", id="an object's `name`"),
        pytest.param(type("FooBar", (), {"__call__": lambda self, output: True})(), "foo_bar", id="its class in words"),
        pytest.param(lambda output: True, "lambda", id="lambda"),
    ],
)
def test_a_scorer_goes_by(scorer, name):
    assert scorer_name(scorer) == name


@pytest.mark.parametrize(
    ("found", "status", "raw", "value", "passed"),
    [
        pytest.param(True, "scored", True, 1.0, True, id="true"),
        pytest.param(False, "scored", False, 0.0, False, id="false"),
        pytest.param(np.True_, "scored", True, 1.0, True, id="true of numpy"),
        pytest.param(np.array(False), "scored", False, 0.0, False, id="an array of no dimension"),
        pytest.param(0.25, "scored", 0.25, 0.25, None, id="a number from 0 to 1"),
        pytest.param(1, "scored", 1, 1.0, None, id="a whole number"),
        pytest.param(np.float32(0.5), "scored", 0.5, 0.5, None, id="a number of numpy"),
        pytest.param(Decimal("0.5"), "scored", 0.5, 0.5, None, id="a decimal"),
        pytest.param(7, "scored", 7, None, None, id="a number above 1 keeps its scale"),
        pytest.param(-0.5, "scored", -0.5, None, None, id="a number below 0"),
        pytest.param(None, "unscored", None, None, None, id="none"),
        pytest.param(math.nan, "unscored", None, None, None, id="nan"),
        pytest.param(math.inf, "unscored", None, None, None, id="infinity"),
        pytest.param(float("1e999"), "unscored", None, None, None, id="1e999"),
        pytest.param(10**400, "unscored", None, None, None, id="a number that no float holds"),
        pytest.param("0.7", "unscored", None, None, None, id="a number as text"),
        pytest.param("7/10", "unscored", None, None, None, id="7/10"),
        pytest.param({"score": 0.5}, "scored", 0.5, 0.5, None, id="a mapping with a score"),
        pytest.param({"score": None}, "unscored", None, None, None, id="a mapping without judgement"),
        pytest.param({"score": 0.5, "passed": False}, "scored", 0.5, 0.5, False, id="a mapping that decides"),
        pytest.param({"pass": True, "score": 1.0}, "scored", 1.0, 1.0, True, id="the word `pass`"),
        pytest.param(SimpleNamespace(score=0.5), "scored", 0.5, 0.5, None, id="an object with a score"),
        pytest.param(SimpleNamespace(score=None), "unscored", None, None, None, id="an object without judgement"),
        pytest.param(Score(name="x", value=math.nan), "unscored", None, None, None, id="a Score that is no number"),
        pytest.param(Score(name="x", value=1.5), "unscored", None, None, None, id="a Score out of range"),
        pytest.param(Score(name="x", value=True), "scored", None, 1.0, None, id="a Score that is a truth value"),
        pytest.param({}, "unscored", None, None, None, id="a mapping of no scores"),
        pytest.param([], "unscored", None, None, None, id="a list of no scores"),
    ],
)
def test_what_a_scorer_returns_becomes_a_score(found, status, raw, value, passed):
    (score,) = as_scores(found, "x")
    assert (score.status, score.raw, score.value, score.passed) == (status, raw, value, passed)
    assert type(score.value) in (float, type(None))
    assert bool(score.reason) == (status == "unscored")


@pytest.mark.parametrize(
    "found", [b"1", object(), 1j, [True], [0.5, 0.5], {"a": object()}, {"score": {"a": 1}}, np.zeros(2), Ellipsis]
)
def test_what_is_no_score_raises(found):
    with pytest.raises((TypeError, ValueError), match="return"):
        as_scores(found, "x")


def test_a_rationale_becomes_the_reason_and_metadata_the_detail():
    found = {"score": 0.5, "metadata": {"rationale": "so so", "tokens": 3}}
    (score,) = as_scores(found, "x")
    assert (score.reason, score.detail) == ("so so", {"tokens": 3})
    (score,) = as_scores(SimpleNamespace(score=0.5, reason="so so", metadata={"tokens": 3}), "x")
    assert (score.reason, score.detail) == ("so so", {"tokens": 3})


def test_several_scores_keep_their_names():
    found = [Score(name="a", value=1.0), {"name": "b", "score": 0.5}, SimpleNamespace(name="c", score=True)]
    assert [(s.name, s.value) for s in as_scores(found, "x")] == [("a", 1.0), ("b", 0.5), ("c", 1.0)]
    assert [s.name for s in as_scores({"a": 1, "b": None}, "x")] == ["x.a", "x.b"]


def test_two_scores_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two scores called 'a'"):
        as_scores([Score(name="a"), Score(name="a")], "x")


def test_a_name_given_from_outside_is_the_name_of_a_single_score():
    assert ask(lambda output: Score(name="own", value=1.0), "a", name="given").name == "given"
    assert ask(lambda output: Score(name="own", value=1.0), "a").name == "own"
    assert [s.name for s in ask_all(lambda output: {"a": 1, "b": 0}, "a", name="given")] == ["given.a", "given.b"]


def lower(scorer):
    scorer.direction = "lower"
    return scorer


@pytest.mark.parametrize(
    ("scorer", "threshold", "status", "passed"),
    [
        pytest.param(lambda output: 0.7, 0.7, "scored", True, id="reached"),
        pytest.param(lambda output: 0.6999999, 0.7, "scored", True, id="missed by rounding"),
        pytest.param(lambda output: 0.69, 0.7, "scored", False, id="missed"),
        pytest.param(lower(lambda output: 0.69), 0.7, "scored", True, id="kept where lower is better"),
        pytest.param(lower(lambda output: 0.71), 0.7, "scored", False, id="exceeded where lower is better"),
        pytest.param(lambda output: True, 0.5, "scored", True, id="true is 1"),
        pytest.param(
            lambda output: {"score": 0.9, "passed": False}, 0.5, "scored", True, id="it decides, not the scorer"
        ),
        pytest.param(lambda output: None, 0.5, "unscored", None, id="unscored stays unscored"),
        pytest.param(lambda output: 7, 0.5, "unscored", None, id="a number on another scale cannot be held against it"),
    ],
)
def test_a_threshold_decides_on_the_value(scorer, threshold, status, passed):
    score = ask(scorer, "a", threshold=threshold)
    assert (score.status, score.passed) == (status, passed)


def test_where_lower_is_better_true_fails():
    score = ask(lower(lambda output: True), "a")
    assert (score.direction, score.passed) == ("lower", False)


def test_what_a_scorer_raises_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        ask(lambda output: 1 / 0, "a")


@dataclass(frozen=True)
class Within:
    limit: int = 3
    words: tuple[str, ...] = field(default=())
    embedder: object = None

    def __call__(self, output):
        return len(output) <= self.limit


def made(limit):
    def scorer(output):
        return len(output) <= limit

    return scorer


def other(output):
    return True


def typed(source):
    """A function as one types it at a prompt: no file holds its source."""
    return eval(source)  # noqa: S307


@pytest.mark.parametrize(
    ("one", "another", "same"),
    [
        pytest.param(Within(), Within(), True, id="equal settings"),
        pytest.param(Within(), Within(limit=4), False, id="another setting"),
        pytest.param(Within(), Within(embedder=Angles(fingerprint="b")), False, id="another embedder"),
        pytest.param(made(3), made(3), True, id="functions that close over the same"),
        pytest.param(made(3), made(4), False, id="functions that close over other values"),
        pytest.param(functools.partial(other), functools.partial(other), True, id="equal partials"),
        pytest.param(functools.partial(Within.__call__, Within()), Within().__call__, False, id="a partial, a method"),
        pytest.param(Within(limit=4).__call__, Within().__call__, False, id="methods of different objects"),
        pytest.param(typed("lambda output: 1"), typed("lambda output: 2"), False, id="functions without a file"),
        pytest.param(typed("lambda output: 1"), typed("lambda output: 1"), True, id="the same without a file"),
    ],
)
def test_fingerprints_differ_when_the_judgement_might(one, another, same):
    assert (as_scorer(one, name="x").fingerprint == as_scorer(another, name="x").fingerprint) is same


def test_name_and_threshold_are_part_of_the_fingerprint():
    prints = {as_scorer(other, name=n, threshold=t).fingerprint for n in ("a", "b") for t in (None, 0.5)}
    assert len(prints) == 4


def test_a_fingerprint_is_the_same_in_another_process():
    import subprocess
    import sys

    code = "from evalmark.scorers import Contains; from evalmark.scoring.binding.bound_scorer import as_scorer; print(as_scorer(Contains(any=['a'])).fingerprint)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == as_scorer(Contains(any=["a"])).fingerprint
    assert len(run.stdout.strip()) == 32


@dataclass(frozen=True)
class Yes:
    """A chat model that says yes, and remembers what it was asked."""

    name: str = "local/yes"
    identity: str = "yes at home"
    requests: list[Request] = field(default_factory=list)

    async def __call__(self, request):
        self.requests.append(request)
        return Reply(text="yes")

    def __deepcopy__(self, memo):
        raise AssertionError("the judge is shared, never copied")


async def agreeable(output, judge):
    """Whether the judge says yes."""
    return (await judge(Request(messages=(Turn(role="user", content=output),)))).text == "yes"


@dataclass(frozen=True)
class Agreeable:
    judge: object = None

    async def __call__(self, output, judge):
        return await agreeable(output, judge)


def test_a_scorer_that_asks_for_a_judge_gets_the_runs():
    judge = Yes()
    bound = as_scorer(agreeable, judge=judge)
    assert (bound.needs_judge, bound.judge, bound.metric.judge) == (True, judge, "local/yes")
    (score,) = asyncio.run(bound(CASE, OUTPUT))
    assert score.passed is True
    assert [request.messages[0].content for request in judge.requests] == ["the answer"]


def test_without_a_judge_a_scorer_can_be_planned_but_not_asked():
    bound = as_scorer(agreeable)
    assert (bound.needs_judge, bound.metric.judge) == (True, "")
    wanted = "agreeable needs a judge; name one with --judge, EVALMARK_JUDGE or `judge:` in the suite."
    with pytest.raises(ConfigError) as refused:
        asyncio.run(bound(CASE, OUTPUT))
    assert str(refused.value) == wanted


def test_a_judge_of_its_own_wins_over_the_runs():
    own, of_the_run = Yes(name="local/own"), Yes()
    bound = as_scorer(Agreeable(judge=own), judge=of_the_run)
    assert (bound.needs_judge, bound.judge, bound.metric.judge) == (False, own, "local/own")
    asyncio.run(bound(CASE, OUTPUT))
    assert (len(own.requests), len(of_the_run.requests)) == (1, 0)


def test_an_attribute_that_is_no_chat_model_is_no_judge():
    judge = Yes()
    bound = as_scorer(Agreeable(judge="openai/some-model"), judge=judge)
    assert (bound.needs_judge, bound.judge) == (True, judge)


def test_a_plain_function_cannot_ask_for_a_judge():
    with pytest.raises(
        ConfigError, match="a plain function cannot fill parameter 'judge'; make it an `async def`, which"
    ):
        as_scorer(lambda output, judge: True)


def test_a_plain_function_with_a_judge_of_its_own_is_as_it_is():
    scorer = as_scorer(functools.partial(lambda output, judge: judge == "mine", judge="mine"))
    assert asyncio.run(scorer(CASE, OUTPUT))[0].passed is True
    assert not scorer.needs_judge


def test_a_scorer_that_asks_for_no_judge_has_none():
    bound, before = as_scorer(Equals(), judge=Yes()), as_scorer(Equals())
    assert (bound.needs_judge, bound.judge, bound.metric.judge) == (False, None, "")
    assert bound.fingerprint == before.fingerprint


def test_another_judge_is_another_fingerprint_and_another_object_of_the_same_is_not():
    def printed(judge, scorer=agreeable):
        return as_scorer(scorer, judge=judge).fingerprint

    assert len({printed(None), printed(Yes()), printed(Yes(identity="yes elsewhere"))}) == 3
    assert printed(Yes()) == printed(Yes(requests=[Request(messages=())]))
    own = [Agreeable(judge=Yes(identity=identity)) for identity in ("a", "b", "b")]
    first, second, third = (printed(None, scorer) for scorer in own)
    assert first != second == third


@dataclass(frozen=True)
class Strict:
    default_threshold: object = 1.0

    def __call__(self, output):
        return 0.9


@pytest.mark.parametrize(
    ("own", "given", "threshold", "passed"),
    [
        pytest.param(1.0, None, 1.0, False, id="its own counts where none is given"),
        pytest.param(1.0, 0.5, 0.5, True, id="a given one counts before it"),
        pytest.param(1.0, 0.0, 0.0, True, id="even a given one of zero"),
        pytest.param("high", None, None, None, id="a word is none"),
        pytest.param(True, None, None, None, id="a truth value is none"),
    ],
)
def test_a_scorer_may_bring_its_threshold_along(own, given, threshold, passed):
    bound = as_scorer(Strict(own), threshold=given)
    (score,) = asyncio.run(bound(CASE, OUTPUT))
    assert (bound.metric.threshold, score.passed) == (threshold, passed)


def test_a_threshold_of_its_own_that_cannot_be_met_is_refused():
    with pytest.raises(ConfigError, match="the threshold 90 is not a number from 0 to 1"):
        as_scorer(Strict(90))


class Levenshteinlike:
    """A scorer by the conventions of autoevals: output, expected, whatever else, and an object with `.score`."""

    def __init__(self):
        self.seen = []

    def __call__(self, output, expected=None, **kwargs):
        self.seen.append((output, expected, kwargs))
        return SimpleNamespace(name="Levenshtein", score=0.25, metadata={"rationale": "far off"}, error=None)


def test_a_scorer_that_takes_anything_gets_the_input_and_what_else_the_row_brings():
    scorer = Levenshteinlike()
    (score,) = asyncio.run(as_scorer(scorer)(CASE, OUTPUT))
    assert scorer.seen == [("the answer", "the expected", {"input": "the input", "kind": "x"})]
    assert (score.value, score.reason) == (0.25, "far off")


def test_what_a_row_brings_never_takes_the_place_of_a_parameter():
    seen_now = []

    def scorer(output, **kwargs):
        seen_now.append((output, kwargs))
        return 1.0

    case = Case(id="1", input="in", metadata={"output": "theirs", "expected": "theirs", "input": "theirs", "kind": 1})
    asyncio.run(as_scorer(scorer)(case, OUTPUT))
    assert seen_now == [("the answer", {"input": "in", "kind": 1})]


@pytest.mark.parametrize(
    ("found", "value", "passed"),
    [
        pytest.param(0.99, 0.99, False, id="a number that nobody judges has to reach it"),
        pytest.param(1.0, 1.0, True, id="and may"),
        pytest.param(True, 1.0, True, id="a truth value decides for itself"),
        pytest.param({"score": 0.4, "passed": True}, 0.4, True, id="so does a scorer that says so"),
        pytest.param(None, None, None, id="what is unscored stays so"),
        pytest.param(97, None, None, id="a number beyond 1 is on no scale"),
    ],
)
def test_the_other_threshold_holds_only_what_is_undecided(found, value, passed):
    bound = replace(as_scorer(lambda output: found), fallback_threshold=1.0)
    (score,) = asyncio.run(bound(CASE, OUTPUT))
    assert (score.value, score.passed) == (value, passed)


def test_a_scorer_that_decides_nothing_only_records():
    bound = replace(as_scorer(lambda output: False, threshold=0.5), decides=False)
    (score,) = asyncio.run(bound(CASE, OUTPUT))
    assert (score.value, score.passed) == (0.0, None)
    assert bound.fingerprint != as_scorer(lambda output: False, threshold=0.5).fingerprint


def test_the_version_of_a_metric_is_that_of_its_settings_and_not_of_its_judge_or_threshold():
    plain = as_scorer(Similarity()).versioned
    assert plain.version
    assert as_scorer(Similarity(), threshold=0.3, name="close").versioned.version == plain.version
    assert (
        as_scorer(Similarity(positive=0.8, negative=0.2)).versioned.version == plain.version
    )  # a score has its own bars
    assert as_scorer(Similarity(liked_guard=False)).versioned.version != plain.version
    assert as_scorer(Equals()).versioned.version != as_scorer(Contains()).versioned.version


def test_a_setting_that_only_the_scorer_knows_is_part_of_its_version():
    @dataclass(frozen=True)
    class Long:
        threshold: float = 0.5  # held by the scorer itself, not by the metric
        judge: str = "a name that no report has"
        default_threshold: float = 0.2

        def __call__(self, output):
            return len(output) >= self.threshold

    plain = as_scorer(Long()).versioned
    assert as_scorer(Long(threshold=0.6)).versioned.version != plain.version
    assert as_scorer(Long(judge="another")).versioned.version != plain.version
    assert as_scorer(Long(default_threshold=0.3)).versioned.version == plain.version


def test_the_version_of_a_judge_is_that_of_what_it_is_told():
    def of(description, judge=None, threshold=None):
        measure = Measure(kind="scale", low=1, high=5)
        metric = MetricFile(name="polite", description=description, measure=measure, threshold=threshold)
        return as_scorer(Rubric(metric=metric, judge=judge), judge=ScriptedModel([], name="other")).versioned

    assert of("Is it polite?").version == of("Is it polite?", ScriptedModel([], name="own")).version
    assert of("Is it polite?").version == of("Is it polite?", threshold=0.5).version
    assert of("Is it polite?").version != of("Is it friendly?").version
    assert of("Is it polite?").judge == "other"


def test_a_function_of_the_rag_metrics_blocks_and_so_never_runs_on_the_loop():
    threads = []

    def metric(output):
        threads.append(threading.get_ident())
        return 1.0

    metric.__module__ = rag.answer_correctness.__module__
    assert ask(metric, "Oslo").value == 1.0
    assert threads
    assert threads[0] != threading.get_ident()
