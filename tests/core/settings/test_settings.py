"""Settings: which of several places wins, and how a value that cannot be used is named."""

import string
from dataclasses import asdict, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.settings import Settings, load_settings
from evalmark.errors import ConfigError


@pytest.fixture
def project(tmp_path: Path):
    """A folder whose pyproject.toml has these lines under [tool.evalmark]."""

    def write(*lines: str) -> Path:
        (tmp_path / "pyproject.toml").write_text("\n".join(["[tool.evalmark]", *lines]), encoding="utf-8")
        return tmp_path

    return write


# Each setting with a value for the project, the environment and the command line; all differ from the default
# where a setting has more than two values.
PLACES = [
    pytest.param("store", '"p.db"', "e.db", "f.db", ("p.db", "e.db", "f.db"), id="store"),
    pytest.param("embeddings", '"p"', "e", "f", ("p", "e", "f"), id="embeddings"),
    pytest.param("embedding_mode", '"fast"', "exact", "fast", ("fast", "exact", "fast"), id="embedding_mode"),
    pytest.param("device", '"gpu"', "cpu", "gpu", ("gpu", "cpu", "gpu"), id="device"),
    pytest.param("jobs", "2", "3", 4, (2, 3, 4), id="jobs"),
    pytest.param("timeout", "0.5", "1.5", 2.5, (0.5, 1.5, 2.5), id="timeout"),
    pytest.param("cache_dir", '"p"', "e", "f", ("p", "e", "f"), id="cache_dir"),
    pytest.param("offline", "true", "0", True, (True, False, True), id="offline"),
    pytest.param("lock", '"p.json"', "e.json", "f.json", ("p.json", "e.json", "f.json"), id="lock"),
    pytest.param("judge", '["a/p", "b/p"]', "a/e, b/e", ["f"], (("a/p", "b/p"), ("a/e", "b/e"), ("f",)), id="judge"),
    pytest.param("replay", '"strict"', "off", "record", ("strict", "off", "record"), id="replay"),
    pytest.param("max_cost", "1.5", "0", 2, (1.5, 0.0, 2.0), id="max_cost"),
    pytest.param("max_calls", "1", "0", 3, (1, 0, 3), id="max_calls"),
    pytest.param("max_tokens", "1", "2", 3, (1, 2, 3), id="max_tokens"),
    pytest.param("connections", "1", "2", 3, (1, 2, 3), id="connections"),
    pytest.param("rpm", "60", "0.5", 3, (60.0, 0.5, 3.0), id="rpm"),
    pytest.param("tpm", "60", "0.5", 3, (60.0, 0.5, 3.0), id="tpm"),
    pytest.param("call_timeout", "60", "0.5", 3, (60.0, 0.5, 3.0), id="call_timeout"),
    pytest.param(
        "http_library", '"aiohttp"', "builtin", "aiohttp", ("aiohttp", "builtin", "aiohttp"), id="http_library"
    ),
    pytest.param("retries", "0", "2", 3, (0, 2, 3), id="retries"),
    pytest.param("on", '"ray"', "ray:auto", "local", ("ray", "ray:auto", "local"), id="on"),
    pytest.param("workers", "1", "2", 3, (1, 2, 3), id="workers"),
    pytest.param("trust_cluster", "true", "0", True, (True, False, True), id="trust_cluster"),
    pytest.param("allow_code", '["p", "q"]', "e, f", ["f"], (("p", "q"), ("e", "f"), ("f",)), id="allow_code"),
    pytest.param("env_file", '"p.env"', "e.env", "f.env", ("p.env", "e.env", "f.env"), id="env_file"),
    pytest.param("isolate", "true", "0", True, (True, False, True), id="isolate"),
    pytest.param(
        "suites",
        '["p.yaml", "evals"]',
        "e.yaml, evals",
        ["f"],
        (("p.yaml", "evals"), ("e.yaml", "evals"), ("f",)),
        id="suites",
    ),
    pytest.param("editor", '"p:{path}"', "e:{path}", "f:{path}", ("p:{path}", "e:{path}", "f:{path}"), id="editor"),
]


def test_every_setting_is_in_the_table():
    assert [row.values[0] for row in PLACES] == [field.name for field in fields(Settings) if field.name != "models"]


def test_named_endpoints_are_a_table_of_the_project_and_nothing_else(project):
    folder = project("[tool.evalmark.models]", 'fast = {provider = "openai", model = "x"}')
    assert load_settings({"EVALMARK_MODELS": "{}"}, folder).models == {"fast": {"provider": "openai", "model": "x"}}
    with pytest.raises(ConfigError, match="models: 3 is not a table of named endpoints"):
        load_settings({}, project("models = 3"))


