"""Every error that evalmark raises on purpose.

Each line of a message names the place, what was found there, and what to do next.
"""

from collections.abc import Sequence

TYPE_CHECKING = False  # not imported from `typing`, which takes longer to load than the rest of this module

if TYPE_CHECKING:
    from typing import Literal

    from .values.call import Attempt

    CallFault = Literal["transient", "rejected", "closed"]


class EvalmarkError(Exception):
    """Base class of all errors raised on purpose. The command line prints its text without a traceback."""


class ConfigError(EvalmarkError):
    """A flag, suite, dataset or scorer is invalid. The run has not started (exit code 2)."""

    @classmethod
    def of(cls, faults: Sequence[str]) -> "ConfigError":
        """Make one error from several faults, so that the user can fix all of them at once.

        Args:
            faults: complete sentences, each with its place.

        Returns:
            An error whose text has one fault a line.
        """
        return cls("\n".join(faults))


class DataError(ConfigError):
    """A row or field of a file is invalid. The message starts with `file:line`."""


class MissingExtraError(ConfigError):
    """An optional dependency is not installed."""


class ModelError(EvalmarkError):
    """A model's weights, runtime or reply cannot be used."""


class ModelCallError(ModelError):
    """A model call failed.

    Args:
        message: the place, the finding and the next step.
        fault: what the failure means for other calls. `transient`: the same request may succeed later (a rate limit, a
            server error, a lost connection). `rejected`: this request will never succeed, others may. `closed`: no
            request to this endpoint will succeed (a wrong key, an unknown model).
        attempts: every attempt that was sent, oldest first.
        retry_after: seconds to wait before the next request, as the endpoint requested; None when it did not.
    """

    def __init__(
        self, message: str, *, fault: "CallFault", attempts: Sequence["Attempt"] = (), retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.fault: CallFault = fault
        self.attempts = tuple(attempts)
        """Every attempt that was sent, oldest first."""
        self.retry_after = retry_after
        """Seconds to wait, as the endpoint requested; None when it did not."""
        self.is_unreachable = False
        """Whether no server accepts connections at the address, or no server has that name."""
        self.key = ""
        """The call's key in the call log; empty when the call was not logged."""

    def __reduce__(self) -> "tuple[object, ...]":  # so that it can cross to another process
        return _rebuild, (type(self), self.args, self.fault), self.__dict__


class TargetCallError(ModelCallError):
    """A call of an HTTP service or a command under test failed."""


def _rebuild(kind: "type[ModelCallError]", arguments: "tuple[str]", fault: "CallFault") -> ModelCallError:
    return kind(*arguments, fault=fault)


class NotRecordedError(ModelError):
    """Strict replay found no cached reply or tool result. No request was sent and no tool was called."""


class ToolError(EvalmarkError):
    """A tool call cannot be recorded: an argument or the result is not plain data, or `key` or `sanitize` failed."""


class RunStoppedError(EvalmarkError):
    """The run must stop: a budget is used up, or an endpoint accepts no more requests.

    When a target or scorer raises it, the engine ends the run and records no result for the trial.
    """


class RunAbortedError(EvalmarkError):
    """Code under test ended the run or removed something the run needs. Recorded results are kept (exit code 3)."""


class StoreError(EvalmarkError):
    """The store cannot be opened, read or written."""


class OlderStoreError(StoreError):
    """An older evalmark wrote the store; opened for writing, it is brought up to date."""


class NotFoundError(StoreError):
    """The store has no entry with this name, or several that match it."""


class StoreFullError(StoreError):
    """The disk, or the store's size limit, is full. Results that were already saved are kept."""


class DamagedRecordingError(StoreError):
    """A recording exists but cannot be read."""


class StoreBusyError(StoreError):
    """Another process holds a lock that this one needs."""
