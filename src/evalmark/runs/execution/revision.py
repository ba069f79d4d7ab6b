"""The git commit of the working directory; empty without git, without a repository, or after a timeout."""

import subprocess
import threading
from collections.abc import Callable

SECONDS = 1.0
"""Timeout of git commands in seconds."""
CHANGED = "+"
"""The suffix of a commit from which tracked files differ."""
_DESCRIBE = ("describe", "--always", "--abbrev=40", f"--dirty={CHANGED}", "--exclude=*")


def revision() -> str:
    """Return the commit that is checked out, with a `+` if tracked files differ; empty if it is unknown."""
    code, text = _git(*_DESCRIBE)
    return text if code == 0 else ""


def revision_in_background() -> Callable[[], str]:
    """Start git in a thread; return a function that waits for the revision and returns it."""
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(revision()), name="evalmark-revision", daemon=True)
    thread.start()

    def wait() -> str:
        thread.join(SECONDS)
        return texts[0] if texts else ""

    return wait


def is_ancestor(commit: str) -> bool | None:
    """Return whether a commit is checked out or among its ancestors; None if git cannot tell.

    A `+` at the end of the commit is ignored.
    """
    named = commit.removesuffix(CHANGED)
    if not named.isalnum():
        return None
    code, _ = _git("merge-base", "--is-ancestor", named, "HEAD")
    return {0: True, 1: False}.get(code)


def _git(*words: str) -> tuple[int, str]:
    """Return the exit code of git and its output; -1 if git could not run."""
    # No program that the repository's settings name is started, and no lock is taken for which another git would wait.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(  # noqa: S603  fixed words, and a commit made of letters and digits
            command, capture_output=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return -1, ""
    return done.returncode, done.stdout.decode("ascii", "replace").strip()
