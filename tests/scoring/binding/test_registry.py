"""Scorers by name, with settings that are checked before a run."""

import sys
from importlib.metadata import entry_points

import pytest

from evalmark import Similarity, scorers
from evalmark.errors import ConfigError
from evalmark.scorers import Contains, JsonSchema, Length
from evalmark.scoring.binding.negation import Not
from evalmark.scoring.binding.registry import resolve_scorer, scorer_names
from tests.scoring.builtin.asking import ask


def test_every_built_in_is_an_entry_point_of_its_own_name():
    for entry in entry_points(group="evalmark.scorers"):
        if entry.value.startswith("evalmark."):
            assert entry.load().name == entry.name
    classes = [
        found
        for n in scorers.__all__
        if isinstance(found := getattr(scorers, n), type) and "interop" not in found.__module__
    ]
    named = {getattr(found, "name", None) for found in classes}
    assert {n for n in named if isinstance(n, str)} <= set(scorer_names())


def test_a_name_and_its_settings_make_a_scorer():
    assert resolve_scorer("contains", {"any": ["a"], "ignore_case": True}) == Contains(any=["a"], ignore_case=True)
    assert resolve_scorer("similarity", {"positive": 1}) == Similarity(positive=1)
    assert resolve_scorer("length", {"max_chars": 5, "min_words": None}) == Length(max_chars=5)


def test_hyphens_are_as_good_as_underscores():
    assert resolve_scorer("is-json") == resolve_scorer("is_json")


def test_not_turns_a_check_round():
    negated = resolve_scorer("not-contains", {"any": "a"})
    assert isinstance(negated, Not)
    assert ask(negated, "b").passed is True
    assert ask(negated, "a").passed is False
    assert ask(negated, "a").name == "not-contains"
    assert ask(negated, "a").reason == "the output 'a' contains 'a'"
    assert ask(resolve_scorer("not-equals"), "b").status == "unscored"
    assert ask(resolve_scorer("not-not-is-json"), "{}").passed is True


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        pytest.param("contain", {}, "s.yaml:3: there is no scorer 'contain'. Did you mean 'contains'?", id="a typo"),
        pytest.param("edit_distance", {}, "Did you mean 'edit_similarity'?", id="a peer's name"),
        pytest.param(
            "length: {max_words: 2}",
            {},
            "there is no scorer 'length: {max_words: 2}'. Settings of 'length' are written in a suite, under `metrics`.",
            id="settings in a name",
        ),
        pytest.param("metrics/x.json", {}, "there is no scorer 'metrics/x.json'. Available: ", id="a file"),
        pytest.param("not-similarity", {}, "not-similarity: only checks such as equals", id="what is no check"),
        pytest.param(
            "contains",
            {"al": ["a"]},
            "s.yaml:3: contains: there is no setting 'al'; did you mean 'all'?",
            id="an unknown setting",
        ),
        pytest.param(
            "is-json",
            {"strict": 1},
            "there is no setting 'strict'; it knows threshold, name.",
            id="a setting of nothing",
        ),
        pytest.param("regex", {}, "s.yaml:3: regex: the setting 'pattern' is missing.", id="a missing setting"),
        pytest.param("similarity", {"embedder": "x"}, "there is no setting 'embedder'", id="no setting for files"),
        pytest.param(
            "length",
            {"max_chars": "ten"},
            "length: the setting 'max_chars' is 'ten': input should be a valid integer.",
            id="of the wrong kind",
        ),
        pytest.param("length", {"max_chars": True}, "the setting 'max_chars' is true", id="a truth value as number"),
        pytest.param("length", {"max_chars": 1.5}, "the setting 'max_chars' is 1.5", id="half a character"),
        pytest.param("equals", {"strip": "yes"}, "the setting 'strip' is 'yes'", id="text as truth value"),
        pytest.param("contains", {"any": [1]}, "the setting 'any' is [1]", id="a list of the wrong kind"),
        pytest.param("similarity", {"positive": 2}, "s.yaml:3: similarity: `positive` is 2", id="range"),
        pytest.param("regex", {"pattern": "("}, "regex: the pattern '(' cannot be read: missing )", id="a bad pattern"),
        pytest.param(
            "answer_hallucination", {"splitter": "nltk"}, "splitter 'nltk' is unknown", id="an unknown splitter"
        ),
        pytest.param("nowhere:fn", {}, "s.yaml:3: scorer 'nowhere:fn': there is no module 'nowhere'", id="no module"),
        pytest.param("math:pi", {}, "scorer 'math:pi' is 3.14", id="a number"),
    ],
)
def test_what_cannot_be_made_is_refused_with_its_place(spec, settings, message):
    with pytest.raises(ConfigError) as error:
        resolve_scorer(spec, settings, "s.yaml:3")
    assert message in str(error.value)


