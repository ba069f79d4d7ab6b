"""The lock file: stable text, read back strictly."""

import json
from dataclasses import replace

import pytest

from evalmark.core.values.run import Metric
from evalmark.errors import ConfigError
from evalmark.stats.calibration.evidence import LabelEvidence, LabelledOutput
from evalmark.stats.calibration.label_drift import label_changes, metric_changes
from evalmark.stats.calibration.lock_file import LockFile, lock_entries
from evalmark.stats.calibration.lock_reader import read_lock

from .test_threshold_calibration import learned, spread

CREATED = "2026-11-22T12:00:00Z"


@pytest.fixture(scope="module")
def entry():
    (found,) = lock_entries(learned(*spread(70, 40)), CREATED, "0.1.0")
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "evalmark.lock.json"


def test_a_lock_file_comes_back_as_it_was(entry, path):
    lock = LockFile(metrics={"m": entry, "a": replace(entry, metric="a", auc=None)}, path=str(path))
    path.write_text(lock.text, encoding="utf-8")
    assert read_lock(path) == lock
    assert read_lock(path).text == lock.text
    assert list(json.loads(lock.text)["metrics"]) == ["a", "m"]
    assert lock.text.endswith("}\n")


def test_entries_are_put_beside_others_and_in_the_place_of_their_own(entry):
    lock = LockFile(metrics={"m": entry, "a": replace(entry, metric="a")})
    after = lock.merged([replace(entry, threshold=0.2)])
    assert (after.metrics["m"].threshold, after.metrics["a"]) == (0.2, lock.metrics["a"])
    assert LockFile(metrics={}).merged([entry]).text == LockFile(metrics={}).merged([entry]).text


def test_nothing_is_locked_that_is_not_promised():
    with pytest.raises(ValueError, match="no threshold meets the bound"):
        lock_entries(learned(*spread(3, 3)), CREATED, "0.1.0")


def test_an_entry_says_what_it_rests_on(entry):
    assert (entry.labels.liked, entry.labels.disliked, entry.labels.total) == (40, 70, 110)
    assert (entry.version, entry.embedder, entry.direction) == ("v1", "e", "higher")
    assert entry.bound <= entry.max_false_pass == 0.05


