"""What people say of outputs, whoever says it and wherever the output stood."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Example, Output
from evalmark.errors import ConfigError
from evalmark.stats.calibration.evidence import (
    LabelEvidence,
    LabelledOutput,
    evidence_from_results,
    evidence_from_rows,
    evidence_from_sessions,
    votes,
)
from evalmark.stats.calibration.labelled_cases import labelled_samples, row_labels
from evalmark.storage.sessions.examples import label_answers

from .saying import label, of_output, on, result, span

ONE = result(1, 0.5)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        pytest.param([], (0, 0, 0, 1), id="no labels"),
        pytest.param([of_output("r1", ONE, True)], (1, 0, 0, 0), id="one label"),
        pytest.param([of_output("r1", ONE, False)], (0, 1, 0, 0), id="one thumb down"),
        pytest.param([label("span:9", "in 1", "out 1", True)], (1, 0, 0, 0), id="the same output elsewhere"),
        pytest.param([label("span:9", "in 1", "out 2", True)], (0, 0, 0, 1), id="another output elsewhere"),
        pytest.param(
            [of_output("r1", ONE, True), of_output("r1", ONE, False, by="bob")], (0, 0, 1, 0), id="two who disagree"
        ),
        pytest.param(
            [of_output("r1", ONE, True), label("span:9", "in 1", "out 1", False, at=5)],
            (0, 1, 0, 0),
            id="one person's last word, wherever it was said",
        ),
        pytest.param(
            [replace(of_output("r1", ONE, True), about=f"score:r1/{ONE.trial.id}/m")], (0, 0, 0, 1), id="a score"
        ),
        pytest.param([replace(of_output("r1", ONE, True), liked=None, comment="hm")], (0, 0, 0, 1), id="a comment"),
    ],
)
def test_labels_find_the_outputs_of_a_run(said, found):
    evidence = evidence_from_results("r1", [ONE], said)
    assert (evidence.liked, evidence.disliked, evidence.contested, evidence.unlabelled) == found


def test_labels_on_what_is_gone_and_on_errors_are_counted():
    broken = replace(result(2, None), output=Output(error="ValueError: no"))
    said = [of_output("r1", broken, False), label("output:r1/000000000000", "in 7", "out 7", True)]
    said = [replace(said[0], content=of_output("r1", replace(broken, output=Output()), False).content), said[1]]
    evidence = evidence_from_results("r1", [broken], said)
    assert (evidence.failed, evidence.gone, evidence.labelled) == (1, 1, ())


def test_a_label_taken_back_counts_no_more():
    up, back = of_output("r1", ONE, True), of_output("r1", ONE, None, at=3)
    assert votes([up]) == (True,)
    assert votes([up, back]) == ()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=8), st.randoms())
def test_the_fingerprint_of_labels_knows_no_order_and_no_twins(said, random):
    told = [LabelledOutput(key=str(n), cluster=name, content=name, liked=liked) for n, (name, liked) in enumerate(said)]
    mixed = [*told, *told[:1]]
    random.shuffle(mixed)
    assert LabelEvidence(labelled=tuple(told)).fingerprint == LabelEvidence(labelled=tuple(mixed)).fingerprint
    other = (*told, LabelledOutput(key="x", cluster="z", content="z", liked=True))
    assert LabelEvidence(labelled=other).fingerprint != LabelEvidence(labelled=tuple(told)).fingerprint


def test_each_answer_is_compared_with_the_others_to_the_same_input_and_never_with_itself():
    spans = [span(1, "q", "a"), span(2, "q", "b"), span(3, "q", "a"), span(4, "other", "a")]
    found = label_answers(spans, [on(one, one.output == "a") for one in spans])
    one, two, twin, alone = labelled_samples(found)
    assert one.examples == twin.examples == (Example(value="b", liked=False),)
    assert two.examples == (Example(value="a", liked=True),)
    assert alone.examples == ()
    assert [case.given.value for case in (one, two, twin, alone)] == ["a", "b", "a", "a"]
    evidence = evidence_from_sessions(found, "project demo")
    assert [told.key for told in evidence.labelled] == [case.id for case in (one, two, twin, alone)]
    assert len({told.cluster for told in evidence.labelled}) == 2
    assert evidence.contradicting == 0


def test_a_text_that_is_liked_here_and_disliked_there_counts_for_both():
    spans = [span(1, "q", "a"), span(2, "q", "a")]
    evidence = evidence_from_sessions(label_answers(spans, [on(spans[0], True), on(spans[1], False)]), "project demo")
    assert (evidence.liked, evidence.disliked, evidence.contradicting) == (1, 1, 1)


def row(number, **metadata):
    return Case(id=str(number), input="q", given=Output(value="a"), metadata=metadata, place=f"rows.jsonl:{number}")


@pytest.mark.parametrize(
    ("said", "liked"),
    [("👍", True), ("👎", False), ("Up", True), (True, True), (0, False), (1.0, True), ("", None), (None, None)],
)
def test_the_label_of_a_row_goes_by_several_names_and_words(said, liked):
    for name in ("label", "thumb", "feedback", "human_label", "rating"):
        assert row_labels([row(1, **{name: said})]) == {"1": liked}
    evidence = evidence_from_rows([row(1, label=said)], {"1": liked}, "file rows.jsonl")
    assert (len(evidence.labelled), evidence.unlabelled) == ((0, 1) if liked is None else (1, 0))


def test_labels_that_are_none_are_refused_with_their_places():
    with pytest.raises(ConfigError) as refused:
        row_labels([row(1, label="maybe"), row(2, label="up", thumb="down"), row(3, rating=4)])
    assert str(refused.value).splitlines() == [
        "rows.jsonl:1: the label is 'maybe'; it takes up or down.",
        "rows.jsonl:2: label and thumb both label this row; leave one out.",
        "rows.jsonl:3: the label is '4'; it takes up or down.",
    ]
    with pytest.raises(ConfigError, match="… and 5 more faults"):
        row_labels([row(n, label=f"maybe {n}") for n in range(25)])


def test_the_same_fault_of_many_rows_is_said_once():
    with pytest.raises(ConfigError) as refused:
        row_labels([row(n, label="maybe") for n in (2, 3, 5)])
    (sentence,) = str(refused.value).splitlines()
    assert (
        sentence
        == "rows.jsonl:2: the label is 'maybe'; it takes up or down. The same fault is in 2 more rows: lines 3, 5."
    )
