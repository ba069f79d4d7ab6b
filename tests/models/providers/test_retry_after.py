"""How long a server wants to be left alone, in all the ways in which servers say so."""

import math
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.models.providers.retry_after import retry_after

NOON = "Sat, 21 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="no header"),
        pytest.param({"retry-after": "7"}, 7, id="whole seconds"),
        pytest.param({"Retry-After": "7"}, 7, id="written as in the RFC"),
        pytest.param({"RETRY-AFTER": " 7 "}, 7, id="in capitals, with spaces"),
        pytest.param({"retry-after": "1.5"}, 1.5, id="a fraction"),
        pytest.param({"retry-after": "0"}, 0, id="at once"),
        pytest.param({"retry-after": "1e9"}, 1e9, id="thirty years"),
        pytest.param({"retry-after": "-5"}, None, id="a negative number"),
        pytest.param({"retry-after": "soon"}, None, id="a word"),
        pytest.param({"retry-after": ""}, None, id="nothing"),
        pytest.param({"retry-after": "nan"}, None, id="not a number"),
        pytest.param({"retry-after": "inf"}, None, id="infinity"),
        pytest.param({"retry-after": "1e999"}, None, id="a number that would become infinite"),
        pytest.param({"retry-after": "1_0"}, None, id="an underscore, which Python would take"),
        pytest.param({"retry-after": "٣"}, None, id="a digit of another script"),
        pytest.param({"retry-after": "9" * 5000}, None, id="five thousand digits"),
        pytest.param({"retry-after": "1m30s"}, 90, id="minutes and seconds"),
        pytest.param({"retry-after": "1s x"}, None, id="a duration and more"),
        pytest.param({"retry-after-ms": "250"}, 0.25, id="milliseconds"),
        pytest.param({"retry-after-ms": "250", "retry-after": "1"}, 1, id="the larger of the two"),
        pytest.param({"retry-after-ms": "x", "retry-after": "1"}, 1, id="the one that can be read"),
        pytest.param({"retry-after": NOON.replace("12:00:00", "12:00:30"), "date": NOON}, 30, id="a date"),
        pytest.param({"retry-after": NOON.replace("12:", "11:"), "date": NOON}, 0, id="a date that has passed"),
        pytest.param({"retry-after": NOON}, None, id="a date, and no clock of the server to compare it with"),
        pytest.param({"retry-after": "Sat, 21 Nov 2026 12:00:30", "date": NOON}, 30, id="a date without a zone"),
        pytest.param({"retry-after": "Saturday, 21-Nov-26 12:00:30 GMT", "date": NOON}, 30, id="a date of RFC 850"),
        pytest.param({"retry-after": "Sat Nov 21 12:00:30 2026", "date": NOON}, 30, id="a date as C prints it"),
        pytest.param({"retry-after": "2026-11-21T12:00:30Z", "date": NOON}, 30, id="an ISO time"),
        pytest.param({"retry-after": "2026-11-21T14:00:30+02:00", "date": NOON}, 30, id="an ISO time elsewhere"),
        pytest.param({"retry-after": "Sat, 99 Nov 2026 12:00:30 GMT", "date": NOON}, None, id="the 99th of November"),
        pytest.param({"x-ratelimit-reset-requests": "500ms"}, 0.5, id="a reset in milliseconds"),
        pytest.param({"x-ratelimit-reset-tokens": "6m0s"}, 360, id="a reset in minutes"),
        pytest.param({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5, id="a reset in hours"),
        pytest.param({"x-ratelimit-reset-tokens": "59.5"}, 59.5, id="a reset in plain seconds"),
        pytest.param({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "2s"}, 2, id="the largest reset"),
        pytest.param({"x-ratelimit-reset-tokens": "6m0s", "retry-after": "2"}, 2, id="what is asked for goes first"),
        pytest.param({"x-ratelimit-reset-tokens": "2s", "retry-after": "soon"}, 2, id="a reset, where that cannot be read"),
        pytest.param({"x-ratelimit-remaining-tokens": "0"}, None, id="what is left is no time"),
        pytest.param({"anthropic-ratelimit-tokens-reset": "2026-11-21T12:01:00Z", "date": NOON}, 60, id="Anthropic's reset"),
        pytest.param({"x-ratelimit-reset": "1795262405", "date": NOON}, 5, id="a reset in Unix time"),
        pytest.param({"x-ratelimit-reset": "1795262405000", "date": NOON}, 5, id="a reset in milliseconds of Unix time"),
        pytest.param({"x-ratelimit-reset": "1795262405"}, None, id="a reset in Unix time, and no clock"),
        pytest.param({"x-ratelimit-reset": "1795262395", "date": NOON}, 0, id="a reset that has passed"),
    ],
)  # fmt: skip
def test_the_wait_is_what_the_headers_say(headers, seconds):
    found = retry_after(headers)
    assert found == pytest.approx(seconds) if seconds is not None else found is None


@pytest.mark.parametrize("hours", [-2, 0, 2])
def test_the_clock_of_the_server_counts_and_not_that_of_this_machine(hours):
    server = datetime.now(UTC) + timedelta(hours=hours)
    headers = {"date": format_datetime(server, usegmt=True)}
    headers["retry-after"] = format_datetime(server + timedelta(seconds=20), usegmt=True)
    assert retry_after(headers) == 20


names = st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "x-ratelimit-reset", "date"])
pieces = st.sampled_from(
    ["1", "-", ".", "e", "m", "ms", "s", "h", "d", "Sat, ", "21 Nov 2026 ", "12:00:00 ", "GMT", "+", "Z", "T", "9" * 20]
)
texts = (
    st.text(max_size=40) | st.lists(pieces, max_size=6).map("".join) | st.datetimes().map(str) | st.floats().map(str)
)


@given(st.dictionaries(names, texts))
def test_whatever_the_headers_hold_the_wait_is_a_number_of_seconds_or_unknown(headers):
    found = retry_after(headers)
    assert found is None or (math.isfinite(found) and found >= 0)


def test_when_a_limit_is_there_again_says_nothing_of_a_fault_of_the_server():
    headers = {"x-ratelimit-reset-requests": "24h"}
    assert retry_after(headers, limited=False) is None
    assert retry_after({**headers, "retry-after": "3"}, limited=False) == 3.0
