"""One comment on a pull request: found again on any page, replaced, never another's, whatever the API answers."""

import json
import threading

import pytest

from evalmark.core.errors import ConfigError
from evalmark.interop.review_comments import (
    ReviewCommentError,
    find_review_page,
    job_link,
    post_review_comment,
)

from .code_hosts import code_host

MARKER = "<!-- evalmark comment 0123456789abcdef -->"
TOKEN = "ghs_0123456789"  # noqa: S105  of the server of these tests


def body(text: str, created: str = "2026-11-23T10:00:00Z") -> str:
    return f"{MARKER}\n<!-- evalmark run {created} -->\n{text}"


@pytest.fixture
def server():
    with code_host() as host:
        yield host


def github(server, **more):
    environ = {
        "GITHUB_API_URL": server.url,
        "GITHUB_REPOSITORY": "org/app",
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_TOKEN": TOKEN,
    }
    return find_review_page("github", environ | more)


def gitlab(server, **more):
    environ = {
        "CI_API_V4_URL": server.url,
        "CI_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": TOKEN,
    }
    return find_review_page("gitlab", environ | more)


def post(page, text, waits=None):
    return post_review_comment(page, text, (waits if waits is not None else []).append)


@pytest.mark.parametrize("page_of", [github, gitlab])
def test_the_first_run_makes_a_comment_and_the_next_ones_replace_it(server, page_of):
    server.user = 5 if page_of is gitlab else None
    assert post(page_of(server), body("first")) == "created"
    assert post(page_of(server), body("second", "2026-11-23T11:00:00Z")) == "updated"
    (comment,) = server.comments.values()
    assert comment["body"].endswith("second")
    assert server.tokens == {TOKEN if page_of is gitlab else f"Bearer {TOKEN}"}


def test_the_comment_is_found_on_the_third_page(server):
    for number in range(230):
        server.add(f"comment {number}", kind="User", author=number)
    mine = server.add(body("old"))
    for number in range(50):
        server.add(f"later {number}")
    assert post(github(server), body("new")) == "updated"
    assert server.comments[mine]["body"].endswith("new")
    assert server.methods() == ["PATCH"]


@pytest.mark.parametrize(
    ("user", "author", "kind"),
    [pytest.param(None, 9, "User", id="a person, and a job's token"), pytest.param(5, 9, "Bot", id="another user")],
)
def test_a_comment_by_somebody_else_with_the_marker_is_left_alone(server, user, author, kind):
    server.user = user
    forged = server.add(body("forged"), author=author, kind=kind)
    assert post(github(server), body("real")) == "created"
    assert server.comments[forged]["body"].endswith("forged")
    assert len(server.comments) == 2


def test_two_jobs_that_create_at_once_leave_one_comment_with_the_newest_run(server):
    server.hold = threading.Barrier(2, timeout=10)
    texts = [body("older", "2026-11-23T10:00:00Z"), body("newer", "2026-11-23T10:00:09Z")]
    threads = [threading.Thread(target=post, args=(github(server), text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (comment,) = server.comments.values()
    assert comment["body"].endswith("newer")


def test_an_older_run_does_not_replace_a_newer_one(server):
    server.add(body("newer", "2026-11-23T12:00:00Z"))
    done = post(github(server), body("older", "2026-11-23T10:00:00Z"))
    assert done == "left unchanged, since a newer run has written it"
    assert server.methods() == []


@pytest.mark.parametrize(
    ("fault", "waited"),
    [
        ((429, {"Retry-After": "3"}, "slow down"), [3.0]),
        ((403, {"Retry-After": "7"}, "You have exceeded a secondary rate limit"), [7.0]),
        ((502, {}, "bad gateway"), [2.0]),
    ],
    ids=["429", "secondary rate limit", "a gateway fails"],
)
def test_a_short_limit_or_failure_is_waited_for(server, fault, waited):
    server.faults.append(fault)
    waits = []
    assert post(github(server), body("text"), waits) == "created"
    assert waits == waited


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        (
            [(403, {}, "Resource not accessible by integration")],
            "HTTP 403 Resource not accessible by integration: GITHUB_TOKEN may not write here. Pull requests from forks",
        ),
        ([(401, {}, f"Bad credentials {TOKEN}")], "HTTP 401 Bad credentials ***: GITHUB_TOKEN may not write"),
        ([(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4102444800"}, "limit")], "the rate limit"),
        ([(500, {}, "broken")] * 4, "HTTP 500 broken"),
        ([(301, {"Location": "http://127.0.0.1:9/elsewhere"}, "moved")], "HTTP 301 moved"),
        ([(422, {}, "Validation Failed")], "HTTP 422 Validation Failed"),
    ],
    ids=["a fork", "a wrong token", "a long rate limit", "the server is down", "a redirect", "left out"],
)
def test_a_refusal_is_one_sentence_without_the_token(server, faults, message):
    server.faults.extend(faults)
    waits = []
    with pytest.raises(ReviewCommentError) as raised:
        post(github(server), body("text"), waits)
    assert str(raised.value).startswith(message)
    assert TOKEN not in str(raised.value)
    assert sum(waits) <= 60


def test_a_host_that_is_not_there_is_named(server):
    page = github(server, GITHUB_API_URL="http://127.0.0.1:9")
    with pytest.raises(ReviewCommentError, match=r"127.0.0.1 cannot be reached: .*refused"):
        post(page, body("text"))


EVENTS = {
    "a pull request": ({"pull_request": {"number": 7}}, "7"),
    "a comment on one": ({"issue": {"number": 7, "pull_request": {}}}, ""),
    "a comment on one, as GitHub sends it": ({"issue": {"number": 7, "pull_request": {"url": "x"}}}, "7"),
    "a comment on an issue": ({"issue": {"number": 7}}, ""),
    "a push": ({"ref": "refs/heads/main"}, ""),
    "not an event": ([1], ""),
    "a text for a number": ({"pull_request": {"number": "7; rm -rf /"}}, ""),
}


@pytest.mark.parametrize("name", EVENTS)
def test_the_pull_request_is_the_one_of_the_event(server, tmp_path, name):
    event, number = EVENTS[name]
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event), encoding="utf-8")
    page = github(server, GITHUB_EVENT_PATH=str(path), GITHUB_REF="refs/heads/main")
    assert ("" if page is None else page.number) == number


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"GITHUB_TOKEN": ""}, "--post needs the environment variable GITHUB_TOKEN"),
        ({"GITHUB_TOKEN": "a\nb"}, "GITHUB_TOKEN contains characters that no token has"),
        ({"GITHUB_REPOSITORY": ""}, "--post needs the environment variable GITHUB_REPOSITORY"),
        (
            {"GITHUB_API_URL": "http://example.com"},
            "GITHUB_API_URL is not an https address, so no token is sent there.",
        ),
    ],
)
def test_what_is_missing_or_unsafe_is_said_before_anything_is_sent(server, more, message):
    with pytest.raises(ConfigError) as raised:
        github(server, **more)
    assert str(raised.value).startswith(message)
    assert server.requests == []


def test_the_page_does_not_show_its_token(server):
    assert TOKEN not in repr(github(server))


def test_the_job_is_linked_where_it_is_known():
    known = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "org/app", "GITHUB_RUN_ID": "99"}
    assert job_link("github", known) == "https://github.com/org/app/actions/runs/99"
    assert job_link("gitlab", {"CI_JOB_URL": "https://gitlab.com/x/-/jobs/1"}) == "https://gitlab.com/x/-/jobs/1"
    assert job_link("github", {}) == ""
