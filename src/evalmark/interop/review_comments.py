"""Keeps one comment on a pull request of GitHub or a merge request of GitLab up to date."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from evalmark.core.errors import ConfigError, EvalmarkError
from evalmark.core.text import one_line
from evalmark.models.providers.addresses import validate_address

Host = Literal["github", "gitlab"]
TIMEOUT = 30.0
"""Seconds for one request."""
LONGEST_WAIT = 60.0
"""Seconds to wait in all, for a rate limit or a server that is down."""
_ATTEMPTS = 4
_PAGE = 100
_MOST_PAGES = 100
_LARGEST = 64 << 20
"""Largest response in bytes."""
_PULL = re.compile(r"refs/pull/(\d+)/")
_RUN = re.compile(r"<!-- evalmark run (\S+) -->")
_READ_ONLY = {
    "github": "GITHUB_TOKEN may not write here. Pull requests from forks get a token that only reads; "
    "elsewhere the job needs `permissions: pull-requests: write`.",
    "gitlab": "GITLAB_TOKEN may not write here. It has to be a token with the scope `api` and the role Reporter or more; "
    "merge requests from forks do not get protected variables.",
}


class ReviewCommentError(EvalmarkError):
    """A comment could not be written; the message says why and holds no token."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the token goes to no other host."""

    def redirect_request(self, *_: Any) -> None:
        """Return no further request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPage:
    """The pull request or merge request that gets the comment."""

    host: Host
    comments: str
    """The address of all its comments."""
    comment: str
    """The address of one comment, without its id."""
    user: str
    """The address that tells whose token it is."""
    number: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: Mapping[str, str]
    data: Any


def find_review_page(host: Host, environ: Mapping[str, str]) -> ReviewPage | None:
    """Return where the CI job may comment; None if it does not run for a pull request or merge request.

    Args:
        host: The host whose variables are read: GITHUB_TOKEN, GITHUB_REPOSITORY, GITHUB_EVENT_PATH, GITHUB_REF and
            GITHUB_API_URL, or GITLAB_TOKEN, CI_API_V4_URL, CI_PROJECT_ID and CI_MERGE_REQUEST_IID.
        environ: The environment variables.

    Raises:
        ConfigError: the token is missing, or the address of the API is not safe to send it to.
    """
    number = _pull_request(environ) if host == "github" else environ.get("CI_MERGE_REQUEST_IID", "")
    if not number.isdigit():
        return None
    variable = f"{host.upper()}_TOKEN"
    token = environ.get(variable, "").strip()
    if not token:
        raise ConfigError(
            f"--post needs the environment variable {variable}; see the page about CI for how to pass it."
        )
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"{variable} contains characters that no token has; set it again.")
    if host == "gitlab":
        project = quote(_required(environ, "CI_PROJECT_ID"), safe="")
        api = _address(environ, "CI_API_V4_URL", "https://gitlab.com/api/v4")
        notes = f"{api}/projects/{project}/merge_requests/{number}/notes"
        return ReviewPage(host=host, comments=notes, comment=notes, user=f"{api}/user", number=number, token=token)
    api = _address(environ, "GITHUB_API_URL", "https://api.github.com")
    issues = f"{api}/repos/{quote(_required(environ, 'GITHUB_REPOSITORY'))}/issues"
    return ReviewPage(
        host=host,
        comments=f"{issues}/{number}/comments",
        comment=f"{issues}/comments",
        user=f"{api}/user",
        number=number,
        token=token,
    )


def job_link(host: Host, environ: Mapping[str, str]) -> str:
    """Return the address of the running CI job; empty outside of CI."""
    if host == "gitlab":
        return environ.get("CI_JOB_URL", "")
    parts = [environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else ""


def post_review_comment(page: ReviewPage, body: str, wait: Callable[[float], None] = time.sleep) -> str:
    """Write the comment, or replace the one with the same marker; return what was done.

    The first line of `body` is the marker. Only comments of the token's own user count, since any user can write the marker.
    Two jobs that post at once may both create a comment: each then looks again, and all but the oldest are deleted.

    Raises:
        ReviewCommentError: the host refused, or could not be reached.
    """
    api = _CommentApi(page, wait)
    marker = body.partition("\n")[0]
    own = api.own_comments(marker)
    done = "updated"
    if not own:
        api.send("POST", page.comments, {"body": body})
        done, own = "created", api.own_comments(marker)
        if len(own) <= 1:
            return done
    newest = max([body, *(str(comment["body"]) for comment in own)], key=_created)
    if _created(newest) == _created(body):
        newest = body
    first, *others = own
    if newest == body or others:
        api.send("PATCH" if page.host == "github" else "PUT", f"{page.comment}/{first['id']}", {"body": newest})
    for other in others:
        api.delete(other["id"])
    return done if newest == body else "left unchanged, since a newer run has written it"


def _created(body: str) -> str:
    match = _RUN.search(body[:1_000])
    return match[1] if match else ""


class _CommentApi:
    """Sends requests to the REST API of one host, with its rate limits."""

    def __init__(self, page: ReviewPage, wait: Callable[[float], None]) -> None:
        self._page, self._wait, self._left = page, wait, LONGEST_WAIT
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._user: Any = None
        self._knows_user = False

    def own_comments(self, marker: str) -> list[Mapping[str, Any]]:
        """Return the comments of the token's user that begin with the marker, the oldest first."""
        marked = [comment for comment in self._comments() if str(comment.get("body", "")).startswith(marker)]
        return sorted(filter(self._is_own, marked), key=lambda comment: int(comment["id"])) if marked else []

    def _comments(self) -> Sequence[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        for number in range(1, _MOST_PAGES + 1):
            # Pages are counted, not followed: an address in a response could be that of another host.
            data = self.send("GET", f"{self._page.comments}?per_page={_PAGE}&page={number}").data
            rows = [row for row in data if isinstance(row, dict) and "id" in row] if isinstance(data, list) else []
            found += rows
            if len(rows) < _PAGE:
                break
        return found

    def _is_own(self, comment: Mapping[str, Any]) -> bool:
        author = comment.get("user") or comment.get("author") or {}
        if not self._knows_user:
            with suppress(ReviewCommentError):  # the token of a GitHub job has no user: its comments are those of a bot
                self._user = self.send("GET", self._page.user).data.get("id")
            self._knows_user = True
        if self._user is not None:
            return bool(author.get("id") == self._user)
        return self._page.host == "gitlab" or author.get("type") == "Bot"

    def delete(self, comment_id: Any) -> None:
        """Delete a comment that another job may have deleted already."""
        with suppress(ReviewCommentError):
            self.send("DELETE", f"{self._page.comment}/{comment_id}")

    def send(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> _Reply:
        """Send a request, again after a short rate limit or a failure of the server.

        Raises:
            ReviewCommentError: the host refused, or could not be reached.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            reply = self._send_once(method, url, body)
            if 200 <= reply.status < 300:
                return reply
            seconds = _seconds_to_wait(reply, attempt)
            if seconds is None or seconds > self._left or attempt == _ATTEMPTS:
                break
            self._left -= seconds
            self._wait(seconds)
        raise ReviewCommentError(self._refusal(reply))

    def _send_once(self, method: str, url: str, body: Mapping[str, Any] | None) -> _Reply:
        request = urllib.request.Request(  # noqa: S310  the address was checked
            url, None if body is None else json.dumps(body).encode(), self._headers(), method=method
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                return _reply(response.status, response.headers, response.read(_LARGEST))
        except urllib.error.HTTPError as error:
            with error:
                return _reply(error.code, error.headers, error.read(_LARGEST))
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            return _Reply(0, {}, {"message": f"{urlsplit(url).hostname} cannot be reached: {reason}"})

    def _headers(self) -> dict[str, str]:
        common = {"Content-Type": "application/json", "User-Agent": "evalmark"}
        if self._page.host == "gitlab":
            return common | {"PRIVATE-TOKEN": self._page.token}
        return common | {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._page.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def _refusal(self, reply: _Reply) -> str:
        message = reply.data.get("message", "") if isinstance(reply.data, dict) else ""
        message = one_line(message, 300).replace(self._page.token, "***")
        if _is_limited(reply):
            return f"the rate limit of the API is used up (HTTP {reply.status}); the next job writes the comment."
        if reply.status in (401, 403, 404):
            return f"HTTP {reply.status} {message}: {_READ_ONLY[self._page.host]}"
        return f"HTTP {reply.status} {message}" if reply.status else message


def _reply(status: int, headers: Any, content: bytes) -> _Reply:
    try:
        data = json.loads(content or b"null")
    except ValueError:
        data = None
    return _Reply(status, {name.lower(): value for name, value in headers.items()}, data)


def _is_limited(reply: _Reply) -> bool:
    return reply.status == 429 or (
        reply.status == 403 and ("retry-after" in reply.headers or reply.headers.get("x-ratelimit-remaining") == "0")
    )


def _seconds_to_wait(reply: _Reply, attempt: int) -> float | None:
    """Return the seconds until a request may be sent again; None if it will not help."""
    if _is_limited(reply):
        after, reset = (reply.headers.get(name, "") for name in ("retry-after", "x-ratelimit-reset"))
        if after.isdigit():
            return float(after)
        return max(1.0, float(reset) - time.time()) if reset.isdigit() else LONGEST_WAIT / 4
    return 2.0**attempt if reply.status == 0 or reply.status >= 500 else None


def _pull_request(environ: Mapping[str, str]) -> str:
    """Return the number of the pull request that the job runs for; empty if there is none."""
    event: Any = None
    if path := environ.get("GITHUB_EVENT_PATH"):
        with suppress(OSError, ValueError):
            event = json.loads(Path(path).read_text(encoding="utf-8"))
    if isinstance(event, dict):
        pull = event.get("pull_request") or ((event.get("issue") or {}).get("pull_request") and event["issue"])
        if isinstance(pull, dict) and isinstance(pull.get("number"), int):
            return str(pull["number"])
    match = _PULL.match(environ.get("GITHUB_REF", ""))
    return match[1] if match else ""


def _required(environ: Mapping[str, str], name: str) -> str:
    if not environ.get(name):
        raise ConfigError(f"--post needs the environment variable {name}, which the CI system sets.")
    return environ[name]


def _address(environ: Mapping[str, str], name: str, default: str) -> str:
    address = validate_address(environ.get(name) or default, name)
    host = urlsplit(address).hostname or ""
    if not address.startswith("https://") and host not in ("localhost", "127.0.0.1", "::1"):
        raise ConfigError(f"{name} is not an https address, so no token is sent there.")
    return address
