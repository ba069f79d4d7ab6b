"""How fast an endpoint takes requests, learned from those that it turns down for a limit (429)."""

from dataclasses import dataclass, replace

USUAL_SHARE = 0.25
"""Share of requests that may be turned down before a limit is suspected: some endpoints turn requests down at random."""
MOST_SHARE = 0.6
"""Where more are turned down it is a limit, whatever the pace."""
_MARGIN = 0.05
_SUSPECT = 5.0
"""Requests turned down beyond the usual share before a limit is suspected; and fewer where one is known:"""
_KNOWN = 1.5
_FUTILE = 3
"""Requests turned down in a row, with none under way, after which nothing comes through."""
_SAMPLE = 16
"""Requests that test a suspicion."""
_MOST_LATENCIES = 3.0
"""Round trips for which a test waits for its last requests."""
_LEAST_WINDOW = 1.0
"""Seconds after which a limited pace may change again; a round trip where that is longer."""
_MOST_WINDOWS = 20
"""As many of these are looked back on while the pace is free."""
_GROWTH = (1.03, 1.06, 1.12, 1.25)
"""A limited pace grows by the next of these with each window that meets no limit."""
_BURST = 2.0
"""Requests that a limited pace lets go at once."""
_NOISE = 0.15
"""By how much two shares of samples may differ where nothing has changed."""
_BELOW = 0.95
"""A pace that met a limit goes on at this part of what was accepted."""
_LEAST_RATE = 0.5
"""Requests a second that are no storm to anybody."""
_ALMOST = 1e-9
"""What rounding may leave a pace short of."""


@dataclass(slots=True)
class _Window:
    """What happened since a moment."""

    since: float
    after: int = 0
    """The number of the last request before it."""
    sent: int = 0
    accepted: int = 0
    turned_down: int = 0
    paused: float = 0.0
    """Seconds of it in which nobody went, because the endpoint asked for it."""

    @property
    def returned(self) -> int:
        return self.accepted + self.turned_down

    @property
    def share(self) -> float:
        """Turned down of all; those under way count as accepted until they are not."""
        return self.turned_down / max(1, self.sent, self.returned)

    def busy(self, now: float) -> float:
        """Seconds up to now in which requests could go."""
        return max(0.0, now - self.since - self.paused)


@dataclass(slots=True)
class _Suspicion:
    """The requests that led to a slower pace, and the pace at which they went."""

    after: int
    """The number of the last request before them."""
    rate: float
    sent: int
    turned_down: int
    was_free: bool
    """Whether the pace was not limited: then only a sample goes until the effect of a slower one is known."""
    is_told: bool = False
    """Whether the endpoint says itself that it is a limit."""

    @property
    def share(self) -> float:
        return 1.0 if self.is_told else min(1.0, self.turned_down / max(1, self.sent))


