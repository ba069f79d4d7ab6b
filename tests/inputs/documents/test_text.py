"""Bytes become text exactly, or the byte at fault is named."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.errors import DataError
from evalmark.inputs.documents.text import first_character, read_text, text_chunks

from .test_strict_json import outcome


def written(folder, content, name="x.txt"):
    path = folder / name
    path.write_bytes(content)
    return path


def test_utf8_with_and_without_a_byte_order_mark(world):
    assert read_text(written(world, "é€𝄞".encode())) == "é€𝄞"
    assert read_text(written(world, "\ufeffid,\ufeff".encode())) == "id,\ufeff"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("a\ncafé, naïve".encode("cp1252"), "x.txt:2: byte 0xE9 at column 4 is not UTF-8; the file looks like cp1252", id="Western European"),
        pytest.param(b"a\n\n  \xe9", "x.txt:3: byte 0xE9 at column 3", id="a lone byte"),
        pytest.param("ab".encode("utf-16"), "x.txt:1: the file looks like utf-16. Save it as UTF-8; for a dataset, `encoding: utf-16` beside its `path` works too.", id="UTF-16"),
        pytest.param("id,input\n".encode("utf-16-le"), "looks like utf-16-le", id="UTF-16, no mark, little end first"),
        pytest.param("id,input\n".encode("utf-16-be"), "looks like utf-16-be", id="UTF-16, no mark, big end first"),
        pytest.param(b"ab\xed\xa0\x80", "x.txt:1: byte 0xED at column 3", id="a surrogate spelled in UTF-8"),
        pytest.param(b"ok \xc0\xaf", "byte 0xC0 at column 4", id="a slash in two bytes"),
        pytest.param(b"ok \x81\xff", "byte 0x81 at column 4 is not UTF-8. Save the file as UTF-8", id="bytes of no usual encoding"),
        pytest.param("ok\n€".encode()[:-1], "x.txt:2: byte 0xE2 at column 1 begins a character that is not finished", id="cut off in a character"),
        pytest.param(gzip.compress(b"a"), "x.txt: is compressed with gzip; add .gz", id="gzip under another name"),
        pytest.param(b"PK\x03\x04....", "x.txt: is a zip archive (an Excel workbook, perhaps)", id="a workbook"),
        pytest.param(b"PAR1....", "x.txt: is a Parquet file", id="Parquet under another name"),
    ],
)  # fmt: skip
def test_what_is_not_utf8_is_named_with_line_and_byte(world, content, said):
    with pytest.raises(DataError) as error:
        read_text(written(world, content))
    assert said in str(error.value)


def test_the_line_counts_across_pieces(world):
    path = written(world, b"x" * 1_500_000 + b"\n" + b"y" * 1_000_000 + b"\xff")
    with pytest.raises(DataError, match=r"x\.txt:2: byte 0xFF at column 1000001 "):
        list(text_chunks(path))


def test_a_character_may_lie_across_two_pieces(world):
    text = "x" * ((1 << 20) - 1) + "€"
    assert "".join(text_chunks(written(world, text.encode()))) == text


@given(st.text(st.characters(codec="cp1252")))
def test_a_named_encoding_is_used(tmp_path_factory, text):
    path = written(tmp_path_factory.mktemp("text"), text.encode("cp1252"))
    assert outcome(lambda: read_text(path, "windows-1252"))[0] == text


def test_utf16_is_read_when_named(world):
    assert read_text(written(world, "é€".encode("utf-16")), "utf-16") == "é€"
    assert read_text(written(world, "\ufeffé".encode("utf-16-be")), "utf-16-be") == "é"


def test_a_byte_that_the_named_encoding_does_not_know(world):
    with pytest.raises(DataError, match="byte 0x81 at column 2 is not cp1252; name another encoding"):
        read_text(written(world, b"a\x81"), "cp1252")


@pytest.mark.parametrize("name", ["utf-99", "rot13", "base64", "../x", ""])
def test_an_encoding_must_be_one_for_text(world, name):
    with pytest.raises(DataError, match="there is no text encoding"):
        read_text(written(world, b"a"), name)


def test_gzip_is_unpacked_by_the_name(world):
    assert read_text(written(world, gzip.compress(b"abc"), "x.txt.gz")) == "abc"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(gzip.compress(b"abc" * 1000)[:-4], "the gzip data ends too early", id="cut off"),
        pytest.param(b"plain", "cannot be read: Not a gzipped file", id="not packed"),
        pytest.param(gzip.compress(bytes(range(256)) * 40)[:60] + b"\0" * 60, "x.txt.gz: cannot be read", id="damaged"),
    ],
)
def test_damaged_gzip_is_said_so(world, content, said):
    with pytest.raises(DataError) as error:
        read_text(written(world, content, "x.txt.gz"))
    assert said in str(error.value)


def test_a_gzip_bomb_is_not_read_as_one_document(world):
    with pytest.raises(DataError, match="larger than 32 MiB"):
        read_text(written(world, gzip.compress(bytes(64 << 20)[:-1].replace(b"\0", b" ")), "x.gz"))


def test_the_first_letter_tells_a_list_from_an_object(world):
    assert first_character(written(world, b" \n\t [1]")) == "["
    assert first_character(written(world, b" \n")) == ""


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_named(tmp_path_factory, content):
    path = written(tmp_path_factory.mktemp("bytes"), content)
    text, error = outcome(lambda: read_text(path))
    assert error.startswith(str(path)) if error else text == content.decode().removeprefix("\ufeff")
