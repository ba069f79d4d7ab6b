"""Services and commands as the task of an eval under pytest: limits, replay and secrets are those of suites."""

import http.server
import json
import threading

import pytest

TOKEN = "tok-3984-abcdef-9912"  # noqa: S105  of nobody


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        self.server.seen.append((self.path, question, self.headers.get("authorization"), self.headers.get("x-tone")))
        answer = json.dumps({"loud": question.upper(), "quiet": question.lower()}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


@pytest.fixture
def service():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.url = [], f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


HEADERS = '{"Authorization": "Bearer ${SUPPORT_TOKEN}"}'
SETUP = """
import asyncio
import sys
from evalmark import describe_eval, expect

ROWS = [{"id": "a", "input": "Why", "expected": "WHY"}, {"id": "b", "input": "How", "expected": "HOW"}]
"""


def web(url: str, part: str = "loud", headers: str = HEADERS) -> str:
    return f'{{"http": {{"url": "{url}/ask", "headers": {headers}, "output": "$.{part}"}}}}'


def test_a_service_is_asked_once_for_each_case_and_its_secret_is_not_stored(suite, service):
    suite.write("test_bot.py", f'{SETUP}\ndescribe_eval("web", ROWS, {web(service.url)}, scorers=["equals"])\n')
    for _ in range(2):
        assert suite.run(SUPPORT_TOKEN=TOKEN).counts == {"passed": 2}
    assert sorted(service.seen) == [("/ask", text, f"Bearer {TOKEN}", None) for text in ("How", "Why")]
    stored = b"".join(file.read_bytes() for file in (suite.folder / ".evalmark").rglob("*") if file.is_file())
    assert TOKEN.encode() not in stored


@pytest.mark.slow
def test_two_evals_of_one_service_each_send_their_headers_and_read_their_part(suite, service):
    quiet = web(service.url, "quiet", '{"X-Tone": "calm"}')
    suite.write(
        "test_bot.py",
        f'{SETUP}\ndescribe_eval("loud", ROWS, {web(service.url)}, scorers=["equals"])\n'
        f'describe_eval("quiet", [{{"input": "Why", "expected": "why"}}], {quiet}, scorers=["equals"])\n',
    )
    assert suite.run(SUPPORT_TOKEN=TOKEN).counts == {"passed": 3}
    assert sorted(tone or "" for *_, tone in service.seen) == ["", "", "calm"]


@pytest.mark.slow
def test_expectations_take_services_and_commands_too(suite, service):
    suite.write("up.py", "import sys\nprint(sys.stdin.read().upper())\n")
    suite.write(
        "test_bot.py",
        f"""{SETUP}
WEB = {web(service.url)}
describe_eval("command", ROWS, {{"command": [sys.executable, "up.py"]}}, scorers=["equals"])

def test_service():
    expect("Why").to_eval("WHY", WEB, "equals")

def test_later():
    asyncio.run(expect("How").to_eval_async("HOW", WEB, "equals"))
""",
    )
    assert suite.run("-p", "no:cacheprovider", SUPPORT_TOKEN=TOKEN).counts == {"passed": 4}
    assert len(service.seen) == 2


@pytest.mark.slow
def test_the_limits_of_a_run_count_the_calls_of_a_service(suite, service):
    suite.write("test_bot.py", f'{SETUP}\ndescribe_eval("web", ROWS, {web(service.url)}, scorers=["equals"])\n')
    found = suite.run(SUPPORT_TOKEN=TOKEN, EVALMARK_MAX_CALLS="1", EVALMARK_JOBS="1")
    assert (found.counts, len(service.seen)) == ({"passed": 1, "failed": 1}, 1)


@pytest.mark.slow
def test_a_service_that_is_not_there_fails_its_own_tests_only(suite, service):
    service.shutdown()
    service.server_close()
    suite.write(
        "test_bot.py",
        f"""{SETUP}
describe_eval("web", ROWS, {web(service.url)}, scorers=["equals"])
describe_eval("function", ROWS, str.upper, scorers=["equals"])

def test_expect():
    expect("Why").to_eval("WHY", str.upper, "equals")
""",
    )
    found = suite.run(SUPPORT_TOKEN=TOKEN)
    assert found.counts == {"passed": 3, "failed": 2}
    assert "Start the server, or check the address." in found.why["web[a]"]


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        pytest.param('{"http": {}}', "`target.http` has no `url`", marks=pytest.mark.slow, id="no address"),
        pytest.param(
            '{"command": ["./missing.sh"]}',
            "there is no program './missing.sh'",
            marks=pytest.mark.slow,
            id="no program",
        ),
        pytest.param(
            '{"htp": {}}',
            "the task is a mapping with htp; it takes `http` or `command`",
            marks=pytest.mark.slow,
            id="another key",
        ),
        pytest.param(web("http://127.0.0.1:9"), "names the variable SUPPORT_TOKEN, which is not set", id="no secret"),
    ],
)
def test_a_faulty_task_is_named_before_anything_runs(suite, task, sentence):
    suite.write("test_bot.py", f'{SETUP}\ndescribe_eval("web", ROWS, {task}, scorers=["equals"])\n')
    found = suite.run()
    assert found.code != 0
    assert "test_bot.py:8" in found.text
    assert sentence in " ".join(found.text.split())
