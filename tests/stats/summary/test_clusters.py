"""Which trials depend on each other: by a field, by conversation, and rows that are equal in everything but the id."""

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.case import Example, Turn, cluster_value, content_hash
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.stats.summary.clusters import ClusterFinder
from evalmark.stats.summary.summarise import summarise


def run(*results, cluster=""):
    infos = (DatasetInfo(name="d", cluster=cluster), DatasetInfo(name="other"))
    return Run(id="r", name="r", created="", datasets=infos, results=results)


def trial(case, **more):
    return Trial(case=case, **{"dataset": "d", **more})


def clusters(found, *trials):
    finder = ClusterFinder(found)
    return [finder.name(one) for one in trials]


@pytest.mark.parametrize(
    ("case", "field", "value"),
    [
        pytest.param(Case(id="1", metadata={"document": "a"}), "document", "a", id="metadata"),
        pytest.param(Case(id="1", input={"document": "a"}), "document", "a", id="input"),
        pytest.param(Case(id="1", input={"document": "b"}, metadata={"document": "a"}), "document", "a", id="both"),
        pytest.param(Case(id="1", input="Who?"), "input", "Who?", id="the input itself"),
        pytest.param(Case(id="1", contexts=("x",)), "contexts", ("x",), id="contexts"),
        pytest.param(Case(id="1", metadata={"document": None}), "document", None, id="nothing"),
        pytest.param(Case(id="1", input="Who?"), "id", None, id="another field of cases"),
    ],
)
def test_the_field_is_one_of_the_metadata_of_the_input_or_of_the_case(case, field, value):
    assert cluster_value(case, field) == value


def test_cases_with_one_value_are_one_cluster_and_those_without_are_their_own():
    rows = [Case(id=str(n), input=f"q{n}", metadata={} if n > 3 else {"document": n // 2}) for n in range(6)]
    assert clusters(run(cluster="document"), *map(trial, rows)) == ["0", "0", "1", "1", "2", "3"]
    assert clusters(run(), *map(trial, rows)) == ["0", "1", "2", "3", "4", "5"]


def test_another_dataset_has_a_field_of_its_own():
    case = Case(id="1", input="q1", metadata={"document": "a"})
    other = Case(id="2", input="q2", metadata={"document": "a"})
    assert clusters(run(cluster="document"), trial(case), trial(other, dataset="other")) == ["0", "1"]


@pytest.mark.parametrize(
    "change",
    [
        {"input": "Where?"},
        {"expected": "Oslo"},
        {"examples": (Example(value="x"),)},
        {"contexts": ("x",)},
        {"history": (Turn(role="user", content="x"),)},
        {"given": Output(value="x")},
        {"tags": ("x",)},
        {"metadata": {"n": 2}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_rows_that_differ_in_anything_but_the_id_are_different_cases(change):
    row = {"input": "Who?", "metadata": {"n": 1}}
    first, copy, other = Case(id="1", **row), Case(id="2", place="x:2", **row), Case(id="3", **(row | change))
    assert content_hash(first) == content_hash(copy) != content_hash(other)


def test_turns_of_a_conversation_and_repeats_are_one_cluster_each():
    turns = [trial(Case(id=str(n), input=f"turn {n}"), mode="conversation", position=n) for n in range(3)]
    repeats = [trial(Case(id="a", input="x"), repeat=n) for n in range(2)]
    assert clusters(run(), *turns, *repeats) == ["0", "0", "0", "1", "1"]


def test_cases_of_which_only_the_name_is_known_are_not_equal():
    assert clusters(run(), *(trial(Case(id=f"test_{n}", input="")) for n in range(3))) == ["0", "1", "2"]


def test_one_run_of_documents_and_conversations_names_both():
    finder = ClusterFinder(run(cluster="document"))
    finder.find(trial(Case(id="1", metadata={"document": "a"})))
    assert finder.unit([("d", "single"), ("other", "conversation")]) == "conversation or document"
    assert finder.unit([("other", "single")]) == "case"


@pytest.mark.parametrize("graded", [False, True])
def test_copies_of_every_row_change_no_interval(graded):
    def results(copies):
        for n in range(30):
            for copy in range(copies):
                value = n % 7 / 6 if graded else float(n % 3 > 0)
                case = Case(id=f"{n}-{copy}", input=f"q{n}", metadata={"n": n})
                scores = (Score(name="m", raw=value, value=value, passed=value > 0.3),)
                yield Result(trial=trial(case, position=n * copies + copy), output=Output(value="x"), scores=scores)

    once, copied = (summarise(run(*results(copies))) for copies in (1, 3))
    assert copied.total.trials == 3 * once.total.trials
    assert copied.total.pass_rate.interval.ends == pytest.approx(once.total.pass_rate.interval.ends, abs=1e-9)
    (one,), (other,) = once.metrics, copied.metrics
    assert other.interval.ends == pytest.approx(one.interval.ends, abs=1e-9)
    assert other.interval.method == f"{one.interval.method}, clustered by case"
