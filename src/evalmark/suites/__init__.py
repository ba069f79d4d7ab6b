"""Suite files: datasets, target, metrics and gate, checked as a whole."""

from .read import read_suite
from .schema import suite_schema
from .suite import DatasetSpec, MetricSpec, Suite

__all__ = ["DatasetSpec", "MetricSpec", "Suite", "read_suite", "suite_schema"]
