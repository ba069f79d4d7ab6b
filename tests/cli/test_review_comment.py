"""`evalmark report --to github-comment`: the text on the standard output, and with --post on the pull request."""

import pytest

from tests.interop.code_hosts import code_host

BOT = """
import os

def answer(text):
    return "@org/team `x`" if os.environ.get("WORSE") else text
"""
SUITE = """
name: letters
datasets: [cases.jsonl]
target: bot:answer
metrics: [equals]
gate: {min_pass_rate: 0.9}
"""
CI = ("GITHUB_ACTIONS", "GITHUB_EVENT_PATH", "GITHUB_REF", "GITHUB_TOKEN", "GITHUB_RUN_ID", "CI_MERGE_REQUEST_IID")


@pytest.fixture
def ran(world, evalmark, monkeypatch):
    """Two runs of a suite, the second one worse."""
    for name in CI:
        monkeypatch.delenv(name, raising=False)
    (world / "bot.py").write_text(BOT, encoding="utf-8")
    (world / "suite.yaml").write_text(SUITE, encoding="utf-8")
    rows = "".join(f'{{"id": "c{n}", "input": "a{n}", "expected": "a{n}"}}\n' for n in range(20))
    (world / "cases.jsonl").write_text(rows, encoding="utf-8")
    evalmark("run", "suite.yaml", "-q")
    monkeypatch.setenv("WORSE", "1")
    assert evalmark("run", "suite.yaml", "-q").code == 1


@pytest.fixture
def server(monkeypatch):
    with code_host() as host:
        for name, value in {
            "GITHUB_API_URL": host.url,
            "GITHUB_REPOSITORY": "org/app",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_TOKEN": "ghs_secret",
            "CI_API_V4_URL": host.url,
            "CI_PROJECT_ID": "42",
            "CI_MERGE_REQUEST_IID": "7",
            "GITLAB_TOKEN": "glpat_secret",
        }.items():
            monkeypatch.setenv(name, value)
        yield host


@pytest.mark.parametrize("baseline", ["last-green", "last", "other.db@last"])
def test_a_comment_compares_with_the_baseline_of_the_suite_as_the_run_did(ran, evalmark, world, baseline):
    (world / "suite.yaml").write_text(f"{SUITE}\nbaseline: {baseline}\n", encoding="utf-8")
    said = evalmark("report", "last", "--to", "github-comment")
    if baseline == "other.db@last":
        assert "suite.yaml names the baseline other.db@last, which cannot be compared with: " in said.err
    else:
        assert said.out.splitlines()[2] == "### ❌ letters: worse; gate failed"
    said = evalmark("report", "last", "--to", "github-comment", "--baseline", "none")
    assert (said.code, said.out.splitlines()[2]) == (0, "### ❌ letters: failed")


def test_without_post_the_text_is_printed_and_nothing_else(ran, evalmark):
    said = evalmark("report", "last", "--to", "github-comment", "--baseline", "last~1", "-o", "out.md")
    assert (said.code, said.out.splitlines()[2]) == (0, "### ❌ letters: worse; gate failed")
    assert "out.md" not in said.out
    assert "@org" not in said.out


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_post_writes_one_comment_and_the_next_one_replaces_it(ran, evalmark, server, host):
    server.user = 5
    first = evalmark("report", "last", "--to", f"{host}-comment", "--post", "--min-pass-rate", "0.5")
    assert (first.code, f"The comment on {host} 7 was created." in first.out) == (1, True)
    second = evalmark("report", "last", "--to", f"{host}-comment", "--post", "--baseline", "last~1")
    assert (second.code, f"The comment on {host} 7 was updated." in second.out) == (0, True)
    (comment,) = server.comments.values()
    assert "### ❌ letters: worse; gate failed" in comment["body"]
    assert "secret" not in first.text + second.text


def test_a_token_of_a_fork_leaves_the_verdict_and_says_why(ran, evalmark, server):
    server.faults.append((403, {}, "Resource not accessible by integration"))
    said = evalmark("report", "last", "--to", "github-comment", "--post", "--min-pass-rate", "0.5")
    assert said.code == 1
    assert "The comment on github 7 was not written: HTTP 403 Resource not accessible" in said.err
    assert "::warning title=evalmark::No comment was written" in said.out


def test_a_job_of_no_pull_request_writes_nothing(ran, evalmark, server, monkeypatch):
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    said = evalmark("report", "last", "--to", "github-comment", "--post")
    assert (said.code, said.err) == (
        0,
        "This job runs for no pull request or merge request, so no comment is written.\n",
    )
    assert server.requests == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--to", "github", "--post"), "--post goes with --to github-comment or --to gitlab-comment."),
        (("--to", "comment"), "--to takes github, github-comment, gitlab-comment, json"),
    ],
)
def test_what_cannot_be_posted_is_refused(ran, evalmark, words, message):
    said = evalmark("report", "last", *words)
    assert (said.code, message in said.err) == (2, True)


def test_a_missing_token_is_refused_before_the_report(ran, evalmark, server, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN")
    said = evalmark("report", "last", "--to", "github-comment", "--post", "-o", "out.html")
    assert (said.code, "needs the environment variable GITHUB_TOKEN" in said.err) == (2, True)
    assert "out.html" not in said.out
