"""Completion in shells: verbs, and the flags of the verb that stands on the command line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "from evalmark.cli import main; main()"
EVALMARK = Path(sys.executable).with_name("evalmark")
SHELLS = {
    "bash": """eval "$(evalmark --show-completion)"; COMP_WORDS=(evalmark resc); COMP_CWORD=1
_evalmark_completion evalmark; echo "${COMPREPLY[@]}" """,
    "fish": 'evalmark --show-completion | source; complete -C "evalmark resc"',
    "zsh": """compdef() { :; }; eval "$(evalmark --show-completion)"; _arguments() { print -r -- "$@"; }
words=(evalmark resc); CURRENT=2; _evalmark_completion""",
}


def completions(line: str) -> list[str]:
    """Ask as bash does: words in COMP_WORDS, and the number of the word at the cursor."""
    words = line.split(" ")
    asked = {"_EVALMARK_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("evalmark resc", ["rescore"], id="a verb"),
        pytest.param("evalmark run --max-ca", ["--max-calls"], id="a flag of a verb"),
        pytest.param("evalmark run suite.ya", [], id="a file is left to the shell"),
        pytest.param("evalmark cache cl", ["clear"], id="the second word of a verb"),
    ],
)
def test_the_shell_is_offered(line, expected):
    assert completions(line) == expected


@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_for_a_shell_completes_there(shell):
    if not (program := shutil.which(shell)) or not EVALMARK.exists():
        pytest.skip(f"{shell} or the evalmark command is not installed")
    path = f"{EVALMARK.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [program, "-c", SHELLS[shell]], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert "rescore" in done.stdout, done.stderr
