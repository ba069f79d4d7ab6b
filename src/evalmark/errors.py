"""Every error that evalmark raises on purpose; each message names the place, the finding and the next step."""

from evalmark.core.errors import (
    ConfigError,
    DamagedRecordingError,
    DataError,
    EvalmarkError,
    MissingExtraError,
    ModelCallError,
    ModelError,
    NotFoundError,
    NotRecordedError,
    RunAbortedError,
    RunStoppedError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    TargetCallError,
    ToolError,
)

__all__ = [
    "ConfigError",
    "DamagedRecordingError",
    "DataError",
    "EvalmarkError",
    "MissingExtraError",
    "ModelCallError",
    "ModelError",
    "NotFoundError",
    "NotRecordedError",
    "RunAbortedError",
    "RunStoppedError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "TargetCallError",
    "ToolError",
]
