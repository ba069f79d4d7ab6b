"""The most common mistakes of the first hour: what the command line says, and that it says it before anything is paid.

Each message names the place, what was found there and what to do, in one or two sentences. Read them as a user would.
"""

import http.server
import threading
from pathlib import Path

import pytest

from evalmark.store import open_store

BOT = """
def answer(question):
    return question.upper()


def two(question, tone):
    return question


def broken(question):
    raise ValueError("no connection to the index")


def forgetful():
    return "A"
"""
FILES = {
    "bot.py": BOT,
    "needs.py": "import nowhere_lib\n",
    "keyless.py": 'import os\n\nKEY = os.environ["MY_BOT_KEY"]\n',
    "syntax.py": "def answer(question)\n    return question\n",
    "cases.jsonl": '{"input": "a", "expected": "A"}\n{"input": "b", "expected": "B"}\n',
    "german.jsonl": '{"frage": "a", "antwort": "A"}\n',
    "unanswered.jsonl": '{"input": "a"}\n',
    "empty.jsonl": "",
    "header.csv": "input,expected\n",
}
GOOD = "datasets: cases.jsonl\ntarget: bot:answer\nmetrics: [equals]\n"


@pytest.fixture
def project(world, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MY_BOT_KEY", "EVALMARK_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("folder").mkdir()


def suite(**parts: str) -> str:
    lines = {"datasets": "cases.jsonl", "target": "bot:answer", "metrics": "[equals]"} | parts
    return "".join(f"{name}: {text}\n" for name, text in lines.items())


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            suite(target="{model: openai/gpt-x}"),
            "openai/gpt-x: OPENAI_API_KEY is not set. Set it to the key of api.openai.com, or OPENAI_BASE_URL to the "
            "address of a server of your own. Recorded replies can be used without one: --replay strict.",
            id="no key",
        ),
        pytest.param(
            suite(target="{model: openia/gpt-x}"),
            "suite.yaml:2: 'openia/gpt-x': 'openia' is not a provider. Did you mean 'openai'?",
            id="a provider misspelt",
        ),
        pytest.param(
            suite(target="{model: gpt-x}"),
            "suite.yaml:2: 'gpt-x' is not the name of a model. Write provider/model, such as openai/MODEL.",
            id="a model without its provider",
        ),
        pytest.param(
            suite(datasets="german.jsonl"),
            "german.jsonl:1: no input among frage, antwort; rename a field, or say which one: `input: NAME` beside the `path` "
            "in a suite, `--column input=NAME` in `evalmark rag`.",
            id="other column names",
        ),
        pytest.param(
            "datasets: cases.jsonl\n  target: bot:answer\nmetrics: [equals]\n",
            "suite.yaml:2:9: not valid YAML: mapping values are not allowed in this context. Check the indentation of this line "
            "and the one before, and put a text with a colon in quotes.",
            id="indentation",
        ),
        pytest.param(
            "datasets: cases.jsonl\nmetrics:\n\t- equals\n",
            "suite.yaml:3:1: not valid YAML: found character that cannot start any token while scanning for the next token. "
            "Indent with spaces, not with a tab, and put a text that begins with @, ` or % in quotes.",
            id="a tab",
        ),
        pytest.param(
            "datasets: cases.jsonl\ntarget: bot:answer\nmetrics: [equals\n",
            "suite.yaml:4:1: not valid YAML: did not find expected ',' or ']' while parsing a flow sequence. Close the bracket or "
            "brace that is open.",
            id="an open bracket",
        ),
        pytest.param(
            f"{GOOD}metrics: [contains]\n",
            "suite.yaml:4:1: the key 'metrics' occurs a second time; the first one is in line 3. Remove one of them.",
            id="a key twice",
        ),
        pytest.param(
            suite(target="{http: {url: http://h/, body: {q: {{input}}}}}"),
            'suite.yaml:2:44: a list or mapping cannot be a key; write a text, and a template in quotes: "{{…}}".',
            id="a template without quotes",
        ),
        pytest.param(
            suite(target="needs:answer"),
            "suite.yaml:2: target 'needs:answer': needs.py:1 imports 'nowhere_lib', which is not installed; install it in the "
            "environment of evalmark, or check the name.",
            id="a module that imports what is not installed",
        ),
        pytest.param(
            suite(target="keyless:answer"),
            "suite.yaml:2: target 'keyless:answer': importing it raised KeyError: 'MY_BOT_KEY' (keyless.py:3).",
            id="a module that raises",
        ),
        pytest.param(
            suite(target="syntax:answer"),
            "suite.yaml:2: target 'syntax:answer': importing it raised SyntaxError: expected ':' (syntax.py, line 1).",
            id="a module that is no Python",
        ),
        pytest.param(
            suite(target="bot:anwser"),
            "suite.yaml:2: target 'bot:anwser': module 'bot' has no attribute 'anwser'; did you mean 'answer'?",
            id="a function misspelt",
        ),
        pytest.param(
            suite(target="bott:answer"),
            "suite.yaml:2: target 'bott:answer': there is no module 'bott', neither in HERE nor among what is installed; "
            "PYTHONPATH adds other folders.",
            id="a module misspelt",
        ),
        pytest.param(
            suite(target="bot.py:answer"),
            'suite.yaml:2: `target` is "bot.py:answer", which names no Python object; write "bot:answer".',
            id="a file in place of a module",
        ),
        pytest.param(
            suite(target="bot:two"),
            "suite.yaml:2: target 'bot:two': cannot fill parameter 'tone'. Give it a default, or one of these names: case, "
            "contexts, history, input, metadata, query, question.",
            id="a target with two arguments",
        ),
        pytest.param(
            suite(datasets="empty.jsonl"),
            "empty.jsonl: the dataset has no cases. Add at least one row, or leave the dataset out.",
            id="an empty dataset",
        ),
        pytest.param(
            suite(datasets="header.csv"),
            "header.csv: the dataset has no cases. Add at least one row, or leave the dataset out.",
            id="a dataset with its header only",
        ),
        pytest.param(
            suite(datasets="case.jsonl"),
            'suite.yaml:1: `datasets[0]` names "case.jsonl": there is no such file; did you mean cases.jsonl?',
            id="a dataset that is not there",
        ),
        pytest.param(
            suite(metrics="[equls]"),
            "suite.yaml:3: there is no scorer 'equls'. Did you mean 'equals'?",
            id="a metric misspelt",
        ),
        pytest.param(
            suite(metrics="[{equals: {treshold: 1}}]"),
            "suite.yaml:3: equals: there is no setting 'treshold'; did you mean 'threshold'?",
            id="a setting misspelt",
        ),
        pytest.param(
            suite(metrics="[{similarity: {threshold: 80}}]"),
            "suite.yaml:3: `metrics[0].similarity.threshold` is 80; it takes a number from 0 to 1.",
            id="a threshold in percent",
        ),
        pytest.param(
            f"{GOOD}gate: {{min_pass_rate: 90}}\n",
            "suite.yaml:4: `gate.min_pass_rate` is 90; it takes a share from 0 to 1, such as 0.9 for 90 %.",
            id="a gate in percent",
        ),
        pytest.param(
            suite(datasets="unanswered.jsonl"),
            "unanswered.jsonl: the metric 'equals' cannot score any row: in every row the case has no expected answer. Add it, or "
            "say which column holds it (`expected: NAME` beside the `path` in a suite), or leave the metric out.",
            id="no expected output",
        ),
        pytest.param(
            suite(metrics="[factuality]"),
            "factuality needs a judge; name one with --judge, EVALMARK_JUDGE or `judge:` in the suite.",
            id="no judge",
        ),
        pytest.param(
            GOOD.encode("utf-16"),
            "suite.yaml:1: the file looks like utf-16. Save it as UTF-8; for a dataset, `encoding: utf-16` beside its `path` works "
            "too.",
            id="UTF-16",
        ),
    ],
)
def test_a_mistake_in_a_suite_is_named_before_anything_is_called(evalmark, text, message):
    Path("suite.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    found = evalmark("run", "suite.yaml")
    assert (found.code, found.out) == (2, "")
    assert found.err.rstrip("\n").replace(str(Path.cwd()), "HERE") == message
    if Path(".evalmark/evalmark.db").exists():
        with open_store(".evalmark/evalmark.db", read_only=True) as store:
            assert list(store.runs(1)) == []


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["run", "suit.yaml"], "suit.yaml: there is no such file; did you mean suite.yaml?", id="no such suite"
        ),
        pytest.param(
            ["run", "folder"],
            "folder: the folder has no suite, that is, no YAML or JSON file with `datasets`.",
            id="a folder without suites",
        ),
        pytest.param(["run", "suite.yaml", "--judg", "x"], "No such option: --judg", id="an option misspelt"),
        pytest.param(["rnu", "suite.yaml"], "No such command 'rnu'. Did you mean 'run'?", id="a command misspelt"),
        pytest.param(
            ["run", "suite.yaml", "--store", "folder"],
            "this is a folder; name a file in it with --store.",
            id="a folder as the store",
        ),
        pytest.param(
            ["run", "suite.yaml", "--store", "bot.py/runs.db"],
            "bot.py/runs.db: ",
            id="a store that cannot be written",
        ),
        pytest.param(["show", "last"], "evalmark.db", id="no run yet"),
        pytest.param(
            ["run", "suite.yaml", "--on", "ray"],
            "Run: pip install 'evalmark[ray]'",
            id="an extra that is not installed",
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_named(evalmark, monkeypatch, words, message):
    if "ray" in words:
        monkeypatch.setitem(__import__("sys").modules, "ray", None)
    Path("suite.yaml").write_text(GOOD)
    found = evalmark(*words)
    assert found.code == 2
    assert message in found.err
    assert "Traceback" not in found.text


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(GOOD.replace("\n", "\r\n").encode(), id="Windows line ends"),
        pytest.param(b"\xef\xbb\xbf" + GOOD.encode(), id="a byte order mark"),
    ],
)
def test_files_of_windows_are_read(evalmark, content):
    Path("suite.yaml").write_bytes(content)
    Path("cases.jsonl").write_bytes(b"\xef\xbb\xbf" + FILES["cases.jsonl"].replace("\n", "\r\n").encode())
    Path("bot.py").write_bytes(BOT.replace("\n", "\r\n").encode())
    assert evalmark("run", "suite.yaml").code == 0


