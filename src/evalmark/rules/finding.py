"""What a check finds out about an output."""

from typing import NamedTuple, Protocol


class Finding(NamedTuple):
    """Whether a check holds for an output."""

    holds: bool | None
    """None where that cannot be told."""
    reason: str


class Check(Protocol):
    """A rule, or a part of one, that a machine can check; equal rules give equal checks."""

    @property
    def says(self) -> str:
        """What is checked, in a few words."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether an output for which the check holds keeps to the rule; otherwise the rule asks for more than that."""
        ...

    def __call__(self, text: str) -> Finding:
        """Hold an output against it."""
        ...