class AdaptivePace:
    """Limits the pace of requests where a slower pace has fewer of them turned down, and only there.

    A 429 may mean that requests come too fast, or nothing at all: overloaded endpoints and proxies turn down a share of all
    requests, however slowly they come. So a suspicion (more than the usual share, or an endpoint that names a time) slows the
    pace to that of the requests that were accepted, once a round trip, and looks at the next ones: where the share falls, the
    pace stays limited and grows from there until the next limit; where it does not, the share is the endpoint's usual one,
    and the pace is free again at once.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        """Requests a second; None: any."""
        self.was_futile = False
        """Whether no request had been accepted before the last decrease."""
        self._usual = USUAL_SHARE
        self._window = _Window(0.0)
        self._mark = 0
        """The number of the last request before the last decrease; what comes of it and of those before says no more."""
        self._departed = 0
        """The number of the last request of all."""
        self._under_way = 0
        """Requests after the mark that are under way."""
        self._excess = 0.0
        """Requests turned down beyond the usual share; never below 0."""
        self._suspect: _Suspicion | None = None
        """What led to the decreases whose effect is looked at."""
        self._clean = 0
        self._latency = 1.0
        """Seconds until a request that is accepted comes back, smoothed."""
        self._level, self._then = 0.0, 0.0
        self._paused_until = 0.0

    def wait(self, now: float) -> float:
        """Seconds until the next request may go; 0: now."""
        if self._suspect is not None and self._suspect.was_free and self._window.sent >= _SAMPLE:
            return max(0.0, _MOST_LATENCIES * self._latency - self._window.busy(now))
        short = 0.0 if self.rate is None else 1.0 - self._filled(now)
        return short / self.rate if self.rate is not None and short > _ALMOST else 0.0

    def sent(self, number: int, now: float) -> None:
        """A request goes out; they are numbered in their order."""
        self._look(now)
        self._departed = number
        self._window.sent += 1
        self._under_way += 1
        if self.rate is not None:
            self._level, self._then = self._filled(now) - 1.0, now

    def unsent(self, number: int) -> None:
        """A request did not go out after all, or nothing will be known of it."""
        if number > self._mark:
            self._window.sent -= 1
            self._under_way -= 1

    def accepted(self, number: int, now: float, seconds: float) -> None:
        """A request was not turned down, whatever else came of it; it took so many seconds."""
        self._latency += (seconds - self._latency) / 8
        if number <= self._mark:
            return
        self._under_way -= 1
        self._window.accepted += 1
        self._excess = max(0.0, self._excess - self._usual)
        self._look(now)

    def turned_down(self, number: int, now: float, *, is_told: bool) -> bool:
        """A request met a limit; whether the pace is slower from now on. `is_told`: the endpoint names a time to wait."""
        if number <= self._mark:
            if self._suspect is not None and number > self._suspect.after:
                self._suspect.turned_down += 1
            return False
        self._under_way -= 1
        self._window.turned_down += 1
        self._excess += 1.0 - self._usual
        if self._is_suspicious(now, is_told=is_told):
            self._decrease(now, is_told=is_told)
            return True
        return self._look(now)

    def _is_suspicious(self, now: float, *, is_told: bool) -> bool:
        """Whether a limit is the reason, by all that is known; at most once a round trip."""
        window = self._window
        if window.accepted == 0 and self._under_way == 0:  # nothing at all comes through
            return is_told or window.turned_down >= (1 if self.was_futile else _FUTILE)
        if self._suspect is not None:
            return False
        if self.rate is None:
            return is_told or self._excess - self._usual * self._under_way > _SUSPECT
        return self._is_busy(now) and window.busy(now) >= self._least and (is_told or self._excess > _KNOWN)

    def _is_busy(self, now: float) -> bool:
        """Whether requests come as fast as the pace lets them."""
        return self.rate is None or self._window.sent >= 0.5 * self.rate * self._window.busy(now)

    def paused(self, now: float, seconds: float) -> None:
        """Nobody goes for so many seconds."""
        end = now + seconds
        self._window.paused += max(0.0, end - max(now, self._paused_until))
        self._paused_until = max(self._paused_until, end)

    @property
    def _least(self) -> float:
        return max(_LEAST_WINDOW, self._latency)

    def _filled(self, now: float) -> float:
        return min(_BURST, self._level + (now - self._then) * (self.rate or 0.0))

    def _decrease(self, now: float, *, is_told: bool = False) -> None:
        window = self._window
        seconds = max(now - window.since, self._latency)
        self.was_futile = window.accepted == 0 and (is_told or self._under_way == 0)
        rate = self.rate or window.sent / seconds
        taken = max(window.accepted, window.sent - window.turned_down)
        if self._suspect is None:
            self._suspect = self._suspicion(rate, is_told=is_told)
        if self.rate is None:
            self.rate = 0.5 * rate
        elif self._suspect.was_free and not self._suspect.is_told:  # a sample is too short to count what is accepted
            self.rate = rate if self.was_futile else rate * max(0.1, 1.0 - window.share)
        elif taken > 0:
            self.rate = _BELOW * min(taken / seconds, rate)
        self.rate = max(_LEAST_RATE, self.rate)
        self._mark, self._under_way, self._clean = self._departed, 0, 0
        self._begin(now)

    def _suspicion(self, rate: float, *, is_told: bool = False) -> _Suspicion:
        window = self._window
        return _Suspicion(
            max(self._mark, window.after), rate, window.sent, window.turned_down, self.rate is None, is_told
        )

    def _begin(self, now: float) -> None:
        self._window, self._excess = _Window(now, self._departed), 0.0
        self._window.paused = max(0.0, self._paused_until - now)

    def _look(self, now: float) -> bool:
        """Judge the window when enough is known of it; whether the pace is slower from now on."""
        window, rate = self._window, self.rate
        seconds = window.busy(now)
        if self._suspect is not None:
            is_late = seconds >= _MOST_LATENCIES * self._latency
            if window.sent >= _SAMPLE and (is_late or window.returned >= 0.75 * window.sent):
                return self._conclude(window, self._suspect, now)
        elif rate is None:
            if seconds >= _MOST_WINDOWS * self._least:
                self._window = _Window(now, self._departed)
        elif seconds >= self._least:
            if self._is_busy(now) and window.turned_down > self._usual * window.sent + _KNOWN:
                self._decrease(now)
                return True
            self._grow(window, rate, seconds)
            self._begin(now)
        return False

    def _conclude(self, window: _Window, suspect: _Suspicion, now: float) -> bool:
        """Keep the slower pace where it has helped; whether it is slower still from now on."""
        share, rate = window.share, self.rate or 0.0
        if share <= 2 * _MARGIN:
            self._usual = share + _MARGIN
        elif rate <= 0.5 * suspect.rate and abs(share - suspect.share) <= _NOISE and share <= MOST_SHARE:
            self.rate, self._usual = None, max(USUAL_SHARE, share + 2 * _MARGIN)  # whatever the pace
        else:
            if share < suspect.share - _NOISE:
                self._suspect = replace(self._suspicion(rate), was_free=suspect.was_free, is_told=suspect.is_told)
            self._decrease(now)
            return True
        self._suspect = None
        self._begin(now)
        return False

    def _grow(self, window: _Window, rate: float, seconds: float) -> None:
        if window.share > self._usual:
            return
        self.rate = rate * _GROWTH[min(self._clean, len(_GROWTH) - 1)]
        self._clean += 1
        if rate > 4.0 * window.sent / seconds and not window.turned_down:  # callers do not come as fast
            self.rate, self._usual = None, max(USUAL_SHARE, self._usual)
