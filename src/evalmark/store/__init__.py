"""Runs and the vectors of texts, in one SQLite file."""

from .health import Health
from .names import new_run_id
from .salvage import Salvaged, salvage
from .store import Store, open_store

__all__ = ["Health", "Salvaged", "Store", "new_run_id", "open_store", "salvage"]
