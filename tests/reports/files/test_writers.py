"""A file's ending says which report it gets."""

import subprocess
import sys
from dataclasses import replace

import pytest

from evalmark.core.values.run import DatasetInfo
from evalmark.errors import ConfigError
from evalmark.reports.files.writers import WRITERS, writer_for
from tests.reports.text.example import RUN, two_thresholds


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("out.json", "as_json", id="JSON"),
        pytest.param("a.b/out.jsonl", "as_jsonl", id="a folder with a dot"),
        pytest.param("OUT.CSV", "as_csv", id="capitals"),
        pytest.param("out.md", "as_markdown", id="Markdown"),
        pytest.param("out.html", "as_html", id="HTML"),
        pytest.param("out.junit.xml", "as_junit", id="JUnit"),
        pytest.param("results.xml", "as_junit", id="any XML is JUnit"),
    ],
)
def test_the_ending_decides(path, name):
    assert writer_for(path).__name__ == name


@pytest.mark.parametrize("path", ["out.txt", "out", "json", "out.json.bak", ""])
def test_other_endings_are_refused_with_those_known(path):
    with pytest.raises(
        ConfigError, match=r"no report has this file extension. Use one of .json .jsonl .csv .md .html .junit.xml .xml"
    ):
        writer_for(path)


def test_the_endings_cannot_be_changed():
    with pytest.raises(TypeError):
        WRITERS[".txt"] = None


def test_importing_the_reports_loads_nothing_heavy():
    code = "import sys, evalmark.reports.files.writers, evalmark.reports.text.numbers; sys.exit(bool({'rich', 'numpy', 'scipy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_where_there_are_several_datasets_a_case_names_its_own():
    both = replace(RUN, datasets=(DatasetInfo(name="questions"), DatasetInfo(name="lakes")))
    assert "<bdi>q4 (questions)</bdi>" in "".join(WRITERS[".html"](both))
    assert "<summary>q4 (questions) (fail)" in "".join(WRITERS[".md"](both))


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        pytest.param(".md", "- m: 0.500 &lt; 0.75", id="Markdown"),
        pytest.param(".html", '<dt>m<dd class="fail"><b>0.500 &lt; 0.75</b>', id="HTML"),
        pytest.param(".junit.xml", "m: 0.500 &lt; 0.75.", id="JUnit"),
        pytest.param(".csv", "single,harsh", id="CSV, with the judge of its own"),
        pytest.param(".json", '"threshold":0.75,"scored":1', id="JSON"),
    ],
)
def test_a_dataset_with_a_metric_of_its_own_is_told_by_that_one(ending, said):
    text = "".join(WRITERS[ending](two_thresholds()))
    assert said in text
    assert "0.500 &lt; 0.25" not in text