@pytest.mark.usefixtures("project")
def test_a_target_that_raises_is_the_error_of_its_cases_with_its_place(evalmark):
    Path("suite.yaml").write_text(suite(target="bot:broken"))
    found = evalmark("run", "suite.yaml")
    assert found.code == 3
    assert "ValueError: no connection to the index (bot.py:11)" in found.out
    assert "Traceback" not in found.text


@pytest.mark.usefixtures("project")
def test_runs_of_two_suites_have_nothing_to_compare(evalmark):
    Path("suite.yaml").write_text(GOOD)
    Path("other.jsonl").write_text('{"input": "x", "expected": "X"}\n')
    Path("other.yaml").write_text(suite(datasets="other.jsonl"))
    assert [evalmark("run", path).code for path in ("suite.yaml", "other.yaml")] == [0, 0]
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        newer, older = (run.id for run in store.runs(2))
    found = evalmark("compare", newer, older)
    assert found.code == 3
    assert "The two runs have no case in common." in found.out


WRONG_KEY = (
    401,
    "application/json",
    b'{"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}',
)
NO_MODEL = (
    404,
    "application/json",
    b'{"error": {"message": "The model `gpt-x` does not exist", "code": "model_not_found"}}',
)
PAGE = (200, "text/html", b"<!doctype html><html>Welcome</html>")
NO_PAGE = (404, "text/html", b"<html>Not Found</html>")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        status, kind, body = self.server.answer
        self.server.requests += 1
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            WRONG_KEY,
            "answered 401 Unauthorized: Incorrect API key provided. Check the key in OPENAI_API_KEY.",
            id="a wrong key",
        ),
        pytest.param(
            NO_MODEL,
            "answered 404 Not Found: The model `gpt-x` does not exist. Check the model 'gpt-x' and the address URL/v1.",
            id="an unknown model",
        ),
        pytest.param(
            NO_PAGE,
            "answered 404 Not Found: a web page. Check the model 'gpt-x' and the address URL/v1.",
            id="a wrong address",
        ),
        pytest.param(
            PAGE, "answered with a web page where JSON was expected. Check the address URL/v1.", id="a server of pages"
        ),
        pytest.param(
            None,
            "no connection could be made: Connection refused. Start the server, or check the address.",
            id="no server",
        ),
    ],
)
def test_a_server_that_cannot_answer_is_named(evalmark, monkeypatch, answer, message):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer, server.requests = answer, 0
    url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    if answer is not None:
        thread.start()
    else:
        server.server_close()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-1234567890abcd")
    Path("suite.yaml").write_text(suite(target="{model: openai/gpt-x}"))
    found = evalmark("run", "suite.yaml", "-j", "1", "--retries", "0")
    if answer is not None:
        server.shutdown()
        server.server_close()
        assert server.requests <= 2
    assert found.code == 3
    assert message.replace("URL", url) in " ".join(found.out.split())
    assert "Traceback" not in found.text


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_function_without_parameters_is_named(evalmark, command):
    Path("suite.yaml").write_text(suite(target="bot:forgetful"))
    found = evalmark(command, "suite.yaml")
    assert "bot:forgetful takes no input: it is called in the same way for every case." in " ".join(found.text.split())
    Path("suite.yaml").write_text(GOOD)
    assert "takes no input" not in evalmark(command, "suite.yaml").text
