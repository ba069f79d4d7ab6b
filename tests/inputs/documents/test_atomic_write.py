"""A text file is written whole or not at all."""

import os
import threading

import pytest

from evalmark.errors import EvalmarkError
from evalmark.inputs.documents.atomic_write import write_atomically


def test_folders_are_made_and_nothing_else_is_left_there(tmp_path):
    file = tmp_path / "new" / "folder" / "a.txt"
    write_atomically(file, ["one\n", "half a pair: \ud800\r\n"])
    assert file.read_bytes() == b"one\nhalf a pair: \\ud800\r\n"
    assert list(file.parent.iterdir()) == [file]


def test_an_older_file_stays_until_the_new_one_is_whole(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("older")

    def chunks():
        yield "new"
        assert file.read_text() == "older"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, chunks())
    assert (file.read_text(), list(tmp_path.iterdir())) == ("older", [file])


@pytest.mark.parametrize(
    ("what", "said"),
    [
        pytest.param("file", "the file cannot be written", id="a file of some kind"),
        pytest.param("report", "the report cannot be written", id="a report"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path, what, said):
    (tmp_path / "taken").write_text("a file, and no folder")
    with pytest.raises(EvalmarkError, match=said):
        write_atomically(tmp_path / "taken" / "a.txt", ["text"], what)


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    write_atomically(pipe, ["one ", "two"])
    reader.join(5)
    assert (found, pipe.is_fifo()) == (["one two"], True)
