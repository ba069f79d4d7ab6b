"""What the two sides of a comparison are called, and what is said of a case that changed."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.score import Trial
from evalmark.errors import ConfigError
from evalmark.reports.terminal.comparison import comparison_screen
from evalmark.reports.terminal.console import TerminalStyle
from evalmark.reports.text import changed_cases
from evalmark.reports.text.comparison import TWO_RUNS, side_names
from evalmark.stats.comparison.change import Flip
from evalmark.stats.comparison.compare import two_targets

LONG = "my_company.applications.support"


def result(number, target, passes, repeat=0):
    return Result(
        trial=Trial(
            case=Case(id=f"q{number}", input=number), dataset="d", target=target, position=number, repeat=repeat
        ),
        output=Output(value=str(passes)),
        scores=(Score(name="equals", raw=passes, value=float(passes), passed=passes),),
    )


def two(target, against, *, repeats=1, cases=range(4), others=range(4)):
    """A run in which the target fails its first case, at every repeat but the first, and the other one nothing."""
    results = [result(n, target, n > 0 or r > 0, r) for n in cases for r in range(repeats)]
    results += [result(n, against, True, r) for n in others for r in range(repeats)]
    run = Run(id="r", name="r", created="", target=f"{target}, {against}", results=results, repeat=repeats)
    return compare(run, run, targets=(target, against))


@pytest.mark.parametrize(
    ("target", "against", "heads"),
    [
        pytest.param("m/a", "m/b", ("m/b", "m/a"), id="two short names"),
        pytest.param(LONG, "m/b", ("m/b", "my_company.applications…"), id="a long name is cut"),
        pytest.param(
            f"{LONG}:a",
            f"{LONG}:b",
            ("….applications.support:b", "….applications.support:a"),
            id="names that end differently",
        ),
        pytest.param("n\x1b[2J", "difference", ("difference", "n"), id="a name that a terminal would act on"),
    ],
)
def test_two_targets_of_a_run_are_called_so_that_they_are_told_apart(target, against, heads):
    found = two(target, against)
    called = side_names(found, found.targets[0])
    assert (called.before, called.now) == heads
    assert max(map(len, heads)) <= 24
    assert called.where == (f"of {heads[0]}", f"of {heads[1]}")
    assert all(head in comparison_screen(found, TerminalStyle(width=120)) for head in heads)


def test_two_runs_are_before_and_now():
    run = Run(id="now", name="r", created="", results=[result(1, "m/a", True)])
    found = compare(run, replace(run, id="then"))
    assert side_names(found, found.targets[0]) == TWO_RUNS


@pytest.mark.parametrize(
    ("repeats", "title", "said"),
    [
        pytest.param(1, "1 regressed with m/a, 0 improved, 3 unchanged", "passes only with m/b", id="once"),
        pytest.param(
            4,
            "1 regressed with m/a, 0 improved, 3 unchanged",
            "passes 75 % of its repeats, with m/b 100 %",
            id="several times",
        ),
    ],
)
def test_a_case_that_came_out_otherwise_is_told_of_both_targets(repeats, title, said):
    (change,) = (found := two("m/a", "m/b", repeats=repeats)).targets
    heads = side_names(found, change)
    assert changed_cases.changed_cases_title(changed_cases.changed_cases(change)[0], heads) == title
    assert changed_cases.flip_line(change.flips[0], heads) == ("q0", said)


def test_of_two_targets_nothing_was_before_or_is_gone():
    found = two("m/a", "m/b", cases=range(3), others=range(1, 6))
    assert found.warnings == (
        "1 case ran only on m/a (q0); it is not compared.",
        "3 cases ran only on m/b (q3, q4, q5); they are not compared.",
    )
    assert two("m/a", "m/b", others=range(9, 12)).warnings[0] == "The two targets have no case in common."


def test_a_target_with_a_comma_in_its_name_is_found_among_the_results():
    run = Run(id="r", name="r", created="", target="a, b, c", results=[result(1, name, True) for name in ("a, b", "c")])
    assert two_targets(run, "a, b", "c") == ("a, b", "c")
    with pytest.raises(ConfigError, match=r"^compare: r has no target 'd'; it has 'a, b', 'c'\.$"):
        two_targets(run, "d", "c")


def test_of_very_many_targets_some_are_named():
    run = Run(id="r", name="r", created="", results=[result(1, f"m/{n}", True) for n in range(14)])
    with pytest.raises(ConfigError, match=r"it has 'm/0', .*'m/9' and 4 more\.$"):
        two_targets(run, "m/0", "nobody")
    with pytest.raises(ConfigError, match=r"it has no result\.$"):
        two_targets(replace(run, results=()), "m/0", "m/1")


def test_a_target_without_a_result_is_said():
    run = Run(id="r", name="r", created="", target="m/a, m/b, m/c", results=[result(1, "m/a", True)])
    assert compare(run, run, targets=("m/a", "m/b")).warnings == (
        "There is no result to compare of one of the targets.",
    )
    assert compare(run, run, targets=("m/b", "m/c")).warnings == ("There is no result to compare of either target.",)


@pytest.mark.parametrize(
    ("before", "now", "text"),
    [
        pytest.param(1.0, 0.0, "right was yes, is no now", id="yes or no, as in the report of a run"),
        pytest.param(1.0, 0.25, "right fell from 100 % to 25 %", id="repeats that disagree"),
    ],
)
def test_a_truth_of_a_single_case_is_yes_or_no(before, now, text):
    flip = Flip(dataset="d", case="c", target="", before=before, now=now, metric="right")
    assert changed_cases.flip_text(flip) == text
