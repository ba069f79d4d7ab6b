"""What headers say of an endpoint's limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.models.middleware.quota import RemainingQuota, seconds_until_reset

DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


@pytest.mark.parametrize(
    ("text", "date", "seconds"),
    [
        ("6m0s", "", 360.0),
        ("1h2m3s", "", 3723.0),
        ("20ms", "", 0.02),
        ("7.66s", "", 7.66),
        ("1d", "", 86400.0),
        ("12", "", 12.0),
        ("0.5", "", 0.5),
        ("2026-01-01T00:00:30Z", DATE, 30.0),
        ("2026-01-01T00:00:30.500+00:00", DATE, 30.5),
        ("2026-01-01T00:00:30", DATE, 30.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", DATE, 60.0),
        ("2025-12-31T23:59:00Z", DATE, 0.0),
        ("2026-01-01T00:00:30Z", "", None),
        ("2026-01-01T00:00:30Z", "yesterday", None),
        ("1767225630000", DATE, None),
        ("", DATE, None),
        ("soon", DATE, None),
        ("-5", DATE, None),
        ("1m30", DATE, None),
        ("1e9", DATE, None),
        ("9" * 80, DATE, None),
    ],
)
def test_the_time_until_a_limit_is_there_again(text, date, seconds):
    assert seconds_until_reset(text, date) == seconds


@given(st.text(max_size=80), st.text(max_size=40))
def test_no_header_is_an_error(text, date):
    seconds = seconds_until_reset(text, date)
    assert seconds is None or seconds >= 0


HEADERS = [
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "30s"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset", "2026-01-01T00:00:30Z"),
    ("x-ratelimit-remaining", "x-ratelimit-reset", "30"),
]


@pytest.mark.parametrize(("remaining", "reset", "said"), HEADERS)
def test_what_is_left_may_go_and_the_rest_waits(remaining, reset, said):
    left = RemainingQuota.of_requests(300.0)
    left.update({remaining: "3", reset: said, "date": DATE}, 1, 100.0)
    waits = []
    for _ in range(3):
        waits.append(left.wait(1, 100.0))
        left.take(1)
    assert waits == [0.0, 0.0, 30.0]  # one of the three was under way already
    assert left.wait(1, 120.0) == 10.0
    assert left.wait(1, 130.0) == 0.0
    assert left.wait(1, 100.0) == 0.0  # what was said is over


@pytest.mark.parametrize("reset", ["", "soon", "301s", "24h"])
def test_a_time_that_is_unknown_or_too_long_holds_nobody_back(reset):
    left = RemainingQuota.of_requests(300.0)
    left.update({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset}, 0, 0.0)
    assert left.wait(1, 0.0) == 0.0


@pytest.mark.parametrize("remaining", ["", "many", "-1", "1.5", "9" * 30])
def test_a_number_that_is_none_changes_nothing(remaining):
    left = RemainingQuota.of_tokens(300.0)
    left.update({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9s"}, 0, 0.0)
    left.update({"x-ratelimit-remaining-tokens": remaining, "x-ratelimit-reset-tokens": "1s"}, 0, 0.0)
    assert left.wait(1, 0.0) == 9.0
