"""Every error that evalmark raises on purpose; each message names the place, the finding and the next step."""

from evalmark.core.errors import (
    BrokenOffError,
    ConfigError,
    DamagedRecordingError,
    DataError,
    EvalmarkError,
    MissingExtraError,
    ModelCallError,
    ModelError,
    NotKeptError,
    NotRecordedError,
    RunStoppedError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    ToolError,
)

__all__ = [
    "BrokenOffError",
    "ConfigError",
    "DamagedRecordingError",
    "DataError",
    "EvalmarkError",
    "MissingExtraError",
    "ModelCallError",
    "ModelError",
    "NotKeptError",
    "NotRecordedError",
    "RunStoppedError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "ToolError",
]
