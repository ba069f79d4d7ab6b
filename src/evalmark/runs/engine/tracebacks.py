"""Tracebacks of the user's code, without frames of evalmark, Python and installed packages."""

import os
import re
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

MOST_FRAMES = 30
"""The most frames of an exception that are kept: the last ones."""
MOST_ERRORS = 10
"""The most exceptions of a chain or a group that are kept."""
LONGEST = 20_000
"""The most characters of a traceback that are kept."""
_LONGEST_LINE = 300
_LEFT_OUT = "evalmark left out "
_CUT = re.compile(f'  File "{_LEFT_OUT}([0-9,]+)", line 0, in ')

_OURS = f"{Path(__file__).parents[2]}{os.sep}"
_PYTHON = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib")})
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def user_traceback(error: BaseException) -> dict[str, Any]:
    """Return `raised_at` (`file:line`) and `traceback` of an error, with the user's frames only.

    Frames of evalmark, of Python's library and of installed packages are left out. If no other frames are left (the target
    itself is an installed package), those of the package are kept. Paths are relative to the working directory.
    """
    try:
        trace = traceback.TracebackException.from_exception(error, lookup_lines=False, compact=True)
        chain = list(_chain(trace))
        is_shown = _is_users if any(_is_users(frame) for one in chain for frame in one.stack) else _is_foreign
        where = ""
        for one in chain:
            frames = [frame for frame in one.stack if is_shown(frame)]
            one.stack = _shown(frames)
            where = where or (f"{_path(frames[-1].filename)}:{frames[-1].lineno}" if frames else "")
        text = _CUT.sub(r"  … \1 frames left out", "".join(trace.format()).rstrip())
    except Exception:  # noqa: BLE001  foreign code: exceptions write their own text, and a limit on recursion may be theirs
        return {}
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}\n… ({len(text):,} characters)\n{text[-LONGEST // 2 :]}"
    return {"raised_at": where, "traceback": text} if where else {}


def _chain(trace: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """Yield the exception, its causes and the members of groups, each once, up to `MOST_ERRORS`."""
    waiting, count = [trace], 0
    while waiting:
        one = waiting.pop(0)
        count += 1
        yield one
        if count + len(waiting) >= MOST_ERRORS:
            one.__cause__ = one.__context__ = None
            continue
        if one.__cause__ is not None:
            one.__context__ = None
        one.exceptions = (getattr(one, "exceptions", None) or [])[: MOST_ERRORS - count - len(waiting)] or None
        waiting += [*filter(None, (one.__cause__, one.__context__)), *(one.exceptions or ())]


def _is_users(frame: traceback.FrameSummary) -> bool:
    return _origin(frame.filename) == "user"


def _is_foreign(frame: traceback.FrameSummary) -> bool:
    return _origin(frame.filename) in ("user", "package")


@lru_cache(maxsize=1_024)
def _origin(filename: str) -> str:
    """Return whose code a file contains: `evalmark`, `python`, `package` or `user`."""
    if filename.startswith("<frozen "):
        return "python"
    if filename.startswith(_OURS):
        return "evalmark"
    if any(part in filename for part in _INSTALLED):
        return "package"
    return "python" if filename.startswith(_PYTHON) else "user"


def _shown(frames: Sequence[traceback.FrameSummary]) -> traceback.StackSummary:
    """The last frames, with their lines of code, without the marks below them."""
    left_out = len(frames) - MOST_FRAMES
    summaries = [
        traceback.FrameSummary(
            _path(frame.filename), frame.lineno, frame.name, lookup_line=False, line=(frame.line or "")[:_LONGEST_LINE]
        )
        for frame in frames[-MOST_FRAMES:]
    ]
    if left_out > 0:
        summaries.insert(0, traceback.FrameSummary(f"{_LEFT_OUT}{left_out:,}", 0, "", lookup_line=False, line=""))
    return traceback.StackSummary.from_list(summaries)


def _path(filename: str) -> str:
    """Return the path relative to the working directory or to the home folder, else unchanged."""
    if not Path(filename).is_absolute():
        return filename
    for root, start in ((Path.cwd(), ""), (Path.home(), "~/")):
        try:
            return f"{start}{Path(filename).relative_to(root).as_posix()}"
        except ValueError:
            continue
    return filename
