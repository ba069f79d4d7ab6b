"""How long a call is worth waiting for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a call that failed is sent again, and how long it waits in between."""

    retries: int = 5
    """Attempts after the first one. Those that met a limit (429) do not count: for them `most_total` does."""
    most_wait: float = 60.0
    """The longest wait in seconds that we choose ourselves."""
    most_asked: float = 300.0
    """The longest wait in seconds that an endpoint may ask for; one that asks for more ends the run."""
    most_total: float = 900.0
    """A call whose first attempt failed more than so many seconds ago is not sent again."""
    most_silence: float = 20.0
    """An endpoint that has not answered anything in this run, for so many seconds of trying, ends the run."""
    first_wait: float = 0.5
    """The wait after the first failed attempt is at most this; it doubles with each one."""

    def backoff(self, failed: int) -> float:
        """The longest wait in seconds after so many failed attempts.

        >>> [RetryPolicy().backoff(failed) for failed in (1, 2, 3, 20)]
        [0.5, 1.0, 2.0, 60.0]
        """
        return min(self.most_wait, self.first_wait * 2.0 ** min(failed - 1, 60))


DEFAULT_RETRY_POLICY = RetryPolicy()
