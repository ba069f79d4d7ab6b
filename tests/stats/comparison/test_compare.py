"""Two runs, and what is said of them."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark import Case, Gate, Output, Result, Run, Score, compare
from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.core.values.score import Trial
from evalmark.errors import ConfigError
from evalmark.stats.comparison.change import Unjudged
from evalmark.stats.comparison.flip_examples import flip_examples


def trial(number, repeat=0, **fields):
    known = {"id": f"c{number}", "input": f"question {number}"} | fields.pop("case", {})
    return Trial(case=Case(**known), dataset="d", position=number, repeat=repeat, **({"target": "app"} | fields))


def scored(value, name="sim", **fields):
    return Score(name=name, raw=value, value=value, passed=value >= 0.5, **fields)


def run(name, results, **fields):
    return Run(
        id=name,
        name=name,
        created="2026-11-22T00:00:00Z",
        metrics=(Metric(name="sim", threshold=0.5),),
        results=results,
        **fields,
    )


def of(values, name="now", **fields):
    """A run with one score a case, a list of them where it is repeated; None: nobody could judge."""
    results = []
    for number, value in enumerate(values):
        for repeat, one in enumerate(value if isinstance(value, list) else [value]):
            score = Score(name="sim", status="unscored") if one is None else scored(one)
            results.append(Result(trial=trial(number, repeat, **fields), output=Output(value="x"), scores=(score,)))
    return run(name, results)


UP, DOWN = 1.0, 0.1


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([DOWN] * 10 + [UP] * 20, [UP] * 30, "worse", id="ten of thirty fail that passed"),
        pytest.param([UP] * 30, [DOWN] * 10 + [UP] * 20, "better", id="ten of thirty pass that failed"),
        pytest.param([DOWN] * 5 + [UP] * 25, [UP] * 30, "cannot tell", id="five that fail can be luck"),
        pytest.param([UP] * 30, [UP] * 29 + [DOWN], "cannot tell", id="one of thirty proves nothing"),
        pytest.param([UP] * 200, [UP] * 200, "same", id="two hundred do, within five points"),
        pytest.param([UP] * 2, [DOWN] * 2, "cannot tell", id="two cases prove nothing"),
        pytest.param([UP], [DOWN], "cannot tell", id="one case"),
        pytest.param([], [], "cannot tell", id="no case"),
        pytest.param([None] * 30, [UP] * 30, "cannot tell", id="all unscored"),
        pytest.param([None] * 30, [None] * 30, "cannot tell", id="all unscored, as before"),
    ],
)
def test_one_of_four_words_is_said(now, before, said):
    assert compare(of(now), of(before, "then")).outcome == said


def test_exit_codes_follow_the_word():
    words = {
        compare(of([a] * 200), of([b] * 200, "then")).outcome: compare(of([a] * 200), of([b] * 200, "then")).exit_code
        for a, b in ((UP, UP), (UP, DOWN), (DOWN, UP))
    }
    assert words == {"same": 0, "better": 0, "worse": 1}
    assert compare(of([]), of([])).exit_code == 3


def test_a_part_of_the_baseline_that_is_word_for_word_what_it_was_says_nothing_of_the_rest():
    assert compare(of([UP] * 3), of([UP] * 30, "then")).outcome == "cannot tell"  # a run that is under way, say
    assert compare(of([UP] * 30), of([UP] * 3, "then")).outcome == "same"
    others = of([UP] * 4, "then")
    edited = replace(others.results[3], trial=trial(3, case={"input": "another question"}))
    assert compare(of([UP] * 4), replace(others, results=[*others.results[:3], edited])).outcome == "cannot tell"


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([None] * 80 + [UP] * 50, [UP] * 80 + [DOWN] * 50, "cannot tell", id="the good ones are gone"),
        pytest.param([None] * 60 + [UP] * 70, [DOWN] * 130, "better", id="only bad ones are gone"),
        pytest.param([None] * 30 + [UP] * 100, [UP] * 130, "cannot tell", id="the others are as before"),
        pytest.param([None] * 2 + [UP] * 198, [UP] * 200, "same", id="so few that it does not matter"),
        pytest.param([UP] * 200, [None] * 2 + [UP] * 198, "same", id="so few in the baseline"),
        pytest.param([UP] * 130, [None] * 30 + [UP] * 100, "cannot tell", id="what they were is not known"),
        pytest.param([None] * 30 + [DOWN] * 100, [UP] * 130, "worse", id="the others are worse"),
        pytest.param([UP] * 130, [None] * 30 + [DOWN] * 100, "better", id="they can be judged now"),
    ],
)
@pytest.mark.parametrize("gated", [True, False], ids=["with a threshold", "without"])
@pytest.mark.parametrize("broken", [True, False], ids=["no answer", "no score"])
def test_cases_that_can_no_longer_be_judged_hide_nothing(now, before, said, gated, broken):
    kind = "errors" if broken else "unscored"

    def results(values):
        for n, value in enumerate(values):
            if value is None:
                score = Score(name="sim", status="skipped" if broken else "unscored")
                yield Result(trial=trial(n), output=Output(error="boom" if broken else None), scores=(score,))
            else:
                score = scored(1.0 if value == UP else 0.0)
                score = score if gated else replace(score, passed=None)
                yield Result(trial=trial(n), output=Output(value=str(value)), scores=(score,))

    found = compare(run("now", list(results(now))), run("then", list(results(before))))
    assert found.outcome == said
    lost = [Unjudged(of=len(side), **{kind: side.count(None)}) for side in (before, now)]
    assert all(list(change.unjudged) == lost for change in found.targets[0].changes if change.name == "sim" or gated)


@pytest.mark.parametrize("status", ["error", "skipped", "unscored"])
def test_a_score_that_is_none_says_nothing_of_which_way_is_better(status):
    def lower(value):
        judged = Score(name="sim", raw=value, value=value, direction="lower")
        scores = [judged] * 30 + [Score(name="sim", status=status)]
        return [Result(trial=trial(n), output=Output(value="x"), scores=(s,)) for n, s in enumerate(scores)]

    found = compare(run("now", lower(0.9)), run("then", lower(0.1)))
    assert found.outcome == "worse"
    assert found.targets[0].metrics[0].direction == "lower"


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([], [UP], "There is no result to compare in the run.", id="the run is empty"),
        pytest.param([UP], [], "There is no result to compare in the baseline.", id="the baseline is"),
        pytest.param([], [], "There is no result to compare in the run and the baseline.", id="both are"),
    ],
)
def test_a_run_without_a_result_is_said(now, before, said):
    assert compare(of(now), of(before, "then")).warnings == (said,)


def test_answers_that_are_word_for_word_what_they_were_are_the_same_however_few():
    found = compare(of([UP, DOWN, 0.7]), of([UP, DOWN, 0.7], "then"))
    assert (found.outcome, found.exit_code, found.targets[0].is_identical) == ("same", 0, True)
    assert not compare(of([UP, DOWN, 0.7]), of([UP, DOWN, 0.8], "then")).targets[0].is_identical


def test_other_words_with_the_same_scores_are_not_the_same():
    other = run("then", [replace(r, output=Output(value="y")) for r in of([UP] * 5).results])
    assert (compare(of([UP] * 5), other).outcome, compare(of([UP] * 5), of([UP] * 5)).outcome) == (
        "cannot tell",
        "same",
    )


def test_another_choice_is_another_score():
    def chose(name, choice):
        results = [replace(r, scores=(Score(name="tone", raw=choice),)) for r in of([UP] * 5).results]
        return Run(id=name, name=name, created="", metrics=(Metric(name="tone"),), results=results)

    assert compare(chose("now", "kind"), chose("then", "kind")).targets[0].is_identical
    assert not compare(chose("now", "kind"), chose("then", "rude")).targets[0].is_identical


def test_errors_in_both_runs_are_nothing_that_stayed_the_same():
    broken = run("now", [replace(r, output=Output(error="E: x"), scores=()) for r in of([UP] * 5).results])
    assert compare(broken, broken).outcome == "cannot tell"


def test_cannot_tell_says_how_many_more_cases_would():
    found = compare(of([DOWN] * 5 + [UP] * 25), of([UP] * 30, "then")).targets[0].overall.difference
    assert 1 <= found.needed < 200
    assert found.smallest > abs(found.value) / 2


def test_repeats_of_one_case_count_once():
    once = compare(of([DOWN] * 4 + [UP] * 4), of([UP] * 8, "then"))
    often = compare(of([[DOWN] * 50] * 4 + [[UP] * 50] * 4), of([[UP] * 50] * 8, "then"))
    assert often.targets[0].overall.difference == once.targets[0].overall.difference


@pytest.mark.parametrize(
    ("styles", "is_share"),
    [
        pytest.param([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], True, id="zeros and ones, the means of cases between them"),
        pytest.param([[1.0, 0.5], [1.0, 1.0], [0.0, 0.0]], False, id="a score between 0 and 1"),
    ],
)
def test_a_metric_of_zeros_and_ones_is_a_share_in_comparisons_with_repeats_as_in_the_run(styles, is_share):
    def with_style(name):
        plain = of([[UP, UP]] * 3, name)
        values = [value for case in styles for value in case]
        results = [
            replace(one, scores=(*one.scores, Score(name="style", raw=value, value=value)))
            for one, value in zip(plain.results, values, strict=True)
        ]
        return replace(plain, results=results)

    target = compare(with_style("now"), with_style("then")).targets[0]
    (style,) = [change for change in target.metrics if change.name == "style"]
    assert (target.overall.is_share, style.is_share) == (True, is_share)


def test_flips_are_listed_with_the_worst_first():
    found = compare(of([[UP, DOWN], [DOWN, DOWN], UP, UP]), of([[UP, UP], [UP, UP], DOWN, UP], "then"))
    assert [(flip.case, flip.before, flip.now) for flip in found.targets[0].flips] == [
        ("c1", 1.0, 0.0),
        ("c0", 1.0, 0.5),
        ("c2", 0.0, 1.0),
    ]


def test_flips_of_cases_without_ids_are_listed_by_their_titles():
    def rows(name, values):
        made = of(values, name)
        asked = {"c0": "Where is Rome?", "c1": "Where is Oslo?"}
        ids = {"c0": "0a" * 6, "c1": "f9" * 6}

        def without_id(result):
            case = replace(result.trial.case, id=ids[result.trial.case.id], input=asked[result.trial.case.id])
            return replace(result, trial=replace(result.trial, case=case))

        return replace(made, results=[without_id(result) for result in made.results])

    found = compare(rows("now", [DOWN, DOWN]), rows("then", [UP, UP]))
    assert [flip.asked for flip in found.targets[0].flips] == ["Where is Oslo?", "Where is Rome?"]


def test_unscored_and_missing_cases_are_counted():
    found = compare(of([UP, None, UP, UP]), of([UP, UP, None], "then")).targets[0]
    assert (found.matching.common, found.matching.new) == (3, ("c3",))
    assert found.overall.unjudged == (Unjudged(unscored=1, of=3), Unjudged(unscored=1, of=3))
    assert found.overall.difference.n == 1


def test_a_case_with_another_content_is_not_compared():
    changed = of([UP, UP], case={"input": "another question"})
    found = compare(changed, of([UP, UP], "then"))
    assert found.targets[0].matching.edited == ("c0", "c1")
    assert "The two runs have no case in common." in found.warnings
    assert "The content of 2 cases changed (c0, c1); they are not compared." in " ".join(found.warnings)
    assert (found.outcome, found.exit_code) == ("cannot tell", 3)


def test_a_case_with_another_id_and_the_same_content_is():
    renamed = run(
        "now",
        [
            Result(trial=trial(n, case={"id": f"new{n}"}), output=Output(value=1), scores=(scored(UP),))
            for n in range(3)
        ],
    )
    found = compare(renamed, of([UP, UP, UP], "then"))
    assert (found.targets[0].matching.common, found.targets[0].matching.renamed) == (3, 3)


def test_tags_and_metadata_may_change():
    tagged = of([UP, UP], case={"tags": ("new",), "metadata": {"owner": "me"}})
    assert compare(tagged, of([UP, UP], "then")).targets[0].matching.is_whole


def test_another_judge_prompt_or_threshold_is_said_before_the_verdict():
    def with_metric(name, **fields):
        return Run(id=name, name=name, created="", results=of([UP]).results, metrics=(Metric(name="sim", **fields),))

    found = compare(
        with_metric("now", judge="openai/b", threshold=0.8), with_metric("then", judge="openai/a", threshold=0.5)
    )
    (said,) = found.warnings
    assert said.startswith(
        "sim: the judge was openai/a and is now openai/b and the threshold was 0.5 and is now 0.8, so"
    )
    found = compare(with_metric("now", judge="a", version="2"), with_metric("then", judge="a", version="1"))
    assert found.warnings == ("sim: the judge's prompt or settings have changed, so its scores are not compared.",)


def test_runs_of_one_target_each_are_compared_whatever_these_are_called():
    found = compare(of([UP] * 3), of([UP] * 3, "then", target="old"))
    assert found.warnings == ("The target was old and is now app.",)
    assert found.targets[0].matching.common == 3


def test_several_targets_are_matched_by_name():
    def both(name, one, other):
        return run(name, [*of(one).results, *of(other, target="second").results])

    found = compare(both("now", [DOWN] * 30, [UP] * 30), both("then", [UP] * 30, [UP] * 30))
    assert [(t.target, t.overall.difference.outcome) for t in found.targets] == [
        ("app", "worse"),
        ("second", "cannot tell"),
    ]
    assert found.outcome == "worse"
    alone = compare(both("now", [UP], [UP]), of([UP], "then"))
    assert alone.warnings == ("Only the run has second, which is not compared.",)
    third = of([UP], target="third").results
    both_alone = compare(run("now", [*both("now", [UP], [UP]).results, *third]), of([UP], "then"))
    assert both_alone.warnings == ("Only the run has second, third, which are not compared.",)


def test_numbers_in_a_unit_are_compared_in_it():
    def edits(name, numbers):
        metric = Metric(name="edits", unit="edits", direction="lower")
        results = [
            Result(trial=trial(n), output=Output(value=""), scores=(Score(name="edits", raw=e, direction="lower"),))
            for n, e in enumerate(numbers)
        ]
        return Run(id=name, name=name, created="", metrics=(metric,), results=results)

    found = compare(edits("now", range(10, 40)), edits("then", range(30)))
    (change,) = found.targets[0].metrics
    assert (change.unit, change.before, change.now, change.difference.outcome) == ("edits", 14.5, 24.5, "worse")
    noisy = compare(edits("now", [n + 10 + n % 3 for n in range(30)]), edits("then", range(30)))
    assert noisy.targets[0].metrics[0].difference.outcome == "worse"


@pytest.mark.slow
def test_many_metrics_do_not_cry_wolf():
    """Of 30 metrics that differ by luck alone, at most one in twenty families says so."""
    draw = random.Random(7)  # noqa: S311  luck, no secret

    def many(name):
        results = [
            Result(
                trial=trial(n), output=Output(value=1), scores=tuple(scored(draw.random(), f"m{m}") for m in range(30))
            )
            for n in range(25)
        ]
        return run(name, results)

    alarms = sum(compare(many("now"), many("then")).outcome in ("better", "worse") for _ in range(20))
    assert alarms <= 3  # Binomial(20, .05) is above 3 once in 60


def test_slices_are_told_by_tag_and_only_where_they_divide():
    def tagged(name, values):
        results = [
            Result(
                trial=trial(n, case={"tags": ("all", "long" if n % 2 else "short")}),
                output=Output(value=1),
                scores=(scored(v),),
            )
            for n, v in enumerate(values)
        ]
        return run(name, results)

    found = compare(tagged("now", [DOWN, UP] * 20), tagged("then", [UP, UP] * 20)).targets[0]
    assert [(s.tag, s.difference.outcome) for s in found.slices] == [("long", "cannot tell"), ("short", "worse")]


@pytest.mark.parametrize("asked", [{"level": 1.0}, {"level": 0}, {"margin": -0.1}, {"margin": 1}])
def test_a_level_or_margin_that_is_none_is_refused(asked):
    with pytest.raises(ConfigError, match="the level has to lie between 0 and 1"):
        compare(of([UP]), of([UP]), **asked)


@settings(max_examples=40, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.sampled_from([0.0, 0.4, 0.6, 1.0]), st.sampled_from([0.0, 0.4, 0.6, 1.0])), max_size=30)
)
def test_swapped_runs_say_the_contrary(pairs):
    one, other = of([a for a, _ in pairs]), of([b for _, b in pairs], "then")
    contrary = {"better": "worse", "worse": "better", "same": "same", "cannot tell": "cannot tell"}
    ahead, back = compare(one, other), compare(other, one)
    for there, here in zip(ahead.targets, back.targets, strict=True):
        for a, b in zip(there.changes, here.changes, strict=True):
            assert a.difference.outcome == contrary[b.difference.outcome]
            assert a.difference.adjusted == b.difference.adjusted


def test_another_gate_is_said_and_does_not_matter():
    gated = run("now", of([UP] * 2 + [DOWN]).results, gate=Gate(min_pass_rate=1.0))
    found = compare(gated, run("then", of([UP] * 2 + [DOWN]).results, gate=Gate(min_pass_rate=0.5)))
    assert found.outcome == "same"
    assert found.warnings == (
        "The gate has changed: min_pass_rate was 0.5 and is now 1. The baseline passes its own gate, and fails the gate of the newer run.",
    )


def test_a_metric_that_judges_nothing_any_more_is_no_reason_to_say_better():
    def both(name, one, other):
        results = [
            Result(
                trial=trial(n),
                output=Output(value=1),
                scores=(
                    scored(one),
                    scored(other, "polite") if other is not None else Score(name="polite", status="unscored"),
                ),
            )
            for n in range(30)
        ]
        return run(name, results)

    found = compare(both("now", UP, None), both("then", DOWN, UP))
    assert {change.name: change.is_lost for change in found.targets[0].changes} == {
        "": True,
        "sim": False,
        "polite": True,
    }
    assert found.outcome == "cannot tell"


def test_scores_that_cannot_pass_are_compared_all_the_same():
    def ungated(name, value):
        results = [
            Result(trial=trial(n), output=Output(value=1), scores=(Score(name="sim", raw=value, value=value),))
            for n in range(200)
        ]
        return run(name, results)

    found = compare(ungated("now", 1.0), ungated("then", 1.0))
    assert [change.name for change in found.targets[0].changes] == ["sim"]
    assert found.outcome == "same"


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param(of([UP]), of([UP], "now"), "now is compared with itself.", id="a run and itself"),
        pytest.param(
            run("now", of([UP]).results, status="running"),
            of([UP], "then"),
            "The run now is running, so some of its cases may be missing.",
            id="a run that still goes on",
        ),
        pytest.param(
            of([UP]),
            replace(of([UP], "then"), created="2026-11-22T00:00:01Z"),
            "The baseline is newer than the run. If that is not meant, name the newer run first.",
            id="the older run named first",
        ),
        pytest.param(
            run("now", of([UP], case={"input": "other"}).results, datasets=(DatasetInfo(name="new"),)),
            run("then", of([UP]).results, datasets=(DatasetInfo(name="old"),)),
            "The dataset was old and is now new.",
            id="another dataset",
        ),
        pytest.param(
            replace(of([UP]), embedder="local:b"),
            replace(of([UP], "then"), embedder="local:a"),
            "The embedding model has changed; differences in embedding metrics may come from the new model.",
            id="another embedding model",
        ),
        pytest.param(
            replace(of([UP]), embedder="local:b:int8"),
            replace(of([UP], "then"), embedder="local:a"),
            "The embedding model has changed; differences in embedding metrics may come from the new model.",
            id="another embedding model in another mode",
        ),
        pytest.param(
            replace(of([UP]), embedder="local:a:int8"),
            replace(of([UP], "then"), embedder="local:a"),
            "The embedding model ran in exact mode and now runs in int8 mode; differences in embedding metrics may come from that.",
            id="another mode of the embedding model",
        ),
    ],
)
def test_what_is_odd_about_two_runs_is_said(now, before, said):
    assert said in compare(now, before).warnings


def test_the_texts_behind_a_flip_are_those_of_repeats_that_show_it():
    now, before = (
        replace(of(values, name), repeat=2)
        for values, name in (([[UP, DOWN], UP, [DOWN, UP]], "now"), ([[UP, UP], UP, [DOWN, DOWN]], "then"))
    )
    worse, better = flip_examples(compare(now, before), now, before, 5)
    assert (worse.flip.case, worse.before.verdict, worse.now.verdict, worse.now.trial.repeat) == (
        "c0",
        "pass",
        "fail",
        1,
    )
    assert (better.flip.case, better.before.verdict, better.now.verdict, better.now.trial.repeat) == (
        "c2",
        "fail",
        "pass",
        1,
    )
    assert [pair.flip.case for pair in flip_examples(compare(now, before), now, before, 1)] == ["c0"]


def test_the_texts_of_a_renamed_case_are_found():
    renamed = run(
        "now", [replace(r, trial=trial(0, case={"id": "new", "input": "question 0"})) for r in of([DOWN]).results]
    )
    (pair,) = flip_examples(compare(renamed, of([UP], "then")), renamed, of([UP], "then"), 1)
    assert (pair.now.trial.case.id, pair.before.trial.case.id) == ("new", "c0")
