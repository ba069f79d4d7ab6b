"""Only regular files are opened, and a suite reaches only what lies beside it."""

import os
import socket
import threading

import pytest

from evalmark.errors import DataError
from evalmark.inputs.documents.files import allowed_path, local_file, open_file, path_kind, regular_file


def test_a_missing_file_is_said_with_names_like_it(world):
    (world / "cases.jsonl").touch()
    with pytest.raises(DataError, match=r"^case\.jsonl: there is no such file; did you mean cases\.jsonl\?$"):
        regular_file((world / "case.jsonl").relative_to(world))


def test_a_missing_folder_is_said(world):
    with pytest.raises(DataError, match="there is no such file, nor the folder"):
        regular_file(world / "none" / "x.json")


def _fifo(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(os.mkdir, "is a folder", id="a folder"),
        pytest.param(_fifo, "is a pipe; write it to a file first", id="a pipe"),
        pytest.param(_socket, "is a socket", id="a socket"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), "is a device", id="a link to a device"),
        pytest.param(lambda path: path.symlink_to(path), "cannot be opened", id="a link to itself"),
        pytest.param(lambda path: path.symlink_to("gone"), "there is no such file", id="a link to nothing"),
    ],
)
def test_what_is_no_regular_file_is_refused_unopened(world, make, said):
    path = world / "x.json"
    make(path)
    with pytest.raises(DataError) as error:  # opening the pipe would hang for ever
        regular_file(path)
    assert said in str(error.value)


def test_code_is_no_data_and_the_way_to_run_it_is_said(world):
    (world / "test_bot.py").touch()
    with pytest.raises(DataError, match=r"^test_bot\.py: this is Python code, .*with: pytest --evalmark test_bot\.py"):
        regular_file((world / "test_bot.py").relative_to(world))


@pytest.fixture
def suite(world):
    """A project with a suite in a folder of its own, and a secret beside the project."""
    (world / "project" / "evals").mkdir(parents=True)
    (world / "project" / "data").mkdir()
    (world / "secret.json").write_text("[]")
    for name in ("evals/cases.json", "data/more.json", "top.json", "evals/x .json", "evals/..a.json"):
        (world / "project" / name).write_text("[]")
    (world / "project" / "evals" / "out.json").symlink_to(world / "secret.json")
    (world / "project" / "evals" / "in.json").symlink_to(world / "project" / "top.json")
    (world / "project" / "evals" / "up").symlink_to(world)
    (world / "project" / "evals" / "zero").symlink_to("/dev/zero")
    os.mkfifo(world / "project" / "evals" / "pipe.json")
    return world / "project"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("cases.json", "evals/cases.json", id="beside the suite"),
        pytest.param("../data/more.json", "data/more.json", id="elsewhere in the working directory"),
        pytest.param("data/more.json", "data/more.json", id="relative to the working directory"),
        pytest.param("./././cases.json", "evals/cases.json", id="with dots"),
        pytest.param("in.json", "top.json", id="a link that stays inside"),
        pytest.param("x .json", "evals/x .json", id="with a space"),
        pytest.param("..a.json", "evals/..a.json", id="a name that starts with two dots"),
    ],
)
def test_a_suite_reaches_files_beside_it_and_in_the_working_directory(suite, text, found):
    assert allowed_path(text, suite / "evals", suite).resolve() == suite / found


@pytest.mark.parametrize(
    "text",
    [
        "../../secret.json", "../evals/../../secret.json", "/etc/passwd", "out.json", "up/secret.json", "../../../../../../etc/passwd",
        "file:///etc/passwd", "file://localhost/etc/passwd#x.png", "file:cases.json", "FILE://x", "https://example.com/x.json", "\\\\host\\share\\x.json",
        "//host/share/x.json", "C:\\x.json", "c:/x.json", "%2e%2e/%2e%2e/secret.json", "..%2fsecret.json", "..%5Csecret.json", "cases.json\0.png", "a\nb.json",
        "zero", "pipe.json", "/dev/zero", "/dev/stdin", ".", "..", "", "missing.json", "~/x.json", "x" * 5000,
    ],
)  # fmt: skip
def test_a_suite_reaches_nothing_else(suite, text):
    with pytest.raises(DataError) as error:
        allowed_path(text, suite / "evals", suite)
    assert len(str(error.value)) < 6000


def test_a_link_that_leads_out_is_said_to(suite):
    with pytest.raises(DataError, match="lies outside"):
        allowed_path("out.json", suite / "evals", suite)


def test_an_absolute_path_inside_is_allowed(suite):
    assert allowed_path(str(suite / "top.json"), suite / "evals", suite) == suite / "top.json"


def test_what_stands_at_a_path(world):
    (world / "file").touch()
    (world / "lost").symlink_to(world / "gone")
    (world / "circle").symlink_to(world / "circle")
    os.mkfifo(world / "pipe")
    names = ("file", ".", "lost", "circle", "pipe", "gone", "file/below")
    assert [path_kind(world / name) for name in names] == ["file", "folder", *["other"] * 3, *["nothing"] * 2]


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"], ids=["too long", "no name"])
def test_what_nobody_can_tell_is_no_nothing(name, world):
    with pytest.raises(DataError, match="cannot be read"):
        path_kind(world / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_what_may_not_be_entered_is_no_nothing(world):
    (world / "closed").mkdir(mode=0)
    try:
        with pytest.raises(DataError, match="cannot be read: Permission denied"):
            path_kind(world / "closed" / "rules.txt")
    finally:
        (world / "closed").chmod(0o700)


def test_only_regular_files_are_opened(world):
    (world / "data.json").write_text("[]")
    os.mkfifo(world / "pipe")
    (world / "zero").symlink_to("/dev/zero")
    with open_file(world / "data.json") as file:
        assert file.read() == b"[]"
    for name in ("pipe", "zero", "missing", "."):
        with pytest.raises(DataError):
            open_file(world / name)


def test_a_pipe_that_takes_the_place_of_a_file_is_not_waited_for(world):
    path, stop = world / "data.json", threading.Event()

    def swap() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            other = world / f"other-{number % 2}"
            other.write_text("[]") if number % 2 else os.mkfifo(other)
            other.replace(path)

    path.write_text("[]")
    swapping = threading.Thread(target=swap)
    swapping.start()
    found = {"opened": 0, "refused": 0}
    try:
        while min(found.values()) < 50:
            try:
                open_file(path).close()
                found["opened"] += 1
            except DataError:
                found["refused"] += 1
    finally:
        stop.set()
        swapping.join()


def test_what_a_suite_may_reach_in_its_project(world):
    (world / "project" / ".git").mkdir(parents=True)
    (world / "project" / "evals").mkdir()
    (world / "project" / "data.json").write_text("[]")
    assert allowed_path("../data.json", world / "project" / "evals").read_text() == "[]"
    (world / "project" / ".git").rmdir()
    with pytest.raises(DataError, match="lies outside"):
        allowed_path("../data.json", world / "project" / "evals")


def test_a_link_that_was_found_in_a_folder_stays_in_its_project(world, monkeypatch):
    (world / "prompts").mkdir()
    (world / "kept.txt").write_text("a")
    (world / "prompts" / "rules.txt").symlink_to(world / "kept.txt")
    monkeypatch.chdir(world / "prompts")
    with pytest.raises(DataError, match="is a link that leads out of its project"):
        local_file(world / "prompts" / "rules.txt")
    (world / "pyproject.toml").touch()
    assert local_file(world / "prompts" / "rules.txt").read_text() == "a"
