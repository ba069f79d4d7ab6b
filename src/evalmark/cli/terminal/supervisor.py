"""A parent process for commands that run users' code, which may end the process with `os._exit(0)`, or crash it.

It passes signals on, and believes an exit code only once the command has said that it has come to its end. It is there before anything heavy is imported: forked where the system can, else the starter of a second Python.
"""

import os
import signal
import sys
from collections.abc import Iterable, Sequence

from evalmark.core.lazy import need
from evalmark.runs.isolation import parent_watch

from . import supervised

TYPE_CHECKING = False  # importing it from `typing` would take longer than all the rest

if TYPE_CHECKING:
    from subprocess import Popen

SUPERVISE_VARIABLE = "EVALMARK_SUPERVISE"
"""The variable that does without a parent where it is 0: for debuggers that cannot follow a fork."""
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
"""Those that import or call users' code."""
SUITES = (".json", ".yaml", ".yml", ".prompty")
"""A file that stands where a verb would: its verb is `run`."""
_PIPES = "_EVALMARK_WATCHED"
_FORWARDED = ("SIGHUP", "SIGINT", "SIGTERM", "SIGUSR1", "SIGUSR2")
_ENDING = ("SIGHUP", "SIGINT", "SIGTERM")
_SENT_BY_PROGRAMS = (0, -1, -6)
"""What Linux says of signals that a program has sent: SI_USER, SI_QUEUE and SI_TKILL. Those of a terminal reach the
whole group of processes, the command too, so they are not passed on."""


def is_needed(words: Sequence[str]) -> bool:
    """Whether a command runs code that could end its process."""
    if (
        not words
        or os.environ.get(SUPERVISE_VARIABLE, "1").lower() in ("0", "false", "no")
        or {"-h", "--help"} & {*words}
    ):
        return False
    return words[0] in SUPERVISED_VERBS or words[0].endswith(SUITES)


def supervise(words: Sequence[str]) -> None:
    """Go on in a child of this process, which stays to watch over it; only the child returns."""
    if _PIPES in os.environ:
        _connect_subprocess(os.environ.pop(_PIPES))
    elif not hasattr(os, "fork"):
        _supervise_subprocess(words)
    elif "threading" not in sys.modules or sys.modules["threading"].active_count() == 1:
        _supervise_fork(words)


def _supervise_fork(words: Sequence[str]) -> None:
    forwarded = [*_active_signals(_FORWARDED)]
    # Blocked before the fork, so that none is lost between the fork and the first look.
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, {*forwarded, signal.SIGCHLD, signal.SIGCONT, *_active_signals(("SIGTSTP",))}
    )
    children = signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, a child that ends would leave nothing behind
    parent, (listens, tells), (lives, alive) = os.getpid(), os.pipe(), os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        sys.stderr.write(f"No parent process can be started ({error.strerror}), so a crash is not told from an end.\n")
        child = -1
    if child > 0:
        os.close(tells)
        os.close(lives)
        status, met = _wait_for(child)
        _exit_like(words, os.waitstatus_to_exitcode(status), _read_messages(listens), met)
    if child == 0:
        os.close(listens)
        os.close(alive)
        supervised.connect(tells)
        parent_watch.end_with_parent(parent, lives)
    signal.signal(signal.SIGCHLD, children)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _active_signals(names: Iterable[str]) -> Iterable[signal.Signals]:
    """The signals that exist here and are not ignored: what `nohup` or a shell in the background ignores stays ignored."""
    found = (getattr(signal, name, None) for name in names)
    return [number for number in found if number is not None and signal.getsignal(number) is not signal.SIG_IGN]


def _wait_for(child: int) -> tuple[int, set[int]]:
    """How the child ended, and which signals that ask for an end were met; other signals are passed on."""
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
    """The next signal, and whether it comes from a terminal."""
    if hasattr(signal, "sigwaitinfo"):
        found = signal.sigwaitinfo(watching)
        return found.si_signo, found.si_code not in _SENT_BY_PROGRAMS
    number = signal.sigwait(watching)
    return number, number in (signal.SIGINT, signal.SIGTSTP) and _is_in_foreground()


def _is_in_foreground() -> bool:
    """Whether a terminal sends its signals to this group of processes, where the system says nothing of a single one."""
    for number in (0, 1, 2):
        try:
            return os.tcgetpgrp(number) == os.getpgrp()
        except OSError:
            continue
    return False


def _stop(child: int, *, is_from_terminal: bool) -> None:
    """Ctrl-Z: stop as a program does that does not look at the signal; the child does so by itself, or is told."""
    if not is_from_terminal:
        os.kill(child, signal.SIGTSTP)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})


def _read_messages(listens: int) -> list[tuple[str, str]]:
    """What the child has told; it has ended, and what it has started may still hold the pipe."""
    os.set_blocking(listens, False)
    said = b""
    try:
        while more := os.read(listens, 65_536):
            said += more
    except BlockingIOError:
        pass
    return supervised.parse_messages(said)


def _exit_like(words: Sequence[str], ended: int, heard: list[tuple[str, str]], met: set[int]) -> None:
    """End this process with the code that the child has told, or with what is right where it has told none."""
    code = next((int(text) for kind, text in heard if kind == "code"), None)
    killer = -ended if ended < 0 else 0
    if code is None and killer in met:
        _die_by_signal(killer)
    if code is None and ended == 130 and met:
        code = ended  # left at once, at the second Ctrl-C
    told = dict(heard)
    if code is None or "say" in told or ("run" in told and "report" in told and "reported" not in told):
        # Only here, where something went wrong, does the parent load anything.
        code = need("evalmark.cli.terminal.unfinished").explain(words, ended, heard, code)
    os._exit(code)  # not `sys.exit`: what runs at the end of Python has run in the child


def _die_by_signal(number: int) -> None:
    """End as the child did, by a signal that both were sent."""
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _supervise_subprocess(words: Sequence[str]) -> None:
    """The same where a process cannot be forked."""
    process = need("subprocess")
    (listens, tells), (lives, alive) = os.pipe(), os.pipe()
    theirs, more = _inherited((tells, lives))
    flags = process._args_from_interpreter_flags()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the child too, which decides
    child: Popen[bytes] = process.Popen(
        [sys.executable, *flags, "-m", "evalmark", *words], env={**os.environ, _PIPES: theirs}, **more
    )
    os.close(tells)
    os.close(lives)
    ended = child.wait()
    os.close(alive)
    _exit_like(words, ended, _read_messages(listens), set())


def _inherited(pipes: Sequence[int]) -> tuple[str, dict[str, object]]:
    """The pipes by names that a child knows, and how it gets them."""
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
