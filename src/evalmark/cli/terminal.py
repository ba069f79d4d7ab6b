"""What the terminal can show."""

import os
import shutil
import sys

from evalmark import report


def look(store: str = "", worst: int = 5) -> "report.Look":
    """Width, colour and characters of the standard output; `store` is where the run is kept."""
    interactive = sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns
    return report.Look(
        store=store,
        worst=worst,
        width=max(60, min(width, 140)),
        color=interactive and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
        unicode=(sys.stdout.encoding or "").lower().replace("-", "").startswith("utf"),
    )
