"""Commands work where modules, functions and signals of POSIX are absent, as on Windows; only Windows itself can show the rest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Python's own modules load first, since on this system they need what is then taken away.
REMOVE = """
import asyncio, importlib.metadata, multiprocessing.popen_spawn_posix, multiprocessing.spawn, os, signal, socket, subprocess, sys
import apsw, numpy

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("fdatasync", "fork", "getpgid", "getpgrp", "getuid", "geteuid", "killpg", "set_blocking", "setsid", "statvfs", "tcgetpgrp",
             "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "sched_getaffinity"):
    delattr(os, name)
for name in ("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGTSTP", "SIGUSR1", "SIGUSR2", "SIG_BLOCK",
             "SIG_SETMASK", "SIG_UNBLOCK", "pthread_kill", "pthread_sigmask", "sigwait", "sigwaitinfo"):
    delattr(signal, name)


def refuse(*arguments, **named):
    raise NotImplementedError


asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = refuse
processes = multiprocessing.popen_spawn_posix.Popen
processes.kill = processes.terminate
"""


@pytest.fixture
def without_posix(world: Path):
    (world / "python").mkdir()
    (world / "python" / "sitecustomize.py").write_text(REMOVE, encoding="utf-8")
    (world / "bot.py").write_text("def answer(input): return input.upper()\n")
    (world / "cases.jsonl").write_bytes(b'{"input": "a", "expected": "A"}\r\n{"input": "b", "expected": "B"}\r\n')
    (world / "suite.yaml").write_bytes(b"datasets: [cases.jsonl]\r\ntarget: bot:answer\r\nmetrics: [equals]\r\n")
    paths = os.pathsep.join([str(world / "python"), str(world)])

    def evalmark(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "evalmark", *words]
        variables = {**os.environ, "PYTHONPATH": paths}
        return subprocess.run(
            command, cwd=world, env=variables, capture_output=True, text=True, timeout=120, check=False
        )

    return evalmark


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system is one of those already")
def test_runs_pass_fail_and_crash_with_their_exit_codes(without_posix, world):
    for flags in ((), ("--isolate",)):
        done = without_posix("run", "suite.yaml", *flags)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "2 of 2 passed" in done.stdout
    (world / "bot.py").write_text("def answer(input): return input\n")
    failed = without_posix("run", "suite.yaml")
    assert failed.returncode == 1, failed.stderr
    assert "2 regressed, 0 improved" in without_posix("compare", "last", "last~1").stdout
    (world / "bot.py").write_text("import os\ndef answer(input): os._exit(0)\n")
    crashed = without_posix("run", "suite.yaml")
    assert crashed.returncode == 3
    assert "did not finish" in crashed.stderr