BROKEN = [
    pytest.param("", "is empty", id="nothing"),
    pytest.param("{", "evalmark calibrate writes one", id="half a file"),
    pytest.param("[]", "this is no lock file of evalmark", id="a list"),
    pytest.param('{"lockfileVersion": 3}', "this is no lock file of evalmark", id="another tool's"),
    pytest.param('{"evalmark_lock": 2, "metrics": {}}', "a newer evalmark has written this lock file", id="newer"),
    pytest.param('{"evalmark_lock": "1", "metrics": {}}', "which is no version of a lock file", id="no version"),
    pytest.param('{"evalmark_lock": true, "metrics": {}}', "which is no version of a lock file", id="a truth value"),
    pytest.param('{"evalmark_lock": 1}', "`metrics` is missing", id="no metrics"),
    pytest.param('{"evalmark_lock": 1, "metrics": {}, "x": 1}', "`x` is no field of a lock file", id="a further field"),
    pytest.param('{"evalmark_lock": 1, "metrics": {"m": 3}}', "`metrics.m` is 3, not a mapping", id="no entry"),
    pytest.param('{"evalmark_lock": 1, "metrics": {"m": {}}}', "`metrics.m.threshold` is missing", id="an empty entry"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_what_is_no_lock_file_is_refused_with_its_place(path, text, said):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_lock(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("threshold", 1.2, "`metrics.m.threshold` is 1.2, not a number from 0 to 1"),
        pytest.param("threshold", 10**400, "`metrics.m.threshold` is 1000000", id="beyond double precision"),
        ("bound", 0.9, "`metrics.m.bound` is 0.9, more than `max_false_pass`"),
        ("threshold", True, "`metrics.m.threshold` is True, not a number from 0 to 1"),
        ("direction", "up", "`metrics.m.direction` is 'up', not one of higher, lower"),
        ("auc", [1, 2], "`metrics.m.auc` is [1, 2], not null, or an area"),
        ("judge", None, "`metrics.m.judge` is None, not a text"),
        ("labels", 3, "`metrics.m.labels` is 3, not a mapping"),
        ("more", 3, "`metrics.m.more` is no field of a lock file"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_its_line(entry, path, field, value, said):
    data = json.loads(LockFile(metrics={"m": entry}).text)
    data["metrics"]["m"][field] = value
    path.write_text(json.dumps(data, indent=2), encoding="utf-8")
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if f'"{field}"' in text)
    with pytest.raises(ConfigError) as refused:
        read_lock(path)
    assert str(refused.value).startswith(f"{path}:{line}: {said}")


def test_a_count_of_labels_that_is_none_is_named(entry, path):
    data = json.loads(LockFile(metrics={"m": entry}).text)
    data["metrics"]["m"]["labels"] |= {"liked": -1, "kind": "guess"}
    path.write_text(json.dumps(data, indent=2), encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        read_lock(path)
    assert "`metrics.m.labels.liked` is -1, not a whole number from 0 on" in str(refused.value)
    assert "`metrics.m.labels.kind` is 'guess', not one of project, run, file" in str(refused.value)


def test_a_file_that_is_not_there_says_how_to_make_one(path):
    with pytest.raises(ConfigError, match="there is no such lock file; evalmark calibrate writes one"):
        read_lock(path)


@pytest.mark.parametrize(
    ("metric", "embedder", "said"),
    [
        pytest.param({}, "e", [], id="nothing has changed"),
        pytest.param({"version": "v2"}, "e", ["before a change of the metric's code or settings"], id="the metric"),
        pytest.param({}, "f", ["with another embedding model"], id="the embedder"),
        pytest.param({}, "", [], id="no embedder"),
        pytest.param({}, "local:e:int8", ["with another embedding model"], id="another model in another mode"),
        pytest.param({"judge": "a/x"}, "e", ["with no judge, and the judge is now a/x"], id="the judge"),
        pytest.param({"judge": "a/x", "version": "v2"}, "f", ["judge is now", "judge's prompt", "embedding"], id="all"),
    ],
)
def test_what_has_changed_is_one_sentence_each(entry, metric, embedder, said):
    found = list(
        metric_changes(entry, Metric(**({"name": "m", "version": "v1"} | metric)), embedder, "evalmark.lock.json")
    )
    assert len(found) == len(said)
    for sentence, part in zip(found, said, strict=True):
        assert part in sentence
        assert sentence.startswith("Warning: evalmark.lock.json: the threshold of m")


def test_another_mode_of_the_same_embedding_model_is_said_as_such(entry):
    learned_so = replace(entry, embedder="local:e")
    (said,) = metric_changes(learned_so, Metric(name="m", version="v1"), "local:e:int8", "evalmark.lock.json")
    assert "was learned with the embedding model in exact mode, which is now in int8 mode; evalmark" in said


def test_more_labels_and_other_labels_are_said_and_fewer_are_not(entry):
    evidence = learned(*spread(70, 40)).evidence
    assert label_changes(entry, evidence, "x") is None
    more = LabelEvidence(labelled=(*evidence.labelled, LabelledOutput(key="n", cluster="n", content="n", liked=True)))
    assert "from 110 labelled outputs of run r1, and there are 111 now" in label_changes(entry, more, "x")
    turned = LabelEvidence(labelled=(replace(evidence.labelled[0], liked=True), *evidence.labelled[1:]))
    assert "what people say of them has changed" in label_changes(entry, turned, "x")
    assert label_changes(entry, LabelEvidence(labelled=evidence.labelled[:5]), "x") is None
