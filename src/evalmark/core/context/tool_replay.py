"""Replay and recording of tool calls during a run."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from evalmark.core.errors import DamagedRecordingError, EvalmarkError, RunStoppedError, ToolError
from evalmark.core.protocols import ToolLog
from evalmark.core.text import count

if TYPE_CHECKING:
    from evalmark.core.values.tool import ToolRecording

ToolMode = Literal["auto", "off", "record", "strict"]
"""As for model calls. `auto`: recorded calls are replayed, others are made. `record`: every call is made again and
replaces its recording. `strict`: no call is made. `off`: every call is made, and none is recorded."""


class ToolReplay:
    """The tool replay of one run. It is thread-safe, and opens the call log with the first call."""

    def __init__(self, open_log: Callable[[], ToolLog], mode: ToolMode = "auto") -> None:
        self.mode = mode
        self._open = open_log
        self._opened: ToolLog | None = None
        self._lock = threading.Lock()
        self._recording = threading.Lock()
        self._recorded: set[str] = set()
        """Keys that this run has recorded; in mode `record`, each is called once."""
        self._homes: dict[tuple[str, str], str] = {}
        self._replayed = self._failed = 0
        self._damages: dict[str, None] = {}

    def claim(self, tool: str, version: str, home: str) -> None:
        """Register a function under a tool's name. Two functions with one name would get each other's results.

        Raises:
            ToolError: another function has this name.
        """
        with self._lock:
            other = self._homes.setdefault((tool, version), home)
        if other != home:
            raise ToolError(
                f"{tool}: two tools are recorded under this name, {other} and {home}; give one of them another with "
                "@replayed(name=…)."
            )

    def find(self, key: str) -> "ToolRecording | None":
        """Return the recording to replay, or None. A damaged recording is noted and counts as missing.

        Raises:
            DamagedRecordingError: the recording is damaged, and the mode is `strict`.
            StoreError: the store cannot be read.
        """
        if self.mode == "record" and key not in self._recorded:
            return None
        try:
            found = self._log().find(key)
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

    def keep(self, recording: "ToolRecording") -> "ToolRecording":
        """Save a call durably, and return the recording with which all concurrent callers continue.

        Raises:
            StoreError: the recording cannot be saved.
        """
        if self.mode == "record":
            with self._recording:  # else a second caller could still get the recording that is being replaced
                stored = self._log().keep(recording, overwrite=recording.key not in self._recorded)
                self._recorded.add(recording.key)
                return stored
        stored = self._log().keep(recording)
        if stored.created == recording.created:  # else another caller was faster
            with self._lock:
                self._recorded.add(recording.key)
        return stored

    def _log(self) -> ToolLog:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def failed(self) -> None:
        """Count a call that raised and is therefore not recorded."""
        with self._lock:
            self._failed += 1

    def notes(self) -> tuple[str, ...]:
        """Return the notes on tool calls for the run."""
        with self._lock:
            counts = {
                "replayed": self._replayed,
                "recorded": len(self._recorded),
                "failed and not recorded": self._failed,
            }
            damages = tuple(self._damages)
        shown = [(number, what) for what, number in counts.items() if number]
        parts = [
            f"{f'{number:,}' if place else count(number, 'tool call')} {what}"
            for place, (number, what) in enumerate(shown)
        ]
        return (*([f"{', '.join(parts)}."] if parts else ()), *damages)


class TrialTools:
    """The tool calls of one trial."""

    def __init__(self, replay: ToolReplay, given: Any) -> None:
        self.replay = replay
        self.input = given
        """The input of the case."""
        self.used: list[str] = []
        """The keys of the calls that the trial has made or replayed, in order."""
        self.fault: EvalmarkError | None = None
        """Why a call could be neither replayed nor recorded. Agents pass a tool's exception to their model like a
        result, so the engine checks this field too."""

    def note(self, fault: EvalmarkError) -> None:
        """Remember why a call was refused: the first reason, or the one that stops the whole run."""
        if self.fault is None or isinstance(fault, RunStoppedError):
            self.fault = fault
