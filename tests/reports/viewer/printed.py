"""What stands in a PDF that Chromium has printed; enough of the format for that, and no more."""

import re
import zlib
from collections.abc import Iterator

_BEGUN = re.compile(rb"(\d+) 0 obj\s(.*?)(stream\r?\n|endobj)", re.DOTALL)
_LENGTH = re.compile(rb"/Length (\d+)\b(?! \d+ R)")
_SHOWN = re.compile(rb"/(F\d+) [\d.]+ Tf|<([0-9A-F]+)> Tj")


def pages_of(pdf: bytes) -> list[str]:
    """The text of each page without any blanks, since a PDF has places instead."""
    objects = {number: (head, data) for number, head, data in _objects(pdf)}

    def stream(number: bytes) -> bytes:
        head, data = objects[int(number)]
        return zlib.decompress(data) if b"/FlateDecode" in head else data

    letters = {
        b"%d" % number: _letters(stream(found[1]))
        for number, (head, _) in objects.items()
        if (found := re.search(rb"/ToUnicode (\d+) 0 R", head))
    }
    made = [head for head, _ in objects.values() if re.search(rb"/Type /Page\b", head)]
    return [_text(head, stream(re.search(rb"/Contents (\d+) 0 R", head)[1]), letters) for head in made]


def _objects(pdf: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, head and data of each; data is as long as its head says, since any bytes may stand in it."""
    at = 0
    while found := _BEGUN.search(pdf, at):
        at = found.end()
        size = 0 if found[3] == b"endobj" else int(_LENGTH.search(found[2])[1])
        yield int(found[1]), found[2], pdf[at : at + size]
        at += size


def _text(head: bytes, content: bytes, letters: dict[bytes, dict[int, str]]) -> str:
    fonts = {name: letters[number] for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", head)}
    font: dict[int, str] = {}
    said = []
    for name, glyphs in _SHOWN.findall(content):
        font = fonts[name] if name else font
        said += [font.get(int(glyphs[at : at + 4], 16), "?") for at in range(0, len(glyphs), 4)]
    return "".join("".join(said).split())


def _letters(table: bytes) -> dict[int, str]:
    """Which letter a glyph of a font is."""
    found = {int(glyph, 16): _letter(code) for glyph, code in re.findall(rb"\n<(\w+)> <(\w+)>(?=\n)", table)}
    for first, last, code in re.findall(rb"\n<(\w+)> <(\w+)> <(\w+)>", table):
        start = int(code, 16)
        found |= {glyph: chr(start + n) for n, glyph in enumerate(range(int(first, 16), int(last, 16) + 1))}
    return found


def _letter(code: bytes) -> str:
    return bytes.fromhex(code.decode()).decode("utf-16-be")
