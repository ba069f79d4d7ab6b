"""Targets in worker processes of this machine, where a crash is an error of its case and of nothing else."""

from typing import TYPE_CHECKING

from evalmark.errors import deferred

if TYPE_CHECKING:
    from .engine import Isolated, opened
    from .starting import refuse_in_a_starting_worker

__all__ = ["Isolated", "opened", "refuse_in_a_starting_worker"]

__getattr__ = deferred(__name__, {"Isolated": "engine", "opened": "engine", "refuse_in_a_starting_worker": "starting"})
