"""What evalmark is built on stays what is installed, in a process whose suite lies in a hostile folder."""

import json
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

import pytest

HOSTILE = 'import pathlib\npathlib.Path(__file__).parent.joinpath("ran-" + __name__).touch()\n'
LIBRARIES = (
    *("aiohttp", "apsw", "attr", "genai_prices", "google", "huggingface_hub", "idna", "jinja2", "jsonschema", "lxml"),
    *(
        "markdown_it",
        "markupsafe",
        "multidict",
        "numpy",
        "onnxruntime",
        "pydantic",
        "pydantic_core",
        "pygments",
        "rapidfuzz",
    ),
    *("referencing", "regex", "rich", "rpds", "sacrebleu", "scipy", "sentencex", "starlette", "tokenizers", "typer"),
    *("typing_extensions", "uvicorn", "yaml", "_yaml", "yarl", "evalmark"),
)
PYTHON = (
    *(
        "_datetime",
        "ast",
        "asyncio",
        "calendar",
        "csv",
        "decimal",
        "email",
        "fractions",
        "gzip",
        "html",
        "json",
        "locale",
    ),
    *(
        "mimetypes",
        "numbers",
        "pickle",
        "queue",
        "random",
        "secrets",
        "site",
        "sqlite3",
        "ssl",
        "statistics",
        "tempfile",
    ),
    *("sitecustomize", "tomllib", "unicodedata", "usercustomize", "uuid", "webbrowser", "xml", "zipfile", "zoneinfo"),
)


