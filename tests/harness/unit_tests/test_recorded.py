"""From recorded traffic to a failing process: record, label, change the app, test; as the docs tell it."""

import pytest

import evalmark
from evalmark.harness.unit_tests.evaluation import CosineScoreEvaluationStrategy
from evalmark.recording import flush
from evalmark.store import open_store
from evalmark.tracing.annotations import labels
from evalmark.tracing.annotations.labels import NewLabel, save_labels
from evalmark.unit_tests import UnitTest, UnitTestFailedError

from .recorded import angle, run


@evalmark.record("demoChatGPT")
def one(question):
    return f"{question} deg=5"


@evalmark.record("demoChatGPT")
def several(question, language="en"):
    return f"{question} in {language} deg=5"


@pytest.fixture
def strategy():
    return CosineScoreEvaluationStrategy(
        embed_function=angle, positive_score_threshold=0.7, negative_score_threshold=0.3
    )


@pytest.fixture
def labelled(world):
    """Two answers, liked by Ann."""
    one("Oslo?")
    several("Oslo?", "no")
    flush()
    with open_store(world / ".evalmark" / "evalmark.db") as store:
        said = NewLabel(liked=True, by="ann")
        found = [labels.find_subject(store, span.id) for span in store.sessions.answers("demoChatGPT")]
        save_labels(store, [(subject, said) for subject in found])
    return world


def test_the_recorded_functions_are_evaluated_as_they_are(labelled, strategy, monkeypatch):
    monkeypatch.setenv("EVALMARK_RECORD", "off")
    with UnitTest("test_session", evaluator=strategy).for_project_sessions("demoChatGPT") as test:
        for test_case in test.test_cases():
            test_case.evaluate(one if test_case.inputs == "Oslo?" else several)
    assert [(r.test_case.inputs, r.generated_result) for r in test.results] == [
        ("Oslo?", "Oslo? deg=5"),
        ({"question": "Oslo?", "language": "no"}, "Oslo? in no deg=5"),
    ]
    flush()
    with open_store(labelled / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert len(store.sessions.answers("demoChatGPT")) == 2


def test_a_change_that_breaks_what_people_liked_fails_the_process(labelled, strategy):
    unit_test = UnitTest("test_session", evaluator=strategy).for_project_sessions("demoChatGPT")
    with pytest.raises(UnitTestFailedError, match="2 of 2 cases did not pass"):
        run(unit_test, lambda inputs: "deg=95")
