"""Components of variance: the analysis of variance by hand, statsmodels' REML as second opinion, and what a design cannot tell."""

import warnings

import numpy as np
import pytest

from evalmark.stats.inference.means import mean_interval, projected_interval
from evalmark.stats.inference.variance import variance_components


def crossed(seed, cases=12, repeats=2, judges=3, deviations=(0.2, 0.1, 0.05, 0.08, 0.06)):
    """Scores of every judge on every repeat of every case, with their factors."""
    draw = np.random.default_rng(seed)
    case = np.repeat(np.arange(cases), repeats * judges)
    repeat = np.repeat(np.arange(cases * repeats), judges)
    judge = np.tile(np.arange(judges), cases * repeats)
    factors = {"case": case, "repeat": repeat, "judge": judge, "case x judge": case * judges + judge}
    effects = [
        draw.normal(0, d, levels.max() + 1)[levels] for d, levels in zip(deviations, factors.values(), strict=False)
    ]
    values = 0.5 + sum(effects) + draw.normal(0, deviations[-1], len(case))
    return values.tolist(), {name: levels.tolist() for name, levels in factors.items()}


def one_way(values, groups):
    """The estimates of the analysis of variance of one factor, also unbalanced."""
    columns = [[v for v, g in zip(values, groups, strict=True) if g == one] for one in sorted(set(groups))]
    n, a = len(values), len(columns)
    within = sum(sum((v - np.mean(c)) ** 2 for v in c) for c in columns) / (n - a)
    between = sum(len(c) * (np.mean(c) - np.mean(values)) ** 2 for c in columns) / (a - 1)
    size = (n - sum(len(c) ** 2 for c in columns) / n) / (a - 1)
    return (between - within) / size, within


@pytest.mark.parametrize("sizes", [(3, 3, 3, 3), (1, 2, 5, 4), (1, 1, 2)])
def test_one_factor_gives_the_analysis_of_variance(sizes):
    draw = np.random.default_rng(sum(sizes))
    groups = [number for number, size in enumerate(sizes) for _ in range(size)]
    values = draw.random(len(groups)).tolist()
    found = variance_components(values, {"case": groups})
    assert (found["case"], found["rest"]) == pytest.approx(one_way(values, groups), abs=1e-12)


def test_crossed_factors_give_the_mean_squares_of_the_two_way_table():
    cases, repeats, judges = 12, 2, 3
    values, factors = crossed(1)
    table = np.asarray(values).reshape(cases, repeats, judges)
    by_case, by_judge, cells, outputs = table.mean((1, 2)), table.mean((0, 1)), table.mean(1), table.mean(2)
    squares = {
        "case": repeats * judges * by_case.var(ddof=1),
        "judge": cases * repeats * by_judge.var(ddof=1),
        "repeat": judges * ((outputs - by_case[:, None]) ** 2).sum() / (cases * (repeats - 1)),
        "cells": repeats
        * ((cells - by_case[:, None] - by_judge[None] + table.mean()) ** 2).sum()
        / ((cases - 1) * (judges - 1)),
    }
    fitted = outputs[:, :, None] + cells[:, None, :] - by_case[:, None, None]
    rest = ((table - fitted) ** 2).sum() / (cases * (repeats - 1) * (judges - 1))
    found = variance_components(values, factors)
    assert found["rest"] == pytest.approx(rest, abs=1e-12)
    assert found["case x judge"] == pytest.approx((squares["cells"] - rest) / repeats, abs=1e-12)
    assert found["repeat"] == pytest.approx((squares["repeat"] - rest) / judges, abs=1e-12)
    assert found["judge"] == pytest.approx((squares["judge"] - squares["cells"]) / (cases * repeats), abs=1e-12)
    rest_of_case = squares["repeat"] + squares["cells"] - rest
    assert found["case"] == pytest.approx((squares["case"] - rest_of_case) / (repeats * judges), abs=1e-12)


