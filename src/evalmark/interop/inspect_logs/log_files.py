"""Read the log files of Inspect: `.eval`, a zip archive with a file for each sample, and `.json`, one document."""

import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.values.plain_data import MAX_DEPTH
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.files import open_file
from evalmark.inputs.documents.strict_json import deeper_than
from evalmark.interop.shared.folders import files_of
from evalmark.interop.shared.items import dict_or_empty, list_or_empty
from evalmark.interop.shared.lenient_json import MAX_DOCUMENT, parse_lenient_json, read_lenient_json

Data = dict[str, Any]
MAX_MEMBERS = 500_000
_PIECE = 4096
"""The bytes asked for at once; zipfile unpacks as many packed bytes in one go, whatever they grow to."""
_MAX_EVENT_DEPTH = 300
"""The most levels of the events of a sample, which stand in each other where agents call agents."""
_ZSTANDARD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError)
_UNUSED = ("store", "timelines", "events_data")
"""Large parts of a sample that are not imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectLog:
    """One log: what it says of the evaluation, and where its samples are."""

    path: Path
    header: Data
    """The log without its samples: `eval`, `plan`, `results`, `stats`, `status`, `error`."""
    loaded: tuple[Any, ...] = ()
    """The samples of a log in JSON."""
    members: tuple[str, ...] = ()
    """The files of the samples in an archive."""

    @property
    def spec(self) -> Data:
        """What was evaluated: task, model, dataset, scorers."""
        return dict_or_empty(self.header.get("eval"))

    def samples(self) -> Iterator[tuple[Data, str]]:
        """Yield each sample with its place; only one sample of an archive is in memory at a time.

        Raises:
            DataError: a sample cannot be read.
        """
        for number, sample in enumerate(self.loaded):
            yield _checked(sample, f"{self.path}: samples[{number}]")
        if self.members:
            with _archive(self.path) as archive:
                for name in self.members:
                    place = f"{self.path}: {name!r:.200}"
                    yield _checked(parse_lenient_json(_member(archive, name, place), place, depth=None), place)


def read_logs(path: Path) -> list[InspectLog]:
    """Read a log, or all logs in a folder and its folders.

    Raises:
        DataError: a file cannot be read, or there is no log.
    """
    files = files_of(path, (".eval", ".json"), below=True)
    single = files == [path]
    logs = [log for file in files if (log := _read_log(file, must_be_log=single)) is not None]
    if not logs:
        raise PlacedError(str(path), "there is no log of Inspect (.eval or .json) in this folder.")
    return logs


def _read_log(path: Path, *, must_be_log: bool) -> InspectLog | None:
    if path.suffix.lower() == ".eval":
        return _read_archive(path)
    header = read_lenient_json(path, depth=None, advice="; convert it with: inspect log convert --to eval")
    if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
        if must_be_log:
            raise PlacedError(str(path), "is no log of Inspect: there is no object `eval` in it.")
        return None
    samples = tuple(list_or_empty(header.pop("samples", None)))
    return InspectLog(path=path, loaded=samples, header=_shallow(header, str(path)))


def _read_archive(path: Path) -> InspectLog:
    with _archive(path) as archive:
        names = dict.fromkeys(archive.namelist())
        if len(names) > MAX_MEMBERS:
            raise PlacedError(str(path), f"has more than {MAX_MEMBERS:,} files, more than a log has.")
        # A log that is still written, or whose process was killed, has no header yet.
        head = next((name for name in ("header.json", "_journal/start.json") if name in names), None)
        if head is None:
            raise PlacedError(
                str(path), "is no log of Inspect: there is neither header.json nor _journal/start.json in it."
            )
        header = parse_lenient_json(_member(archive, head, f"{path}: {head}"), f"{path}: {head}")
        if not isinstance(header, dict) or not isinstance(header.get("eval"), dict):
            raise PlacedError(f"{path}: {head}", "is no header of a log: there is no object `eval` in it.")
        members = tuple(name for name in names if name.startswith("samples/") and name.endswith(".json"))
    return InspectLog(path=path, header=_shallow(header, f"{path}: {head}"), members=members)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive; the library for Zstandard is loaded only if a file in it needs that."""
    with open_file(path) as file:
        try:
            archive = zipfile.ZipFile(file)
            methods = {info.compress_type for info in archive.infolist()}
        except _DAMAGED as error:
            raise PlacedError(
                str(path), f"is no zip archive, as a .eval log is, or a damaged one: {_line(error)}."
            ) from None
        if unknown := methods - set(_METHODS):
            raise PlacedError(
                str(path), f"is packed with method {min(unknown)} of zip; logs have none, deflate or zstd."
            )
        if _ZSTANDARD in methods and sys.version_info < (3, 14):
            file.seek(0)
            archive = need("backports.zstd.zipfile", "inspect").ZipFile(file)
        yield archive


def _member(archive: zipfile.ZipFile, name: str, place: str) -> str:
    """Return the text of a file in an archive, however large its entry claims to be."""
    pieces, size = [], 0
    try:
        with archive.open(name) as member:
            while piece := member.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > MAX_DOCUMENT:
                    break
    except _unpack_errors() as error:
        raise PlacedError(place, f"cannot be unpacked: {_line(error)}.") from None
    if size > MAX_DOCUMENT:
        raise PlacedError(place, f"is larger than {MAX_DOCUMENT >> 20} MiB when unpacked, too large for one sample.")
    try:
        return b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError:
        raise PlacedError(place, "is not text in UTF-8.") from None


def _unpack_errors() -> tuple[type[Exception], ...]:
    """Return the errors of damaged archives, with those of the library for Zstandard if it was loaded."""
    library = sys.modules.get("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    reader = sys.modules.get("backports.zstd.zipfile")
    found = [*_DAMAGED, *([library.ZstdError] if library else []), *([reader.BadZipFile] if reader else [])]
    return tuple(found)


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]


def _checked(sample: Any, place: str) -> tuple[Data, str]:
    """Check what every sample has, and drop what is not imported."""
    if not isinstance(sample, dict):
        raise PlacedError(place, "the sample is not an object.")
    key, epoch = sample.get("id"), sample.get("epoch", 1)
    if isinstance(key, bool) or not isinstance(key, (str, int)):
        raise PlacedError(place, f"`id` of the sample is {key!r:.40}; it takes a text or a whole number.")
    if type(epoch) is not int or epoch < 1:
        raise PlacedError(place, f"`epoch` of the sample is {epoch!r:.40}; it takes a whole number from 1 on.")
    kept = {name: value for name, value in sample.items() if name not in _UNUSED}
    _shallow({name: value for name, value in kept.items() if name != "events"}, place)
    _shallow(kept, place, _MAX_EVENT_DEPTH)
    return kept, place


def _shallow(data: Data, place: str, depth: int = MAX_DEPTH) -> Data:
    if deeper_than(data, depth):
        raise PlacedError(place, f"has lists and objects nested too deeply, more than {depth} levels.")
    return data
