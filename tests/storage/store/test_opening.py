"""Files that are no store, or not one for this program: each is named, none is changed."""

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import apsw
import pytest

from evalmark.errors import StoreError
from evalmark.storage.database.sqlite import network_file_system, open_read_only_file
from evalmark.store import open_store

from . import sample
from .conftest import record


def sqlite_file(path: Path, *statements: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()


def empty(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.touch()


def text(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("id,input\n1,hello\n" * 200)


def cut(path: Path) -> None:
    with open_store(path) as store:
        record(store, sample.run(), [])
    os.truncate(path, 300)


def newer(path: Path) -> None:
    open_store(path).close()
    sqlite_file(path, "pragma user_version = 99")


FAULTS = [
    pytest.param(empty, r"is empty \(0 bytes\)", id="a file of zero bytes"),
    pytest.param(text, "damaged or is not a store", id="a CSV file"),
    pytest.param(cut, "damaged or is not a store", id="a store cut off in its header"),
    pytest.param(newer, "newer evalmark wrote this store .store version 99", id="a store of a newer version"),
    pytest.param(
        lambda path: sqlite_file(path, "create table t(a)"), "another program", id="another program's database"
    ),
    pytest.param(
        lambda path: sqlite_file(path, "pragma application_id = 7", "create table t(a)"),
        "another program",
        id="a database with another application id",
    ),
    pytest.param(lambda path: path.mkdir(parents=True), "is a folder", id="a folder"),
]


@pytest.mark.parametrize("read_only", [False, True], ids=["for writing", "for reading"])
@pytest.mark.parametrize(("make", "said"), FAULTS)
def test_what_cannot_be_a_store_is_named_and_left_as_it_is(path, make, said, read_only):
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=said) as error:
        open_store(path, read_only=read_only)
    assert str(path) in str(error.value)
    assert "--store" in str(error.value)
    assert "\n" not in str(error.value)
    assert before == (path.read_bytes() if path.is_file() else None)


def test_a_store_that_is_not_there_is_not_made_by_reading(path):
    with pytest.raises(StoreError, match="there is no store yet"):
        open_store(path, read_only=True)
    assert not path.parent.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/inner/evalmark\.db: .*--store"):
        open_store(tmp_path / "file" / "inner" / "evalmark.db")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_only_the_owner_may_read_the_store_its_log_its_copies_and_its_folder(path, tmp_path):
    with open_store(path) as store:
        store.start(sample.run())
        files = [path, path.with_name("evalmark.db-wal"), path.with_name("evalmark.db-shm")]
        store.copy(tmp_path / "copy.db")
        assert {stat.S_IMODE(file.stat().st_mode) for file in [*files, tmp_path / "copy.db"]} == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_version_control_is_told_to_leave_the_usual_folder_alone(tmp_path):
    open_store(tmp_path / ".evalmark" / "evalmark.db").close()
    open_store(tmp_path / "elsewhere" / "evalmark.db").close()
    assert (tmp_path / ".evalmark" / ".gitignore").read_text() == "*\n"
    assert sorted(file.name for file in (tmp_path / "elsewhere").iterdir()) == ["evalmark.db"]


def test_a_closed_store_is_one_file(path):
    with open_store(path) as store:
        record(store, sample.run(), sample.trials([sample.case(1)]))
    with open_store(path, read_only=True) as store:
        assert len(store.run("last").results) == 1
    assert sorted(file.name for file in path.parent.iterdir()) == [".gitignore", "evalmark.db"]


def test_the_working_directory_may_change(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store("evalmark.db") as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        record(store, sample.run(), sample.trials([sample.case(1)]))
        assert len(list(store.run("last").results)) == 1


@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory", "a b%20c#d?.db", "größe.db"])
def test_names_that_mean_something_to_sqlite_are_files(tmp_path, name):
    with open_store(tmp_path / name) as store:
        record(store, sample.run(), [])
    with open_store(tmp_path / name, read_only=True) as store:
        assert store.run("last").id == sample.run().id


def test_a_reader_changes_nothing(store, path, finished):
    with pytest.raises(apsw.ReadOnlyError):
        open_read_only_file(path).execute("delete from run")
    with open_store(path, read_only=True) as reader, pytest.raises(StoreError, match="opened for reading only"):
        reader.start(sample.run("other"))


@pytest.fixture
def outside():
    """A folder that other users can reach and nobody but its owner can write to."""
    folder = Path(tempfile.mkdtemp(prefix="evalmark-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


@POSIX
def test_a_store_in_a_folder_that_nobody_may_write_can_be_read(outside, doomed):
    with open_store(outside / "evalmark.db") as store:
        record(store, sample.run(), sample.trials([sample.case(n) for n in range(3)]))
    (outside / "evalmark.db").chmod(0o444)
    outside.chmod(0o555)
    assert doomed.do("look", outside)["results"] == 3


@POSIX
def test_a_log_that_cannot_be_read_there_is_not_passed_over(outside, doomed):
    with open_store(outside / "evalmark.db") as store:
        record(store, sample.run(), [])
        log = (outside / "evalmark.db-wal").read_bytes()
    (outside / "evalmark.db-wal").write_bytes(log)  # as if the writer's machine had stopped
    outside.chmod(0o555)
    (outside / "evalmark.db").chmod(0o444)
    (outside / "evalmark.db-wal").chmod(0o444)
    told = doomed.do("look", outside)
    assert "cannot be opened" in told["error"], told


@POSIX
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        pytest.param(0o444, "cannot be opened or written", id="a file that may only be read"),
        pytest.param(0o000, "cannot be opened", id="a file that may not even be read"),
        pytest.param(None, "Permission denied", id="a folder that takes no file"),
    ],
)
def test_a_place_without_the_right_to_write_is_named(outside, doomed, mode, said):
    if mode is not None:
        with open_store(outside / "evalmark.db") as store:
            record(store, sample.run(), [])
        (outside / "evalmark.db").chmod(mode)
    outside.chmod(0o555)
    told = doomed.do("touch", outside)
    assert told["error"].startswith("StoreError")
    assert said in told["error"]
    assert str(outside / "evalmark.db") in told["error"]
    assert "--store" in told["error"]


MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/ann/fast xfs rw 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/data/x.db", None, id="a local disk"),
        pytest.param("/home/ann/x.db", "nfs4", id="a network home"),
        pytest.param("/home/ann/fast/x.db", None, id="a local disk inside a network home"),
        pytest.param("/homes/x.db", None, id="a name that only begins alike"),
        pytest.param("/mnt/my share/x.db", "cifs", id="a share with a space in its name"),
    ],
)
def test_network_file_systems_are_known(path, kind):
    assert network_file_system(Path(path), MOUNTS) == kind


@pytest.mark.skipif(sys.platform == "win32", reason="the fake disk stands in for Unix files")
@pytest.mark.parametrize("moved", [False, True], ids=["made there", "moved there"])
def test_a_file_system_without_shared_memory_gets_a_rollback_journal_and_a_note(path, doomed, moved):
    if moved:
        with open_store(path) as store:
            record(store, sample.run(), [])
    told = doomed.do("without_shared_memory", path.parent.parent)
    assert told["journal"] == "delete", told
    assert told["notes"] == [
        f"The file system of {path} allows no write-ahead log; readers and writers wait for each other."
    ]
    with open_store(path) as store:
        assert store.check().journal_mode == "wal"
        assert store.check().sound
        assert store.run("last").status == "complete"


def test_the_draft_of_a_store_that_was_never_finished_is_tidied_away_after_an_hour(path):
    path.parent.mkdir(parents=True)
    old, young = (path.with_name(f".evalmark.db.{name}.new") for name in ("0001", "0002"))
    old.touch()
    young.touch()
    os.utime(old, (1_000_000, 1_000_000))
    open_store(path).close()
    assert not old.exists()
    assert young.exists()