def test_balanced_estimates_are_those_of_statsmodels_reml():
    api, pandas = pytest.importorskip("statsmodels.formula.api"), pytest.importorskip("pandas")
    values, factors = crossed(5, cases=15)
    found = variance_components(values, factors)
    assert min(found.values()) > 0  # where REML and the analysis of variance agree
    frame = pandas.DataFrame({"y": values, "one": 1, **{name.replace(" ", ""): f for name, f in factors.items()}})
    parts = {name.replace(" ", ""): f"0 + C({name.replace(' ', '')})" for name in factors}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = api.mixedlm("y ~ 1", frame, groups="one", re_formula="0", vc_formula=parts)
        fitted = model.fit(reml=True, method="lbfgs")
    theirs = dict(zip(model.exog_vc.names, fitted.vcomp, strict=True)) | {"rest": fitted.scale}
    assert {name.replace(" ", ""): value for name, value in found.items()} == pytest.approx(theirs, rel=5e-3)


def test_estimates_are_unbiased_where_values_are_missing():
    deviations, drawn = (0.2, 0.1, 0.05, 0.08, 0.06), []
    draw = np.random.default_rng(3)
    for seed in range(150):
        values, factors = crossed(seed, deviations=deviations)
        kept = draw.random(len(values)) < 0.7
        some = {name: np.asarray(levels)[kept].tolist() for name, levels in factors.items()}
        drawn.append([*variance_components(np.asarray(values)[kept].tolist(), some).values()])
    means, errors = np.mean(drawn, axis=0), np.std(drawn, axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(means - np.square(deviations)) < 4 * errors)


@pytest.mark.parametrize("change", ["order", "names", "shift"])
def test_what_must_not_matter(change):
    values, factors = crossed(2)
    found = variance_components(values, factors)
    order = np.random.default_rng(0).permutation(len(values)) if change == "order" else np.arange(len(values))
    shifted = [values[n] + (1000.0 if change == "shift" else 0.0) for n in order]
    renamed = {
        name: [7 * levels[n] + 3 if change == "names" else levels[n] for n in order] for name, levels in factors.items()
    }
    assert variance_components(shifted, renamed) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    ("factors", "unknown"),
    [
        pytest.param({"case": [1, 1, 1, 1]}, {"case"}, id="one level"),
        pytest.param({"case": [1, 2, 3, 4]}, {"case"}, id="a level for each value"),
        pytest.param(
            {"case": [1, 1, 2, 2], "document": [5, 5, 9, 9]}, {"document"}, id="the levels of an earlier factor"
        ),
        pytest.param({"case": [1, 1, 2, 2], "judge": [1, 2, 1, 2]}, set(), id="crossed"),
        pytest.param(
            {"case": [1, 1, 2, 2], "judge": [1, 2, 1, 2], "model": [1, 2, 2, 1]},
            {"case", "judge", "model", "rest"},
            id="nothing is left for the rest",
        ),
    ],
)
def test_what_the_design_cannot_tell_is_none(factors, unknown):
    found = variance_components([0.1, 0.4, 0.3, 0.9], factors)
    assert {name for name, value in found.items() if value is None} == unknown


def test_without_values_nothing_is_known():
    assert variance_components([], {"case": []}) == {"case": None, "rest": None}
    with pytest.raises(ValueError, match="a level for each of the 2 values"):
        variance_components([0.1, 0.2], {"case": [1]})


def test_an_estimate_may_be_below_zero():
    assert variance_components([0.0, 1.0, 1.0, 0.0], {"case": [1, 1, 2, 2]})["case"] < 0


@pytest.mark.parametrize(
    ("values", "bounded"),
    [
        pytest.param([0.0, 1.0, 1.0, 1.0, 0.0, 1.0] * 4, True, id="pass rates"),
        pytest.param([0.1, 0.2, 0.9, 0.7, 0.4, 0.4] * 4, True, id="graded scores"),
        pytest.param([3.0, 12.0, 9.0, 9.0, 5.0, 1.0] * 4, False, id="without known ends"),
    ],
)
def test_twice_the_clusters_give_the_interval_of_a_sample_with_each_cluster_twice(values, bounded):
    clusters = [n // 2 for n in range(len(values))]
    twice = mean_interval(values * 2, clusters=[*clusters, *(100 + c for c in clusters)], bounded=bounded)
    found = projected_interval(values, clusters, bounded=bounded, growth=(2, 1))
    assert found.ends == pytest.approx(twice.ends, abs=1e-9)
    alike = projected_interval(values, clusters, bounded=bounded)
    assert alike.ends == pytest.approx(mean_interval(values, clusters=clusters, bounded=bounded).ends, abs=1e-9)
