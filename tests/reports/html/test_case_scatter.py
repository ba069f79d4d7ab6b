"""The chart of each case's score before and now."""

import random
import re
from types import SimpleNamespace

import pytest

from evalmark.reports.html.case_scatter import MOST_POINTS, case_places, draw_case_places


def cases_of(values, **fields):
    """Compared cases of one metric with these values before and now."""
    change = SimpleNamespace(name="polite", unit="", is_share=False, direction="higher", moved=(0, 0), stayed=0)
    vars(change).update(fields)
    return SimpleNamespace(change=SimpleNamespace(changes=(change,)), values=(tuple(values),))


def drawn(values, **fields):
    places = case_places(cases_of(values, **fields), "polite")
    return str(
        draw_case_places(places, lambda at: (f"case-{at}", f"/case/{at}"), lambda outcome: f"/list/{outcome}", 0.5)
    )


def test_each_case_is_a_point_that_leads_to_it_and_equal_ones_lead_to_their_list():
    text = drawn([(0.1, 0.9), (0.4, 0.4), (0.4, 0.4), None, (0.9, 0.2)])
    links = re.findall(r'<a href="([^"]*)" tabindex="-1" aria-label="([^"]*)">', text)
    assert sorted(links) == [
        ("/case/0", "case-0: 0.100 before, 0.900 now"),
        ("/case/4", "case-4: 0.900 before, 0.200 now"),
        ("/list/None", "2 cases: 0.400 before, 0.400 now"),
    ]
    assert text.count('class="cut"') == 2
    assert text.count('class="chance"') == 1


@pytest.mark.parametrize(("direction", "way"), [("higher", "better"), ("lower", "worse")])
def test_many_cases_are_counted_in_squares_above_and_below_the_diagonal(direction, way):
    draw = random.Random(4)  # noqa: S311  no secret
    values = [(draw.random() / 2, 0.5 + draw.random() / 2) for _ in range(50_000)]
    text = drawn(values, direction=direction)
    counts = [int(n.replace(",", "")) for n in re.findall(r'aria-label="([\d,]+) cases?"', text)]
    assert sum(counts) == len(values)
    assert set(re.findall(r'href="/list/(\w+)"', text)) <= {way, "None"}
    assert len(text) < 60_000


def test_scores_of_yes_and_no_are_a_table_of_four():
    values = [(1.0, 0.0), (1.0, 1.0), (0.0, 0.0)]
    assert case_places(cases_of(values, is_share=True), "polite").is_truth
    assert not case_places(cases_of([*values, (0.5, 1.0)], is_share=True), "polite").is_truth
    assert case_places(cases_of([None]), "polite") is None
    assert case_places(cases_of(values), "other") is None


def test_at_most_so_many_points_are_drawn_one_by_one():
    assert case_places(cases_of((n / MOST_POINTS, 0.5) for n in range(MOST_POINTS)), "polite").places
    assert case_places(cases_of((n / MOST_POINTS, 0.5) for n in range(MOST_POINTS + 1)), "polite").squares
