"""Every error whose message is written for the person at the keyboard.

A message is one sentence or several faults, one a line: where it happened, what was found, what to do next.
"""

from collections.abc import Sequence

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from typing import Literal

    from .values.call import Attempt

    CallFault = Literal["transient", "rejected", "closed"]


class EvalmarkError(Exception):
    """Something evalmark can explain; its text is shown as it is, without a traceback."""


class ConfigError(EvalmarkError):
    """A flag, a suite, a dataset or a scorer is wrong; nothing has been started (exit code 2)."""

    @classmethod
    def of(cls, faults: Sequence[str]) -> "ConfigError":
        """One error for all faults, so that the user mends them in one go."""
        return cls("\n".join(faults))


class DataError(ConfigError):
    """A row or a field of a file cannot be used; the message starts with `file:line`."""


class MissingExtraError(ConfigError):
    """An optional dependency is not installed."""


class ModelError(EvalmarkError):
    """A model's weights, its runtime or its answer cannot be used."""


class ModelCallError(ModelError):
    """A model gave no reply. `fault` says what it means for other calls.

    `transient`: the same request may succeed later (a limit, a server's fault, a lost connection).
    `rejected`: this request will never succeed, others may. `closed`: no request to this endpoint
    will (a wrong key, no such model).
    """

    def __init__(
        self, message: str, *, fault: "CallFault", attempts: Sequence["Attempt"] = (), retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.fault: CallFault = fault
        self.attempts = tuple(attempts)
        """Each time the request went out, oldest first."""
        self.retry_after = retry_after
        """Seconds that the endpoint asked to be left alone; None when it did not say."""
        self.key = ""
        """Where the journal keeps the call; empty where there is none."""

    def __reduce__(self) -> "tuple[object, ...]":  # so that it can cross to another process
        return _rebuild, (type(self), self.args, self.fault), self.__dict__


def _rebuild(kind: "type[ModelCallError]", said: "tuple[str]", fault: "CallFault") -> ModelCallError:
    return kind(*said, fault=fault)


class NotRecordedError(ModelError):
    """A reply, or what a tool gave, is not in the journal, and strict replay needs it; nothing was sent or called."""


class ToolError(EvalmarkError):
    """A call of a tool cannot be recorded: what it takes or gives is no plain data, or `key` or `sanitize` fails."""


class RunStoppedError(EvalmarkError):
    """No further call may be made in this run: a budget is reached, or an endpoint takes no more requests.

    The engine ends the run when a target or a scorer raises it, and records nothing for the trial.
    """


class RunAbortedError(EvalmarkError):
    """Code under test has taken away what a run needs, or has ended it; what was recorded is kept (exit code 3)."""


class StoreError(EvalmarkError):
    """The store cannot be opened, read or written."""


class NotFoundError(StoreError):
    """The store has nothing under this name, or several things that it could mean."""


class StoreFullError(StoreError):
    """The disk or the store's own limit is full; what was acknowledged is kept."""


class DamagedRecordingError(StoreError):
    """A recording is there and cannot be read."""


class StoreBusyError(StoreError):
    """Another process holds what this one needs."""