@pytest.mark.parametrize(("name", "in_project", "in_environment", "as_flag", "expected"), PLACES)
def test_a_flag_wins_over_the_environment_and_that_over_the_project(
    project, name, in_project, in_environment, as_flag, expected
):
    folder = project(f"{name} = {in_project}")
    environment = {f"EVALMARK_{name.upper()}": in_environment}
    found = (
        load_settings({}, folder),
        load_settings(environment, folder),
        load_settings(environment, folder, {name: as_flag}),
    )
    assert tuple(getattr(settings, name) for settings in found) == expected


@pytest.mark.parametrize(("name", "in_project", "in_environment", "as_flag", "expected"), PLACES)
def test_what_nobody_says_keeps_its_default(project, name, in_project, in_environment, as_flag, expected):
    others = asdict(load_settings({}, project(f"{name} = {in_project}")))
    defaults = asdict(Settings())
    assert others.pop(name) == expected[0]
    assert others == {other: value for other, value in defaults.items() if other != name}


@pytest.mark.parametrize(
    ("environment", "flags"),
    [
        pytest.param({"EVALMARK_STORE": "", "EVALMARK_OFFLINE": ""}, None, id="empty variables"),
        pytest.param({}, {"store": None, "jobs": None, "offline": None}, id="flags that were not given"),
        pytest.param({"EVALMARK_STORES": "x", "STORE": "x"}, {}, id="variables of other names"),
    ],
)
def test_what_says_nothing_counts_as_not_said(tmp_path, environment, flags):
    assert load_settings(environment, tmp_path, flags) == Settings()


def test_false_is_something_said(tmp_path):
    assert load_settings({"EVALMARK_OFFLINE": "1"}, tmp_path, {"offline": False}).offline is False


@pytest.mark.parametrize("key", ["cache-dir", "cache_dir"])
def test_keys_of_the_project_may_have_dashes_or_underscores(project, key):
    assert load_settings({}, project(f'{key} = "here"')).cache_dir == "here"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(pytest.param(text, True, id=f"{text} is true") for text in ("1", "true", "True", "YES")),
        *(pytest.param(text, False, id=f"{text} is false") for text in ("0", "false", "False", "NO")),
    ],
)
def test_truth_in_the_environment(tmp_path, text, expected):
    assert load_settings({"EVALMARK_OFFLINE": text}, tmp_path).offline is expected


WRONG = [
    pytest.param("store", "3", None, "3 is not a text", id="a store that is a number"),
    pytest.param("store", '["a.db"]', None, "['a.db'] is not a text", id="a store that is a list"),
    pytest.param("embeddings", "true", None, "True is not a text", id="a model that is a truth value"),
    pytest.param("cache_dir", "{}", None, "{} is not a text", id="a folder that is a table"),
    pytest.param("embedding_mode", '"quick"', "quick", "'quick' is not one of exact, fast, int8", id="an unknown mode"),
    pytest.param("http_library", '"httpx"', "httpx", "'httpx' is not one of builtin, aiohttp", id="an unknown client"),
    pytest.param("device", '"tpu"', "tpu", "'tpu' is not one of cpu, gpu", id="an unknown device"),
    pytest.param("embedding_mode", "[]", None, "[] is not one of exact, fast, int8", id="a mode that is a list"),
    pytest.param("jobs", "0", "0", "is not a whole number", id="no jobs"),
    pytest.param("jobs", "-1", "-1", "is not a whole number", id="jobs below zero"),
    pytest.param("jobs", "2.5", "2.5", "is not a whole number", id="half a job"),
    pytest.param("jobs", "true", "true", "is not a whole number", id="jobs that are a truth value"),
    pytest.param("jobs", '"many"', "many", "is not a whole number", id="jobs in words"),
    pytest.param("jobs", "10001", "10001", "is not a whole number", id="a slip of the finger"),
    pytest.param("jobs", "inf", "inf", "is not a whole number", id="jobs without end"),
    pytest.param("max_calls", "inf", "inf", "is not a whole number", id="calls without end"),
    pytest.param("judge", '["openai/m", 5]', None, "is not the name of a model", id="a judge that is a number"),
    pytest.param("timeout", "0", "0", "is not a number of seconds above 0", id="no time"),
    pytest.param("timeout", "-3", "-3", "is not a number of seconds above 0", id="time below zero"),
    pytest.param("timeout", "inf", "inf", "is not a number of seconds above 0", id="endless time"),
    pytest.param("timeout", "nan", "nan", "is not a number of seconds above 0", id="NaN"),
    pytest.param("timeout", "true", "true", "is not a number of seconds above 0", id="time as a truth value"),
    pytest.param("timeout", '"1 min"', "1 min", "is not a number of seconds above 0", id="time with a unit"),
    pytest.param("offline", '"maybe"', "maybe", "'maybe' is not true or false", id="maybe"),
    pytest.param("offline", "2", "2", "is not true or false", id="2 as a truth value"),
]


