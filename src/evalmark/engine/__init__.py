"""Runs trials: answers, judges, records; knows only roles."""

from .line import Limits, Outcome, Watch, Work, run_trials
from .trial import answer, describe, judge

__all__ = ["Limits", "Outcome", "Watch", "Work", "answer", "describe", "judge", "run_trials"]
