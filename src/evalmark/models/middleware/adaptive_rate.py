"""Adaptive request rate of an endpoint, derived from the requests that it rejects (429)."""

from dataclasses import dataclass, replace

DEFAULT_REJECTED_SHARE = 0.25
"""Share of rejected requests above which a limit is suspected: some endpoints reject requests at random."""
MAX_REJECTED_SHARE = 0.6
"""Share of rejected requests above which it is a limit, whatever the request rate."""
_MARGIN = 0.05
_SUSPECT = 5.0
"""Rejections beyond the usual share before a limit is suspected; fewer where one is known:"""
_KNOWN = 1.5
_FUTILE = 3
"""Rejections in a row, with no request in flight, after which the endpoint counts as accepting nothing."""
_SAMPLE = 16
"""Requests sent at a slower rate to test whether there is a limit."""
_MOST_LATENCIES = 3.0
"""Round trips for which a test waits for its last requests."""
_LEAST_WINDOW = 1.0
"""Least seconds between changes of a limited rate; a round trip where that is longer."""
_MOST_WINDOWS = 20
"""Windows of that length that are counted while the rate is not limited."""
_GROWTH = (1.03, 1.06, 1.12, 1.25)
"""Factors by which a limited rate grows with each window without a limit; the last one repeats."""
_BURST = 2.0
"""Requests that may be sent at once at a limited rate (the size of the token bucket)."""
_NOISE = 0.15
"""Largest difference between the shares of two samples that counts as noise."""
_BELOW = 0.95
"""After a limit, the new rate as a share of the accepted rate."""
_LEAST_RATE = 0.5
"""The lowest rate, in requests a second."""
_ALMOST = 1e-9
"""Tolerance for rounding."""


@dataclass(slots=True)
class _RequestCounts:
    """Counts of requests since a point in time."""

    since: float
    after: int = 0
    """The number of the last request before it."""
    sent: int = 0
    accepted: int = 0
    rejected: int = 0
    paused: float = 0.0
    """Seconds of it in which no request was sent, because the endpoint asked for a pause."""

    @property
    def returned(self) -> int:
        return self.accepted + self.rejected

    @property
    def share(self) -> float:
        """The share of rejected requests; those in flight count as accepted."""
        return self.rejected / max(1, self.sent, self.returned)

    def busy(self, now: float) -> float:
        """Seconds up to now in which requests could be sent."""
        return max(0.0, now - self.since - self.paused)


@dataclass(slots=True)
class _SuspectedLimit:
    """The requests that led to a slower rate, and the rate at which they were sent."""

    after: int
    """The number of the last request before them."""
    rate: float
    sent: int
    rejected: int
    was_free: bool
    """Whether the rate was unlimited: then only a sample is sent until the effect of a slower rate is known."""
    is_stated: bool = False
    """Whether the endpoint stated a limit itself."""

    @property
    def share(self) -> float:
        return 1.0 if self.is_stated else min(1.0, self.rejected / max(1, self.sent))


