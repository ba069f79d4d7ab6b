"""Files of any size need little memory, and any bytes at all are rows or faults."""

import gzip
import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark import Case
from evalmark.errors import DataError
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import READERS, check_cases, read_cases
from evalmark.inputs.documents.json_stream import JsonStream
from tests.conftest import PEAK, needs_proc


def outcome(read):
    """What a reader gives, or the text of its refusal."""
    try:
        return read(), ""
    except DataError as error:
        return None, str(error)


ROW = {"id": 0, "question": "What is it?", "reference": "It is it.", "contexts": ["passage " * 60, "passage " * 60]}
COUNT = 30_000


def write_jsonl(file):
    for n in range(COUNT):
        file.write(json.dumps(ROW | {"id": n}) + "\n")


def write_json(file):
    file.write("[")
    for n in range(COUNT):
        file.write((",\n " if n else "") + json.dumps(ROW | {"id": n}))
    file.write("]")


def write_json_on_one_line(file):
    file.write("[" + ", ".join(json.dumps(ROW | {"id": n}) for n in range(COUNT)) + "]")


def write_wrapped(file):
    file.write('{"name": "x", "data": ')
    write_json(file)
    file.write(', "config": {"example_outputs": false}}')


def write_csv(file):
    file.write("id,question,reference,contexts\n")
    cell = json.dumps(ROW["contexts"]).replace('"', '""')
    for n in range(COUNT):
        file.write(f'{n},What is it?,It is it.,"{cell}"\n')


CHILD = f"""import sys
from pathlib import Path
{PEAK}
from evalmark.inputs.datasets.options import BadRow
from evalmark.inputs.datasets.reader import read_cases
before, count = peak(), 0
for row in read_cases(Path(sys.argv[1])):
    assert not isinstance(row, BadRow), row
    count += 1
print(count, before, peak())
"""


@needs_proc
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.jsonl", write_jsonl),
        pytest.param("x.json", write_json, marks=pytest.mark.slow),
        pytest.param("one-line.json", write_json_on_one_line, marks=pytest.mark.slow),
        ("wrapped.json", write_wrapped),
        ("x.csv", write_csv),
    ],
)
def test_thirty_megabytes_need_a_few(world, name, write):
    path = world / name
    with path.open("w") as file:
        write(file)
    assert path.stat().st_size > 25 << 20
    found = subprocess.run([sys.executable, "-c", CHILD, path], capture_output=True, text=True, check=True)
    count, before, peak = map(int, found.stdout.split())
    assert count == COUNT
    assert peak - before < 16


@needs_proc
def test_a_bomb_in_a_gz_file_is_a_fault_and_needs_little_memory(world):
    path = world / "x.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(b" " * (1 << 20))
        file.write(b'\n{"input": "a"}\n')
    code = CHILD.replace("assert not isinstance(row, BadRow), row", "pass")
    found = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    count, before, peak = map(int, found.stdout.split())
    assert (count, peak - before < 160) == (2, True)


def test_the_first_case_comes_before_the_file_is_read():
    def endless():
        yield "["
        while True:
            yield '{"input": "a"},'

    stream = JsonStream(endless(), "x.json")
    assert next(stream.items()).value == {"input": "a"}


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(READERS)),
    st.binary(max_size=80) | st.text(st.sampled_from('[]{}",:;input id\n\r\t- &*!|0189.eNaN\0é\ud800'), max_size=80),
    st.booleans(),
)
def test_any_bytes_are_cases_faults_or_a_refusal(tmp_path_factory, name, content, packed):
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    path = tmp_path_factory.mktemp("any") / (f"x.{name}.gz" if packed and name != "parquet" else f"x.{name}")
    path.write_bytes(gzip.compress(content) if packed else content)
    found, error = outcome(lambda: list(read_cases(path)))
    if error:
        assert check_cases(path) == [error]
    else:
        assert all(isinstance(row, (Case, BadRow)) and row.place.startswith(str(path)) for row in found)
        assert len(check_cases(path)) == sum(isinstance(row, BadRow) for row in found)


@given(st.lists(st.integers(0, 200), max_size=6), st.binary(min_size=1, max_size=3))
def test_a_good_file_with_damage_is_cases_faults_or_a_refusal(tmp_path_factory, places, damage):
    good = json.dumps([ROW | {"id": n, "contexts": ["é"]} for n in range(2)], indent=1, ensure_ascii=False).encode()
    for place in places:
        good = good[:place] + damage + good[place:]
    path = tmp_path_factory.mktemp("damaged") / "x.json"
    path.write_bytes(good)
    found, error = outcome(lambda: list(read_cases(path)))
    assert error.startswith(str(path)) if error else all(isinstance(row, (Case, BadRow)) for row in found)
