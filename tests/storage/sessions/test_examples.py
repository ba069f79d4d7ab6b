"""Recorded answers and labels become cases."""

import pytest

from evalmark import Example
from evalmark.core.values.label import Label, current_labels, majority_vote
from evalmark.core.values.session import Span
from evalmark.storage.sessions.examples import label_answers


def span(number, given="Oslo?", output="yes", **fields):
    known = {"id": f"{number:016x}", "session": "5", "project": "demo", "started": f"2026-11-22T00:00:{number:02}Z"}
    return Span(**known, input=given, output=output, **fields)


def said(number, liked, by="ann", second=0, **fields):
    created = f"2026-11-22T01:00:{second:02}.000000+00:00"
    return Label(about=f"span:{number:016x}", liked=liked, by=by, created=created, content="c", **fields)


def test_answers_to_one_input_make_one_case_with_an_example_each():
    found = label_answers(
        [span(1), span(2, output="no"), span(3, given="Rome?")], [said(1, True), said(2, False), said(3, True)]
    )
    assert [case.input for case in found.cases] == ["Oslo?", "Rome?"]
    assert found.cases[0].examples == (Example(value="yes"), Example(value="no", liked=False))
    assert found.cases[0].metadata == {"project": "demo", "spans": [f"{n:016x}" for n in (1, 2)]}


def test_the_same_output_liked_twice_is_one_example():
    found = label_answers([span(1), span(2)], [said(1, True), said(2, True)])
    assert found.cases[0].examples == (Example(value="yes"),)
    assert len(found.labelled) == 2


def test_a_case_has_the_same_id_whatever_is_recorded_beside_it():
    one, both = (
        label_answers([span(1)], [said(1, True)]),
        label_answers([span(2, given="?"), span(1)], [said(2, True), said(1, True)]),
    )
    assert one.cases[0].id == both.cases[1].id


def test_contexts_come_from_a_liked_answer():
    found = label_answers([span(1, contexts=("bad",)), span(2, contexts=("good",))], [said(1, False), said(2, True)])
    assert found.cases[0].contexts == ("good",)


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        pytest.param([], (0, 0, 1, 0), id="nobody says anything"),
        pytest.param([said(1, None, comment="hm")], (0, 0, 1, 0), id="a comment is no thumb"),
        pytest.param([said(1, True), said(1, False, by="bob")], (0, 1, 0, 0), id="two people who disagree"),
        pytest.param([said(1, True), said(1, False, second=1)], (1, 0, 0, 0), id="one who changes her mind"),
        pytest.param([said(1, True), said(1, None, second=1)], (0, 0, 1, 0), id="one who withdraws"),
        pytest.param([said(1, True), said(1, None, second=1, comment="hm")], (1, 0, 0, 0), id="a comment afterwards"),
        pytest.param([said(1, True), said(1, None, second=1, score=0.2)], (1, 0, 0, 0), id="a score afterwards"),
        pytest.param(
            [said(1, True), said(1, None, second=1), said(1, None, second=2, comment="hm")],
            (0, 0, 1, 0),
            id="a comment after one has withdrawn",
        ),
    ],
)
def test_what_cannot_be_used_is_counted(labels, counts):
    found = label_answers([span(1)], labels)
    assert (len(found.cases), found.contested, found.unlabelled, found.failed) == counts


def test_an_answer_that_broke_is_no_example_whatever_people_say():
    found = label_answers([span(1, output=None, error="KeyError: x")], [said(1, False)])
    assert (found.cases, found.failed) == ((), 1)


def test_two_of_three_decide():
    votes = [said(1, True), said(1, False, by="bob"), said(1, False, by="cy")]
    assert majority_vote(votes) is False
    assert current_labels([*votes, said(1, None, by="cy", second=2)]) == tuple(votes[:2])


def test_a_thumb_takes_the_place_of_all_that_was_said_before_and_a_comment_only_of_comments():
    words = [said(1, True, comment="a"), said(1, None, comment="b", second=1), said(1, None, comment="c", second=2)]
    assert current_labels(words) == (words[0], words[2])
    assert current_labels([*words, said(1, False, second=3)]) == (said(1, False, second=3),)


def test_labels_of_outputs_of_runs_say_nothing_of_recorded_answers():
    other = Label(about="output:run/0", liked=True, by="ann", created="2026", content="c")
    assert label_answers([span(1)], [other]).unlabelled == 1
