"""Which rows stand on a page."""

from hypothesis import given
from hypothesis import strategies as st

from evalmark.reports.viewer.urls.case_query import CaseQuery
from evalmark.reports.viewer.urls.paging import Paging, page_at, start_of

SIZES = st.integers(1, 40)


@given(total=st.integers(0, 200), size=SIZES)
def test_all_pages_together_are_the_list_and_only_the_only_one_may_be_empty(total, size):
    rows = range(total)
    pages = Paging(total=total, size=size).pages
    parts = [Paging(total=total, size=size, requested=page).part(rows) for page in range(1, pages + 1)]
    assert [row for part in parts for row in part] == [*rows]
    assert all(parts) or pages == 1


@given(total=st.integers(0, 200), size=SIZES, requested=st.integers(1, 10**6))
def test_beyond_the_last_page_the_last_one_is_shown(total, size, requested):
    shown = Paging(total=total, size=size, requested=requested)
    assert shown.page == min(requested, shown.pages)
    assert shown.start == start_of(shown.page, size)


@given(page=st.integers(1, 10**6), size=SIZES)
def test_a_page_is_found_by_where_it_begins(page, size):
    assert page_at(start_of(page, size), size) == page


@given(page=st.integers(1, 100), place=st.none() | st.integers(0, 10**6))
def test_a_page_of_cases_that_was_found_elsewhere_says_so(page, place):
    requested = CaseQuery(page=page)
    found = requested.found_at(place)
    assert found == (requested if place is None else CaseQuery(page=page_at(place, requested.size)))
    assert found.place.place == found.start
