"""The words of a command line, before they are parsed."""

import shlex
from collections.abc import Sequence
from pathlib import Path

NEWEST = "newest"
"""What a bare `--resume` stands for."""


def with_resume_value(words: Sequence[str]) -> list[str]:
    """Give a bare `--resume` its value, since it may stand with a run's id or without.

    >>> with_resume_value(["run", "suite.yaml", "--resume"])
    ['run', 'suite.yaml', '--resume=newest']
    >>> with_resume_value(["run", "--resume", "20261121-143205-k3f9", "suite.yaml"])
    ['run', '--resume', '20261121-143205-k3f9', 'suite.yaml']
    """
    return [
        f"--resume={NEWEST}" if word == "--resume" and not _is_run(words[number + 1 : number + 2]) else word
        for number, word in enumerate(words)
    ]


def once_more(words: Sequence[str], others: Sequence[str] = ()) -> str:
    """The same command as a shell takes it, without `--resume` and without the `others` among its words.

    >>> once_more(["run", "my suite.yaml", "--store", "a.db", "--resume", "20261121-143205-k3f9"])
    "evalmark run 'my suite.yaml' --store a.db"
    """
    left_out = {number for number, word in enumerate(words) if word.startswith("--resume") or word in others}
    left_out |= {number + 1 for number, word in enumerate(words) if word == "--resume"}
    return shlex.join(["evalmark", *(word for number, word in enumerate(words) if number not in left_out)])


def _is_run(following: Sequence[str]) -> bool:
    """Whether the word after `--resume` names a run: not a flag, not a file."""
    return bool(following) and not following[0].startswith("-") and not Path(following[0]).suffix
