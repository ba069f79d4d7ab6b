"""What pages say of a run under way, and how they are told that there is nothing new."""

import asyncio
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evalmark.core.values.run import DatasetInfo, Metric
from evalmark.reports.viewer.live_updates import MOST_WAITING, progress
from evalmark.reports.viewer.urls.paths import encode_name, run_path
from evalmark.stats.summary.summarise import planned_trials
from evalmark.store import open_store

from .conftest import POLICY, TOKEN, a_run, asked, from_browser, keep, result, sent, shown
from .test_run_changes import answered

RUN = "20261121-101500-3f9a"
PAGE = run_path(RUN)
ENTERED = [("host", "127.0.0.1:7878"), ("cookie", f"{POLICY.cookie}={TOKEN}")]


def mark(text: str) -> str | None:
    found = re.search(r'data-mark="([\w-]+)"', text)
    return found and found[1]


def again(app, address: str, known: str | None):
    return asked(app, address, "GET", [*ENTERED, ("if-none-match", f'"{known}"')])


def write(store, *numbers: int) -> None:
    asyncio.run(store.sink(RUN).write([result(number) for number in numbers]))


@pytest.mark.parametrize("address", ["/", PAGE, f"{PAGE}?verdict=fail&sort=-case"])
def test_a_page_of_a_run_under_way_is_sent_again_once_there_is_something_new(store, address):
    keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)
    first = mark(from_browser(app, address).text)
    same = again(app, address, first)
    assert (same.status, same.body) == (304, b"")
    write(store, 1)
    second = again(app, address, first)
    assert second.status == 200
    assert mark(second.text) not in (None, first)
    assert again(app, address, mark(second.text)).status == 304


@pytest.mark.parametrize("address", ["/", PAGE])
def test_at_its_end_the_page_is_sent_once_more_and_asks_for_nothing_then(store, address):
    run = keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)
    known = mark(from_browser(app, address).text)
    store.finish(replace(run, status="complete", finished="2026-11-21T10:16:00Z"))
    answer = again(app, address, known)
    assert answer.status == 200
    assert mark(answer.text) is None
    assert "Refresh" not in answer.text


def test_a_page_of_settled_runs_names_nothing_to_follow(app):
    for address in ("/", PAGE):
        text = from_browser(app, address).text
        assert "data-mark" not in text
        assert "data-pending" not in text


