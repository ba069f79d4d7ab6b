"""kill -9 and a full disk at every write of an import, and of a file of labels: all of it is there, or nothing."""

import json
import os
import random
import subprocess
import sys

import pytest

from evalmark.store import open_store

from . import killing
from .killing import HOWS

pytestmark = pytest.mark.slow

RUNS, RESULTS = 2, 30


def results(number):
    """What promptfoo has written of one eval."""
    rows = [
        {
            "promptIdx": 0,
            "testIdx": place,
            "vars": {"question": f"{number}-{place}"},
            "provider": {"id": "echo"},
            "prompt": {"raw": f"Say {place}", "label": "Say {{question}}"},
            "response": {"output": f"{place}"},
            "success": True,
            "score": 1,
            "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed", "componentResults": []},
        }
        for place in range(RESULTS)
    ]
    return {"evalId": f"eval-{number}", "results": {"version": 3, "results": rows}, "config": {}}


@pytest.fixture(scope="module")
def imports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for number in range(RUNS):
        (folder / f"{number}.json").write_text(json.dumps(results(number)), encoding="utf-8")
    (folder / "words").write_text("import promptfoo 0.json 1.json", encoding="utf-8")
    return lambda how, points: killing.attempts("killed_import", folder, how, points)


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    (folder / "0.json").write_text(json.dumps(results(0)), encoding="utf-8")
    command = [sys.executable, "-m", "evalmark", "import", "promptfoo", "0.json", "--store", "kept.db"]
    subprocess.run(command, cwd=folder, env=os.environ, check=True, capture_output=True)
    with open_store(folder / "kept.db") as store:
        cases = [result.trial.case.id for result in store.run("last").results]
    rows = [{"id": "last", "case": case, "label": "up", "by": "ann"} for case in cases]
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "words").write_text("note --file labels.jsonl", encoding="utf-8")
    return lambda how, points: killing.attempts("killed_import", folder, how, points)


ALL_RUNS = [["complete", RESULTS]] * RUNS


def points(whole, how, number):
    return random.Random(f"import {how}").sample(range(1, whole["changes"] + 1), number)  # noqa: S311  seeded


@pytest.fixture(scope="module")
def whole(imports):
    """The same import, never killed."""
    (found,) = imports("before", ["none"])
    assert (found["first"], found["after_first"][0]) == (0, ALL_RUNS), found
    return found


@pytest.fixture(scope="module")
def whole_labels(labels):
    """The same labels, never killed."""
    (found,) = labels("before", ["none"])
    assert (found["first"], found["after_first"][1]) == (0, RESULTS), found
    return found


def check_import(found, first):
    assert found["first"] == first, found
    runs, _ = found["after_first"]
    assert runs in ([], ALL_RUNS), found["point"]
    assert (found["second"], found["after_second"][0]) == (0, [*runs, *ALL_RUNS]), found


def check_labels(found, first):
    assert found["first"] == first, found
    assert found["after_first"][1] in (0, RESULTS), found["point"]
    assert (found["second"], found["after_second"]) == (0, [ALL_RUNS[:1], RESULTS]), found


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_of_an_import_leaves_all_of_it_or_nothing(imports, whole, how):
    for found in imports(how, points(whole, how, 2)):
        check_import(found, -9)


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_of_an_import_leaves_all_of_it_or_nothing(imports, whole, how):
    found = imports(how, range(1, whole["changes"] + 1))
    for one in found:
        check_import(one, -9)
    assert {len(one["after_first"][0]) for one in found} == {0, RUNS}


@pytest.mark.parametrize("how", HOWS)
def test_a_file_of_labels_whose_reading_was_killed_is_read_again_and_kept_once(labels, whole_labels, how):
    for found in labels(how, points(whole_labels, how, 2)):
        check_labels(found, -9)


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_of_labels_keeps_each_of_them_once(labels, whole_labels, how):
    for found in labels(how, range(1, whole_labels["changes"] + 1)):
        check_labels(found, -9)
