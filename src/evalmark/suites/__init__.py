"""Suite files: datasets, target, metrics and gate, checked as a whole."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .read import read_suite
    from .schema import suite_schema
    from .suite import RECORDED, DatasetSpec, JudgeSpec, MetricSpec, Suite, TargetSpec

__all__ = [
    "RECORDED",
    "DatasetSpec",
    "JudgeSpec",
    "MetricSpec",
    "Suite",
    "TargetSpec",
    "read_suite",
    "suite_schema",
]

__getattr__ = deferred(
    __name__,
    {
        "RECORDED": "suite",
        "DatasetSpec": "suite",
        "JudgeSpec": "suite",
        "MetricSpec": "suite",
        "Suite": "suite",
        "TargetSpec": "suite",
        "read_suite": "read",
        "suite_schema": "schema",
    },
)