def test_a_run_whose_process_was_killed_is_not_followed(tmp_path):
    file = tmp_path / "evalmark.db"
    code = f"""
import os, signal
from evalmark.store import open_store
from tests.reports.viewer.conftest import a_run, keep, result
keep(open_store({str(file)!r}), a_run(), [result(0)], ends=False)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == -9
    with open_store(file) as store:
        for address in ("/", PAGE):
            text = from_browser(shown(store), address).text
            assert "interrupted" in text
            assert "data-mark" not in text


def test_without_a_script_there_is_a_link_to_look_again(store):
    keep(store, a_run(), [result(0)], ends=False)
    text = from_browser(shown(store), f"{PAGE}?verdict=fail").text
    assert f'<a class="refresh" href="{PAGE}?verdict=fail">Refresh</a>' in text
    assert "<noscript" not in text


def test_a_run_under_way_has_no_verdict_and_a_stopped_one_says_how_to_go_on(store):
    run = keep(store, a_run(metrics=(Metric(name="correct"),), suite="suite.yaml"), answered(1, 1), ends=False)
    app = shown(store)
    text = from_browser(app, PAGE).text
    assert "cannot tell" not in text
    assert "--resume" not in text
    store.finish(replace(run, status="stopped", finished="2026-11-21T10:16:00Z"))
    text = from_browser(app, PAGE).text
    assert "cannot tell" in text
    assert f"repeat its command with <code>--resume {RUN}</code>" in text


def test_how_far_a_run_is_stands_on_its_page(store):
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    datasets = (DatasetInfo(name="squares.jsonl", rows=40),)
    keep(store, a_run(created=now, datasets=datasets, repeat=2), [result(0), result(1)], ends=False)
    text = from_browser(shown(store), PAGE).text
    assert '<progress max="80" value="2" aria-label="Trials done">' in text
    assert "2 of 80 trials" in text


@pytest.mark.parametrize(
    ("done", "of", "seconds", "said"),
    [
        pytest.param(0, None, None, "0 trials so far", id="nothing is known"),
        pytest.param(7, None, 0.5, "7 trials so far", id="too soon for a pace"),
        pytest.param(0, 10, 60.0, "0 of 10 trials", id="no pace without a result"),
        pytest.param(10, None, 600.0, "10 trials so far · 1 a minute", id="a slow one"),
        pytest.param(10, 10, 10.0, "10 of 10 trials · 1 a second", id="all are there"),
        pytest.param(500, 1_000, 10.0, "500 of 1,000 trials · 50 a second · about 10 s left", id="seconds"),
        pytest.param(1, 101, 36.0, "1 of 101 trials · 1.7 a minute · about 60 min left", id="minutes"),
        pytest.param(1, 1_001, 36.0, "1 of 1,001 trials · 1.7 a minute · about 10 h left", id="hours"),
    ],
)
def test_of_pace_and_time_left_only_what_is_known_is_said(done, of, seconds, said):
    assert progress(done, of, seconds) == said


@pytest.mark.parametrize(
    ("fields", "of"),
    [
        pytest.param({}, None, id="rows that nobody has counted"),
        pytest.param({"datasets": ()}, None, id="no dataset"),
        pytest.param({"datasets": (DatasetInfo(name="a", rows=4), DatasetInfo(name="b"))}, None, id="one of two"),
        pytest.param({"datasets": (DatasetInfo(name="a", rows=4), DatasetInfo(name="b", rows=1))}, 5, id="two"),
        pytest.param({"datasets": (DatasetInfo(name="a", rows=4),), "target": "m/a, m/b", "repeat": 3}, 24, id="24"),
        pytest.param(
            {
                "datasets": (DatasetInfo(name="a", rows=4),),
                "metrics": (Metric(name="x"), Metric(name="y", mode="conversation")),
            },
            8,
            id="by itself and turn by turn",
        ),
    ],
)
def test_how_many_trials_there_will_be_follows_from_the_datasets(fields, of):
    run = a_run(**fields)
    assert planned_trials(run, len(run.target.split(", "))) == of


def test_a_resumed_run_tells_no_pace_and_more_than_planned_is_no_share(store):
    run = keep(store, a_run(datasets=(DatasetInfo(name="squares.jsonl", rows=1),)), [result(0)], ends=False)
    store.finish(replace(run, status="interrupted"))
    store.resume(RUN)
    write(store, 1)
    text = from_browser(shown(store), PAGE).text
    assert "<span>2 trials so far</span>" in text
    assert "<progress" not in text


FORM = {"run": encode_name(RUN)}


def test_a_run_whose_process_looks_for_requests_can_be_stopped_from_its_page(store):
    keep(store, a_run(), [result(0)], ends=False)
    store.accept_stops(RUN)
    app = shown(store)
    known = mark(from_browser(app, PAGE).text)
    assert "Stop this run" in from_browser(app, PAGE).text
    assert (sent(app, FORM, "/stop").status, store.stop_request(RUN)) == (303, "somebody")
    changed = again(app, PAGE, known)
    assert changed.status == 200
    assert "somebody stopped the run" in changed.text
    assert "Stop this run" not in changed.text
    assert again(app, PAGE, mark(changed.text)).status == 304


def test_a_run_whose_process_looks_for_no_requests_offers_no_button(store):
    keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)
    assert "Stop this run" not in from_browser(app, PAGE).text
    answer = sent(app, FORM, "/stop")
    assert answer.status == 409
    assert "end its process" in answer.text


def test_a_run_that_has_ended_meanwhile_shows_its_page(store):
    run = keep(store, a_run(), [result(0)], ends=False)
    store.accept_stops(RUN)
    app = shown(store)
    store.finish(replace(run, status="complete", finished="2026-11-21T10:16:00Z"))
    assert sent(app, FORM, "/stop").status == 303
    assert store.stop_request(RUN) is None


@pytest.mark.parametrize(("form", "status"), [({}, 404), ({"run": "nobody"}, 404)])
def test_a_form_that_names_no_run_is_refused(store, form, status):
    keep(store, a_run(), [result(0)], ends=False)
    assert sent(shown(store), form, "/stop").status == status


class Client:
    """A browser tab that asks a page to wait for a change; `app` is asked without a network."""

    def __init__(self, app, address: str) -> None:
        self.mark = None
        self.is_gone = False
        self._app, self._address = app, address

    async def get(self, seconds: int = 0) -> int:
        path, _, query = self._address.partition("?")
        known = [("if-none-match", f'"{self.mark}"'), ("prefer", f"wait={seconds}")] if seconds else []
        headers = [(name.encode(), value.encode()) for name, value in [*ENTERED, *known]]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
        }
        scope |= {"headers": headers, "server": ("127.0.0.1", 7878), "root_path": "", "scheme": "http"}
        replies = []

        async def receive():
            return {"type": "http.disconnect"} if self.is_gone else await asyncio.Future()

        async def send(message):
            replies.append(message)

        await self._app(scope, receive, send)
        self.mark = mark(b"".join(one.get("body", b"") for one in replies).decode()) or self.mark
        return replies[0]["status"]


async def waiting(app, *clients: Client) -> list[asyncio.Task[int]]:
    """Let clients load their page, and then wait for a change of it, one after the other."""
    tasks = []
    for client in clients:
        await client.get()
        tasks.append(asyncio.create_task(client.get(20)))
        await asyncio.sleep(0.3)
    return tasks


@pytest.mark.parametrize("address", ["/", PAGE])
def test_a_request_waits_until_a_result_is_written(store, address):
    run = keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)

    async def wait() -> tuple[bool, list[int]]:
        tasks = await waiting(app, Client(app, address))
        early = tasks[0].done()
        await store.sink(run.id).write([result(1)])
        return early, await asyncio.wait_for(asyncio.gather(*tasks), 10)

    assert asyncio.run(wait()) == (False, [200])


def test_a_request_waits_on_while_another_run_is_written(store):
    keep(store, a_run(), [result(0)], ends=False)
    other = keep(store, a_run("20261121-111500-aaaa"), [], ends=False)
    app = shown(store)

    async def wait() -> bool:
        tasks = await waiting(app, Client(app, PAGE))
        await store.sink(other.id).write([result(1)])
        await asyncio.sleep(1.5)
        tasks[0].cancel()
        return tasks[0].done()

    assert asyncio.run(wait()) is False


def test_a_few_requests_wait_at_once_and_further_ones_let_the_first_go(store):
    keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)

    async def wait() -> tuple[list[bool], int]:
        tasks = await waiting(app, *(Client(app, PAGE) for _ in range(MOST_WAITING + 2)))
        done = [task.done() for task in tasks]
        first = await tasks[0]
        app.release()
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        return done, first

    assert asyncio.run(wait()) == ([True, True] + [False] * MOST_WAITING, 304)


def test_a_request_stops_waiting_when_its_tab_is_closed_or_the_server_ends(store):
    keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)

    async def wait() -> list[int]:
        gone, other = Client(app, PAGE), Client(app, PAGE)
        tasks = await waiting(app, gone, other)
        gone.is_gone = True
        statuses = [await asyncio.wait_for(tasks[0], 5)]
        app.release()
        statuses.append(await asyncio.wait_for(tasks[1], 5))
        return [*statuses, await asyncio.wait_for(other.get(20), 5)]

    assert asyncio.run(wait()) == [304, 304, 304]


@pytest.mark.parametrize(
    "prefers", ["wait=999999999999999999999", "wait=-1", "wait", "wait=0", "respond-async", "\xff"]
)
def test_a_wait_that_is_none_is_answered_at_once(store, prefers):
    keep(store, a_run(), [result(0)], ends=False)
    app = shown(store)
    known = mark(from_browser(app, PAGE).text)
    assert asked(app, PAGE, "GET", [*ENTERED, ("if-none-match", f'"{known}"'), ("prefer", prefers)]).status == 304


def test_a_stopped_run_still_says_how_many_trials_were_planned(store):
    run = keep(store, a_run(datasets=(DatasetInfo(name="squares.jsonl", rows=1_000),)), [result(0)], ends=False)
    store.finish(replace(run, status="stopped", finished="2026-11-21T10:16:00Z"))
    app = shown(store)
    assert "1 of 1,000 trials" in from_browser(app, PAGE).text
    assert "<small>of 1,000</small>" in from_browser(app, "/").text
