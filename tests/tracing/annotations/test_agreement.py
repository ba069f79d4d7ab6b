"""How far people agree, beside figures worked out by hand."""

import pytest

from evalmark.core.values.label import Label
from evalmark.stats.agreement.kappa_alpha import cohen_kappa, krippendorff_alpha
from evalmark.stats.inference.intervals import wilson
from evalmark.tracing.annotations.agreement import annotator_agreement, thumbs_of


def said(**words):
    """Thumbs of each person as a text of `+`, `-` and blanks, one sign an output."""
    outputs = {}
    for by, signs in words.items():
        for number, sign in enumerate(signs):
            if sign != " ":
                outputs.setdefault(f"output:r/{number:03}", {})[by] = sign == "+"
    return outputs


ANN = "++++++++--------++  "
BOB = "+++++++-------++  - "


def test_two_people_are_held_against_each_other():
    found = annotator_agreement(said(ann=ANN, bob=BOB), {})
    (pair,) = found.pairs
    table = pair.compared.confusion
    assert (pair.first, pair.second) == ("ann", "bob")
    assert (table.good_passed, table.good_failed, table.bad_passed, table.bad_failed) == (7, 1, 2, 6)
    assert pair.compared.kappa == cohen_kappa([s == "+" for s in ANN[:16]], [s == "+" for s in BOB[:16]]) == 0.625
    assert (pair.compared.agreement.passed, pair.compared.agreement.n) == (13, 16)
    assert pair.compared.agreement.interval == wilson(13, 16)
    assert found.together.outputs == 16
    assert found.together.alpha == krippendorff_alpha(
        [[a == "+", b == "+"] for a, b in zip(ANN[:16], BOB[:16], strict=True)]
    )
    assert found.people == (("ann", 18), ("bob", 17))
    assert found.disputed == ("output:r/007", "output:r/014", "output:r/015")


def test_of_three_people_a_majority_settles_and_pairs_come_by_what_they_share():
    found = annotator_agreement(said(ann="+++ ", bob="+--+", cas="  --"), {})
    assert found.disputed == ("output:r/001", "output:r/003")
    assert [(pair.first, pair.second, pair.compared.confusion.n) for pair in found.pairs] == [
        ("ann", "bob", 3),
        ("bob", "cas", 2),
        ("ann", "cas", 1),
    ]
    assert found.together.outputs == 4


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({}, id="nobody said anything"),
        pytest.param({"ann": "+-+"}, id="one person alone"),
        pytest.param({"ann": "+- ", "bob": "  +"}, id="two people who share no output"),
    ],
)
def test_what_nobody_labelled_twice_tells_nothing(words):
    found = annotator_agreement(said(**words), {})
    assert (found.together, found.pairs, found.disputed) == (None, (), ())


def test_people_who_always_say_the_same_one_word_cannot_be_told_from_luck():
    (pair,) = annotator_agreement(said(ann="+" * 20, bob="+" * 20), {}).pairs
    assert pair.compared.agreement.value == 1.0
    assert (pair.compared.kappa, pair.compared.kappa_interval.known) == (None, False)


def test_few_outputs_have_a_kappa_without_an_interval_and_cases_are_what_is_counted():
    few = annotator_agreement(said(ann="++--+-", bob="++---+"), {}).pairs[0].compared
    assert few.kappa is not None
    assert few.kappa_interval.method == "none: fewer than 10 cases"
    many = said(ann=ANN[:16], bob=BOB[:16])
    alone = annotator_agreement(many, {}).pairs[0].compared
    alike = annotator_agreement(many, {about: about[-1] for about in many}).pairs[0].compared
    assert alone.kappa_interval.known
    assert alike.agreement.interval.method == "Jeffreys, clustered by case"
    assert (alike.kappa, alike.agreement.value) == (alone.kappa, alone.agreement.value)


def test_one_common_word_brings_the_figure_that_it_does_not_mislead():
    lopsided = annotator_agreement(said(ann="+" * 18 + "-+", bob="+" * 18 + "+-"), {}).pairs[0].compared
    assert lopsided.kappa < 0 < 0.85 < lopsided.ac1
    assert annotator_agreement(said(ann=ANN, bob=BOB), {}).pairs[0].compared.ac1 is None


def test_only_the_last_thumb_of_each_person_counts():
    def label(about, by, minute, **word):
        return Label(about=about, by=by, created=f"2026-11-22T02:{minute:02}:00+00:00", content="c", **word)

    labels = [
        label("output:r/1", "ann", 1, liked=True),
        label("output:r/1", "ann", 2, liked=False),
        label("output:r/1", "ann", 3, comment="so so"),
        label("output:r/1", "bob", 4, liked=True),
        label("output:r/2", "bob", 5, liked=True),
        label("output:r/2", "bob", 6),
        label("output:r/3", "bob", 7, score=0.5),
    ]
    assert thumbs_of(labels) == {"output:r/1": {"ann": False, "bob": True}}
