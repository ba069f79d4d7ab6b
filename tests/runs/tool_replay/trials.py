"""Tools as a trial meets them, without an engine."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from evalmark.core.context.tool_replay import ToolMode, ToolReplay, TrialTools
from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.testing.memory import MemoryToolLog


class Agent:
    """Runs things within trials of one run after the other, over one journal."""

    def __init__(self, journal: MemoryToolLog | None = None) -> None:
        self.call_log = journal or MemoryToolLog()
        self.replay = ToolReplay(lambda: self.call_log)
        self.tools = TrialTools(self.replay, None)

    def run(self, mode: ToolMode = "auto") -> "Agent":
        """Begin another run."""
        self.replay = ToolReplay(lambda: self.call_log, mode)
        return self

    def trial(self, given: object = "Which tea?") -> AbstractContextManager[None]:
        """Begin a trial of a case with this input."""
        self.tools = TrialTools(self.replay, given)
        return trial_context(TrialContext(0, self.tools))

    def calls(self, tool: Callable[..., object], *args: object, **kwargs: object) -> object:
        """What a plain tool gives in a trial of its own."""
        with self.trial():
            return tool(*args, **kwargs)

    @property
    def keys(self) -> list[str]:
        """What is recorded."""
        return list(self.call_log.recordings)
