"""The pages with steps are followed from top to bottom: files are written, commands run, and what is shown is printed.

A block with a title is a file. In a block of the language `console` lines after a command are what it prints, and "…"
stands for anything; a command that ends with another code than 0 says so behind `#`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalmark.testing.scripted import ScriptedReply, ScriptedServer
from tests.conftest import ROOT
from tests.importing import own_imports
from tests.prompts.generation import script
from tests.test_docs import DOCS, name

TESTED_ELSEWHERE = {
    "cluster.md": "needs Ray: tests/runs/cluster/test_recipes.py",
    "openai-evals.md": "needs an account: tests/cli/test_openai_evals_page.py",
    "python.md": "its Python blocks: tests/test_docs.py",
    "quality.md": "its Python blocks: tests/test_docs.py",
    "recording.md": "its Python blocks: tests/test_docs.py",
    "regressions.md": "needs the local model: tests/examples/test_regression.py",
    "team-store.md": "needs a server: tests/storage/store/test_rights.py",
    "unit_tests.md": "its Python blocks: tests/test_docs.py",
}
PAGES = [
    *sorted((DOCS / "start").glob("*.md")),
    *(page for page in sorted((DOCS / "how-to").glob("*.md")) if page.name not in TESTED_ELSEWHERE),
    DOCS / "reference" / "commands.md",
]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"\n]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(
    r"^(?:\w+=\S+ )*(?:(?:python -m )?pip|uvx|pipx|git|docker|kubectl|createdb|psql|ray|export|cd)\b"
    r"|^evalmark (?:view|models|doctor|rag)\b|--(?:on|watch)\b|postgresql://|^(?:\w+=\S+ )+evalmark"
)
"""What a test cannot do: install, fetch weights, reach other machines, wait for a person, or change how the test itself runs."""
FILES = {
    "bad.yaml": "name: sums\ndatasets: [row.jsonl]\nmetrics: [equal]\nrepeats: 2\n",
    "rows.jsonl": '{"id": "a", "input": "1 + 1?", "answer": "2"}\n{"id": "b", "input": "2 + 2?"\n'
    '{"id": "a", "input": "3 + 3?", "answer": NaN}\n',
}
"""What the page of commands takes for granted."""
CHANGING = (
    (re.compile(r"\d{8}-\d{6}-\w{4}"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\d(?![ T]\d)"), "DAY"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?"), "DATE"),
    (re.compile(r"[\d.,]+ m?s (median|p95)"), r"TIME \1"),
    (re.compile(r"in [\d.]+s\b"), "in TIME"),
    (re.compile(r"\d+ results are stored"), "N results are stored"),  # as many as were judged when the budget ended
    (re.compile(r"~[\d,]+"), "~N"),  # grows with the prompts
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"={3,}"), "==="),
)
USAGE = {"prompt_tokens": 500, "completion_tokens": 40, "total_tokens": 540}


def reply(request) -> ScriptedReply:
    """Answer as the models of the pages: a judge by its schema, any other model with the last word of the message."""
    if not request.schema:
        return ScriptedReply(text=request.text.rstrip(" .?!\n").split()[-1], usage=USAGE)
    if request.schema["properties"].keys() & script.ANSWERED:
        return ScriptedReply(text=script.Script()(request), usage=USAGE)
    score = request.schema["properties"].get("score", {"type": "boolean"})["type"]
    unknown, unsure = "I do not know" in request.text, "I am not sure" in request.text
    verdict = {
        "boolean": {"reason": "It gives no answer." if unknown else "It answers the question.", "pass": not unknown},
        "integer": {"reason": "It asks back." if unsure else "As the example says.", "score": 2 if unsure else 4},
        "number": {"reason": "Short sentences, no new terms.", "score": 90},
    }[score]
    return ScriptedReply(text=json.dumps(verdict), usage=USAGE)


@pytest.fixture
def models(monkeypatch):
    """A server behind the addresses of the pages' models, as a reader has one in the environment."""
    for variable in ("OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(variable, raising=False)
    with ScriptedServer(reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server
        assert server.problems == []


def steps(page: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield what a reader does: a file with its lines, or a command with the lines that it is said to print."""
    for language, title, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            yield "file", title, body.splitlines()
        elif language == "bash":
            yield from (("command", line, []) for line in body.replace("\\\n", " ").splitlines() if line.strip())
        elif language == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                yield "command", command, printed.splitlines()


def steady(line: str) -> str:
    for changing, stands_for in CHANGING:
        line = changing.sub(stands_for, line)
    return line.rstrip()


def in_a_shell(command: str, folder: Path) -> tuple[int, str]:
    where = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S602  the commands of our own pages
        command, shell=True, cwd=folder, env=os.environ | {"PATH": where}, capture_output=True, text=True, check=False
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("page", [pytest.param(page, id=name(page)) for page in PAGES])
def test_the_steps_of_a_page_do_what_it_says(page, evalmark, world, models):
    shutil.copytree(ROOT / "examples", world / "examples", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    for file, text in FILES.items() if page.name == "commands.md" else ():
        (world / file).write_text(text, encoding="utf-8")
    done = 0
    for kind, what, lines in steps(page):
        if kind == "file":
            (world / what).parent.mkdir(parents=True, exist_ok=True)
            (world / what).write_text("\n".join(lines) + "\n", encoding="utf-8")
            continue
        if NOT_RUN.search(what):
            continue
        expected = int(found[1]) if (found := re.search(r"# exit code (\d+)", what)) else None
        if what.startswith("evalmark ") and not re.search(r" [|>] | && ", what):
            with own_imports(world):
                said = evalmark(*shlex.split(what, comments=True)[1:])
            code, text = said.code, said.text
        else:
            code, text = in_a_shell(what, world)
        assert (expected is None and page.name == "commands.md") or code == (expected or 0), f"{what}: {code}\n{text}"
        printed = [steady(line) for line in text.splitlines()]
        for line in lines:
            if "…" not in line:
                assert steady(line) in printed, f"{what}\n{line}\nis not in\n" + "\n".join(printed)
                del printed[: printed.index(steady(line)) + 1]
        done += 1
    assert done > 1