@pytest.mark.parametrize(("name", "in_project", "in_environment", "says"), WRONG)
def test_a_bad_value_is_named_with_its_place(project, name, in_project, in_environment, says):
    folder = project(f"{name} = {in_project}")
    with pytest.raises(ConfigError) as refused:
        load_settings({}, folder)
    assert str(refused.value).startswith(f"{folder / 'pyproject.toml'}: [tool.evalmark] {name}: ")
    assert says in str(refused.value)
    if in_environment is not None:
        with pytest.raises(ConfigError) as refused:
            load_settings({f"EVALMARK_{name.upper()}": in_environment}, folder.parent)
        assert str(refused.value).startswith(f"EVALMARK_{name.upper()}: {in_environment!r} ")
        assert says in str(refused.value)


def test_a_bad_flag_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"^embedding-mode: 'quick' is not one of exact, fast, int8$"):
        load_settings({}, tmp_path, {"embedding_mode": "quick"})


def test_all_faults_come_at_once(project):
    folder = project("jobs = 0", "offline = 7", "stor = 'x'")
    with pytest.raises(ConfigError) as refused:
        load_settings({"EVALMARK_TIMEOUT": "soon"}, folder, {"jobs": 0})
    assert len(str(refused.value).splitlines()) == 5


def test_an_unknown_key_is_named_with_those_there_are(project):
    with pytest.raises(ConfigError, match=r"has no setting 'stroe'; did you mean 'store'") as refused:
        load_settings({}, project('stroe = "x"'))
    assert "pyproject.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"[tool.evalmark\n", "cannot be read as TOML", id="broken TOML"),
        pytest.param(b"[tool.evalmark]\njobs = 1\njobs = 2\n", "cannot be read as TOML", id="a key twice"),
        pytest.param(b"[tool.evalmark]\nstore = '\xff'\n", "cannot be read as TOML", id="no UTF-8"),
        pytest.param(b"[tool]\nevalmark = 3\n", "not a table", id="a number where the table should be"),
        pytest.param(b"[[tool.evalmark]]\njobs = 1\n", "not a table", id="a list of tables"),
    ],
)
def test_a_project_file_that_cannot_be_used_is_said_in_one_sentence(tmp_path, content, says):
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=says) as refused:
        load_settings({}, tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "pyproject.toml"))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="an empty file"),
        pytest.param("[project]\nname = 'x'\n", id="no tools"),
        pytest.param("[tool.other]\njobs = 0\n", id="another tool"),
        pytest.param("tool = 3\n", id="tool is no table"),
    ],
)
def test_a_project_without_our_table_says_nothing(tmp_path, content):
    (tmp_path / "pyproject.toml").write_text(content, encoding="utf-8")
    assert load_settings({}, tmp_path) == Settings()


def test_the_nearest_project_counts_alone(project):
    outer = project("jobs = 2", "timeout = 5")
    inner = outer / "inner"
    deep = inner / "a" / "b"
    deep.mkdir(parents=True)
    assert load_settings({}, deep).jobs == 2
    (inner / "pyproject.toml").write_text("[tool.evalmark]\njobs = 3\n", encoding="utf-8")
    assert (load_settings({}, deep).jobs, load_settings({}, deep).timeout) == (3, None)
    assert load_settings({}, outer).jobs == 2


def test_a_folder_called_pyproject_is_none(project):
    deep = project("jobs = 2") / "deep"
    (deep / "pyproject.toml").mkdir(parents=True)
    assert load_settings({}, deep).jobs == 2


@given(
    name=st.sampled_from([field.name for field in fields(Settings) if field.name != "models"]),
    text=st.text(string.printable, min_size=1),
)
def test_any_variable_is_read_or_refused_in_one_line(tmp_path_factory, name, text):
    variable = f"EVALMARK_{name.upper()}"
    said = ""
    try:
        found = load_settings({variable: text}, tmp_path_factory.getbasetemp())
    except ConfigError as refused:
        said = str(refused)
    else:
        assert type(getattr(found, name)) in (str, bool, int, float, tuple)
    assert said == "" or (said.startswith(f"{variable}: ") and len(said.splitlines()) == 1)


def test_a_path_of_the_project_is_the_same_file_from_every_folder_below(project, tmp_path):
    folder = project('store = "runs/r.db"', f'cache_dir = "{(tmp_path / "c").as_posix()}"', 'embeddings = "mine"')
    below = folder / "deep" / "down"
    below.mkdir(parents=True)
    found = load_settings({}, below)
    assert Path(found.store) == folder / "runs" / "r.db"
    assert Path(found.cache_dir) == tmp_path / "c"
    assert found.embeddings == "mine"
    assert load_settings({}, folder).store == "runs/r.db"  # as it was written, where that is the same
    assert load_settings({"EVALMARK_STORE": "e.db"}, below).store == "e.db"
