"""The words that each picture is there to show, as its alternative text promises, and how to read them from the files.

A screenshot carries the text of its page in a chunk of the file, so that a test can look for words in it as in a drawing.
"""

import html
import re
import struct
import zlib

WORDS = {
    "rag.svg": (
        "context_relevance", "context_sufficiency", "answer_relevance", "answer_correctness", "answer_hallucination",
        "95 % interval", "worst cases", "not in contexts",
        "similarity measures",
        "Not validated on your data",
    ),
    "compare.svg": ("worse", "pass rate fell", "10 cases regressed", "before", "now", "passed, fails now"),
    "run-light.png": ("failed", "contains", "interval", "worse"),
    "run-dark.png": ("failed", "contains", "interval", "worse"),
    "compare-light.png": ("worse", "contains", "pass rate", "before", "now"),
    "compare-dark.png": ("worse", "contains", "pass rate", "before", "now"),
    "case.png": ("expected", "contexts", "hallucination"),
    "grid.png": ("passed", "regressed", "pass rate", "worse"),
    "label.png": ("Output", "comment"),
}  # fmt: skip
SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"Description\0"


def missing_words(name: str, text: str) -> list[str]:
    """The words that a picture should show and does not.

    >>> missing_words("label.png", "Output 3 of 12")
    ['comment']
    """
    plain = " ".join(text.split()).casefold()
    return [word for word in WORDS[name] if word.casefold() not in plain]


def words_of_svg(picture: str) -> str:
    """The text of a drawing, line by line."""
    lines = re.findall(r"<text[^>]*>(.*?)</text>", picture, re.DOTALL)
    return html.unescape("\n".join(lines)).replace("\xa0", " ")


def with_words(picture: bytes, text: str) -> bytes:
    """A PNG file that carries the text it shows in an `iTXt` chunk."""
    body = b"iTXt" + KEYWORD + b"\1\0\0\0" + zlib.compress(text.encode("utf-8"), 9)
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = picture.rindex(b"IEND") - 4
    return picture[:end] + chunk + picture[end:]


def words_of_png(picture: bytes) -> str:
    """The text that a PNG file carries, empty where it carries none."""
    for kind, body in chunks(picture):
        if kind == b"iTXt" and body.startswith(KEYWORD):
            return zlib.decompress(body[len(KEYWORD) + 4 :]).decode("utf-8")
    return ""


def rows_of_png(picture: bytes) -> list[bytes]:
    """The rows of pixels of a PNG file, as they are filtered and without their filter's number."""
    header = dict(chunks(picture))[b"IHDR"]
    width, _, depth, colours = struct.unpack(">IIBB", header[:10])
    wide = 1 + width * depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colours] // 8
    pixels = zlib.decompress(b"".join(body for kind, body in chunks(picture) if kind == b"IDAT"))
    return [pixels[start + 1 : start + wide] for start in range(0, len(pixels), wide)]


def chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    """The kind and body of each chunk of a PNG file."""
    found, at = [], len(SIGNATURE)
    while at < len(picture):
        (size,) = struct.unpack(">I", picture[at : at + 4])
        found.append((picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]))
        at += size + 12
    return found
