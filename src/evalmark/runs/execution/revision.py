"""Which commit is checked out, as git says; silent where there is no git, no repository, or no answer in time."""

import subprocess
import threading
from collections.abc import Callable

SECONDS = 1.0
"""How long git may think; a run does not wait longer for it."""
CHANGED = "+"
"""Behind a commit from which tracked files differ."""
_DESCRIBE = ("describe", "--always", "--abbrev=40", f"--dirty={CHANGED}", "--exclude=*")


def revision() -> str:
    """The commit that is checked out where this process stands, with a `+` where tracked files differ; else nothing."""
    code, said = _git(*_DESCRIBE)
    return said if code == 0 else ""


def revision_in_background() -> Callable[[], str]:
    """Ask for the revision while something else goes on; what is given back waits for the answer and gives it."""
    said: list[str] = []
    thread = threading.Thread(target=lambda: said.append(revision()), name="evalmark-revision", daemon=True)
    thread.start()

    def answer() -> str:
        thread.join(SECONDS)
        return said[0] if said else ""

    return answer


def is_ancestor(commit: str) -> bool | None:
    """Whether what is checked out was made from a commit, or is the commit; None where git does not say.

    A `+` behind it does not count.
    """
    named = commit.removesuffix(CHANGED)
    if not named.isalnum():
        return None
    code, _ = _git("merge-base", "--is-ancestor", named, "HEAD")
    return {0: True, 1: False}.get(code)


def _git(*words: str) -> tuple[int, str]:
    """The exit code of git and what it printed; -1 where it could not be asked."""
    # Nothing that the repository's own settings name is started, and no lock is taken that another git would wait for.
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(  # noqa: S603  fixed words, and a commit made of letters and digits
            command, capture_output=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return -1, ""
    return done.returncode, done.stdout.decode("ascii", "replace").strip()
