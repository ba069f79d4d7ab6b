"""Read what the evals API of OpenAI and Azure returns: objects, arrays, pages and JSONL, in one file or a folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalmark.inputs.documents.document import DataPath, Document, load_document
from evalmark.inputs.documents.errors import PlacedError
from evalmark.inputs.documents.strict_json import parse_json
from evalmark.inputs.documents.text import numbered_lines, read_text, text_chunks
from evalmark.interop.shared.folders import files_of
from evalmark.interop.shared.results import SIDE

from .download import FAILURES

Data = dict[str, Any]
_ENDINGS = (".json", ".jsonl")
_KINDS = ("testing_criteria", "data_source", "datasource_item", "item")
"""The keys that tell the kinds of objects apart, in the order of `ApiObjects`."""
_PLACED = 1 << 20
"""The most bytes of a file whose parts are named with their lines; larger ones would take long."""


class ApiObject(NamedTuple):
    """One object in the files, with its place and those of its parts."""

    data: Data
    place: str
    file: Path
    document: Document | None = None
    """None for a line of JSONL, and in large files."""
    at: DataPath = ()

    def part(self, *path: str | int) -> str:
        """Return `file:line` of a part of the object."""
        return self.place if self.document is None else self.document.place_of((*self.at, *path))


class ApiObjects(NamedTuple):
    """The objects in the files, by kind."""

    evals: list[ApiObject]
    runs: list[ApiObject]
    items: list[ApiObject]
    rows: list[ApiObject]
    """Rows of data, `{"item": …}`, as files of runs have them."""


def read_api_objects(path: Path) -> ApiObjects:
    """Read a file, or all JSON and JSONL files below a folder; an object that occurs twice is read once.

    Raises:
        DataError: a file cannot be read, or no file has an object of the API.
    """
    found = ApiObjects([], [], [], [])
    seen: dict[tuple[str, str], Data] = {}
    for entry in _objects(path):
        key = next((key for key in _KINDS if key in entry.data), "")
        name = str(entry.data.get("id"))
        if key and ("id" not in entry.data or seen.get((key, name)) != entry.data):
            seen[key, name] = entry.data
            found[_KINDS.index(key)].append(entry)
    if not any(found):
        raise PlacedError(str(path), "has no eval, no run and no output item of the evals API.")
    return found


def split_by_eval(whole: ApiObjects) -> Iterator[ApiObjects]:
    """Yield the objects of each eval; rows of a file belong to the eval whose run names the file.

    Raises:
        DataError: an object does not state to which eval it belongs.
    """
    names = [str(found.data.get("id")) for found in whole.evals]
    of_run = {str(run.data.get("id")): str(run.data.get("eval_id")) for run in whole.runs}
    of_file = {file_of(run.data): str(run.data.get("eval_id")) for run in whole.runs}

    def owner(entry: ApiObject) -> str:
        eval_id = entry.data.get("eval_id")
        if eval_id is not None:
            return str(eval_id)
        return of_run.get(str(entry.data.get("run_id"))) or of_file.get(entry.file.stem, "")

    for found in (*whole.runs, *whole.items, *whole.rows):
        if names.count(owner(found)) != 1:
            raise PlacedError(
                found.place,
                f"it is unclear to which of the {len(names)} evals this belongs; put each eval into its own folder.",
            )
    for one, name in zip(whole.evals, names, strict=True):
        runs, items, rows = ([f for f in found if owner(f) == name] for found in whole[1:])
        yield ApiObjects([one], runs, items, rows)


def file_of(run: Mapping[str, Any]) -> str:
    """Return the id of the file from which a run took its items; empty if it took them from elsewhere."""
    source = run.get("data_source")
    inner = source.get("source") if isinstance(source, dict) else None
    return str(inner.get("id") or "") if isinstance(inner, dict) and inner.get("type") == "file_id" else ""


def _objects(path: Path) -> Iterator[ApiObject]:
    for file in files_of(path, _ENDINGS, below=True):
        if file.name not in (SIDE, FAILURES) and file.name.lower().endswith(_ENDINGS):
            yield from _in_file(file)


def _in_file(file: Path) -> Iterator[ApiObject]:
    if file.name.lower().endswith(".jsonl"):
        for number, line in numbered_lines(text_chunks(file)):
            if line.strip():
                data = parse_json(line, str(file), number)
                yield ApiObject(_object(data, f"{file}:{number}"), f"{file}:{number}", file)
        return
    small = file.stat().st_size <= _PLACED
    document = load_document(file) if small else None
    data = document.data if document is not None else parse_json(read_text(file), str(file))
    where: DataPath = ("data",) if _is_page(data) else ()
    holder = data["data"] if where else data
    for number, item in enumerate(holder if isinstance(holder, list) else [holder]):
        at = (*where, number) if isinstance(holder, list) else where
        place = str(file) if document is None else document.place_of(at)
        yield ApiObject(_object(item, place), place, file, document, at)


def _is_page(data: Any) -> bool:
    return isinstance(data, dict) and data.get("object") == "list" and isinstance(data.get("data"), list)


def _object(data: Any, place: str) -> Data:
    if not isinstance(data, dict):
        raise PlacedError(place, "is not an object of the evals API.")
    return data
