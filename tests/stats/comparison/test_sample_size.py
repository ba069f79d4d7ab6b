"""How many cases detect a difference, planned from earlier runs."""
# ruff: noqa: S311  seeded draws, not secrets

import random
from dataclasses import replace

import pytest

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import DatasetInfo
from evalmark.reports.terminal.sample_size import sample_size_screen
from evalmark.stats.comparison.sample_size import sample_size_plan
from evalmark.stats.inference.clustered_power import clustered_pairs_needed
from evalmark.stats.inference.power import cases_needed, pairs_needed

from .test_missing import run


def bot(seed, n=200, rate=0.85, repeats=1, graded=False):
    draw = random.Random(seed)
    one = (lambda: draw.uniform(0.4, 0.9)) if graded else (lambda: draw.random() < rate)
    return run([[one() for _ in range(repeats)] for _ in range(n)])


def right(plan):
    return next(one for one in plan.metrics if one.metric == "right" or len(plan.metrics) == 1)


def test_the_share_of_cases_that_change_is_measured_between_the_newest_two_runs():
    plan = sample_size_plan([bot(1), bot(2), bot(3, rate=0.1)], 0.1)
    (found,) = plan.metrics  # the metric equals the verdict in every case and is not listed twice
    low, measured, high = found.share
    assert (found.metric, found.cases) == ("", 200)
    assert low < 2 * 0.85 * 0.15 < high
    assert [one.repeats for one in found.needed] == [1]
    assert found.needed[0].likely == pairs_needed(0.1, measured + 0.1)
    assert found.needed[0].fewest < found.needed[0].likely < found.needed[0].most == pairs_needed(0.1, high + 0.1)


def test_a_target_that_answers_alike_needs_only_the_cases_of_the_change():
    same = bot(1)
    (found,) = sample_size_plan([same, same], 0.1).metrics
    assert found.share[1] == 0
    assert found.needed[0].fewest == pairs_needed(0.1, 0.1)


def test_repeats_average_out_what_they_showed_to_be_chance():
    (found,) = sample_size_plan([bot(1, repeats=4), bot(2, repeats=4)], 0.1, repeat=4).metrics
    needed = {one.repeats: one.likely for one in found.needed}
    assert list(needed) == [1, 3, 4, 5]
    assert sorted(needed.values(), reverse=True) == list(needed.values())
    assert needed[1] == pytest.approx(cases_needed(0.1, variance=2 * 0.85 * 0.15 + 0.1 - 0.01), rel=0.15)
    assert needed[5] == pytest.approx(cases_needed(0.1, variance=2 * 0.85 * 0.15 / 5 + 0.1 - 0.01), rel=0.15)


def test_one_run_with_repeats_is_enough():
    plan = sample_size_plan([bot(1, repeats=3)], 0.1)
    assert len(plan.runs) == 1
    assert plan.metrics[0].needed[0].repeats == 1


def test_graded_scores_are_planned_by_the_spread_of_their_differences():
    plan = sample_size_plan([bot(1, graded=True), bot(2, graded=True)], 0.1)
    (found,) = plan.metrics
    low, _, high = found.spread
    assert low < 0.5 / 6**0.5 < high
    assert found.needed[0].likely == pytest.approx(cases_needed(0.1, variance=0.25 / 6), rel=0.25)


def test_without_two_runs_the_share_is_assumed():
    for runs in ([], [bot(1)]):
        plan = sample_size_plan(runs, 0.05)
        assert plan.runs == ()
        assert [(one.share[0], one.cases) for one in plan.metrics] == [(0.1, 0), (0.2, 0), (0.3, 0)]


def test_more_power_needs_more_cases():
    runs = [bot(1), bot(2)]
    usual, more = (sample_size_plan(runs, 0.1, power).metrics[0].needed[0].most for power in (None, 0.95))
    assert more > usual


