"""A parent process for commands that run the user's code, which may crash or call `os._exit(0)`.

The supervisor forwards signals, and accepts an exit code only if the command reported it. It starts before any heavy
import: by fork where possible, otherwise it starts a second Python.
"""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress

from evalmark.core.lazy import need
from evalmark.runs.isolation import parent_watch

from . import supervised

TYPE_CHECKING = False  # not imported from `typing`, which takes longer to load than the rest of this module

if TYPE_CHECKING:
    from subprocess import Popen

SUPERVISE_VARIABLE = "EVALMARK_SUPERVISE"
"""The variable that disables the supervisor if it is 0, for debuggers that cannot follow a fork."""
SUPERVISED_VERBS = (
    "run",
    "plan",
    "rescore",
    "rag",
    "merge",
    "validate",
    "generate",
    "calibrate",
    "audit",
    "doctor",
    "models",
)
"""Verbs that import or call the user's code."""
SUITES = (".json", ".yaml", ".yml", ".prompty")
"""Extensions of files that can replace the verb: `evalmark FILE` means `evalmark run FILE`."""
_PIPES = "_EVALMARK_WATCHED"
_FORWARDED = ("SIGHUP", "SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2")
_ENDING = ("SIGHUP", "SIGINT", "SIGTERM")
_SENT_BY_PROGRAMS = (0, -1, -6)
"""Signal codes on Linux for signals from programs: SI_USER, SI_QUEUE and SI_TKILL. A signal of a terminal reaches
the whole process group, so it is not forwarded."""


def is_needed(arguments: Sequence[str]) -> bool:
    """Whether the command runs code of the user, and supervision is not disabled."""
    if (
        not arguments
        or os.environ.get(SUPERVISE_VARIABLE, "1").lower() in ("0", "false", "no")
        or {"-h", "--help"} & {*arguments}
    ):
        return False
    return arguments[0] in SUPERVISED_VERBS or arguments[0].endswith(SUITES)


def supervise(arguments: Sequence[str]) -> None:
    """Continue in a child process, supervised by this one; only the child returns."""
    if _PIPES in os.environ:
        _connect_subprocess(os.environ.pop(_PIPES))
    elif not hasattr(os, "fork"):
        _supervise_subprocess(arguments)
    elif "threading" not in sys.modules or sys.modules["threading"].active_count() == 1:
        _supervise_fork(arguments)


def _supervise_fork(arguments: Sequence[str]) -> None:
    forwarded = [*_active_signals(_FORWARDED)]
    # Blocked before the fork, so that no signal is lost before the first wait.
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {*forwarded, signal.SIGCHLD, signal.SIGCONT, *_active_signals(("SIGTSTP",))}
    )
    children = signal.signal(
        signal.SIGCHLD, signal.SIG_DFL
    )  # if it were ignored, the exit status of the child would be lost
    parent, (listens, tells), (lives, alive) = os.getpid(), os.pipe(), os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        sys.stderr.write(
            f"No supervisor process can be started ({error.strerror}); a crash may look like a normal exit.\n"
        )
        child = -1
    if child > 0:
        os.close(tells)
        os.close(lives)
        status, met = _wait_for(child)
        _exit_like(arguments, os.waitstatus_to_exitcode(status), _read_messages(listens), met)
    if child == 0:
        os.close(listens)
        os.close(alive)
        supervised.connect(tells)
        parent_watch.end_with_parent(parent, lives)
    signal.signal(signal.SIGCHLD, children)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _active_signals(names: Iterable[str]) -> Iterable[signal.Signals]:
    """Return the signals that exist here and are not ignored; `nohup` and background shells ignore some."""
    existing = (getattr(signal, name, None) for name in names)
    return [number for number in existing if number is not None and signal.getsignal(number) is not signal.SIG_IGN]


def _wait_for(child: int) -> tuple[int, set[int]]:
    """Wait for the child and forward signals; return its status and the termination signals that arrived."""
    watching = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    met: set[int] = set()
    while True:
        number, is_from_terminal = _next_signal(watching)
        if number == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status, met
            continue
        if number == signal.SIGTSTP:
            _stop(child, is_from_terminal=is_from_terminal)
            continue
        if number in map(int, _active_signals(_ENDING)):
            met.add(number)
        if not is_from_terminal:
            os.kill(child, number)


