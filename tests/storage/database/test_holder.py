import os
import subprocess
import sys
from dataclasses import replace

import pytest

from evalmark.storage.database.holder import (
    UNKNOWN,
    WriterProcess,
    from_text,
    process_has_ended,
    process_start,
    this_process,
    to_text,
)

HERE = WriterProcess(host="ann", boot="b1", pid=1, started="100", since="2026-11-21T14:32:05Z")
THERE = replace(HERE, pid=7)


@pytest.mark.parametrize(
    ("holder", "found", "gone"),
    [
        pytest.param(THERE, "100", False, id="the process is there"),
        pytest.param(THERE, None, True, id="no process has this number"),
        pytest.param(THERE, "200", True, id="a later process has the same number"),
        pytest.param(THERE, UNKNOWN, False, id="the system does not tell its start"),
        pytest.param(replace(THERE, started=UNKNOWN), "200", False, id="its start was never known"),
        pytest.param(replace(THERE, boot="b0"), "100", True, id="the machine was started anew"),
        pytest.param(replace(THERE, host="bob"), None, False, id="nothing is certain of another machine"),
        pytest.param(replace(THERE, host="bob", boot="b0"), None, False, id="another machine started at another time"),
    ],
)
def test_a_holder_is_gone_only_when_that_is_certain(holder, found, gone):
    assert process_has_ended(holder, HERE, lambda pid: found) is gone


def test_this_process_is_there():
    me = this_process()
    assert not process_has_ended(me, me, process_start)
    assert from_text(to_text(me)) == me
    assert from_text(None) is None


@pytest.mark.parametrize("text", [pytest.param("{}", id="no fields"), pytest.param("[", id="no JSON")])
def test_a_damaged_holder_is_noticed(text):
    with pytest.raises(ValueError, match=r"."):
        from_text(text)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell")
def test_a_process_that_ended_is_gone_also_before_its_parent_asks():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    then = process_start(child.pid)
    assert then is not None
    assert then != process_start(os.getpid()) or then == UNKNOWN
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended; its remains are still there
    assert process_start(child.pid) is None
    child.wait()
    assert process_start(child.pid) is None
