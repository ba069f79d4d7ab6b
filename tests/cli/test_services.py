"""HTTP services and commands under test, from suite files of a user."""

import http.server
import json
import os
import re
import threading
import time
from pathlib import Path

import pytest

from evalmark import evaluate
from evalmark.core.values.spending import priced_spending
from evalmark.errors import ConfigError
from evalmark.models.providers import command, workspace
from evalmark.reports.viewer.runs_page import models_of
from evalmark.store import open_store

TOKEN = "tok-3984-abcdef-9912"  # noqa: S105  of nobody
CASES = '{"id": "a", "input": "why", "expected": "WHY"}\n{"id": "b", "input": "how", "expected": "HOW"}\n'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append((self.command, self.path, dict(self.headers.items()), body))
        status, headers, answer = self.server.answer(self.path, body, len(self.server.seen))
        self.send_response(status)
        for name, value in ({"content-type": "application/json"} | headers).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST  # noqa: N815  the name that http.server looks for

    def log_message(self, *words):
        pass


def shout(path, body, number):
    given = json.loads(body) if body else {"question": path.rpartition("=")[2]}
    return 200, {}, json.dumps({"answer": given["question"].upper(), "cost": 0.25}).encode()


@pytest.fixture
def service(world, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen, server.answer = [], shout
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def suite(target: str) -> str:
    Path("cases.jsonl").write_text(CASES)
    Path("suite.yaml").write_text(f"datasets: cases.jsonl\ntarget: {target}\nmetrics: [equals]\n")
    return "suite.yaml"


def script(name: str, text: str) -> None:
    Path(name).write_text(f"#!/bin/sh\n{text}\n")
    Path(name).chmod(0o755)


def outputs(run="last"):
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        return {r.trial.case.id: r.output for r in store.run(run).results}


def test_a_service_is_no_model_so_that_it_has_a_cost_only_where_it_reports_one(evalmark, service, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("SUPPORT_TOKEN", TOKEN)
    reports = evalmark("run", suite(ASK.format(url=service.url)))
    silent = evalmark("run", suite(ASK.format(url=service.url).replace(", cost: $.cost", "")), "--replay", "record")
    assert "2 calls · $0.5" in reports.out
    assert "2 calls\n" in silent.out
    assert "unknown" not in reports.out + silent.out
    assert [run["cost"] for run in json.loads(evalmark("list", "--json").out)] == [None, 0.5]


def test_a_command_is_called_a_model_nowhere(evalmark, world):
    script("worse.sh", 'read q; [ "$q" = how ] && exit 3; echo "$q"')
    path = suite("{command: [./worse.sh], name: worse}")
    found = evalmark("run", path, "-o", "run.md", "-o", "run.html", "-o", "run.json")
    listed = evalmark("list")
    with open_store(".evalmark/evalmark.db", read_only=True) as store:
        run = store.run("last")
        (unfinished,) = store.spending(run.id)  # of a run that was interrupted, only the store knows it
        keys = {key for result in run.results for key in result.output.metadata["calls"]}
        assert (models_of(run, run.spending), priced_spending(run.spending), unfinished.is_model) == ([], [], False)
        assert store.recordings.prices(keys) == {}
    assert "TargetCallError: worse: exited with status 3" in found.out
    for text in (found.out, listed.out, *(Path(f"run.{ending}").read_text() for ending in ("md", "html"))):
        assert not re.search("model call|ModelCall|price unknown|tokens unknown", text, re.IGNORECASE)
    assert '"is_model":false' in Path("run.json").read_text()


ASK = '{{http: {{url: "{url}/ask", headers: {{Authorization: "Bearer ${{SUPPORT_TOKEN}}"}}, body: {{question: "{{{{input}}}}"}}, output: $.answer, cost: $.cost}}}}'


def test_a_service_is_asked_once_for_each_case_and_replayed_afterwards(evalmark, service, monkeypatch):
    monkeypatch.setenv("SUPPORT_TOKEN", TOKEN)
    path = suite(ASK.format(url=service.url))
    assert "2       0        2" in evalmark("plan", path).out
    first = evalmark("run", path)
    assert (first.code, "$0.5" in first.out) == (0, True)
    assert [headers["authorization"] for _, _, headers, _ in service.seen] == [f"Bearer {TOKEN}"] * 2
    assert sorted(json.loads(body)["question"] for *_, body in service.seen) == ["how", "why"]
    assert evalmark("run", path).code == 0
    assert evalmark("run", path, "--replay", "strict").code == 0
    assert len(service.seen) == 2
    assert "2       2        0" in evalmark("plan", path).out
    stored = b"".join(file.read_bytes() for file in Path(".evalmark").rglob("*") if file.is_file())
    assert TOKEN.encode() not in stored


def test_a_secret_that_the_service_sends_back_reaches_neither_screen_nor_disk(evalmark, service, monkeypatch):
    monkeypatch.setenv("SUPPORT_TOKEN", TOKEN)
    service.answer = lambda *_: (500, {}, f"no entry for {TOKEN}".encode())
    found = evalmark("run", suite(ASK.format(url=service.url)), "--retries", "0")
    assert found.code == 3
    assert "no entry for" in found.out
    stored = b"".join(file.read_bytes() for file in Path(".evalmark").rglob("*") if file.is_file())
    assert TOKEN not in found.text
    assert TOKEN.encode() not in stored


@pytest.mark.parametrize(
    ("status", "from_request", "requests", "sentence"),
    [
        pytest.param(401, 1, 1, "answered 401 Unauthorized. It requires a key.", id="a key is missing"),
        pytest.param(404, 1, 1, "answered 404 Not Found. Check the address", id="the address is wrong"),
        pytest.param(403, 2, 2, "1 error;", id="one case is refused after another was answered"),
        pytest.param(404, 2, 2, "1 error;", id="one case is not known"),
        pytest.param(401, 2, 2, "The run is incomplete: 1 trial did not run.", id="a key ends to be valid"),
    ],
)
def test_a_service_that_accepts_no_request_ends_the_run_with_one_sentence(
    evalmark, service, status, from_request, requests, sentence
):
    service.answer = lambda path, body, n: shout(path, body, n) if n < from_request else (status, {}, b"")
    ask = f'{{http: {{url: "{service.url}/ask", body: {{question: "{{{{input}}}}"}}, output: $.answer}}}}'
    found = evalmark("run", suite(ask), "-j", "1")
    assert (found.code, len(service.seen)) == (3, requests)
    assert sentence in " ".join(found.text.split())


@pytest.mark.slow
def test_an_address_without_a_server_ends_the_run_with_one_sentence_and_resumes(evalmark, service):
    path = suite(f'{{http: {{url: "{service.url}/ask", body: {{question: "{{{{input}}}}"}}, output: $.answer}}}}')
    service.shutdown()
    service.server_close()
    found = evalmark("run", path)
    assert found.code == 3
    assert " ".join(found.out.split()).count("Connection refused. Start the server, or check the address.") == 1
    server = http.server.ThreadingHTTPServer(service.server_address, Handler)
    server.seen, server.answer = [], shout
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert evalmark("run", path, "--resume", "last").code == 0
    finally:
        server.shutdown()
        server.server_close()
    assert len(server.seen) == 2


TENANT = '{{http: {{url: "{url}/ask", headers: {{{header}: "${{{variable}}}"}}, body: {{question: "{{{{input}}}}"}}, output: $.answer}}}}'


@pytest.mark.parametrize(
    ("header", "variable", "values", "requests"),
    [
        pytest.param("X-Tenant", "TENANT", ("north", "south"), 4, id="another tenant is asked"),
        pytest.param("X-Tenant", "TENANT", ("north", "north"), 2, id="the same tenant is replayed"),
        pytest.param(
            "Authorization", "SUPPORT_TOKEN", (TOKEN, f"{TOKEN}-2"), 2, id="a renewed key is no other request"
        ),
        pytest.param("X-Gate", "SUPPORT_TOKEN", (TOKEN, f"{TOKEN}-2"), 2, id="a variable that is a secret by its name"),
    ],
)
def test_replies_are_reused_only_for_the_same_values_of_headers(
    evalmark, service, monkeypatch, header, variable, values, requests
):
    path = suite(TENANT.format(url=service.url, header=header, variable=variable))
    for value in values:
        monkeypatch.setenv(variable, value)
        assert evalmark("run", path).code == 0
    assert len(service.seen) == requests
    stored = b"".join(file.read_bytes() for file in Path(".evalmark").rglob("*") if file.is_file())
    assert all(value.encode() not in stored for value in values)


def test_another_variable_in_a_header_is_another_request(evalmark, service, monkeypatch):
    for variable in ("FIRST_TOKEN", "SECOND_TOKEN"):
        monkeypatch.setenv(variable, f"{TOKEN}-{variable}")
        evalmark("run", suite(TENANT.format(url=service.url, header="Authorization", variable=variable)))
    assert len(service.seen) == 4


def test_a_replayed_response_without_the_part_that_the_suite_names_now_is_an_error_that_says_so(evalmark, service):
    target = f'{{http: {{url: "{service.url}/ask", body: {{question: "{{{{input}}}}"}}, output: $.OUTPUT}}}}'
    assert evalmark("run", suite(target.replace("OUTPUT", "answer"))).code == 0
    found = evalmark("run", suite(target.replace("OUTPUT", "nothing")))
    assert found.code == 3
    assert "`output` $.nothing is not in {" in " ".join(outputs()["a"].error.split())


def test_a_suite_names_no_workspace_outside_of_its_project(evalmark, world, tmp_path_factory):
    script("x.sh", "cat")
    found = evalmark("run", suite(f"{{command: [./x.sh], workspace: {tmp_path_factory.mktemp('other')}}}"))
    assert (found.code, "lies outside of" in found.err) == (2, True), found.text


def test_a_redirect_is_not_followed_so_no_header_reaches_another_host(evalmark, service, monkeypatch):
    monkeypatch.setenv("SUPPORT_TOKEN", TOKEN)
    service.answer = lambda path, *_: (307, {"location": f"{service.url.replace('127.0.0.1', 'localhost')}/x"}, b"")
    found = evalmark("run", suite(ASK.format(url=service.url)), "-j", "1")
    assert {path for _, path, *_ in service.seen} == {"/ask"}
    assert "Redirects are not followed" in " ".join(found.text.split())


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again(evalmark, service, monkeypatch, status):
    def busy_at_first(path, body, number):
        return (status, {"retry-after": "0"}, b"{}") if number == 1 else shout(path, body, number)

    monkeypatch.setenv("SUPPORT_TOKEN", TOKEN)
    service.answer = busy_at_first
    assert evalmark("run", suite(ASK.format(url=service.url)), "-j", "1").code == 0
    assert len(service.seen) == 3


def test_a_get_request_has_the_input_in_its_address(evalmark, service):
    path = suite(f'{{http: {{url: "{service.url}/ask?q={{{{input}}}}", method: get, output: $.answer}}}}')
    assert evalmark("run", path).code == 0
    assert sorted((method, address) for method, address, *_ in service.seen) == [
        ("GET", "/ask?q=how"),
        ("GET", "/ask?q=why"),
    ]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param(
            '{http: {url: "http://h/", headers: {A: "${SUPPORT_TOKEN}"}}}',
            "h: a header names the variable SUPPORT_TOKEN, which is not set; set it",
            id="a variable that is not set",
        ),
        pytest.param(
            '{http: {url: "http://h/", headers: {Authorization: "Bearer abcdef"}}}',
            "`target.http.headers.Authorization` contains a secret; write ${NAME}",
            id="a secret in the suite",
        ),
        pytest.param(
            '{http: {url: "http://h/", headers: {Host: other}}}',
            "`target.http.headers.Host` is set by evalmark itself; leave it out.",
            id="a header of the protocol",
        ),
        pytest.param(
            '{http: {url: "http://h/", headers: {"X Y": a}}}',
            "is not the name of a header; use letters, digits and hyphens.",
            id="a header with a space",
        ),
        pytest.param(
            '{http: {url: "http://h/", headers: {X: "a\\nY: b"}}}',
            "`target.http.headers.X` contains a line break or a control character; remove it.",
            id="a header that smuggles another one",
        ),
        pytest.param(
            '{http: {url: "http://{{input}}/x"}}',
            '`target.http.url` is "http://{{input}}/x"; it takes an address',
            id="a case that chooses the server",
        ),
        pytest.param(
            '{http: {url: "http://h/", output: answer}}',
            '`target.http.output` is "answer": a JSONPath begins with $',
            id="a path of another language",
        ),
        pytest.param(
            '{http: {url: "http://h/", method: DELETE}}', '`target.http.method` is "DELETE"', id="a method that deletes"
        ),
        pytest.param("{http: {method: GET}}", "`target.http` has no `url`", id="no address"),
        pytest.param(
            '{output: $.a, http: {url: "http://h/"}}',
            "`target.output` cannot be combined with `http`; put it inside `http`",
            id="a key at the wrong place",
        ),
        pytest.param(
            "{command: [sh, -c, 'touch run']}",
            "the suite names the program 'sh', which is not a file of its project",
            id="a program that nobody allowed",
        ),
        pytest.param(
            "{command: [/bin/sh, -c, 'touch run']}", "the program '/bin/sh' lies outside of", id="the same by its path"
        ),
        pytest.param("{command: [./missing.sh]}", "there is no program './missing.sh'", id="a program that is missing"),
        pytest.param("{command: 'sh -c ls'}", '`target.command` is "sh -c ls"; it takes a list', id="a shell line"),
        pytest.param(
            "{command: [./x.sh], workspace: nowhere}", "there is no such folder beside the suite", id="no workspace"
        ),
    ],
)
def test_a_faulty_target_ends_the_command_before_anything_is_called(evalmark, world, monkeypatch, target, message):
    monkeypatch.delenv("SUPPORT_TOKEN", raising=False)
    found = evalmark("run", suite(target))
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert not Path("run").exists()


