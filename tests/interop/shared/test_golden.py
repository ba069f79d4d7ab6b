"""Every file of every export of one run, compared with files a reviewer can read.

To write them anew after a change that is meant: `EVALMARK_WRITE_GOLDEN=1 pytest tests/interop/shared/test_golden.py`.
"""

import os
from pathlib import Path

import pytest

from .carried import CARRIED, FORMATS, laid_out

GOLDEN = Path(__file__).parent / "golden"
EXPORTED = {name: write(CARRIED) for name, (write, _) in FORMATS.items()}
TEXTS = {
    **{f"{name}/{file}": text for name, exported in EXPORTED.items() for file, text in exported.files.items()},
    **{f"{name}/remarks.txt": "".join(f"{said}\n" for said in exported.remarks) for name, exported in EXPORTED.items()},
}


def moved(name: str, folder: Path) -> dict[str, str]:
    """The suite that an export is read as, and what became of its parts."""
    out = laid_out(folder, EXPORTED[name].files)
    imported = FORMATS[name][1](out)
    told = [
        f"{part.outcome}: {name}: {part.to}\n".replace(f"{out}/", "")
        for part in imported.parts
        for name in (part.name, *part.others)
    ]
    return {**imported.files, "parts.txt": "".join(told)}


@pytest.mark.parametrize("name", TEXTS)
def test_a_file_is_its_golden_file(name):
    compare(GOLDEN / name, TEXTS[name])


@pytest.mark.parametrize("name", FORMATS)
def test_a_suite_that_was_moved_is_its_golden_files(name, tmp_path):
    files = moved(name, tmp_path)
    for file, text in files.items():
        compare(GOLDEN / name / "moved" / file, text)
    folder = GOLDEN / name / "moved"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == set(files)


def compare(path: Path, text: str) -> None:
    found = text.encode("utf-8", "backslashreplace")
    if os.environ.get("EVALMARK_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(found)
    assert found.decode() == path.read_bytes().decode()


def test_no_golden_file_is_left_over():
    there = {
        str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file() and "moved" not in path.parts
    }
    assert there == set(TEXTS)