@pytest.mark.parametrize(
    ("effect", "power", "message"),
    [
        pytest.param(0.0, None, "--detect is 0", id="no difference"),
        pytest.param(1.5, None, "--detect is 1.5", id="more than everything"),
        pytest.param(0.1, 1.0, "--power is 1", id="certainty"),
    ],
)
def test_what_cannot_be_planned_is_refused(effect, power, message):
    with pytest.raises(ConfigError, match=message):
        sample_size_plan([], effect, power)


def documents(seed, alike, count=20, each=10, repeats=1):
    """A bot that answers the questions on a share of the documents always right or always wrong, the others by chance."""
    draw, world = random.Random(seed), random.Random(7)
    certain = [world.random() < 0.6 if world.random() < alike else None for _ in range(count)]
    rows = [
        [draw.random() < 0.6 if certain[d] is None else certain[d] for _ in range(repeats)]
        for d in range(count)
        for _ in range(each)
    ]
    found = run(rows)
    results = [
        replace(
            one, trial=replace(one.trial, case=replace(one.trial.case, metadata={"doc": one.trial.position // each}))
        )
        for one in found.results
    ]
    return replace(found, id="r1", results=results, datasets=(DatasetInfo(name="d", cluster="doc"),))


def test_questions_on_one_document_need_more_cases_the_more_alike_they_are():
    plans = [sample_size_plan([documents(1, alike), documents(2, alike)], 0.1) for alike in (0.0, 0.5)]
    loose, tight = (plan.metrics[0] for plan in plans)
    assert [(plan.unit, plan.cluster_size) for plan in plans] == [("doc", 10)] * 2
    assert loose.icc[1] < 0.1 < 0.3 < tight.icc[1] <= tight.icc[2]
    assert tight.needed[0].fewest < tight.needed[0].likely < tight.needed[0].most
    likely = clustered_pairs_needed(0.1, tight.share[1], 10, (tight.chance_icc[1], tight.icc[1]))
    assert tight.needed[0].likely == likely
    most = clustered_pairs_needed(0.1, tight.share[2], 10, (tight.chance_icc[2], tight.icc[2]))
    assert tight.needed[0].most == most
    assert tight.needed[0].likely > pairs_needed(0.1, tight.share[1] + 0.1) * 1.3


def test_one_run_tells_how_alike_documents_are_though_changes_by_chance_are_assumed():
    plan = sample_size_plan([documents(1, 0.5)], 0.1)
    assert (plan.runs, plan.unit) == ((), "doc")
    assert [one.share[0] for one in plan.metrics] == [0.1, 0.2, 0.3]
    assert plan.metrics[0].needed[0].most > pairs_needed(0.1, 0.2)


def test_repeats_do_not_change_how_alike_documents_are():
    once, often = (
        sample_size_plan([documents(1, 0.5, repeats=n), documents(2, 0.5, repeats=n)], 0.1).metrics[0] for n in (1, 4)
    )
    assert often.icc[1] == pytest.approx(once.icc[1], abs=0.1)
    assert [one.repeats for one in often.needed] == [1, 3, 5]


def test_the_text_of_a_plan_names_clusters_and_what_it_assumes_of_them():
    both = [documents(1, 0.5), documents(2, 0.5)]
    texts = [
        " ".join(sample_size_screen(sample_size_plan(runs, 0.1)).split())
        for runs in (both, both[:1], [documents(1, 0.5, repeats=2)], [])
    ]
    assert all("changes by chance" in text for text in texts)
    assert (
        "Cases are clustered by doc, 10 in one on average. Their correlation within one doc (ICC): pass rate: passes"
        in texts[0]
    )
    assert "Real changes are assumed to have the same correlation within one doc as passes." in texts[0]
    assert "The runs have no repeats" in texts[0]
    assert "Changes by chance are assumed to be independent. Real changes are assumed to have" in texts[1]
    assert "no repeats" not in texts[2]
    assert "Cases are assumed to be independent" in texts[3]