@pytest.fixture
def hostile(tmp_path):
    """A suite among modules that are called like evalmark's libraries and like those of Python."""
    for name in (*LIBRARIES, *PYTHON):
        if name in ("scipy", "email", "rich", "asyncio"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(HOSTILE)
        else:
            (tmp_path / f"{name}.py").write_text(HOSTILE)
    (tmp_path / "helpers_7p.py").write_text("GREETING = 'hello'\n")
    (tmp_path / "bot_7p.py").write_text(
        "import helpers_7p\n\n\ndef answer(text):\n    import statistics\n    return helpers_7p.GREETING\n\n\n"
        "def embed(texts):\n    import numpy\n    return numpy.array([[1.0, 0.0] for text in texts])\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"input": "a", "expected": "hello"}\n{"input": "b", "expected": "hello"}\n')
    (tmp_path / "suite.yaml").write_text(
        "datasets: [rows.jsonl]\ntarget: bot_7p:answer\nembeddings: bot_7p:embed\n"
        "metrics: [equals, similarity, {regex: {pattern: hello}}, {edit_similarity: {threshold: 1}}]\n"
    )
    return tmp_path


def evalmark(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = Path(sysconfig.get_path("scripts")) / "evalmark"
    return subprocess.run(
        [str(command), *words], cwd=folder, capture_output=True, text=True, check=False, env=environment or None
    )


@pytest.mark.parametrize("path", [{}, {"PYTHONPATH": "."}], ids=["as installed", "with PYTHONPATH=."])
def test_no_module_of_a_hostile_folder_takes_the_place_of_another(hostile, path):
    if path:  # these are Python's own: it loads them before anything of ours
        for name in (*PYTHON, "evalmark"):
            for file in hostile.glob(f"{name}.py"):
                file.unlink()
        for name in ("email", "asyncio"):
            (hostile / name / "__init__.py").unlink()
            (hostile / name).rmdir()
    done = evalmark(hostile, "run", "suite.yaml", "-o", "out.html", "-o", "out.json", "-o", "out.csv", **path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [file.name for file in hostile.glob("ran-*")] == []
    assert json.loads((hostile / "out.json").read_text())["summary"]["total"]["passed"] == 2
    assert "jinja2.py is not used: evalmark needs the installed module" in (hostile / "out.json").read_text()


def test_as_a_module_of_the_folder_too(hostile):
    for name in (*PYTHON, "evalmark"):  # python -m looks into the working directory first, and starts with these
        (hostile / f"{name}.py").unlink(missing_ok=True)
    for name in ("email", "asyncio"):
        (hostile / name / "__init__.py").unlink()
        (hostile / name).rmdir()
    command = [sys.executable, "-m", "evalmark", "run", "suite.yaml", "-o", "out.html"]
    done = subprocess.run(command, cwd=hostile, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [file.name for file in hostile.glob("ran-*")] == []


def test_a_target_that_is_called_like_a_library_is_told_so(hostile):
    (hostile / "jinja2.py").write_text("def answer(text):\n    return text\n")
    done = evalmark(hostile, "run", "suite.yaml", "--target", "jinja2:answer")
    assert done.returncode == 2
    assert (
        "jinja2.py is not used: evalmark needs the installed module 'jinja2'. To use the file, rename it."
        in done.stderr
    )


def run_python(folder: Path, code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_other_modules_keep_their_order(tmp_path):
    for folder in ("suite", "here"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "both_7p.py").write_text(f"PLACE = {folder!r}\n\n\ndef answer(text):\n    return PLACE\n")
    (tmp_path / "here" / "test").mkdir()
    (tmp_path / "here" / "test" / "__init__.py").write_text("def answer(text):\n    return 'own tests'\n")
    code = (
        "from pathlib import Path\nfrom evalmark.core.foreign.named_objects import load_object\n"
        "print(load_object('both_7p:answer', [Path('suite'), Path('here')])(''))\n"
        "print(load_object('test:answer', [Path('suite'), Path('here')])(''))\n"
    )
    assert run_python(tmp_path, code).split("\n") == ["suite", "own tests"]


def test_a_part_of_a_shared_namespace_is_still_found(tmp_path):
    """`google` belongs to nobody: a library of evalmark has a part of it, and a user may have another."""
    (tmp_path / "google" / "mine_7p").mkdir(parents=True)
    (tmp_path / "google" / "mine_7p" / "__init__.py").write_text("def answer(text):\n    return text\n")
    code = (
        "from pathlib import Path\nfrom evalmark.core.foreign.named_objects import load_object\n"
        "print(load_object('google.mine_7p:answer', [Path.cwd()])('mine'))\nimport google.protobuf\n"
    )
    assert run_python(tmp_path, code) == "mine"


def test_nothing_is_imported_ahead_of_its_use(tmp_path):
    (tmp_path / "alone_7p.py").write_text("def answer(text):\n    return text\n")
    code = (
        "import sys\nfrom pathlib import Path\nfrom evalmark.core.foreign.named_objects import load_object\nload_object('alone_7p:answer', [Path.cwd()])\n"
        "print(sorted({'aiohttp', 'jinja2', 'numpy', 'rich', 'scipy', 'yaml', 'importlib.metadata'} & set(sys.modules)))\n"
    )
    assert run_python(tmp_path, code) == "[]"


def test_all_that_is_required_is_known(tmp_path):
    """Told by the files of the distributions; one that is required by a requirement counts as well."""
    names = {
        file.parts[0].removesuffix(".py")
        for wanted in (
            "jinja2",
            "markupsafe",
            "aiohttp",
            "yarl",
            "attrs",
            "pyyaml",
            "protobuf",
            "rich",
            "pygments",
            "uvicorn",
        )
        for file in distribution(wanted).files or ()
        if len(file.parts) > 1 and file.parts[0].isidentifier() and file.suffix == ".py"
    }
    code = (
        "import json, sys\nfrom evalmark.core.foreign.import_guard import _GUARD\n"
        "print(json.dumps([name for name in json.loads(sys.stdin.read()) if _GUARD.home_of(name) is None]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(sorted(names)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"attr", "attrs", "google", "yaml"} <= names
    assert json.loads(done.stdout) == []


def test_workers_of_isolated_targets_are_not_deceived_either(hostile):
    done = evalmark(hostile, "run", "suite.yaml", "--isolate")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [file.name for file in hostile.glob("ran-*")] == []


def test_nor_are_evals_under_pytest(hostile):
    """pytest puts the folder of a test in front of the import path, and imports much of Python before evalmark is asked."""
    for name in PYTHON:
        (hostile / f"{name}.py").unlink(missing_ok=True)
    for name in ("email", "asyncio"):
        (hostile / name / "__init__.py").unlink()
        (hostile / name).rmdir()
    for name in ("pygments", "typing_extensions", "evalmark"):
        (hostile / f"{name}.py").unlink()
    (hostile / "test_evals_7p.py").write_text(
        "import bot_7p\nfrom evalmark import describe_eval\n\n"
        "describe_eval('greets', data=lambda: [{'input': 'a', 'expected': 'hello'}], task=bot_7p.answer, "
        "scorers=['equals', {'regex': {'pattern': 'hello'}}, 'similarity'], embeddings=bot_7p.embed)\n"
    )
    command = [sys.executable, "-m", "pytest", "--evalmark", "-q", "-p", "no:cacheprovider", "test_evals_7p.py"]
    done = subprocess.run(command, cwd=hostile, capture_output=True, text=True, check=False)
    assert (done.returncode, [file.name for file in hostile.glob("ran-*")]) == (0, []), done.stdout
