"""The names of the tests that pytest makes of an eval, and texts that are safe to print in CI."""

from collections import Counter
from os import environ

from evalmark.core.text import escape_workflow_commands, one_line
from evalmark.core.values.case import Case
from evalmark.inputs.datasets.options import BadRow

from .skips import LONGEST_NAME, node_name


def case_name(row: Case | BadRow, names: Counter[str]) -> str:
    """Return the name of a case: its id, or its input where the id is generated; numbered where two are equal."""
    if isinstance(row, BadRow):
        text = "data" if row.last else row.place.rpartition(": ")[2]
    else:
        text = one_line(row.input, LONGEST_NAME) if row.has_generated_id and row.input is not None else row.id
    first = name = node_name(text) or "case"
    while names[name]:
        names[first] += 1
        name = f"{first}-{names[first]}"
    names[name] += 1
    return name


def without_commands(text: str) -> str:
    """Return a text in which the runner of GitHub Actions sees no commands."""
    return escape_workflow_commands(text) if environ.get("GITHUB_ACTIONS") == "true" else text
