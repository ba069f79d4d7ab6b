"""What the tools of an agent meet while it is under test: whether to call, what is recorded, and how often that was."""

import threading
from collections.abc import Callable
from typing import Any, Literal

from evalmark.core.errors import DamagedRecordingError, EvalmarkError, RunStoppedError, ToolError
from evalmark.core.protocols import ToolLog
from evalmark.core.values.tool import ToolRecording
from evalmark.core.values.words import count

ToolMode = Literal["auto", "off", "record", "strict"]
"""As for model calls. `auto`: what is recorded is not called again. `record`: everything is called once more, and takes
the place of what is recorded. `strict`: nothing is called. `off`: everything is called, and nothing is recorded."""


class ToolReplay:
    """The tools of one run. May be used by any number of threads at once; `journal` is opened with the first call."""

    def __init__(self, journal: Callable[[], ToolLog], mode: ToolMode = "auto") -> None:
        self.mode = mode
        self._open = journal
        self._opened: ToolLog | None = None
        self._lock = threading.Lock()
        self._recording = threading.Lock()
        self._recorded: set[str] = set()
        """Keys that this run has recorded; `record` calls for each once."""
        self._homes: dict[tuple[str, str], str] = {}
        self._replayed = self._failed = 0
        self._damages: dict[str, None] = {}

    def claim(self, tool: str, version: str, home: str) -> None:
        """Say which function goes by a name; two under one name would get each other's results.

        Raises:
            ToolError: another function goes by it.
        """
        with self._lock:
            other = self._homes.setdefault((tool, version), home)
        if other != home:
            raise ToolError(
                f"{tool}: two tools are recorded under this name, {other} and {home}; give one of them another with "
                "@replayed(name=…)."
            )

    def find(self, key: str) -> ToolRecording | None:
        """What is recorded, and may be used; a damaged recording is none, and is noted.

        Raises:
            DamagedRecordingError: strict replay finds one that is damaged.
            StoreError: nothing can be read.
        """
        if self.mode == "record" and key not in self._recorded:
            return None
        try:
            found = self._journal().find(key)
        except DamagedRecordingError as damage:
            if self.mode == "strict":
                raise
            with self._lock:
                self._damages[f"{damage} It counts as not recorded, so the tool was called again."] = None
            return None
        if found is not None:
            with self._lock:
                self._replayed += 1
        return found

    def keep(self, recording: ToolRecording) -> ToolRecording:
        """Make a call durable, and give what all who make it go on with.

        Raises:
            StoreError: it cannot be kept.
        """
        if self.mode == "record":
            with self._recording:  # else one who comes second could still be given what is about to be replaced
                kept = self._journal().keep(recording, anew=recording.key not in self._recorded)
                self._recorded.add(recording.key)
                return kept
        kept = self._journal().keep(recording)
        if kept.created == recording.created:  # else another was faster
            with self._lock:
                self._recorded.add(recording.key)
        return kept

    def _journal(self) -> ToolLog:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def failed(self) -> None:
        """A tool was called and raised, so nothing is recorded."""
        with self._lock:
            self._failed += 1

    def notes(self) -> tuple[str, ...]:
        """What a reader of the run should know."""
        with self._lock:
            counts = {
                "replayed": self._replayed,
                "recorded": len(self._recorded),
                "failed and not recorded": self._failed,
            }
            damages = tuple(self._damages)
        told = [(number, what) for what, number in counts.items() if number]
        said = [
            f"{f'{number:,}' if place else count(number, 'tool call')} {what}"
            for place, (number, what) in enumerate(told)
        ]
        return (*([f"{', '.join(said)}."] if said else ()), *damages)


class TrialTools:
    """The tools of one trial, and the models that its target asks."""

    def __init__(self, replay: ToolReplay, given: Any) -> None:
        self.replay = replay
        self.input = given
        """That of the case."""
        self.used: list[str] = []
        """The keys of the calls that the trial has made or used, in order."""
        self.fault: EvalmarkError | None = None
        """Why a call could be neither replayed nor recorded. Agents hand what a tool raises to their model as if the
        tool had said it, so whoever runs the trial looks here too."""

    def note(self, fault: EvalmarkError) -> None:
        """Keep why a call was refused: the first reason, unless one is that the whole run has to stop."""
        if self.fault is None or isinstance(fault, RunStoppedError):
            self.fault = fault