def _next_signal(watching: Iterable[int]) -> tuple[int, bool]:
    """Wait for a signal; return it and whether it comes from a terminal."""
    if hasattr(signal, "sigwaitinfo"):
        info = signal.sigwaitinfo(watching)
        return info.si_signo, info.si_code not in _SENT_BY_PROGRAMS
    number = signal.sigwait(watching)
    return number, number in (signal.SIGINT, signal.SIGTSTP) and _is_in_foreground()


def _is_in_foreground() -> bool:
    """Whether the process group is in the foreground, for systems that do not report the sender of a signal."""
    for number in (0, 1, 2):
        try:
            return os.tcgetpgrp(number) == os.getpgrp()
        except OSError:
            continue
    return False


def _stop(child: int, *, is_from_terminal: bool) -> None:
    """Ctrl-Z: stop the child, if the terminal has not done so, and this process."""
    if not is_from_terminal:
        os.kill(child, signal.SIGTSTP)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})


def _read_messages(listens: int) -> list[tuple[str, str]]:
    """Read the messages of the ended child; processes that it started may still hold the pipe open."""
    if hasattr(os, "set_blocking"):  # Python 3.11 on Windows has none; there, no other process has the pipe
        os.set_blocking(listens, False)
    data = b""
    with suppress(OSError):  # BlockingIOError: empty, and still open; Windows calls that a broken pipe
        while more := os.read(listens, 65_536):
            data += more
    return supervised.parse_messages(data)


def _exit_like(arguments: Sequence[str], ended: int, messages: list[tuple[str, str]], met: set[int]) -> None:
    """Exit with the code that the child reported, or with the right one if it reported none."""
    code = next((int(text) for kind, text in messages if kind == "code"), None)
    killer = -ended if ended < 0 else 0
    if code is None and killer in met:
        _die_by_signal(killer)
    if code is None and ended == 130 and met:
        code = ended  # exited at once, on the second Ctrl-C
    reported = dict(messages)
    if code is None or "say" in reported or ("run" in reported and "report" in reported and "reported" not in reported):
        # The supervisor loads modules only if something went wrong.
        code = need("evalmark.cli.terminal.unfinished").explain(arguments, ended, messages, code)
    os._exit(code)  # not `sys.exit`: exit handlers have run in the child


def _die_by_signal(number: int) -> None:
    """End this process by the same signal as the child."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _supervise_subprocess(arguments: Sequence[str]) -> None:
    """Supervise a new Python process, where fork does not exist."""
    process = need("subprocess")
    (listens, tells), (lives, alive) = os.pipe(), os.pipe()
    theirs, more = _inherited((tells, lives))
    flags = process._args_from_interpreter_flags()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the child, which handles it
    child: Popen[bytes] = process.Popen(
        [sys.executable, *flags, "-m", "evalmark", *arguments], env={**os.environ, _PIPES: theirs}, **more
    )
    os.close(tells)
    os.close(lives)
    ended = child.wait()
    os.close(alive)
    _exit_like(arguments, ended, _read_messages(listens), set())


def _inherited(pipes: Sequence[int]) -> tuple[str, dict[str, object]]:
    """Return the numbers of the pipes for the child, and the Popen options that pass them on."""
    if sys.platform == "win32":
        handles = [need("msvcrt").get_osfhandle(pipe) for pipe in pipes]
        for handle in handles:
            os.set_handle_inheritable(handle, True)
        return " ".join(map(str, handles)), {"close_fds": False}
    return " ".join(map(str, pipes)), {"pass_fds": tuple(pipes)}


def _connect_subprocess(theirs: str) -> None:
    tells, lives = map(int, theirs.split())
    if sys.platform == "win32":
        opened = need("msvcrt").open_osfhandle
        tells, lives = opened(tells, os.O_WRONLY), opened(lives, os.O_RDONLY)
    for pipe in (tells, lives):
        os.set_inheritable(pipe, False)
    supervised.connect(tells)
    parent_watch.watch_parent(lives)
