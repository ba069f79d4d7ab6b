"""A store with a run in it, and pages over it behind their policy."""

from tests.reports.viewer.conftest import app, own, store

__all__ = ["app", "own", "store"]