def test_the_key_of_a_model_provider_goes_to_no_other_server(evalmark, service, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh1234567")
    target = f'{{http: {{url: "{service.url}/ask", headers: {{A: "${{OPENAI_API_KEY}}"}}}}}}'
    found = evalmark("run", suite(target))
    assert (found.code, service.seen) == (2, [])
    assert "would send OPENAI_API_KEY, the key of a model provider, to" in found.err


def test_a_command_gets_the_case_and_its_output_is_scored(evalmark, world):
    script("shout.sh", "tr a-z A-Z")
    path = suite("{command: [./shout.sh]}")
    assert evalmark("run", path).code == 0
    assert "1 call" in evalmark("run", path, "-n", "1").out, "a command runs again, unless the suite asks for its cache"


def test_a_command_reads_json_and_prints_json_where_the_suite_says(evalmark, world):
    script("agent.sh", 'printf \'{"answer": "%s", "given": %s}\' "$1" "$(cat)"')
    path = suite('{command: [./agent.sh, "{{id}}"], stdin: {q: "{{input}}"}, output: $.given.q}')
    assert evalmark("run", path).code == 1
    assert {case: output.value for case, output in outputs().items()} == {"a": "why", "b": "how"}


def test_a_command_is_replayed_only_where_the_suite_asks_for_it_and_until_it_changes(evalmark, world):
    script("count.sh", "echo x >> ran; tr a-z A-Z")
    path = suite("{command: [./count.sh], cache: true}")
    assert [evalmark("run", path).code for _ in range(2)] == [0, 0]
    assert len(Path("ran").read_text().split()) == 2
    script("count.sh", "echo x >> ran; tr a-z A-Z # changed")
    evalmark("run", path)
    assert len(Path("ran").read_text().split()) == 4


def test_an_allowed_program_is_found_on_the_path_and_gets_no_shell(evalmark, world):
    path = suite('{command: [echo, "{{input}};ls", "$HOME"]}')
    evalmark("run", path, "--allow-code", "echo")
    assert outputs()["a"].value == "why;ls $HOME"


def test_a_command_that_fails_shows_the_end_of_its_errors_without_secrets(evalmark, world, monkeypatch):
    monkeypatch.setenv("SUPPORT_TOKEN", TOKEN)
    script("fails.sh", 'for n in 1 2 3 4 5 6 7; do echo "line $n" >&2; done; echo "with $SUPPORT_TOKEN" >&2; exit 3')
    found = evalmark("run", suite("{command: [./fails.sh]}"))
    assert found.code == 3
    assert TOKEN not in found.text
    error = outputs()["a"].error
    assert "exited with status 3: with (not kept) (before it: line 4 | line 5" in error
    assert "line 3" not in error


def test_each_trial_has_a_copy_of_the_workspace_and_its_changes_are_kept(evalmark, world):
    Path("repo/inner").mkdir(parents=True)
    Path("repo/a.txt").write_text("one\n")
    Path("repo/inner/b.txt").write_text("x\n")
    script("agent.sh", 'cat > /dev/null; ls > "$1.txt"; echo two >> a.txt; rm inner/b.txt; cat a.txt')
    evalmark("run", suite('{command: [./agent.sh, "{{id}}"], workspace: repo}'))
    found = outputs()["b"]
    assert found.value == "one\ntwo", "the other trial has changed another copy"
    assert found.metadata["workspace"]["files"] == {"a.txt": "changed", "b.txt": "added", "inner/b.txt": "deleted"}
    assert "+two\n" in found.metadata["workspace"]["diff"]
    assert Path("repo/a.txt").read_text() == "one\n"
    assert not Path("repo/b.txt").exists()


def test_a_time_limit_ends_the_command_and_all_that_it_started(evalmark, world):
    script("slow.sh", "(sleep 1; echo late > late) & sleep 60")
    found = evalmark("run", suite("{command: [./slow.sh]}"), "--timeout", "0.3")
    assert "no answer within 0.3 s" in found.out
    assert not command._RUNNING
    time.sleep(1.5)
    assert not Path("late").exists()


def test_what_a_command_leaves_running_is_ended_with_it(evalmark, world):
    script("leaves.sh", "(sleep 1; echo late > late) & tr a-z A-Z")
    assert evalmark("run", suite("{command: [./leaves.sh]}")).code == 0
    time.sleep(1.5)
    assert not Path("late").exists()


def test_a_program_in_a_session_of_its_own_does_not_keep_the_trial_waiting(evalmark, world):
    script("daemon.sh", "tr a-z A-Z; setsid sleep 20 &")
    started = time.monotonic()
    assert evalmark("run", suite("{command: [./daemon.sh]}")).code == 0
    assert time.monotonic() - started < 15, "it waited until the other program closed the output"


def test_a_program_in_a_session_of_its_own_that_prints_for_ever_is_not_read_for_ever(evalmark, world, monkeypatch):
    monkeypatch.setattr(command, "_MOST_WAITS", 2)
    script("daemon.sh", "tr a-z A-Z; setsid sh -c 'for n in $(seq 100); do sleep 0.2; echo more; done' &")
    started = time.monotonic()
    evalmark("run", suite("{command: [./daemon.sh]}"))
    assert time.monotonic() - started < 15


def test_links_pipes_and_large_files_in_a_workspace_are_neither_followed_nor_read(evalmark, world, monkeypatch):
    monkeypatch.setattr(workspace, "MAX_DIFF_FILE", 1000)
    Path("outside.txt").write_text("of another project\n")
    Path("repo").mkdir()
    Path("repo/a.txt").write_text("one\n")
    os.mkfifo("repo/pipe")
    script("agent.sh", 'cat; rm a.txt; ln -s "$1/outside.txt" a.txt; ln -s "$1" all; head -c 2000 /dev/zero > big')
    evalmark("run", suite('{command: [./agent.sh, "{{suite_folder}}"], workspace: repo}'))
    found = outputs()["a"]
    assert found.error is None
    assert found.metadata["workspace"]["files"] == {"a.txt": "changed", "all": "added", "big": "added"}
    diff = found.metadata["workspace"]["diff"]
    assert "of another project" not in diff
    assert "+link to " in diff
    assert "File big differs; it is larger than" in diff


def test_a_long_difference_of_a_workspace_says_that_it_is_cut(evalmark, world, monkeypatch):
    monkeypatch.setattr(workspace, "MAX_DIFF", 200)
    Path("repo").mkdir()
    script("agent.sh", "cat; for n in 1 2 3 4 5 6 7 8 9; do echo a line of the file > $n.txt; done")
    evalmark("run", suite("{command: [./agent.sh], workspace: repo}"))
    assert outputs()["a"].metadata["workspace"]["diff"].endswith("(The rest is left out: more than 200 characters.)\n")


def test_a_link_that_leads_elsewhere_makes_another_workspace(world):
    Path("repo").mkdir()
    Path("repo/model").symlink_to("first")
    first = command.content_hash([Path("repo")])
    Path("repo/model").unlink()
    Path("repo/model").symlink_to("other")
    assert command.content_hash([Path("repo")]) != first


def test_a_command_that_prints_without_end_is_stopped(evalmark, world, monkeypatch):
    monkeypatch.setattr(command, "MAX_OUTPUT", 1 << 20)
    script("endless.sh", "yes")
    found = evalmark("run", suite("{command: [./endless.sh]}"))
    assert "printed more than 1 MiB and was stopped" in " ".join(found.out.split())


def test_a_run_of_a_command_is_resumed_with_its_earlier_calls_counted(evalmark, world):
    script("count.sh", "echo x >> ran; tr a-z A-Z")
    path = suite("{command: [./count.sh]}")
    assert evalmark("run", path, "--max-calls", "1", "-j", "1").code == 3
    found = evalmark("run", path, "--resume")
    assert (found.code, "2 calls" in found.out) == (0, True)
    assert len(Path("ran").read_text().split()) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["--max-cost", "1"], "what ./x.sh costs is not known before a call", id="a limit on unknown costs"
        ),
        pytest.param(["--model", "openai/m"], "--model is for a prompt or a model under test", id="a model"),
        pytest.param(["--on", "ray"], "HTTP services and commands are called by this machine only", id="a cluster"),
    ],
)
def test_what_a_command_cannot_do_is_refused(evalmark, world, words, message):
    script("x.sh", "touch run")
    found = evalmark("run", suite("{command: [./x.sh]}"), *words)
    assert found.code == 2
    assert message in found.err
    assert not Path("run").exists()


def test_evaluate_takes_a_service_and_a_command_as_a_suite_does(world, service):
    task = {"http": {"url": f"{service.url}/ask", "body": {"question": "{{input}}"}, "output": "$.answer"}}
    rows = [{"input": "why", "expected": "WHY"}]
    assert [r.verdict for r in evaluate(rows, task, ["equals"], store=None).results] == ["pass"]
    run = evaluate(rows, {"command": ["tr", "a-z", "A-Z"]}, ["equals"], store=None)
    assert [r.verdict for r in run.results] == ["pass"]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        pytest.param(
            {"url": "http://h/"}, "the task is a mapping with url; it takes `http` or `command`.", id="neither"
        ),
        pytest.param({"http": {"url": "h"}}, '`target.http.url` is "h"; it takes an address', id="no address"),
        pytest.param({"command": ["no-such-program-7"]}, "is not installed, or not on the PATH", id="no program"),
    ],
)
def test_a_faulty_mapping_is_refused_by_evaluate(world, task, message):
    with pytest.raises(ConfigError) as refused:
        evaluate([{"input": "a"}], task, ["equals"], store=None)
    assert message in str(refused.value)
