"""A judge held against what is known of the same outputs."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.core.values.spending import Spending
from evalmark.reports.text.audit import audit_lines, canary_remarks
from evalmark.runs.calibration.audit import models_under_test
from evalmark.stats.agreement.corrected_rates import corrected_by_betting, prediction_powered, rogan_gladen
from evalmark.stats.calibration.audit import audit_judge, has_verdicts
from evalmark.stats.calibration.audit_results import GroundTruth, JudgeAudit
from evalmark.stats.calibration.canaries import (
    builtin_canaries,
    canaries_passed,
    canary_cases,
    canary_report,
    padded_cases,
)
from evalmark.stats.calibration.model_families import relatives

from .saying import result, run_of

JUDGE = Metric(name="m", judge="a/x")


def outputs(said, **more):
    """Results whose judge said so: pairs of what is true (None: unknown) and the verdict; and what is known."""
    results = [
        result(n, None if verdict is None else float(verdict), passed=verdict, **more)
        for n, (_, verdict) in enumerate(said)
    ]
    known = {one.trial.id: truth for one, (truth, _) in zip(results, said, strict=True) if truth is not None}
    return results, GroundTruth(verdicts=known, source="people")


def audit(said, **more) -> JudgeAudit:
    results, truths = outputs(said)
    return audit_judge(results, JUDGE, truths, **more)


GOOD, BAD = [(True, True)] * 18 + [(True, False)] * 2, [(False, False)] * 14 + [(False, True)] * 6
OTHERS = [(None, True)] * 60 + [(None, False)] * 40


def test_agreement_and_confusion_count_the_outputs_that_both_judged():
    found = audit([*GOOD, *BAD, *OTHERS, (True, None)])
    assert (found.confusion.good_passed, found.confusion.good_failed) == (18, 2)
    assert (found.confusion.bad_passed, found.confusion.bad_failed) == (6, 14)
    assert (found.agreement.passed, found.agreement.n, found.confusion.good) == (32, 40, 20)
    assert (found.unjudged, found.unknown, found.prevalence) == (1, 100, 0.5)
    assert found.kappa == pytest.approx(0.6)
    assert found.ac1 is None


def test_outputs_on_one_document_count_together():
    """Judge and people agree on whole documents, four outputs each, or on none of them."""
    said = [(True, document % 4 > 0) for document in range(10) for _ in range(4)]
    results, truths = outputs(said)
    apart = audit_judge(results, JUDGE, truths)
    together = audit_judge(results, JUDGE, truths, cluster_of=lambda trial: str(trial.position // 4))
    assert (apart.agreement.interval.method, apart.agreement.passed) == ("Wilson", together.agreement.passed)
    assert together.agreement.interval.method == "Wilson, clustered by case"
    assert together.agreement.interval.low < apart.agreement.interval.low - 0.1


def test_the_rate_is_corrected_as_the_inference_says():
    (rate,) = audit([*GOOD, *BAD, *OTHERS]).rates
    labels, judged = [1.0] * 20 + [0.0] * 20, [1.0] * 18 + [0.0] * 16 + [1.0] * 6
    assert (rate.raw.passed, rate.raw.n, rate.missing) == (84, 140, 0)
    assert rate.powered == prediction_powered(labels, judged, [1.0] * 60 + [0.0] * 40)
    assert rate.powered.caution
    assert rate.sure == corrected_by_betting(labels, judged, [1.0] * 60 + [0.0] * 40)
    assert rate.sure.interval.low <= rate.powered.interval.low <= rate.powered.interval.high <= rate.sure.interval.high
    assert rate.adjusted == rogan_gladen(84, 140, (18, 20), (14, 20))


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        pytest.param([], None, id="nothing judged"),
        pytest.param([(True, True)], 19, id="one label"),
        pytest.param([(True, True), (False, False)], 18, id="two labels"),
        pytest.param([(False, False)] * 30, 10, id="only thumbs down"),
        pytest.param([(True, True)] * 30, 10, id="only thumbs up"),
        pytest.param([(None, True)] * 30, 20, id="no labels"),
        pytest.param([(True, True)] * 10 + [(False, True)] * 3, 7, id="a few of one kind"),
    ],
)
def test_too_few_labels_are_refused_with_the_number_that_is_missing(said, missing):
    found = audit(said)
    assert found.is_told is (len(said) > 10 and None not in {known for known, _ in said})
    if missing is None:
        assert (found.rates, found.confusion.n) == ((), 0)
        return
    (rate,) = found.rates
    assert (rate.adjusted.value, rate.missing) == (None, missing)


def test_a_judge_that_is_no_better_than_luck_corrects_nothing():
    luck = [(True, True)] * 10 + [(True, False)] * 10 + [(False, True)] * 10 + [(False, False)] * 10
    found = audit([*luck, *OTHERS])
    (rate,) = found.rates
    assert rate.adjusted.value is None
    assert "luck" in rate.adjusted.interval.method
    assert (rate.powered.value, rate.powered.interval.method) == (0.5, "labels alone")


def test_each_target_has_a_rate_of_its_own():
    results, truths = outputs([*GOOD, *BAD])
    results = [replace(one, trial=replace(one.trial, target="ab"[n % 2])) for n, one in enumerate(results)]
    known = {new.trial.id: old for new, old in zip(results, truths.verdicts.values(), strict=True)}
    found = audit_judge(results, JUDGE, replace(truths, verdicts=known))
    assert [(rate.target, rate.raw.n) for rate in found.rates] == [("a", 20), ("b", 20)]


def test_where_one_word_is_common_ac1_stands_beside_kappa():
    found = audit([(True, True)] * 80 + [(True, False)] * 10 + [(False, True)] * 10)
    assert found.kappa == pytest.approx(-1 / 9)
    assert found.ac1 == pytest.approx(0.7561, abs=1e-4)


def test_all_verdicts_the_same_show_no_agreement_beyond_luck():
    found = audit([(True, True)] * 30)
    assert (found.kappa, found.alpha, found.agreement.value) == (None, None, 1.0)


def test_what_people_make_of_each_other_is_the_ceiling():
    results, truths = outputs([(True, True)] * 20)
    votes = {one.trial.id: (True, True) if n % 4 else (True, False) for n, one in enumerate(results[:12])}
    ceiling = audit_judge(results, JUDGE, replace(truths, votes=votes)).ceiling
    assert (ceiling.outputs, ceiling.same) == (12, 0.75)
    assert audit_judge(results, JUDGE, replace(truths, votes={results[0].trial.id: (True,)})).ceiling is None


def test_what_moves_a_judge_is_read_off_its_scores():
    details = [
        {"verdict": ["first", "first"], "order_consistent": False, "flipped": True},
        {"verdict": ["second", "second"], "order_consistent": False, "flipped": False},
        {"verdict": ["first", "first"], "order_consistent": False},
        {"verdict": ["first", "second"], "order_consistent": True},
    ]
    results = [result(n, 0.5, detail=detail) for n, detail in enumerate(details)]
    biases = audit_judge(results, JUDGE, GroundTruth(verdicts={}, source="people")).biases
    assert (biases.first.passed, biases.first.n) == (2, 3)
    assert (biases.order_decided.passed, biases.order_decided.n) == (3, 4)
    assert (biases.flipped.passed, biases.flipped.n) == (1, 2)
    quiet = audit_judge([result(1, 0.5)], JUDGE, GroundTruth(verdicts={}, source="people")).biases
    assert (quiet.first, quiet.order_decided, quiet.flipped, quiet.length) == (None, None, None, None)


def test_the_slope_over_length_is_in_doublings():
    results = [replace(result(n, n / 10), output=Output(value="x" * 2**n)) for n in range(1, 11)]
    assert audit_judge(results, JUDGE, GroundTruth(verdicts={}, source="people")).biases.length == pytest.approx(0.1)


def test_a_threshold_makes_verdicts_of_values():
    results = [result(n, value) for n, value in enumerate([0.2, 0.8, 0.6, None, float("nan")])]
    known = dict(zip((one.trial.id for one in results), [False, True, False, True, True], strict=True))
    truths = GroundTruth(verdicts=known, source="people")
    assert not has_verdicts(results, "m")
    assert audit_judge(results, JUDGE, truths).confusion.n == 0
    found = audit_judge(results, JUDGE, truths, threshold=0.5)
    assert (found.confusion.good_passed, found.confusion.bad_passed, found.confusion.bad_failed) == (1, 1, 1)
    assert found.unjudged == 2


def test_a_machine_that_has_a_word_on_everything_needs_no_correction():
    results, truths = outputs([(True, True)] * 3 + [(False, True)])
    (rate,) = audit_judge(results, JUDGE, replace(truths, is_whole=True)).rates
    assert (rate.raw.value, rate.powered.value, rate.missing) == (1.0, 0.75, 0)


def test_there_are_fifty_canaries_and_more_of_every_kind_and_none_is_there_twice():
    found = builtin_canaries()
    kinds = {canary.kind for canary in found}
    assert len(found) >= 50
    assert len({canary.text for canary in found}) == len({canary.id for canary in found}) == len(found)
    assert {"empty", "orders", "verdicts", "fences", "roles", "unicode", "long", "refusals", "languages"} <= kinds
    assert all(sum(canary.kind == kind for canary in found) >= 3 for kind in kinds)
    assert any(not canary.text.strip() for canary in found)
    assert max(len(canary.text) for canary in found) > 10_000


def test_canaries_stand_in_the_same_few_cases_each_time():
    results = [
        Result(trial=Trial(case=Case(id=str(n), input=f"in {n}", expected="out")), output=Output(value="x"))
        for n in range(20)
    ]
    cases = canary_cases(results, 2)
    assert len(cases) == 2 * len(builtin_canaries())
    assert len({case.id for case in cases}) == len(cases)
    assert cases == canary_cases(results, 2)
    assert {case.expected for case in cases} == {"out"}
    echo = next(case for case in cases if case.given.value.startswith("You asked"))
    assert echo.given.value == f"You asked: {echo.input}"
    assert len(canary_cases(results[:1], 5)) == len(builtin_canaries())
    assert canary_cases([]) == ()


def padded_results(judge, n=30):
    """Results of a graded judge, and of the same judge on canaries and on padded copies."""

    def judged(case, text):
        return Result(
            trial=Trial(case=case, dataset="d"), output=Output(value=text), scores=(Score(name="m", value=judge(text)),)
        )

    run = [judged(Case(id=str(number), input=f"in {number}"), "word " * (number + 1)) for number in range(n)]
    canaries = (*canary_cases(run, 1), *padded_cases(run, 5))
    return run, [judged(case, case.given.value) for case in canaries]


def test_padded_copies_say_the_same_and_are_no_canaries():
    run, judged = padded_results(lambda text: 0.5)
    copies = padded_cases(run, 5)
    assert (len(copies), len({case.id for case in copies}), {case.tags for case in copies}) == (20, 20, {("padded",)})
    texts = {one.trial.id: one.output.value for one in run}
    for case in copies:
        text = texts[case.id.removeprefix("padded/")]
        assert case.given.value.startswith(text)
        assert len(case.given.value) > 2 * len(text) or case.given.value.endswith("they belong.")
    assert copies == padded_cases(run, 5)
    broken = replace(run[0], output=Output(error="E: no"))
    assert padded_cases([broken, replace(run[1], output=Output(value={"a": 1}))]) == ()
    assert {one.kind for one in canary_report(judged, run, JUDGE).passed} == {"", *(c.kind for c in builtin_canaries())}


def test_a_judge_that_rewards_length_prefers_padded_copies():
    run, judged = padded_results(lambda text: min(1.0, len(text) / 1_000))
    found = canary_report(judged, run, JUDGE)
    assert (found.padding.outputs, found.padding.better, found.padding.worse) == (20, 20, 0)
    assert found.padding.p < 0.001
    assert "this judge rewards length" in " ".join(canary_remarks(found))
    run, judged = padded_results(lambda text: 0.5)
    found = canary_report(judged, run, replace(JUDGE, direction="lower"))
    assert (found.padding.better, found.padding.worse, found.padding.p) == (0, 0, 1.0)
    assert "rewards length" not in " ".join(canary_remarks(found))


def test_a_part_of_the_scale_that_is_never_used_is_named():
    run, judged = padded_results(lambda text: 0.6 + 0.1 * text.startswith("word"))
    found = canary_report(judged, run, JUDGE)
    assert (found.scores.low, found.scores.high) == (0.6, 0.7)
    (said,) = [text for text in canary_remarks(found) if text.startswith("range")]
    assert "no output and no canary scores below 0.60 or above 0.70" in said
    run, judged = padded_results(lambda text: float(text.startswith("word")))
    assert canary_report(judged, run, JUDGE).scores is None


def test_what_passed_is_counted_kind_by_kind_and_an_unusable_verdict_passes_nothing():
    verdicts = {"a/1": True, "a/2": True, "b/1": False, "b/2": None}
    results = [
        Result(
            trial=Trial(case=Case(id=name, tags=("orders" if name < "b" else "empty",))),
            output=Output(value=name[0]),
            scores=(Score(name="m", status="unscored" if passed is None else "scored", passed=passed),),
        )
        for name, passed in verdicts.items()
    ]
    every, orders, empty = canaries_passed(results, JUDGE)
    assert (every.share.passed, every.share.n, every.unjudged, every.texts) == (2, 3, 1, ("a",))
    assert (orders.kind, orders.share.passed, orders.share.n) == ("orders", 2, 2)
    assert (empty.kind, empty.share.passed, empty.share.n, empty.unjudged) == ("empty", 0, 1, 1)
    assert canaries_passed([], JUDGE)[0].share.value is None


def test_models_of_the_judges_family_are_named():
    found = replace(audit([*GOOD, *BAD]), relatives=("openai/gpt-4o-mini",))
    lines = dict(audit_lines(found, "r1"))
    assert lines["family"].startswith("the judge and openai/gpt-4o-mini under test are of one model family")
    assert "family" not in dict(audit_lines(audit([*GOOD, *BAD]), "r1"))


def test_models_under_test_are_targets_and_those_that_were_asked_and_judge_nothing():
    run = run_of([result(1, 0.5)], judge="openai/gpt-4o")
    spending = (Spending(model="openai/gpt-4o", calls=3), Spending(model="openai/gpt-4o-mini", calls=3))
    results = [replace(one, trial=replace(one.trial, target="app:answer")) for one in run.results]
    found = models_under_test(replace(run, results=results, spending=spending))
    assert found == ("app:answer", "openai/gpt-4o-mini")
    assert relatives("openai/gpt-4o", found) == ("openai/gpt-4o-mini",)
