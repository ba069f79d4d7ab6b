"""IMPORT.md: what became of each part of the files of another tool."""

import hashlib
import re
from collections.abc import Iterator

from evalmark.core.text import count
from evalmark.interop.shared.import_result import ImportedPart, ImportResult, PartOutcome

from .markdown import markdown_text

REPORT = "IMPORT.md"
FILE_ROW = r"^\| `([^`\n]+)` \| `([0-9a-f]{64})` \|$"
"""A row of the table of files: the name, and the SHA-256 of the content."""
_MOST = 20
"""Most parts with the same outcome that are named."""
_SECTIONS: tuple[tuple[PartOutcome, str, str], ...] = (
    ("left out", "Left out", "why"),
    ("changed", "Changed", "how it differs"),
    ("kept", "Kept", "what it is in evalmark"),
    ("no effect", "Left out without effect on requests and scores", "why"),
)


def import_markdown(imported: ImportResult, source: tuple[str, str]) -> str:
    """Write the report of an import.

    Args:
        imported: the result of the import.
        source: the format, and the path that was imported.
    """
    text = "".join(_lines(imported, source))
    return f"{text}| `{REPORT}` | `{report_hash(text)}` |\n"


def report_hash(text: str) -> str:
    """Return the hash of a report without the row that has this hash."""
    row = rf"^\| `{re.escape(REPORT)}` \| `[0-9a-f]{{64}}` \|\n"
    return hashlib.sha256(re.sub(row, "", text, flags=re.MULTILINE).encode()).hexdigest()


def _lines(imported: ImportResult, source: tuple[str, str]) -> Iterator[str]:
    format_name, path = source
    yield f"# Imported from {format_name}\n\n"
    numbers = {outcome: sum(p.number for p in imported.parts if p.outcome == outcome) for outcome, _, _ in _SECTIONS}
    counted = ", ".join(f"{numbers[outcome]:,} {outcome}" for outcome in ("kept", "changed", "left out"))
    yield f"From {markdown_text(path)}: {count(sum(numbers.values()), 'part')}, of these {counted}.\n\n"
    for outcome, heading, column in _SECTIONS:
        yield from _table(heading, column, [part for part in imported.parts if part.outcome == outcome])
    if imported.remarks:
        yield "## Remarks\n\n" + "".join(f"- {markdown_text(remark)}\n" for remark in imported.remarks) + "\n"
    yield "## Files\n\n`evalmark import … --update` replaces these files as long as they have this content.\n\n"
    yield "| file | SHA-256 |\n|:--|:--|\n"
    for name, text in sorted(imported.files.items()):
        yield f"| `{name}` | `{hashlib.sha256(text.encode()).hexdigest()}` |\n"


def _table(heading: str, column: str, parts: list[ImportedPart]) -> Iterator[str]:
    if not parts:
        return
    yield f"## {heading}\n\n| part | {column} |\n|:--|:--|\n"
    for part in parts:
        names = "<br>".join(map(markdown_text, (part.name, *part.others[: _MOST - 1])))
        more = f"<br>and {part.number - _MOST:,} more" if part.number > _MOST else ""
        yield f"| {names}{more} | {markdown_text(part.to)} |\n"
    yield "\n"