def test_all_faults_of_the_settings_are_named_at_once():
    with pytest.raises(ConfigError) as error:
        resolve_scorer("regex", {"patern": "a", "full": 3}, "s.yaml:3")
    assert len(str(error.value).splitlines()) == 3


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    name = f"own_scorers_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(
        "from dataclasses import dataclass\n"
        "def short(output, limit: int = 3):\n    return len(output) <= limit\n"
        "def loose(output, **settings):\n    return settings['x'] == 1\n"
        "@dataclass(frozen=True)\nclass Short:\n    limit: int\n"
        "    def __call__(self, output):\n        return len(output) <= self.limit\n"
        "class Broken:\n    def __init__(self):\n        raise KeyError('x')\n"
        "word = 'text'\nready = Short(4)\n",
        encoding="utf-8",
    )
    return name


def test_functions_classes_and_objects_of_a_users_module(module, tmp_path):
    def passed(attribute, settings, output):
        return ask(resolve_scorer(f"{module}:{attribute}", settings, "s.yaml:3", [tmp_path]), output).passed

    assert passed("short", {}, "abcd") is False
    assert passed("short", {"limit": 4}, "abcd") is True
    assert passed("Short", {"limit": 3}, "abcd") is False
    assert passed("ready", {}, "abcd") is True
    assert passed("loose", {"x": 1}, "abcd") is True


@pytest.mark.parametrize(
    ("attribute", "settings", "message"),
    [
        ("short", {"limit": "x"}, "the setting 'limit' is 'x': input should be a valid integer"),
        ("short", {"output": "x"}, "there is no setting 'output'; it knows limit"),
        ("Short", {}, "the setting 'limit' is missing"),
        ("ready", {"limit": 4}, "there is no setting 'limit'; it knows threshold, name."),
        ("Broken", {}, "making it raised KeyError: 'x'"),
        ("word", {}, "is 'text', which cannot be called"),
        ("nothing", {}, "has no attribute 'nothing'"),
    ],
)
def test_what_a_users_module_does_not_offer_is_refused(module, tmp_path, attribute, settings, message):
    with pytest.raises(ConfigError) as error:
        resolve_scorer(f"{module}:{attribute}", settings, "s.yaml:3", [tmp_path])
    assert message in str(error.value)
    assert str(error.value).startswith("s.yaml:3: ")


def test_the_file_of_a_schema_lies_beside_the_suite(tmp_path):
    (tmp_path / "city.json").write_text('{"required": ["city"]}', encoding="utf-8")
    scorer = resolve_scorer("json-schema", {"schema": "city.json"}, "s.yaml:3", [tmp_path / "other", tmp_path])
    assert scorer == JsonSchema({"required": ["city"]})
    with pytest.raises(ConfigError, match=r"s.yaml:3: json_schema: .*town.json cannot be read"):
        resolve_scorer("json_schema", {"schema": "town.json"}, "s.yaml:3", [tmp_path])


async def judged(output, judge, limit: int = 3):
    """Asks for the run's judge."""
    return len(output) <= limit


def test_a_judge_is_no_setting():
    with pytest.raises(ConfigError, match="there is no setting 'judge'; it knows limit"):
        resolve_scorer(f"{__name__}:judged", {"judge": "openai/some-model"})
