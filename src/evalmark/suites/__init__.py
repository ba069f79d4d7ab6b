"""Suite files: datasets, target, metrics and gate, checked as a whole."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .read import read_suite
    from .schema import suite_schema
    from .suite import DatasetSpec, MetricSpec, Suite

__all__ = [
    "DatasetSpec",
    "MetricSpec",
    "Suite",
    "read_suite",
    "suite_schema",
]

__getattr__ = deferred(
    __name__,
    {
        "DatasetSpec": "suite",
        "MetricSpec": "suite",
        "Suite": "suite",
        "read_suite": "read",
        "suite_schema": "schema",
    },
)
