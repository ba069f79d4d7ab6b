"""Replies of judges: only the one form that was asked for is a verdict, and everything else is unscored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.values.call import Reply
from evalmark.judges import Verdict
from evalmark.prompts.metrics.compliance import read_rule_verdicts
from evalmark.prompts.metrics.metric import read_ok
from evalmark.scoring.judges.replies import ReplyFault

from .asking import ask, metric

OKS = [
    # what is said, the verdict or the kind of fault
    ('{"reason": "r", "verdict": "OK"}', True),
    ('{"reason": "r", "verdict": "ERR"}', False),
    ('{"verdict": "OK"}', True),
    ('Well.\n{"reason": "r", "verdict": "OK"}', True),
    ('```json\n{"reason": "r", "verdict": "ERR"}\n```', False),
    ('{"reason": "r", "verdict": "OK", "pass": true}', True),
    ('{"reason": "r", "verdict": "OK", "pass": false}', "judge_inconsistent"),
    ('{"reason": "r", "verdict": "Ok"}', "judge_parse"),
    ('{"reason": "r", "verdict": "OK."}', "judge_parse"),
    ('{"reason": "r", "verdict": " OK"}', "judge_parse"),
    ('{"reason": "r", "verdict": "not OK"}', "judge_parse"),
    ('{"reason": "r", "verdict": "OK or ERR"}', "judge_parse"),
    ('{"reason": "r", "verdict": "ok"}', "judge_parse"),
    ('{"reason": "r", "verdict": "PASS"}', "judge_parse"),
    ('{"reason": "r", "verdict": true}', "judge_parse"),
    ('{"reason": "r", "verdict": 1}', "judge_parse"),
    ('{"reason": "r", "verdict": null}', "judge_parse"),
    ('{"reason": "r", "verdict": ["OK"]}', "judge_parse"),
    ('{"reason": 1, "verdict": "OK"}', "judge_parse"),
    ('{"reason": "r", "score": 100}', "judge_parse"),
    ('{"reason": "r", "answer": "OK"}', "judge_parse"),
    ('{"verdict": "OK"} {"verdict": "ERR"}', "judge_inconsistent"),
    ('{"verdict": "OK", "verdict": "ERR"}', "judge_parse"),
    ('{"verdict": "OK"', "judge_parse"),
    ('{"verdict": "OK"} and so on', "judge_parse"),
    ('[{"verdict": "OK"}]', "judge_parse"),
    ("OK", "judge_parse"),
    ("ERR", "judge_parse"),
    ("Ok", "judge_parse"),
    ("OK.", "judge_parse"),
    ("not OK", "judge_parse"),
    ("It breaks no rule.\n\nOK", "judge_parse"),
    ("score: 4.5", "judge_parse"),
    ("true", "judge_parse"),
    ("null", "judge_parse"),
    ('"OK"', "judge_parse"),
    ("", "judge_parse"),
    ("I'm sorry, but I can't assist with that.", "judge_refused"),
]
SCORES = [
    ('{"reason": "r", "score": 100}', 100.0),
    ('{"reason": "r", "score": 0}', 0.0),
    ('{"explanation": "e", "score": 45}', 45.0),
    ('{"score": 4.5}', 4.5),
    ('```json\n{"explanation": "e", "score": 95}\n```', 95.0),
    ('{"reason": "r", "score": 101}', "judge_range"),
    ('{"reason": "r", "score": -1}', "judge_range"),
    ('{"reason": "r", "score": NaN}', "judge_range"),
    ('{"reason": "r", "score": 1e999}', "judge_range"),
    ('{"reason": "r", "score": "95"}', "judge_parse"),
    ('{"reason": "r", "score": true}', "judge_parse"),
    ('{"reason": "r", "score": null}', "judge_parse"),
    ('{"reason": "r", "score": []}', "judge_parse"),
    ('{"reason": "r", "score": ""}', "judge_parse"),
    ('{"reason": "r", "verdict": "OK"}', "judge_parse"),
    ("score: 4.5", "judge_parse"),
    ("score: 85", "judge_parse"),
    ("85", "judge_parse"),
    ("85/100", "judge_parse"),
    ("OK", "judge_parse"),
    ("Ok", "judge_parse"),
    ("OK.", "judge_parse"),
    ("not OK", "judge_parse"),
    ("true", "judge_parse"),
    ("null", "judge_parse"),
]


@pytest.mark.parametrize(("said", "wanted"), OKS, ids=[said or "nothing" for said, _ in OKS])
def test_ok_or_err(tmp_path, said, wanted):
    score, model = ask(metric(tmp_path, "{{output}}"), [said, said])
    if isinstance(wanted, bool):
        assert (score.status, score.raw, score.passed, len(model.requests)) == ("scored", wanted, wanted, 1)
    else:
        assert (score.status, score.value, score.passed, len(model.requests)) == ("unscored", None, None, 2)
        assert score.detail["unscored"] == wanted
        assert score.detail["said"] == said


@pytest.mark.parametrize(("said", "wanted"), SCORES, ids=[said for said, _ in SCORES])
def test_a_score_from_0_to_100(tmp_path, said, wanted):
    score, model = ask(metric(tmp_path, "Give a score. {{output}}"), [said, said])
    if isinstance(wanted, float):
        assert (score.status, score.raw, score.value, len(model.requests)) == ("scored", wanted, wanted / 100, 1)
    else:
        assert (score.status, score.value, score.detail["unscored"], len(model.requests)) == (
            "unscored",
            None,
            wanted,
            2,
        )


def test_a_judge_that_corrects_itself_is_heard(tmp_path):
    score, model = ask(metric(tmp_path, "{{output}}"), ["Ok", {"reason": "r", "verdict": "OK"}])
    assert (score.passed, score.detail["repaired"]) == (True, True)
    again = model.requests[1].messages[-1].content
    assert again.startswith("Your reply cannot be used: there is no JSON object in it.")
    assert '{"reason": "...", "verdict": "OK" or "ERR"}' in again


RULES = [
    ('{"reason": "r", "verdicts": [{"rule": 1, "verdict": "OK"}, {"rule": 2, "verdict": "ERR"}]}', ("ok", "err")),
    ('{"verdicts": [{"rule": 2, "verdict": "OK"}, {"rule": 1, "verdict": "UNSURE"}]}', ("unscored", "ok")),
    (
        '{"verdicts": [{"rule": 1, "verdict": "OK"}, {"rule": 2, "verdict": "OK"}, {"rule": 1, "verdict": "OK"}]}',
        ("ok", "ok"),
    ),
    ('{"verdicts": [{"rule": 1, "verdict": "OK"}]}', "judge_parse"),
    ('{"verdicts": []}', "judge_parse"),
    ('{"verdicts": {"1": "OK", "2": "OK"}}', "judge_parse"),
    ('{"verdicts": ["OK", "OK"]}', "judge_parse"),
    ('{"verdicts": [{"rule": "1", "verdict": "OK"}, {"rule": 2, "verdict": "OK"}]}', "judge_parse"),
    ('{"verdicts": [{"rule": true, "verdict": "OK"}, {"rule": 2, "verdict": "OK"}]}', "judge_parse"),
    ('{"verdicts": [{"rule": 1, "verdict": "Ok"}, {"rule": 2, "verdict": "OK"}]}', "judge_parse"),
    ('{"verdicts": [{"rule": 1, "verdict": null}, {"rule": 2, "verdict": "OK"}]}', "judge_parse"),
    ('{"reason": ["r"], "verdicts": [{"rule": 1, "verdict": "OK"}, {"rule": 2, "verdict": "OK"}]}', "judge_parse"),
    (
        '{"verdicts": [{"rule": 0, "verdict": "OK"}, {"rule": 1, "verdict": "OK"}, {"rule": 2, "verdict": "OK"}]}',
        "judge_range",
    ),
    ('{"verdicts": [{"rule": 1, "verdict": "OK"}, {"rule": 3, "verdict": "OK"}]}', "judge_range"),
    (
        '{"verdicts": [{"rule": 1, "verdict": "OK"}, {"rule": 2, "verdict": "OK"}, {"rule": 1, "verdict": "ERR"}]}',
        "judge_inconsistent",
    ),
    ('{"reason": "r", "verdict": "OK"}', "judge_parse"),
    ("OK", "judge_parse"),
    ("", "judge_parse"),
]


@pytest.mark.parametrize(("said", "wanted"), RULES, ids=[said or "nothing" for said, _ in RULES])
def test_a_verdict_for_each_rule(said, wanted):
    found = read_rule_verdicts(Reply(text=said), 2)
    assert (found.kind if isinstance(found, ReplyFault) else found.outcomes) == wanted


@given(st.text(), st.lists(st.text(max_size=20), max_size=2))
def test_any_text_is_a_verdict_or_a_fault(text, material):
    found = read_ok(Reply(text=text), material)
    assert isinstance(found, Verdict | ReplyFault)
    assert isinstance(found, ReplyFault) or '"verdict"' in text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.sampled_from(["OK", "ERR", "UNSURE", "ok", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rule", "verdict", "verdicts", "reason"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, st.integers(1, 3))
def test_any_data_gives_a_verdict_on_every_rule_or_a_fault(data, rules):
    found = read_rule_verdicts(Reply(data=data) if isinstance(data, dict) else Reply(text="x"), rules)
    assert isinstance(found, ReplyFault) or len(found.outcomes) == rules
    again = read_ok(Reply(data=data) if isinstance(data, dict) else Reply(text="x"))
    assert isinstance(again, ReplyFault) or data["verdict"] == ("OK" if again.raw else "ERR")