class AdaptiveRate:
    """Limits the request rate where a slower rate has fewer rejections, and only there.

    A 429 may mean that requests come too fast, or nothing at all: overloaded endpoints and proxies reject a share of all
    requests, however slowly they come. So where a limit is suspected (more rejections than the usual share, or an endpoint that
    names a time to wait), the rate is lowered to that of the accepted requests, at most once a round trip, and the next requests
    are counted: where the share of rejections falls, the rate stays limited and grows until the next limit; where it does not,
    that share is the endpoint's usual one, and the rate is unlimited again at once.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        """Requests a second; None: unlimited."""
        self.was_futile = False
        """Whether no request had been accepted before the last decrease."""
        self._usual = DEFAULT_REJECTED_SHARE
        self._window = _RequestCounts(0.0)
        self._mark = 0
        """The number of the last request before the last decrease; replies to it and to those before are not counted."""
        self._last_number = 0
        """The number of the last request of all."""
        self._in_flight = 0
        """Requests after the mark that are in flight."""
        self._excess = 0.0
        """Rejections beyond the usual share; never below 0."""
        self._suspect: _SuspectedLimit | None = None
        """The suspected limit whose test is in progress."""
        self._clean_windows = 0
        self._latency = 1.0
        """Smoothed round-trip time of accepted requests, in seconds."""
        self._level, self._filled_at = 0.0, 0.0
        self._paused_until = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until the next request may be sent; 0: now."""
        if self._suspect is not None and self._suspect.was_free and self._window.sent >= _SAMPLE:
            return max(0.0, _MOST_LATENCIES * self._latency - self._window.busy(now))
        short = 0.0 if self.rate is None else 1.0 - self._tokens(now)
        return short / self.rate if self.rate is not None and short > _ALMOST else 0.0

    def sent(self, number: int, now: float) -> None:
        """Count a request that is sent; requests are numbered in their order."""
        self._evaluate(now)
        self._last_number = number
        self._window.sent += 1
        self._in_flight += 1
        if self.rate is not None:
            self._level, self._filled_at = self._tokens(now) - 1.0, now

    def unsent(self, number: int) -> None:
        """Take back a request that was not sent after all, or whose outcome will not be known."""
        if number > self._mark:
            self._window.sent -= 1
            self._in_flight -= 1

    def accepted(self, number: int, now: float, seconds: float) -> None:
        """Count a request that was not rejected, whatever else became of it, with its round-trip time in seconds."""
        self._latency += (seconds - self._latency) / 8
        if number <= self._mark:
            return
        self._in_flight -= 1
        self._window.accepted += 1
        self._excess = max(0.0, self._excess - self._usual)
        self._evaluate(now)

    def rejected(self, number: int, now: float, *, is_stated: bool) -> bool:
        """Count a rejected request; return whether the rate was lowered. `is_stated`: the endpoint named a time to wait."""
        if number <= self._mark:
            if self._suspect is not None and number > self._suspect.after:
                self._suspect.rejected += 1
            return False
        self._in_flight -= 1
        self._window.rejected += 1
        self._excess += 1.0 - self._usual
        if self._is_suspicious(now, is_stated=is_stated):
            self._decrease(now, is_stated=is_stated)
            return True
        return self._evaluate(now)

    def _is_suspicious(self, now: float, *, is_stated: bool) -> bool:
        """Whether a limit is the likely reason; at most once a round trip."""
        window = self._window
        if window.accepted == 0 and self._in_flight == 0:  # nothing at all comes through
            return is_stated or window.rejected >= (1 if self.was_futile else _FUTILE)
        if self._suspect is not None:
            return False
        if self.rate is None:
            return is_stated or self._excess - self._usual * self._in_flight > _SUSPECT
        return self._is_busy(now) and window.busy(now) >= self._least and (is_stated or self._excess > _KNOWN)

    def _is_busy(self, now: float) -> bool:
        """Whether requests are sent as fast as the rate allows."""
        return self.rate is None or self._window.sent >= 0.5 * self.rate * self._window.busy(now)

    def paused(self, now: float, seconds: float) -> None:
        """Note that no request is sent for so many seconds."""
        end = now + seconds
        self._window.paused += max(0.0, end - max(now, self._paused_until))
        self._paused_until = max(self._paused_until, end)

    @property
    def _least(self) -> float:
        return max(_LEAST_WINDOW, self._latency)

    def _tokens(self, now: float) -> float:
        return min(_BURST, self._level + (now - self._filled_at) * (self.rate or 0.0))

    def _decrease(self, now: float, *, is_stated: bool = False) -> None:
        window = self._window
        seconds = max(now - window.since, self._latency)
        self.was_futile = window.accepted == 0 and (is_stated or self._in_flight == 0)
        rate = self.rate or window.sent / seconds
        taken = max(window.accepted, window.sent - window.rejected)
        if self._suspect is None:
            self._suspect = self._suspicion(rate, is_stated=is_stated)
        if self.rate is None:
            self.rate = 0.5 * rate
        elif self._suspect.was_free and not self._suspect.is_stated:  # a sample is too short to count what is accepted
            self.rate = rate if self.was_futile else rate * max(0.1, 1.0 - window.share)
        elif taken > 0:
            self.rate = _BELOW * min(taken / seconds, rate)
        self.rate = max(_LEAST_RATE, self.rate)
        self._mark, self._in_flight, self._clean_windows = self._last_number, 0, 0
        self._begin(now)

    def _suspicion(self, rate: float, *, is_stated: bool = False) -> _SuspectedLimit:
        window = self._window
        return _SuspectedLimit(
            max(self._mark, window.after), rate, window.sent, window.rejected, self.rate is None, is_stated
        )

    def _begin(self, now: float) -> None:
        self._window, self._excess = _RequestCounts(now, self._last_number), 0.0
        self._window.paused = max(0.0, self._paused_until - now)

    def _evaluate(self, now: float) -> bool:
        """Evaluate the window once it holds enough requests; return whether the rate was lowered."""
        window, rate = self._window, self.rate
        seconds = window.busy(now)
        if self._suspect is not None:
            is_late = seconds >= _MOST_LATENCIES * self._latency
            if window.sent >= _SAMPLE and (is_late or window.returned >= 0.75 * window.sent):
                return self._conclude(window, self._suspect, now)
        elif rate is None:
            if seconds >= _MOST_WINDOWS * self._least:
                self._window = _RequestCounts(now, self._last_number)
        elif seconds >= self._least:
            if self._is_busy(now) and window.rejected > self._usual * window.sent + _KNOWN:
                self._decrease(now)
                return True
            self._grow(window, rate, seconds)
            self._begin(now)
        return False

    def _conclude(self, window: _RequestCounts, suspect: _SuspectedLimit, now: float) -> bool:
        """Keep the slower rate if it helped, else undo it; return whether the rate was lowered further."""
        share, rate = window.share, self.rate or 0.0
        if share <= 2 * _MARGIN:
            self._usual = share + _MARGIN
        elif rate <= 0.5 * suspect.rate and abs(share - suspect.share) <= _NOISE and share <= MAX_REJECTED_SHARE:
            self.rate, self._usual = None, max(DEFAULT_REJECTED_SHARE, share + 2 * _MARGIN)  # as many at any rate
        else:
            if share < suspect.share - _NOISE:
                self._suspect = replace(self._suspicion(rate), was_free=suspect.was_free, is_stated=suspect.is_stated)
            self._decrease(now)
            return True
        self._suspect = None
        self._begin(now)
        return False

    def _grow(self, window: _RequestCounts, rate: float, seconds: float) -> None:
        if window.share > self._usual:
            return
        self.rate = rate * _GROWTH[min(self._clean_windows, len(_GROWTH) - 1)]
        self._clean_windows += 1
        if rate > 4.0 * window.sent / seconds and not window.rejected:  # the callers are slower than the limit
            self.rate, self._usual = None, max(DEFAULT_REJECTED_SHARE, self._usual)
