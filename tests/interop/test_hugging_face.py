"""Datasets of Hugging Face as cases: which column becomes what, and addresses that are wrong."""

import json
from pathlib import Path

import pytest

from evalmark.errors import ConfigError, DataError
from evalmark.inputs.datasets.reader import read_cases
from evalmark.interop.hugging_face import cases_of, import_hugging_face, parse_address

QUESTION = {"input": "question", "expected": "answers"}


@pytest.mark.parametrize(
    ("row", "columns", "case"),
    [
        pytest.param(
            {"question": "q?", "answers": {"text": ["a", "b"], "answer_start": [1, 2]}},
            QUESTION,
            {"input": "q?", "expected": "a"},
            id="answers as SQuAD has them: the first",
        ),
        pytest.param({"question": "q?", "answers": {"text": []}}, QUESTION, {"input": "q?"}, id="no answer"),
        pytest.param(
            {"question": "q?", "answers": "a", "more": float("nan"), "n": 3},
            QUESTION,
            {"input": "q?", "expected": "a", "metadata": {"more": None, "n": 3}},
            id="further columns",
        ),
        pytest.param(
            {"question": "q?", "context": "one text"},
            {"input": "question", "contexts": "context"},
            {"input": "q?", "contexts": ["one text"]},
            id="a single context",
        ),
        pytest.param(
            {"question": "q?", "context": {"title": ["a"]}},
            {"input": "question", "contexts": "context"},
            {"input": "q?", "metadata": {"context": {"title": ["a"]}}},
            id="a context that is no text",
        ),
        pytest.param(
            {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]},
            {"input": "messages"},
            {"input": "u", "expected": "a", "history": [{"role": "system", "content": "s"}]},
            id="a conversation",
        ),
        pytest.param({"text": "t", "label": 1}, {"input": "text", "expected": "label"}, {"input": "t", "expected": "good"}, id="a class"),
        pytest.param({"text": "t", "label": -1}, {"input": "text", "expected": "label"}, {"input": "t", "expected": -1}, id="no class"),
        pytest.param({"text": "t", "image": b"\xff"}, {"input": "text"}, {"input": "t"}, id="an image"),
    ],
)  # fmt: skip
def test_a_row_becomes_a_case(row, columns, case):
    (found,) = cases_of([row], columns, {"label": ["bad", "good"]}, ["image"])
    assert found.pop("id")
    assert found == case


def test_equal_rows_keep_ids_of_their_own():
    rows = [{"question": "q?"}, {"question": "q?"}]
    assert len({case["id"] for case in cases_of(rows, {"input": "question"}, {}, [])}) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("owner/name", "write hf:OWNER/NAME"),
        ("hf:", "write hf:OWNER/NAME"),
        ("hf:a/b?part=x", "part=x is no option"),
        ("hf:a/b?split=", "split= is no option"),
    ],
)
def test_a_wrong_address_is_named(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_address(text)


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("datasets")
    rows = [{"question": f"{n}?", "answer": str(n), "level": n} for n in range(20)]
    (tmp_path / "test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def test_a_folder_becomes_a_file_of_cases(folder):
    imported = import_hugging_face(Path(f"hf:{folder}?limit=5"))
    (folder / "cases.jsonl").write_text(imported.files["cases.jsonl"])
    cases = list(read_cases(folder / "cases.jsonl"))
    assert [(case.input, case.expected) for case in cases] == [(f"{n}?", str(n)) for n in range(5)]
    assert {(part.name, part.to) for part in imported.parts} >= {("question", "input"), ("answer", "expected")}


def test_a_column_or_split_that_is_not_there_is_named(folder):
    with pytest.raises(ConfigError, match="has no column 'nope'; its columns are question, answer, level"):
        import_hugging_face(Path(f"hf:{folder}?input=nope"))
    with pytest.raises(DataError, match="cannot be opened"):
        import_hugging_face(Path(f"hf:{folder}?split=dev"))
    assert import_hugging_face(Path(f"hf:{folder}?input=answer&limit=1")).parts[1].to == "input"
