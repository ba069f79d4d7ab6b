"""A run as a dataset folder of Hugging Face."""

import json

import pytest
import yaml

from evalmark.interop.hugging_face_exporter import DATA, to_hugging_face
from evalmark.interop.shared.export_run import ExportRun
from tests.reports.text.example import RUN


def test_each_output_is_a_row_and_every_row_has_the_same_columns():
    rows = [json.loads(line) for line in to_hugging_face(ExportRun(run=RUN)).files[DATA].splitlines()]
    assert len(rows) == len(list(RUN.results))
    assert len({tuple(row) for row in rows}) == 1
    for row, result in zip(rows, RUN.results, strict=True):
        assert (row["id"], row["verdict"]) == (result.trial.case.id.encode(errors="replace").decode(), result.verdict)
        assert (row["output"] is None) is (result.output.error is not None)
        for score in result.scores:
            assert row[f"score_{score.name}"] == score.value


def test_the_card_names_the_file_and_its_split():
    text = to_hugging_face(ExportRun(run=RUN)).files["README.md"]
    card = yaml.safe_load(text.split("---")[1])
    assert card["configs"][0]["data_files"] == [{"split": "results", "path": DATA}]


def test_the_library_reads_the_folder(tmp_path):
    datasets = pytest.importorskip("datasets")
    for name, text in to_hugging_face(ExportRun(run=RUN)).files.items():
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_text(text, encoding="utf-8")
    read = datasets.load_dataset(str(tmp_path / "out"), split="results", cache_dir=str(tmp_path / "cache"))
    assert read.num_rows == len(list(RUN.results))
